// What is sealed is what is opened, and the same results are the same bytes.
#include "schema/bundle/bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/digest.h"
#include "base/file.h"
#include "schema/bundle/test_bundles.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::bundle {
namespace {

using nlohmann::json;
using schema::testing::Folder;
using schema::testing::must;

std::string why(const Result<Sealed>& result) {
  return result ? "" : to_string(result.error());
}

TEST(Bundle, ComesBackAsItWentIn) {
  const Bundle bundle = testing::example();
  const Sealed sealed = testing::sealed(bundle);
  EXPECT_EQ(sealed.id, sha256(sealed.manifest));
  const Opened opened = must(open_bundle(sealed.archive));
  EXPECT_EQ(opened.id, sealed.id);
  EXPECT_EQ(opened.manifest, sealed.manifest);
  EXPECT_EQ(opened.signature, "");
  EXPECT_EQ(opened.bundle.created_by, bundle.created_by);
  EXPECT_EQ(opened.bundle.raw, bundle.raw);
  ASSERT_EQ(opened.bundle.trials.size(), bundle.trials.size());
  for (const schema::TrialRecord& trial : bundle.trials) {
    const auto found = std::find_if(opened.bundle.trials.begin(), opened.bundle.trials.end(),
                                    [&](const auto& other) { return other.id == trial.id; });
    ASSERT_NE(found, opened.bundle.trials.end());
    EXPECT_EQ(schema::testing::describe(*found), schema::testing::describe(trial));
    EXPECT_EQ(found->status_before_exclusion, trial.status_before_exclusion);
  }
  ASSERT_EQ(opened.bundle.runs.size(), 1U);
  EXPECT_EQ(opened.bundle.runs[0].seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(opened.bundle.runs[0].started_at, bundle.runs[0].started_at);
  EXPECT_EQ(opened.bundle.suites.at(0).json, bundle.suites[0].json);
  EXPECT_EQ(opened.bundle.environments.at(0).machine_label, bundle.environments[0].machine_label);
  EXPECT_TRUE(opened.bundle.environments[0].is_virtual);
  ASSERT_EQ(opened.bundle.closures.at(0).members.size(), 3U);
  EXPECT_EQ(opened.bundle.closures[0].members[0].path, "/opt/bin/llama-bench");
  EXPECT_EQ(opened.bundle.closures[0].members[0].artifact.size, 5U);
  EXPECT_EQ(opened.bundle.quality.at(0).figures, bundle.quality[0].figures);
  EXPECT_EQ(opened.bundle.sources.at(0).notes, bundle.sources[0].notes);
  ASSERT_EQ(opened.bundle.quarantine.size(), 2U);
  EXPECT_EQ(opened.bundle.quarantine[1].line, 9);
  ASSERT_EQ(opened.bundle.replaced.size(), 2U);
  EXPECT_EQ(opened.bundle.replaced[0].kind, "home folder");
  EXPECT_EQ(opened.bundle.replaced[0].count, 2U);
  // And once more from what came back.
  EXPECT_EQ(testing::sealed(opened.bundle).archive, sealed.archive);
}

TEST(Bundle, TheSameResultsAreTheSameBytesInAnyOrder) {
  Bundle bundle = testing::example();
  const Sealed first = testing::sealed(bundle);
  std::mt19937 random(5);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(bundle.trials.begin(), bundle.trials.end(), random);
    std::shuffle(bundle.replaced.begin(), bundle.replaced.end(), random);
    EXPECT_EQ(testing::sealed(bundle).archive, first.archive);
  }
}

TEST(Bundle, EveryMemberIsCanonicalJson) {
  for (const testing::Entry& entry : testing::entries(testing::sealed(testing::example()))) {
    if (!entry.name.ends_with(".json")) continue;
    EXPECT_EQ(schema::canonical(json::parse(entry.bytes)), entry.bytes) << entry.name;
  }
}

TEST(Bundle, ASignatureDoesNotChangeTheId) {
  const Bundle bundle = testing::small();
  const Sealed plain = testing::sealed(bundle);
  const std::string signature = "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n";
  const Sealed with = must(seal(bundle, signature));
  EXPECT_EQ(with.id, plain.id);
  EXPECT_EQ(with.manifest, plain.manifest);
  EXPECT_NE(with.archive, plain.archive);
  const Opened opened = must(open_bundle(with.archive));
  EXPECT_EQ(opened.signature, signature);
  EXPECT_EQ(opened.id, plain.id);
}

// What everybody has can look into it.
TEST(Bundle, TarListsIt) {
  const Folder folder;
  const Sealed sealed = testing::sealed(testing::example());
  const auto path = folder / "results.capbundle";
  ASSERT_TRUE(replace_file(path, sealed.archive).ok());
  const std::string command = "tar --zstd -tf '" + path.string() + "' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string listed;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) listed.append(buffer, n);
  if (::pclose(pipe) != 0) GTEST_SKIP() << "this machine's tar does not know --zstd: " << listed;
  std::string want;
  for (const testing::Entry& entry : testing::entries(sealed)) want += entry.name + "\n";
  EXPECT_EQ(listed, want);
}

// A bundle that another program made from the description of the format, and that every later version must read.
TEST(Bundle, TheFirstFormatStaysReadable) {
  const std::string archive = must(read_file("schema/bundle/testdata/format1.tar.zst"));
  EXPECT_TRUE(may_be_bundle(archive.substr(0, 4)));
  EXPECT_FALSE(may_be_bundle("SQLite format 3"));
  const Opened opened = must(open_bundle(archive));
  EXPECT_EQ(opened.id, "d087c3ab483c228f858809aa7529e564eddc7bd342c47d4b3a7eada1ec080ea3");
  EXPECT_EQ(opened.bundle.trials.size(), 2U);
  EXPECT_EQ(opened.bundle.quality.size(), 1U);
  EXPECT_EQ(opened.bundle.quarantine.size(), 1U);
  EXPECT_EQ(opened.bundle.raw.size(), 2U);
  EXPECT_EQ(must(seal(opened.bundle, opened.signature)).manifest, opened.manifest);
}

TEST(Seal, RefusesWhatNobodyWouldOpen) {
  const auto refused = [](const auto& change) {
    Bundle bundle = testing::example();
    change(bundle);
    return why(seal(bundle));
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials.clear(); }), "it holds no trial"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials[0].arm += "x"; }), "something in it was changed"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials[0].reason = "\xFF"; }), "its reason: not UTF-8"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials[0].results[0].median_ts = std::nan(""); }), "not a finite number"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials[0].treatment = "perhaps"; }), "its treatment is \"perhaps\""));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials.push_back(b.trials[0]); }), "has its place"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.suites.push_back(b.suites[0]); }), "it is there twice"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.suites.clear(); }), "suite"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.runs.clear(); }), "is not in the bundle"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.closures.clear(); }), "its closure"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.environments.clear(); }), "its environment"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.sources.clear(); }), "its source"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.raw[sha256("stray")] = "stray"; }), "nothing in the bundle refers to it"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.raw.begin()->second += "x"; }), "its bytes have another digest"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.trials[0].image = "[]"; }), "its image: not a JSON object"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.suites[0].name = "other"; }), "its name is not the one in its json"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.closures[0].members[0].artifact.size = ~std::uint64_t{0}; }), "more than"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.replaced[0].member = "raw/none"; }), "which is no member"));
  EXPECT_TRUE(has(refused([](Bundle& b) { b.replaced[0].count = 0; }), "nothing was replaced"));
  Bundle regular = testing::small();
  const std::string zeros(4U << 20U, '\0');
  regular.raw = {{sha256(zeros), zeros}};
  regular.trials[0].stdout_sha256 = sha256(zeros);
  EXPECT_TRUE(has(why(seal(regular)), "unpacks to too many times its size"));
}

TEST(Quality, IsNamedByItsPlace) {
  schema::QualityRecord check = testing::example().quality[0];
  const std::string id = quality_id(check);
  EXPECT_EQ(id, sha256(schema::canonical({{"arm", check.arm},
                                          {"attempt", check.attempt},
                                          {"kind", check.kind},
                                          {"model", check.model},
                                          {"run", check.run_id}})));
  check.figures = "{}";
  check.reason = "other";
  EXPECT_EQ(quality_id(check), id);
  check.attempt = 2;
  EXPECT_NE(quality_id(check), id);
}

}  // namespace
}  // namespace capbench::bundle
