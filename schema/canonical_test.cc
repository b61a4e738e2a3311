#include "schema/canonical.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/identity.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using nlohmann::json;

TEST(Canonical, SortsKeysAndLeavesNoSpace) {
  EXPECT_EQ(canonical(json::parse(R"( { "b" : [ 1 , true, null ], "a" : { } , "B":"" } )")),
            R"({"B":"","a":{},"b":[1,true,null]})");
}

TEST(Canonical, SpellsNumbersExactlyAndShortly) {
  EXPECT_EQ(canonical(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(canonical(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(canonical(0.1), "0.1");
  EXPECT_EQ(canonical(4871.99), "4871.99");
  EXPECT_EQ(canonical(1e300), "1e+300");
  EXPECT_EQ(canonical(5e-324), "5e-324");
  EXPECT_EQ(canonical(2.0), "2");
  EXPECT_EQ(canonical(-0.0), "0");
}

TEST(Canonical, EscapesOnlyWhatItMust) {
  EXPECT_EQ(canonical("zo\u00e9 \"\\/\b\f\n\r\t\x01\x7f"), "\"zo\u00e9 \\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\"");
  EXPECT_EQ(canonical(std::string("a\0b", 3)), R"("a\u0000b")");
}

TEST(Canonical, RefusesWhatJsonCannotSay) {
  const auto cause = [](const json& value) { return to_string(try_canonical(value).error()); };
  EXPECT_EQ(cause({{"a", {1, std::nan("")}}}), "$.a[1]: not a finite number; try: leave that value out");
  EXPECT_NE(cause(std::numeric_limits<double>::infinity()).find("not a finite number"), std::string::npos);
  EXPECT_NE(cause("\xFF").find("not UTF-8"), std::string::npos);
  EXPECT_NE(cause({{"\xC0\x80", 1}}).find("not UTF-8"), std::string::npos);
  EXPECT_NE(cause(json::binary({1, 2})).find("cannot hold"), std::string::npos);
  json deep;
  for (int i = 0; i < 501; ++i) deep = json::array({std::move(deep)});
  EXPECT_NE(cause(deep).find("nested too deeply"), std::string::npos);
  EXPECT_TRUE(try_canonical(deep[0]).ok());
  EXPECT_THROW(canonical(std::nan("")), std::invalid_argument);
}

// A random value of every kind; doubles of random bits find every exponent.
json random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 4 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return random();
    case 3:
      return static_cast<std::int64_t>(random());
    case 4: {
      const std::uint64_t bits = random();
      double value = 0;
      static_assert(sizeof bits == sizeof value);
      std::memcpy(&value, &bits, sizeof value);
      return std::isfinite(value) ? value : 0.5;
    }
    case 5: {
      std::string text;
      for (auto n = random() % 8; n > 0; --n) text += static_cast<char>(random());
      return to_utf8(text);
    }
    case 6: {
      json list = json::array();
      for (auto n = random() % 4; n > 0; --n) list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      json object = json::object();
      for (auto n = random() % 4; n > 0; --n) object[std::to_string(random() % 100)] = random_value(random, depth + 1);
      return object;
    }
  }
}

TEST(Canonical, ReadsBackAsTheSameValueAndTheSameText) {
  std::mt19937_64 random(20261130);
  for (int i = 0; i < 20'000; ++i) {
    const json value = random_value(random, 0);
    const std::string text = canonical(value);
    const json back = json::parse(text);
    ASSERT_EQ(back, value) << text;
    ASSERT_EQ(canonical(back), text);
  }
}

TEST(Canonical, MutatedTextNeverCrashesIt) {
  std::mt19937_64 random(7);
  const std::string seed = R"({"a":[1,-2.5e10,"zo\u00e9",{"b":null}],"c":"\ud83d\ude00","d":18446744073709551615})";
  std::size_t parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = seed;
    for (auto n = 1 + random() % 3; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    const json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) continue;
    ++parsed;
    const auto spelled = try_canonical(value);
    ASSERT_TRUE(spelled.ok());  // what the parser takes is spellable
    ASSERT_EQ(canonical(json::parse(*spelled)), *spelled);
  }
  EXPECT_GT(parsed, 100U);
}

TEST(Identity, IsTheDigestOfTheDocumentedText) {
  const testing::Setting setting;
  EXPECT_EQ(setting.suite.id, sha256(R"({"name":"quickstart"})"));
  EXPECT_EQ(setting.environment.id, sha256(R"({"machine":"machine-a"})"));
  EXPECT_EQ(setting.closure.id,
            sha256(R"([["executable","llama-bench",")" + sha256("bench") + R"("],["library","libggml.so",")" +
                   sha256("ggml") + R"("],["model","tiny.gguf",")" + sha256("weights") + R"("]])"));
  EXPECT_EQ(closure_id({}), sha256("[]"));
  EXPECT_EQ(setting.run.id,
            sha256(R"({"machine":"machine-a","seed":18446744073709551615,"started_at":"2026-11-30T04:25:07.123Z",)"
                   R"("suite":")" +
                   setting.suite.id + R"("})"));
  TrialRecord trial;
  trial.arm = "stock";
  trial.run_id = "r";
  trial.status = "ok";
  trial.model = "m";
  trial.workload = "w";
  trial.closure_id = "c";
  trial.results = {testing::result("pp512", 512, 0, {3, 1, 2})};
  EXPECT_EQ(trial_id(trial), sha256(R"({"arm":"stock","attempt":1,"block":0,"closure":"c","model":"m","run":"r",)"
                                    R"("samples":[["pp512",[3,1,2]]],"status":"ok","workload":"w"})"));
}

TEST(Identity, OfAClosureIgnoresOrderPathsAndRepetition) {
  ClosureRecord closure = testing::closure();
  const std::string id = closure.id;
  std::swap(closure.members[0], closure.members[2]);
  closure.members[1].path = "/elsewhere";
  closure.members.push_back(closure.members[1]);
  EXPECT_EQ(closure_id(closure), id);
  closure.members[0].role = "script";
  EXPECT_NE(closure_id(closure), id);
}

TEST(Identity, OfATrialIgnoresWhatIsRedacted) {
  const testing::Setting setting;
  const TrialRecord original = testing::trial(setting, "stock", 0);
  TrialRecord redacted = original;
  redacted.argv = {"llama-bench", "-m", "HOME/tiny.gguf"};
  redacted.environment_set.clear();
  redacted.stdout_sha256 = redacted.stderr_sha256 = "";
  redacted.reason = "because";
  EXPECT_EQ(trial_id(redacted), original.id);
  TrialRecord other = original;
  other.results[1].samples_ns[2] += 1;
  EXPECT_NE(trial_id(other), original.id);
  for (auto change : {+[](TrialRecord& t) { t.arm = "x"; }, +[](TrialRecord& t) { t.attempt = 2; },
                      +[](TrialRecord& t) { t.block = 1; }, +[](TrialRecord& t) { t.status = "failed"; },
                      +[](TrialRecord& t) { t.closure_id = "x"; }, +[](TrialRecord& t) { t.run_id = "x"; },
                      +[](TrialRecord& t) { t.model = "x"; }, +[](TrialRecord& t) { t.workload = "x"; }}) {
    TrialRecord changed = original;
    change(changed);
    EXPECT_NE(trial_id(changed), original.id);
  }
}

TEST(Identity, TakesNamesThatAreNotUtf8) {
  ClosureRecord closure = testing::closure();
  closure.members[0].artifact.name = "lib\xFF.so";
  EXPECT_EQ(closure_id(closure).size(), 64U);
}

}  // namespace
}  // namespace capbench::schema
