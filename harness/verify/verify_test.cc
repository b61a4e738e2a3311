#include "harness/verify/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/suite/suite.h"
#include "harness/verify/test_bundle.h"

namespace capbench::verify {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::names;
using ::testing::Not;
using testing::problems;
using testing::quality_of;
using testing::real_bundle;
using testing::replaced;
using testing::set_raw;
using testing::Stream;
using testing::trial_of;
using testing::verdict_of;

std::string raw_out(const bundle::Bundle& bundle, const schema::TrialRecord& trial) {
  return bundle.raw.at(trial.stdout_sha256);
}
std::string raw_err(const bundle::Bundle& bundle, const schema::TrialRecord& trial) {
  return bundle.raw.at(trial.stderr_sha256);
}

// The suite as changed by `change`.
template <class Change>
void change_suite(bundle::Bundle& bundle, const Change& change) {
  auto parsed = suite::parse_suite(bundle.suites.front().json);
  ASSERT_TRUE(parsed.ok());
  change(*parsed);
  bundle.suites.front().json = suite::canonical_json(*parsed);
}

TEST(Verify, FindsARealBundleConsistent) {
  const Verdict verdict = verdict_of(real_bundle());
  EXPECT_EQ(names(verdict, Outcome::kFailed), "") << verdict_text(verdict, "real");
  EXPECT_EQ(names(verdict, Outcome::kFlagged), "") << verdict_text(verdict, "real");
  EXPECT_EQ(verdict.tier, kConsistent) << verdict_text(verdict, "real");
  EXPECT_TRUE(verdict.missing.empty());
  EXPECT_EQ(verdict.trials, 6U);
  EXPECT_EQ(verdict.bundle_id.size(), 64U);
}

TEST(Verify, NamesAChangedSample) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "unlocked", 0);
  trial.results[0].samples_ns[1] -= 1'000'000;
  const Verdict verdict = verdict_of(bundle);
  EXPECT_THAT(names(verdict, Outcome::kFailed), HasSubstr("samples")) << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kSamples), AllOf(HasSubstr("results[0].samples_ns[1]"), HasSubstr("pp64")));
  EXPECT_EQ(verdict.tier, kSelfReported);
}

TEST(Verify, NamesASampleThatWasChangedInRecordAndRawOutputAlike) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "unlocked", 0);
  auto& sample = trial.results[0].samples_ns[1];
  const std::string was = std::to_string(sample);
  sample -= 1'000'000;
  set_raw(bundle, trial, Stream::kOut, replaced(raw_out(bundle, trial), was, std::to_string(sample)));
  auto fields = nlohmann::json::parse(trial.results[0].fields);
  fields["samples_ns"][1] = sample;
  trial.results[0].fields = fields.dump();
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(problems(verdict, kSamples), "");
  EXPECT_THAT(problems(verdict, kRates), HasSubstr("avg_ns")) << verdict_text(verdict, "");
}

TEST(Verify, NamesRawOutputThatWasSwapped) {
  bundle::Bundle bundle = real_bundle();
  std::swap(trial_of(bundle, "unlocked", 0).stdout_sha256, trial_of(bundle, "unlocked", 1).stdout_sha256);
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "samples");
  EXPECT_EQ(std::count_if(verdict.checks.begin(), verdict.checks.end(),
                          [](const Check& check) { return check.outcome == Outcome::kFailed; }),
            4);  // two results of each
}

TEST(Verify, NamesLogsThatWereSwapped) {
  bundle::Bundle bundle = real_bundle();
  std::swap(trial_of(bundle, "stock", 0).stderr_sha256, trial_of(bundle, "unlocked", 0).stderr_sha256);
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "mode status treatment capabilities") << verdict_text(verdict, "");
}

TEST(Verify, NamesAWrongMode) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 1).mode = "unlocked";
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "mode");
  EXPECT_THAT(problems(verdict, kMode), AllOf(HasSubstr(": mode"), HasSubstr("arm \"stock\"")));
}

TEST(Verify, NamesAnUnlockedTrialThatPosesAsStock) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& stock = trial_of(bundle, "stock", 1);
  const schema::TrialRecord unlocked = trial_of(bundle, "unlocked", 1);
  stock.results = unlocked.results;
  stock.stdout_sha256 = unlocked.stdout_sha256;
  stock.stderr_sha256 = unlocked.stderr_sha256;
  stock.environment_set = unlocked.environment_set;
  stock.closure_id = unlocked.closure_id;
  stock.started_at = unlocked.started_at;
  const Verdict verdict = verdict_of(bundle);
  EXPECT_THAT(names(verdict, Outcome::kFailed), HasSubstr("mode status treatment capabilities"));
  EXPECT_THAT(problems(verdict, kMode), HasSubstr("CAPSHIM_SET is set"));
}

TEST(Verify, NamesAStockTrialWhoseLogShowsAShim) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "stock", 0);
  const std::string banner = replaced(raw_err(bundle, trial), R"("roles":["guest"])", R"("roles":["guest","shim"])");
  set_raw(bundle, trial, Stream::kErr, banner);
  const Verdict verdict = verdict_of(bundle);
  EXPECT_THAT(problems(verdict, kMode), HasSubstr("the cpu shim's banner"));
  EXPECT_THAT(problems(verdict, kStatus), HasSubstr("invalid_treatment"));
}

TEST(Verify, NamesAPublishedShimInABareMetalTrial) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "bare-metal", 0);
  set_raw(bundle, trial, Stream::kErr,
          raw_err(bundle, trial) + "x [LumeMetalCapabilities] Enabled for llama-bench (appleFamilyMax=1009)\n");
  const Verdict verdict = verdict_of(bundle);
  EXPECT_THAT(problems(verdict, kMode), HasSubstr("LumeMetalCapabilities")) << verdict_text(verdict, "");
}

TEST(Verify, NamesBareMetalInAGuest) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "bare-metal", 0).guest = "vm";
  EXPECT_THAT(problems(verdict_of(bundle), kMode), HasSubstr(": guest"));
}

TEST(Verify, NamesAnUnlockedTrialWithoutAShimAmongItsFiles) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "unlocked", 0).closure_id = trial_of(bundle, "bare-metal", 0).closure_id;
  EXPECT_THAT(problems(verdict_of(bundle), kMode), HasSubstr("no shim is among its files"));
}

TEST(Verify, NamesASuiteWhoseArmsContradictTheirModes) {
  bundle::Bundle bundle = real_bundle();
  change_suite(bundle, [](suite::Suite& suite) { suite.arms[2].set.clear(); });
  EXPECT_THAT(names(verdict_of(bundle), Outcome::kFailed), HasSubstr("suite plan"));
}

TEST(Verify, NamesAVariableThatTheArmDoesNotAskFor) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 0).environment_set.emplace_back("GGML_VK_DISABLE_F16=1");
  EXPECT_THAT(problems(verdict_of(bundle), kMode), HasSubstr("GGML_VK_DISABLE_F16 is set"));
}

TEST(Verify, NamesAChangedTreatment) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "unlocked", 0).treatment = "unproven";
  Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "treatment");

  bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "unlocked", 0);
  set_raw(bundle, trial, Stream::kErr, replaced(raw_err(bundle, trial), "libggml-cpu-zen4", "libggml-cpu-x64"));
  verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "status treatment capabilities") << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kTreatment), HasSubstr("cpu.isa: asked for best"));
}

TEST(Verify, NamesAChangedCapability) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 0).capabilities[0].observed = "sse42";
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "capabilities");
  EXPECT_THAT(problems(verdict, kCapabilities), HasSubstr("capabilities[0]"));
}

TEST(Verify, FlagsALibraryThatIsBestOnlyOfThoseThatWereThere) {
  bundle::Bundle bundle = real_bundle();
  // With a shim in the process its own line tells what the processor is.
  std::erase_if(bundle.trials, [](const auto& trial) { return trial.arm != "bare-metal"; });
  std::erase_if(bundle.quality, [](const auto& check) { return check.arm != "bare-metal"; });
  std::erase_if(bundle.closures, [&](const auto& closure) { return closure.id != bundle.trials.front().closure_id; });
  for (schema::EnvironmentRecord& environment : bundle.environments) {
    environment.json = replaced(environment.json, "serialize", "serialize amx_tile amx_int8");
  }
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "") << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kCapabilities), HasSubstr("no better CPU library"));
  EXPECT_EQ(verdict.tier, kSelfReported);
}

TEST(Verify, SkipsATreatmentThatTheFactsCannotProve) {
  bundle::Bundle bundle = real_bundle();
  bundle.environments.front().json = R"({"cpu":"unknown","os":"Linux"})";
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "") << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kTreatment), HasSubstr("what its CPU executes"));
  EXPECT_EQ(verdict.tier, kSelfReported);
}

TEST(Verify, SkipsATreatmentWhoseProbeWasNotKept) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "unlocked", 0).capabilities.push_back({"vulkan.shader_float16", "", "on", "probe", true});
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "") << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kCapabilities), HasSubstr("what its probe printed was not kept"));
  EXPECT_EQ(verdict.tier, kSelfReported);
}

TEST(Verify, NamesAChangedMedian) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "bare-metal", 1).results[1].median_ts *= 1.01;
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "medians");
  EXPECT_THAT(problems(verdict, kMedians), HasSubstr("results[1].median_ts"));
}

TEST(Verify, NamesATrialThatClaimsOkThoughItFailed) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "unlocked", 1);
  const std::string out = raw_out(bundle, trial);
  set_raw(bundle, trial, Stream::kOut, out.substr(0, out.find('\n') + 30));
  trial.results.pop_back();
  Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "status") << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kStatus), AllOf(HasSubstr("ok recorded"), HasSubstr("failed")));

  bundle = real_bundle();
  trial_of(bundle, "unlocked", 1).exit_status = 1;
  verdict = verdict_of(bundle);
  EXPECT_THAT(problems(verdict, kStatus), HasSubstr("exited 1"));
}

TEST(Verify, NamesATrialThatIsCalledFailedThoughItIsFine) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "stock", 1);
  trial.status = "failed";
  trial.reason = "exited 1";
  EXPECT_EQ(names(verdict_of(bundle), Outcome::kFailed), "status");
}

TEST(Verify, JudgesWhatATrialWasBeforeItWasExcluded) {
  bundle::Bundle bundle = real_bundle();
  schema::TrialRecord& trial = trial_of(bundle, "stock", 1);
  trial.status = "excluded";
  trial.status_before_exclusion = "ok";
  trial.reason = "was ok: a backup ran";
  EXPECT_EQ(names(verdict_of(bundle), Outcome::kFailed), "");
  trial_of(bundle, "stock", 1).status_before_exclusion = "timeout";
  EXPECT_EQ(names(verdict_of(bundle), Outcome::kFailed), "status");
}

TEST(Verify, NamesAFigureOfQualityThatWasChanged) {
  bundle::Bundle bundle = real_bundle();
  schema::QualityRecord& check = quality_of(bundle, "unlocked");
  auto figures = nlohmann::json::parse(check.figures);
  figures["decode"]["mean_kl"] = 0.001;
  check.figures = figures.dump();
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "quality");
  EXPECT_THAT(problems(verdict, kQuality), HasSubstr("decode.mean_kl"));
}

TEST(Verify, NamesAQualityThatItsOutputDoesNotHave) {
  bundle::Bundle bundle = real_bundle();
  schema::QualityRecord& check = quality_of(bundle, "unlocked");
  auto figures = nlohmann::json::parse(check.figures);
  set_raw(bundle, check, Stream::kOut,
          replaced(bundle.raw.at(check.stdout_sha256), "Maximum KLD:   0.0", "Maximum KLD:   4.0"));
  figures["decode"]["max_kl"] = figures["decode"]["max_kl"].get<double>() + 4;
  figures["prompt"]["max_kl"] = 4.000023;
  check.figures = figures.dump();
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "quality") << verdict_text(verdict, "");
}

TEST(Verify, NamesAQualityThatNoCheckHas) {
  bundle::Bundle bundle = real_bundle();
  std::erase_if(bundle.quality, [](const auto& check) { return check.arm == "unlocked"; });
  EXPECT_THAT(problems(verdict_of(bundle), kQuality), HasSubstr("no check is in the bundle"));
}

TEST(Verify, NamesAQualityCheckThatRanWithoutTheShim) {
  bundle::Bundle bundle = real_bundle();
  quality_of(bundle, "unlocked").stderr_sha256 = quality_of(bundle, "stock").stderr_sha256;
  EXPECT_THAT(problems(verdict_of(bundle), kQuality), HasSubstr("without the cpu shim"));
}

TEST(Verify, LooksAtTheCheckOfAnArmThatWasNotRunAnyMore) {
  bundle::Bundle bundle = real_bundle();
  std::erase_if(bundle.trials, [](const auto& trial) { return trial.arm == "unlocked"; });
  std::erase_if(bundle.closures, [&](const schema::ClosureRecord& closure) {
    return std::none_of(bundle.trials.begin(), bundle.trials.end(),
                        [&](const auto& trial) { return trial.closure_id == closure.id; });
  });
  EXPECT_EQ(verdict_of(bundle).tier, kConsistent) << verdict_text(verdict_of(bundle), "");
  schema::QualityRecord& check = quality_of(bundle, "unlocked");
  check.figures = replaced(check.figures, "\"chunks\":4", "\"chunks\":5");
  EXPECT_THAT(problems(verdict_of(bundle), kQuality), HasSubstr("chunks"));
}

TEST(Verify, SaysWhatKeepsAnUncheckedBundleFromBeingConsistent) {
  bundle::Bundle bundle = real_bundle();
  bundle.quality.clear();
  for (schema::TrialRecord& trial : bundle.trials) trial.quality = "unchecked";
  const Verdict verdict = verdict_of(bundle);
  EXPECT_FALSE(verdict.failed());
  EXPECT_EQ(verdict.tier, kSelfReported);
  EXPECT_THAT(verdict.missing, Contains(HasSubstr("the output of arm \"stock\" is unchecked")));
}

TEST(Verify, NamesATimeInTheFuture) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 0).started_at = "2027-01-01T00:00:00.000Z";
  EXPECT_THAT(problems(verdict_of(bundle), kTimes), HasSubstr("is in the future"));
}

TEST(Verify, NamesTimesThatDoNotFitEachOther) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 0).started_at = "2026-11-30T13:40:00.000Z";
  EXPECT_THAT(problems(verdict_of(bundle), kTimes), HasSubstr("before its run began"));

  bundle = real_bundle();
  trial_of(bundle, "stock", 0).started_at = "2026-11-30T13:57:30.000Z";
  EXPECT_THAT(problems(verdict_of(bundle), kTimes), HasSubstr("by llama-bench's clock"));

  bundle = real_bundle();
  trial_of(bundle, "stock", 0).wall_ns = 1'000'000'000;
  EXPECT_THAT(problems(verdict_of(bundle), kTimes), HasSubstr("less than its samples add up to"));

  bundle = real_bundle();
  trial_of(bundle, "stock", 0).started_at = "yesterday";
  EXPECT_THAT(problems(verdict_of(bundle), kTimes), HasSubstr("is no time"));
}

TEST(Verify, FlagsWhatIsFasterThanTheDeviceCanBe) {
  bundle::Bundle bundle = real_bundle();
  Context context = testing::context();
  context.speed_share = [](const SpeedQuestion& asked) {
    SpeedShare share;
    if (asked.result.n_gen == 0) {
      share.why = "unknown device";
    } else {
      share.percent = asked.tokens_per_second / 10;
      share.of = "the bandwidth of a slow thing";
    }
    return share;
  };
  const Verdict verdict = verify({bundle, "id", "", ""}, context);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "");
  EXPECT_THAT(problems(verdict, kRoofline), AllOf(HasSubstr("flagged"), HasSubstr("% of the bandwidth of a slow")));
  EXPECT_EQ(verdict.tier, kConsistent);  // shown, not refused
}

TEST(Verify, FlagsAModelThatIsNotTheCatalogsFile) {
  bundle::Bundle bundle = real_bundle();
  for (schema::ClosureRecord& closure : bundle.closures) {
    for (schema::ClosureMember& member : closure.members) {
      if (member.role == "model") member.artifact.name = "tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf";
    }
  }
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "");
  EXPECT_THAT(problems(verdict, kModels), AllOf(HasSubstr("flagged"), HasSubstr("the catalog's file of that name")));
}

TEST(Verify, NamesAModelThatIsNotTheOneThatTheSuitePins) {
  bundle::Bundle bundle = real_bundle();
  change_suite(bundle, [](suite::Suite& suite) {
    suite.models[0].like.clear();
    suite.models[0].file = "tiny.gguf";
    suite.models[0].sha256 = std::string(64, '1');
  });
  EXPECT_THAT(problems(verdict_of(bundle), kModels), HasSubstr("the suite pins 111111111111"));
}

TEST(Verify, NamesTrialsThatTheSuiteDoesNotPlan) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 1).block = 2;
  EXPECT_THAT(problems(verdict_of(bundle), kPlan), HasSubstr("the suite has 2 blocks"));

  bundle = real_bundle();
  trial_of(bundle, "stock", 1).position = 0;
  EXPECT_THAT(problems(verdict_of(bundle), kPlan), HasSubstr("position"));

  bundle = real_bundle();
  trial_of(bundle, "stock", 1).arm = "another";
  EXPECT_THAT(problems(verdict_of(bundle), kPlan), HasSubstr("no arm \"another\""));
}

TEST(Verify, NamesArgumentsThatTheWorkloadDoesNotHave) {
  bundle::Bundle bundle = real_bundle();
  auto& argv = trial_of(bundle, "unlocked", 0).argv;
  *std::find(argv.begin(), argv.end(), "-t") = "--threads";
  EXPECT_THAT(problems(verdict_of(bundle), kCommand), HasSubstr("the suite asks for \"-t\""));

  bundle = real_bundle();
  change_suite(bundle, [](suite::Suite& suite) { suite.workloads[0].threads = 2; });
  EXPECT_THAT(problems(verdict_of(bundle), kCommand), HasSubstr("argv"));
}

TEST(Verify, AcceptsWhatWasRedacted) {
  bundle::Bundle bundle = real_bundle();
  const auto redact = [](const std::string& text) {
    return replaced(replaced(text, "/srv/models", "<home>"), "/opt/llama", "<home>/llama");
  };
  for (schema::TrialRecord& trial : bundle.trials) {
    set_raw(bundle, trial, Stream::kOut, redact(raw_out(bundle, trial)));
    set_raw(bundle, trial, Stream::kErr, redact(raw_err(bundle, trial)));
    for (std::string& argument : trial.argv) argument = redact(argument);
    for (std::string& variable : trial.environment_set) variable = replaced(variable, "/opt/capbench", "<home>");
    for (schema::ResultRecord& result : trial.results) result.fields = redact(result.fields);
  }
  for (schema::QualityRecord& check : bundle.quality) {
    set_raw(bundle, check, Stream::kOut, redact(bundle.raw.at(check.stdout_sha256)));
    set_raw(bundle, check, Stream::kErr, redact(bundle.raw.at(check.stderr_sha256)));
    for (std::string& argument : check.argv) argument = redact(argument);
  }
  for (schema::ClosureRecord& closure : bundle.closures) {
    for (schema::ClosureMember& member : closure.members) member.path = redact(member.path);
  }
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(verdict.tier, kConsistent) << verdict_text(verdict, "redacted");

  // Records redacted by one program, raw output by another.
  bundle = real_bundle();
  for (schema::TrialRecord& trial : bundle.trials) {
    set_raw(bundle, trial, Stream::kOut, redact(raw_out(bundle, trial)));
  }
  EXPECT_EQ(verdict_of(bundle).tier, kConsistent);
}

TEST(Verify, SkipsRawOutputThatIsWithheld) {
  bundle::Bundle bundle = real_bundle();
  bundle.raw.clear();
  const Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "") << verdict_text(verdict, "");
  EXPECT_THAT(problems(verdict, kSamples), HasSubstr("raw output withheld (6 times"));
  EXPECT_EQ(verdict.tier, kSelfReported);
}

TEST(Verify, LooksAtImportedResultsThroughTheirSource) {
  bundle::Bundle bundle = real_bundle();
  const std::string bytes = raw_out(bundle, trial_of(bundle, "stock", 0));
  schema::TrialRecord trial = trial_of(bundle, "stock", 0);
  bundle = {};
  bundle.created_by = "capbench 0.1.0";
  schema::SuiteRecord suite{"suite", "imported llama-bench",
                            R"({"capbench":1,"imported":true,"name":"imported llama-bench"})"};
  bundle.suites.push_back(suite);
  bundle.environments.push_back({"environment", "m", "m", false, R"({"imported":true})"});
  schema::RunRecord run{"run", "suite", "m", 1, trial.started_at, "0.1.0", "complete", 1};
  bundle.runs.push_back(run);
  schema::SourceRecord source{"", "llama-bench-jsonl", "out.jsonl", bytes.size(), {}};
  testing::set_raw(bundle, trial, Stream::kOut, bytes);
  source.sha256 = trial.stdout_sha256;
  bundle.sources.push_back(source);
  trial.source_sha256 = source.sha256;
  trial.stdout_sha256.clear();
  trial.stderr_sha256.clear();
  trial.suite_id = run.suite_id;
  trial.environment_id = "environment";
  trial.closure_id.clear();
  trial.run_id = run.id;
  trial.arm = trial.mode = trial.target = "imported";
  trial.guest.clear();
  trial.treatment = "unproven";
  trial.quality = "unchecked";
  trial.argv.clear();
  trial.environment_set.clear();
  trial.capabilities.clear();
  trial.exit_status.reset();
  bundle.trials.push_back(trial);
  Verdict verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "") << verdict_text(verdict, "");
  EXPECT_EQ(problems(verdict, kSources), "");
  EXPECT_EQ(verdict.tier, kSelfReported);

  bundle::Bundle changed = bundle;
  changed.trials[0].results[0].samples_ns[0] += 1;
  EXPECT_THAT(problems(verdict_of(changed), kSources), HasSubstr("its source has no such samples"));

  bundle.raw.clear();
  verdict = verdict_of(bundle);
  EXPECT_EQ(names(verdict, Outcome::kFailed), "");
  EXPECT_THAT(problems(verdict, kSources), HasSubstr("raw withheld"));
}

TEST(Verify, TellsWhatCameOfTheSignature) {
  bundle::Opened opened{real_bundle(), "id", "manifest", "signature"};
  Context context = testing::context();
  EXPECT_THAT(problems(verify(opened, context), kSignature), HasSubstr("skipped"));
  context.signature = {SignatureAnswer::State::kBad, "", "not over this manifest"};
  EXPECT_THAT(problems(verify(opened, context), kSignature), HasSubstr("not over this manifest"));
  context.signature = {SignatureAnswer::State::kGood, "SHA256:abc", ""};
  context.signer = SignerAnswer{false, "", "an unknown key"};
  Verdict verdict = verify(opened, context);
  EXPECT_EQ(verdict.signer, "SHA256:abc");
  EXPECT_THAT(problems(verdict, kSigner), HasSubstr("flagged : an unknown key"));
  context.signer = SignerAnswer{true, "jo@example.org", ""};
  EXPECT_EQ(problems(verify(opened, context), kSigner), "");
}

TEST(Verify, TakesRecordsThatReferToNothing) {
  bundle::Bundle bundle = real_bundle();
  bundle.suites.clear();
  bundle.runs.clear();
  bundle.environments.clear();
  bundle.closures.clear();
  bundle.raw.clear();
  EXPECT_TRUE(verify({bundle, "", "", ""}, testing::context()).failed());
  EXPECT_EQ(verify({{}, "", "", ""}, {}).tier, kSelfReported);
}

TEST(Refused, NamesTheCheckThatTheErrorBelongsTo) {
  const auto failed = [](const std::string& what, const std::string& cause) {
    return names(refused({ErrorKind::kFinding, what, cause, "ask again"}), Outcome::kFailed);
  };
  EXPECT_EQ(failed("the bundle", "is larger than 64 MiB"), "archive");
  EXPECT_EQ(failed("trials/00.json", "an unknown key"), "schema");
  EXPECT_EQ(failed("raw/00", "its SHA-256 is another"), "digests");
  EXPECT_EQ(failed("../x", "is no name of a member"), "archive");
}

TEST(Text, FitsATerminalAndShowsNoControlCharacters) {
  bundle::Bundle bundle = real_bundle();
  trial_of(bundle, "stock", 1).arm = "\x1b[2J\xe2\x80\xae" + std::string(200, 'x');
  for (const Verdict& verdict : {verdict_of(bundle), verdict_of(real_bundle())}) {
    const std::string text = verdict_text(verdict, "a\x1b[31m.capbundle");
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      EXPECT_LE(end - begin, 80U) << text.substr(begin, end - begin);
      begin = end + 1;
    }
    EXPECT_TRUE(nlohmann::json::accept(verdict_json(verdict)));
  }
}

}  // namespace
}  // namespace capbench::verify
