#include "harness/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "harness/verify/checks.h"
#include "harness/verify/index.h"
#include "harness/verify/rows.h"

namespace capbench::verify {
namespace {

constexpr auto kAll =
    std::to_array<std::string_view>({kArchive,      kDigests, kSchema,  kSignature, kSigner, kSuite,    kPlan,
                                     kCommand,      kMode,    kSamples, kMedians,   kRates,  kStatus,   kTreatment,
                                     kCapabilities, kQuality, kModels,  kPrograms,  kTimes,  kRoofline, kSources});

// What has to be derived again, without exception, for a bundle to be called consistent.
constexpr auto kNeeded = std::to_array<std::string_view>(
    {kSuite, kPlan, kCommand, kMode, kSamples, kMedians, kRates, kStatus, kTreatment, kCapabilities, kQuality});

void add_signature(const bundle::Opened& opened, const Context& context, Verdict& verdict) {
  const auto add = [&](std::string_view name, Outcome outcome, std::string detail) {
    verdict.checks.push_back({std::string(name), outcome, std::move(detail), ""});
  };
  const SignatureAnswer& answer = context.signature;
  if (opened.signature.empty()) {
    add(kSignature, Outcome::kSkipped, "not signed");
    add(kSigner, context.signer ? Outcome::kFlagged : Outcome::kSkipped, "not signed");
    return;
  }
  switch (answer.state) {
    case SignatureAnswer::State::kNotChecked:
      add(kSignature, Outcome::kSkipped, answer.why.empty() ? "there is one, and it was not looked at" : answer.why);
      add(kSigner, Outcome::kSkipped, "the signature was not looked at");
      return;
    case SignatureAnswer::State::kBad:
      add(kSignature, Outcome::kFailed, answer.why.empty() ? "is not one over this manifest" : answer.why);
      add(kSigner, Outcome::kSkipped, "the signature is not good");
      return;
    case SignatureAnswer::State::kGood:
      break;
  }
  verdict.signer = answer.fingerprint;
  add(kSignature, Outcome::kPassed, "by " + answer.fingerprint);
  if (!context.signer) {
    add(kSigner, Outcome::kSkipped, "no list of signers was given");
  } else if (context.signer->known) {
    add(kSigner, Outcome::kPassed, context.signer->identity);
  } else {
    add(kSigner, Outcome::kFlagged,
        context.signer->why.empty() ? "not among the signers that were given" : context.signer->why);
  }
}

void add_missing(const Index& index, Verdict& verdict) {
  for (const std::string_view name : kNeeded) {
    for (const Check& check : verdict.checks) {
      if (check.name != name || check.outcome == Outcome::kPassed) continue;
      if (check.outcome == Outcome::kFailed) continue;  // told by itself
      verdict.missing.push_back(fmt::format("{}: {}", name, check.detail));
      break;
    }
  }
  std::size_t counted = 0;
  std::set<std::tuple<std::string, std::string, std::string>> told;  // what, arm, model
  for (const TrialEntry& trial : index.trials()) {
    if (!trial.counts()) continue;
    ++counted;
    const schema::TrialRecord& record = *trial.record;
    if (record.treatment != "proven" && told.insert({"treatment", record.arm, record.model}).second) {
      verdict.missing.push_back(
          fmt::format("the treatment of arm \"{:.60}\" is {} ({:.60})", record.arm, record.treatment, record.model));
    }
    if (record.quality != "passed" && told.insert({"quality", record.arm, record.model}).second) {
      verdict.missing.push_back(
          fmt::format("the output of arm \"{:.60}\" is {} ({:.60})", record.arm, record.quality, record.model));
    }
  }
  if (counted == 0) verdict.missing.emplace_back("no trial is ok");
}

}  // namespace

Verdict verify(const bundle::Opened& opened, const Context& context) {
  const bundle::Bundle& content = opened.bundle;
  Verdict verdict;
  verdict.bundle_id = opened.id;
  verdict.trials = content.trials.size();
  // Whoever has an opened bundle knows the first three: it would not be open otherwise.
  const auto opened_fine = [&](std::string_view name, std::string detail) {
    verdict.checks.push_back({std::string(name), Outcome::kPassed, std::move(detail), ""});
  };
  opened_fine(kArchive, "within every limit, and nothing in it that is not listed");
  opened_fine(kDigests, fmt::format("manifest {}", opened.id));
  opened_fine(kSchema, fmt::format("{} trials, {} runs, {} suites, {} raw members", content.trials.size(),
                                   content.runs.size(), content.suites.size(), content.raw.size()));
  add_signature(opened, context, verdict);

  const Index index(content);
  const auto run = [&](std::string_view name, std::string_view noun, const auto& check) {
    Rows rows(name, noun);
    check(rows);
    rows.append_to(verdict.checks);
  };
  run(kSuite, "suites", [&](Rows& rows) { check_suites(index, rows); });
  run(kPlan, "trials", [&](Rows& rows) { check_plan(index, rows); });
  run(kCommand, "commands", [&](Rows& rows) { check_commands(index, rows); });
  run(kMode, "trials", [&](Rows& rows) { check_modes(index, rows); });
  run(kSamples, "results", [&](Rows& rows) { check_samples(index, rows); });
  run(kMedians, "medians", [&](Rows& rows) { check_medians(index, rows); });
  run(kRates, "results", [&](Rows& rows) { check_rates(index, rows); });
  Rows status(kStatus, "trials");
  Rows treatment(kTreatment, "trials");
  Rows capabilities(kCapabilities, "trials");
  check_judgement(index, status, treatment, capabilities);
  for (const Rows* rows : {&status, &treatment, &capabilities}) rows->append_to(verdict.checks);
  run(kQuality, "checks and trials", [&](Rows& rows) { check_quality(index, rows); });
  run(kModels, "models", [&](Rows& rows) { check_models(index, rows); });
  run(kPrograms, "sets of files print one build each", [&](Rows& rows) { check_programs(index, rows); });
  run(kTimes, "times", [&](Rows& rows) { check_times(index, context.now, rows); });
  run(kRoofline, "results", [&](Rows& rows) { check_roofline(index, context.speed_share, rows); });
  run(kSources, "imported results", [&](Rows& rows) { check_sources(index, rows); });

  add_missing(index, verdict);
  if (!verdict.failed() && verdict.missing.empty()) verdict.tier = kConsistent;
  return verdict;
}

Verdict refused(const Error& error) {
  // What is wrong with a member's bytes says so; what is wrong with a record names it; all else is the archive's.
  std::string_view failed = kArchive;
  if (error.cause.find("SHA-256") != std::string::npos) {
    failed = kDigests;
  } else if (error.what.find(".json") != std::string::npos) {
    failed = kSchema;
  }
  Verdict verdict;
  for (const std::string_view name : kAll) {
    if (name == failed) {
      std::string detail = error.cause;
      if (!error.remedy.empty()) detail += "; try: " + error.remedy;
      verdict.checks.push_back({std::string(name), Outcome::kFailed, std::move(detail), error.what});
    } else {
      verdict.checks.push_back({std::string(name), Outcome::kSkipped, "the bundle cannot be opened", ""});
    }
  }
  verdict.missing.emplace_back("the bundle cannot be opened");
  return verdict;
}

}  // namespace capbench::verify
