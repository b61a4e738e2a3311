#include "harness/submit/redact_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "harness/submit/preview.h"
#include "harness/submit/test_bundle.h"
#include "schema/identity.h"

namespace capbench::submit {
namespace {

using bundle::Bundle;
using nlohmann::json;
using ::testing::AnyOf;
using testing::bundle_with;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using testing::name_again;
using ::testing::Not;

const observe::PersonalDetails kJo{{"jo", "Jo Q. Smith"},
                                   {"/srv/people/jo"},
                                   {"jos-mac.local", "jos-mac"},
                                   {"ZX81FAKE99", "0123456789abcdef0123456789abcdef"}};

// One of each kind that the bundle must not hold, and what stands for it in the list.
const std::pair<const char*, const char*> kPlanted[] = {
    {"jo", "user name"},
    {"Jo Q. Smith", "user name"},
    {"/srv/people/jo", "home folder"},
    {"/home/ana", "home folder"},
    {"C:\\Users\\ana", "home folder"},
    {"jos-mac.local", "host name"},
    {"JOS-MAC", "host name"},
    {"ZX81FAKE99", "secret"},
    {"0123456789abcdef0123456789abcdef", "secret"},
    {"serial: C02FAKE12345", "serial number"},
    {"01234567-89ab-cdef-0123-456789abcdef", "UUID"},
    {"a4:83:e7:00:11:22", "MAC address"},
    {"192.168.64.7", "IPv4 address"},
    {"fe80::1c2d:3eff:fe4a:5b6c", "IPv6 address"},
    {"ftp://ana:lake@files", "credentials"},
};

Bundle redacted(Bundle bundle, std::vector<std::string> keep = {}) {
  auto result = redact_bundle(std::move(bundle), {kJo, std::move(keep)});
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result->bundle);
}

bundle::Sealed sealed(const Bundle& bundle) {
  auto result = bundle::seal(bundle);
  if (!result) throw std::runtime_error(to_string(result.error()));
  return *result;
}

// Every byte that would leave, unpacked.
std::string all_bytes(const bundle::Sealed& sealed) {
  auto opened = bundle::open_bundle(sealed.archive);
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  std::string all = sealed.manifest;
  for (const auto& [name, bytes] : opened->bundle.raw) all += name + bytes;
  const Bundle& b = opened->bundle;
  const auto add = [&](const auto&... texts) { ((all += "\n", all += texts), ...); };
  for (const auto& suite : b.suites) add(suite.name, suite.json);
  for (const auto& environment : b.environments) add(environment.machine_label, environment.json);
  for (const auto& closure : b.closures) {
    for (const auto& member : closure.members) add(member.role, member.artifact.name, member.path);
  }
  for (const auto& run : b.runs) add(run.harness_version, run.state);
  const auto add_row = [&](const auto& row) {
    add(row.test, row.build, row.model_type, row.backends, row.cpu_info, row.gpu_info, row.fields);
  };
  for (const auto& trial : b.trials) {
    add(trial.arm, trial.reason, trial.image, trial.hygiene, trial.measured);
    for (const auto& list : {trial.flags, trial.argv, trial.environment_set}) {
      for (const auto& text : list) add(text);
    }
    for (const auto& row : trial.results) add_row(row);
    for (const auto& row : trial.stated) add_row(row);
    for (const auto& capability : trial.capabilities) add(capability.observed, capability.source);
  }
  for (const auto& check : b.quality) {
    add(check.reason, check.figures);
    for (const auto& text : check.argv) add(text);
  }
  for (const auto& source : b.sources) {
    add(source.name);
    for (const auto& note : source.notes) add(note);
  }
  for (const auto& row : b.quarantine) add(row.reason, row.text);
  return all;
}

// As it stands, and as JSON in JSON spells it.
std::string spelled(std::string text, int levels) {
  for (; levels > 0; --levels) {
    text = json(text).dump();
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

TEST(Leaks, NothingPlantedIsInTheSealedBytes) {
  for (const auto& [planted, kind] : kPlanted) {
    const Bundle before = bundle_with(planted);
    // The texts that are looked through do show it where nothing is replaced.
    ASSERT_THAT(all_bytes(sealed(before)), HasSubstr(planted)) << planted;
    const Bundle after = redacted(before);
    const bundle::Sealed seal = sealed(after);
    const std::string bytes = all_bytes(seal);
    const std::string secret = std::string(planted).starts_with("serial") ? "C02FAKE12345"
                               : std::string(planted).starts_with("ftp")  ? "ana:lake"
                                                                          : planted;
    for (int levels = 0; levels < 3; ++levels) EXPECT_THAT(bytes, Not(HasSubstr(spelled(secret, levels)))) << planted;
    EXPECT_THAT(bytes, Not(HasSubstr("hf_abcdef")));
    // The list says where, and never what.
    bool listed = false;
    for (const bundle::Replaced& row : after.replaced) {
      listed = listed || row.kind == kind;
      EXPECT_THAT(row.member, AnyOf(HasSubstr("trials/"), HasSubstr("raw/"), HasSubstr("closures/"),
                                    HasSubstr("quality/"), HasSubstr("sources/")));
    }
    EXPECT_TRUE(listed) << planted;
  }
}

TEST(Leaks, EveryMemberThatHeldItIsListed) {
  const Bundle after = redacted(bundle_with("/home/ana"));
  std::vector<std::string> members;
  for (const bundle::Replaced& row : after.replaced) members.push_back(row.member);
  for (const auto& trial : after.trials) EXPECT_THAT(members, Contains(bundle::trial_member(trial)));
  for (const auto& [digest, bytes] : after.raw) EXPECT_THAT(members, Contains(bundle::raw_member(digest)));
  EXPECT_THAT(members, Contains(bundle::closure_member(after.closures[0])));
  EXPECT_THAT(members, Contains(bundle::quality_member(after.quality[0])));
  EXPECT_THAT(members, Contains(bundle::source_member(after.sources[0])));
}

TEST(RedactBundle, NamesAndReferencesStay) {
  const Bundle before = bundle_with("/home/ana");
  const Bundle after = redacted(before);
  ASSERT_EQ(after.trials.size(), before.trials.size());
  for (std::size_t i = 0; i < before.trials.size(); ++i) {
    const auto& a = before.trials[i];
    const auto& b = after.trials[i];
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(schema::trial_id(b), b.id);
    EXPECT_EQ(a.source_sha256, b.source_sha256);
    ASSERT_EQ(a.results.size(), b.results.size());
    for (std::size_t n = 0; n < a.results.size(); ++n) {
      EXPECT_EQ(a.results[n].samples_ns, b.results[n].samples_ns);
      EXPECT_EQ(a.results[n].median_ts, b.results[n].median_ts);
      EXPECT_EQ(json::parse(b.results[n].fields)["driver_version"], "31.0.15.52");
    }
    if (a.stdout_sha256.empty()) continue;
    for (const auto& [old, now] : {std::pair(a.stdout_sha256, b.stdout_sha256),
                                   {a.stderr_sha256, b.stderr_sha256},
                                   {a.probe_sha256, b.probe_sha256}}) {
      EXPECT_NE(old, now);
      ASSERT_TRUE(after.raw.contains(now));
      EXPECT_FALSE(after.raw.contains(old));
      EXPECT_EQ(sha256(after.raw.at(now)), now);
    }
    const json row = json::parse(after.raw.at(b.stdout_sha256));
    EXPECT_EQ(row["samples_ns"], json(a.results[0].samples_ns));
    EXPECT_EQ(row["gpu_info"], b.results[0].gpu_info);
    EXPECT_EQ(row["cpu_info"], b.results[0].cpu_info);
    EXPECT_FALSE(json::parse(after.raw.at(b.probe_sha256), nullptr, false).is_discarded());
    EXPECT_EQ(b.capabilities[1].observed, "1.3.1.1");
  }
  EXPECT_EQ(after.suites[0].json, before.suites[0].json);
  EXPECT_EQ(after.environments[0].json, before.environments[0].json);
  EXPECT_EQ(schema::closure_id(after.closures[0]), before.closures[0].id);
  EXPECT_TRUE(bundle::open_bundle(sealed(after).archive).ok());
}

TEST(RedactBundle, TwiceIsOnce) {
  for (const auto& [planted, kind] : kPlanted) {
    const bundle::Sealed once = sealed(redacted(bundle_with(planted)));
    auto opened = bundle::open_bundle(once.archive);
    ASSERT_TRUE(opened.ok());
    const bundle::Sealed twice = sealed(redacted(opened->bundle));
    EXPECT_EQ(once.manifest, twice.manifest) << planted;
    EXPECT_EQ(once.id, twice.id);
  }
}

TEST(RedactBundle, WithoutDetailsNothingChanges) {
  Bundle before = bundle_with("a word");
  for (schema::TrialRecord& trial : before.trials) std::erase(trial.environment_set, "HF_TOKEN=hf_abcdef");
  const Bundle after = redacted(before);
  EXPECT_TRUE(after.replaced.empty());
  EXPECT_EQ(sealed(after).id, sealed(before).id);
}

TEST(RedactBundle, ASourceIsWithheldRatherThanChanged) {
  Bundle before = bundle_with("/home/ana");
  const std::string source = before.sources[0].sha256;
  Bundle after = redacted(before);
  EXPECT_FALSE(after.raw.contains(source));
  EXPECT_EQ(after.sources[0].sha256, source);
  const auto is_it = [&](const bundle::Replaced& row) {
    return row.member == "sources/" + source + ".json" && row.kind == "withheld";
  };
  EXPECT_EQ(std::count_if(after.replaced.begin(), after.replaced.end(), is_it), 1);
  // A database is withheld whatever can be read in it.
  before = bundle_with("a word");
  const std::string bytes("SQLite format 3\0 pages", 22);
  const std::string name = sha256(bytes);
  before.raw.erase(before.sources[0].sha256);
  before.raw[name] = bytes;
  before.sources[0].sha256 = before.quarantine[0].source_sha256 = before.trials[2].source_sha256 = name;
  EXPECT_FALSE(redacted(before).raw.contains(name));
}

TEST(RedactBundle, TwoOutputsThatBecomeOneAreOne) {
  Bundle before = bundle_with("a word");
  const std::string a = "at 10.0.0.1\n";
  const std::string b = "at 10.0.0.2\n";
  before.raw.erase(before.trials[0].stderr_sha256);
  before.raw.erase(before.trials[1].stderr_sha256);
  before.raw[before.trials[0].stderr_sha256 = sha256(a)] = a;
  before.raw[before.trials[1].stderr_sha256 = sha256(b)] = b;
  const Bundle after = redacted(before);
  EXPECT_EQ(after.trials[0].stderr_sha256, after.trials[1].stderr_sha256);
  EXPECT_EQ(after.raw.at(after.trials[0].stderr_sha256), "at <ipv4>\n");
  EXPECT_TRUE(bundle::seal(after).ok());
}

// Where a name hangs on it, nothing is replaced, and nothing leaves.
TEST(RedactBundle, DetailsInNamesAreRefusedWithThePlace) {
  struct Case {
    const char* where;
    void (*plant)(Bundle& bundle, const std::string& text);
  };
  const Case cases[] = {
      {"suites/",
       [](Bundle& b, const std::string& t) {
         b.suites[0].json = json({{"file", t}}).dump();
       }},
      {"suites/", [](Bundle& b, const std::string& t) { b.suites[0].name = t; }},
      {"environments/",
       [](Bundle& b, const std::string& t) {
         b.environments[0].json = json({{"cpu", t}}).dump();
       }},
      {"environments/", [](Bundle& b, const std::string& t) { b.environments[0].machine_label = t; }},
      {"closures/", [](Bundle& b, const std::string& t) { b.closures[0].members[0].artifact.name = t; }},
      {"arm", [](Bundle& b, const std::string& t) { b.trials[0].arm = t; }},
      {"target", [](Bundle& b, const std::string& t) { b.trials[0].target = t; }},
      {"workload", [](Bundle& b, const std::string& t) { b.trials[0].workload = t; }},
      {"model", [](Bundle& b, const std::string& t) { b.trials[0].model = t; }},
      {"results.test", [](Bundle& b, const std::string& t) { b.trials[0].results[0].test = t; }},
      {"results.build", [](Bundle& b, const std::string& t) { b.trials[0].results[0].build = t; }},
      {"capabilities.observed", [](Bundle& b, const std::string& t) { b.trials[0].capabilities[0].observed = t; }},
      {"quality/", [](Bundle& b, const std::string& t) { b.quality[0].arm = t; }},
      {"sources/", [](Bundle& b, const std::string& t) { b.sources[0].kind = t; }},
      {"created_by", [](Bundle& b, const std::string& t) { b.created_by = t; }},
  };
  for (const Case& one : cases) {
    for (const char* planted : {"x of jo", "/home/ana/x", "a4:83:e7:00:11:22"}) {
      Bundle before = bundle_with("a word");
      one.plant(before, planted);
      name_again(before);
      auto result = redact_bundle(before, {kJo, {}});
      ASSERT_FALSE(result.ok()) << one.where << planted;
      EXPECT_EQ(result.error().kind, ErrorKind::kFinding);
      EXPECT_THAT(result.error().what, HasSubstr(one.where));
      EXPECT_THAT(result.error().remedy, HasSubstr("--keep"));
      // Whoever says that it may leave can let it leave.
      EXPECT_TRUE(redact_bundle(before, {kJo, {"jo", "/home/ana", "a4:83:e7:00:11:22"}}).ok());
    }
  }
}

TEST(RedactBundle, AUserCalledLikeABackendProvesHisTreatmentStill) {
  auto result = redact_bundle(bundle_with("metal at /Users/metal"), {{{"metal"}, {"/Users/metal"}, {}, {}}, {}});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->left, ElementsAre("metal"));
  EXPECT_EQ(result->bundle.trials[0].results[0].gpu_info, "metal at <home>");
}

TEST(Preview, ShowsEveryMemberAndNoSecret) {
  const Bundle after = redacted(bundle_with("/home/ana"));
  const bundle::Sealed seal = sealed(after);
  auto preview = preview_of(after, seal);
  ASSERT_TRUE(preview.ok()) << to_string(preview.error());
  EXPECT_EQ(preview->members.size(), after.suites.size() + after.environments.size() + after.closures.size() +
                                         after.runs.size() + after.trials.size() + after.quality.size() +
                                         after.sources.size() + after.raw.size());
  const std::string text = preview_text(*preview, true);
  EXPECT_THAT(text, HasSubstr(bundle::trial_member(after.trials[0])));
  EXPECT_THAT(text, HasSubstr("home folder"));
  EXPECT_THAT(text, HasSubstr("AMD EPYC"));
  EXPECT_THAT(text, Not(HasSubstr("/home/ana")));
  const json whole = json::parse(preview_json(*preview));
  EXPECT_EQ(whole["bundle"], seal.id);
  EXPECT_EQ(whole["members"].size(), preview->members.size());
  EXPECT_EQ(whole["environments"][0]["cpu"], "AMD EPYC");
  std::uint64_t trials = 0;
  for (const auto& row : whole["trials"]) trials += row["count"].get<std::uint64_t>();
  EXPECT_EQ(trials, after.trials.size());
  EXPECT_FALSE(whole["replaced"].empty());
}

// Texts of a bundle may be anybody's: an opened one, an imported one.
TEST(Preview, NothingInItMovesTheTerminal) {
  Bundle bundle = bundle_with("a word");
  bundle.suites[0].name = "x\x1B[2Jy\xC2\x9Bz";
  bundle.suites[0].json = R"({"name":"x\u001b[2Jy\u009bz"})";
  bundle.trials[0].arm = "arm\x1B]0;title\x07";
  name_again(bundle);
  auto preview = preview_of(bundle, sealed(bundle));
  ASSERT_TRUE(preview.ok());
  for (const char* bad : {"\x1B", "\x07", "\xC2\x9B"}) {
    EXPECT_THAT(preview_text(*preview, true), Not(HasSubstr(bad)));
    EXPECT_THAT(preview_text(*preview, false), Not(HasSubstr(bad)));
  }
}

TEST(RedactBundle, HowATargetIsReachedStaysHere) {
  Bundle bundle = bundle_with("");
  // As versions before this one recorded it; neither host nor user is one that this machine knows.
  bundle.suites[0].json =
      R"({"targets":{"box":{"address":"nas.example.org","guest":"vm","kind":"ssh","user":"backupper"}}})";
  bundle.suites[0].name.clear();
  name_again(bundle);
  const auto refused = redact_bundle(bundle, {kJo, {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_string(refused.error()), HasSubstr("way to reach a target"));
  EXPECT_THAT(to_string(refused.error()), HasSubstr("nas.example.org"));
  EXPECT_FALSE(redact_bundle(bundle, {kJo, {"nas.example.org"}}).ok());
  EXPECT_TRUE(redact_bundle(bundle, {kJo, {"nas.example.org", "backupper"}}).ok());
}

}  // namespace
}  // namespace capbench::submit
