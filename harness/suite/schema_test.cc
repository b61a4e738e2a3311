// The JSON Schema and the parser describe one format.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>

#include "base/file.h"
#include "harness/design/expand.h"
#include "harness/suite/limits.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

class Schema : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto text = read_file("schema/json/suite.schema.json");
    ASSERT_TRUE(text.ok());
    schema_ = json::parse(*text);
  }

  const json& object(const std::string& name) const { return name.empty() ? schema_ : schema_.at("$defs").at(name); }

  // A property, through its $ref if it has one.
  const json& property(const std::string& name, const std::string& key) const {
    const json& node = object(name).at("properties").at(key);
    return node.contains("$ref") ? resolve(node.at("$ref")) : node;
  }

  const json& resolve(const std::string& reference) const {
    constexpr std::string_view kPrefix = "#/$defs/";
    EXPECT_TRUE(reference.starts_with(kPrefix)) << reference;
    return schema_.at("$defs").at(reference.substr(kPrefix.size()));
  }

  void expect_range(const json& node, IntegerRange range) const {
    EXPECT_EQ(node.at("type"), "integer");
    EXPECT_EQ(node.at("minimum"), range.low);
    EXPECT_EQ(node.at("maximum"), range.high);
  }

  static std::set<std::string> set_of(std::span<const std::string_view> words) { return {words.begin(), words.end()}; }

  json schema_;
};

TEST_F(Schema, HasTheParsersKeysAndNoOthers) {
  const std::vector<std::pair<std::string, std::span<const std::string_view>>> objects = {
      {"", kSuiteKeys},      {"runtime", kRuntimeKeys}, {"model", kModelKeys},     {"workload", kWorkloadKeys},
      {"arm", kArmKeys},     {"design", kDesignKeys},   {"base", kBaseKeys},       {"factor", kFactorKeys},
      {"until", kUntilKeys}, {"hygiene", kHygieneKeys}, {"quality", kQualityKeys}, {"protocol", kProtocolKeys}};
  for (const auto& [name, keys] : objects) {
    std::set<std::string> properties;
    for (const auto& [key, value] : object(name).at("properties").items()) properties.insert(key);
    EXPECT_EQ(properties, set_of(keys)) << name;
    EXPECT_EQ(object(name).at("additionalProperties"), false) << name;
  }
}

TEST_F(Schema, HasTheParsersChoices) {
  const auto choices = [this](const std::string& name, const std::string& key) {
    return property(name, key).at("enum").get<std::set<std::string>>();
  };
  EXPECT_EQ(choices("runtime", "kind"), set_of(kRuntimeKinds));
  EXPECT_EQ(choices("model", "kind"), set_of(kModelKinds));
  EXPECT_EQ(choices("workload", "fa"), set_of(kFlashAttention));
  EXPECT_EQ(choices("protocol", "order"), set_of(kOrders));
  EXPECT_EQ(choices("arm", "expect"), set_of(kExpectations));
  EXPECT_EQ(choices("hygiene", "gate"), set_of(kGates));
  EXPECT_EQ(choices("hygiene", "vms"), set_of(kVms));
  EXPECT_EQ(object("designKind").at("enum").get<std::set<std::string>>(), set_of(kDesignKinds));
  EXPECT_EQ(object("control").at("enum").get<std::set<std::string>>(), set_of(kControls));
  for (std::size_t i = 0; i < kDesignKinds.size(); ++i) {
    EXPECT_EQ(design::kind_name(static_cast<DesignKind>(i)), kDesignKinds[i]);
  }
}

TEST_F(Schema, HasTheParsersBounds) {
  expect_range(object("tokenCount"), kTokenRange);
  expect_range(property("workload", "r"), kRepetitionRange);
  expect_range(property("workload", "t"), kThreadRange);
  expect_range(property("workload", "ngl"), kLayerRange);
  expect_range(property("protocol", "trials"), kTrialRange);
  expect_range(property("protocol", "seed"), kSeedRange);
  expect_range(property("model", "seed"), kSeedRange);
  EXPECT_EQ(property("protocol", "time_limit_s").at("exclusiveMinimum"), 0);
  EXPECT_EQ(property("protocol", "time_limit_s").at("maximum"), kLongestLimit);
  EXPECT_EQ(property("protocol", "cooldown_s").at("minimum"), 0);
  EXPECT_EQ(property("protocol", "cooldown_s").at("maximum"), kLongestCooldown);
  for (const char* list : {"models", "workloads", "arms"}) {
    EXPECT_EQ(property("", list).at("minItems"), 1);
    EXPECT_EQ(property("", list).at("maxItems"), kItems);
  }
  EXPECT_EQ(object("name").at("maxLength"), kNameBytes);
  EXPECT_EQ(object("path").at("maxLength"), kPathBytes);
  EXPECT_EQ(property("", "description").at("maxLength"), kTextBytes);
  EXPECT_EQ(property("arm", "device").at("maxLength"), kValueBytes);
  EXPECT_EQ(object("levels").at("maxProperties"), kPairs);
  EXPECT_EQ(object("levels").at("additionalProperties").at("maxLength"), kValueBytes);
  for (const char* node : {"arm", "base"}) {
    EXPECT_EQ(property(node, "env").at("maxProperties"), kPairs);
    EXPECT_EQ(property(node, "env").at("additionalProperties").at("maxLength"), kEnvBytes);
    EXPECT_EQ(property(node, "args").at("maxItems"), kArgs);
    EXPECT_EQ(property(node, "device").at("maxLength"), kValueBytes);
  }
  EXPECT_EQ(property("workload", "args").at("maxItems"), kArgs);
  EXPECT_EQ(property("workload", "filter").at("maxLength"), kFilterBytes);
  EXPECT_EQ(object("tokens").at("oneOf").at(1).at("maxItems"), kTests);
}

TEST_F(Schema, HasTheParsersBoundsOfLaterParts) {
  expect_range(property("protocol", "warmup_trials"), kWarmupRange);
  EXPECT_EQ(property("protocol", "preload_s").at("maximum"), kLongestPreload);
  expect_range(property("until", "max_trials"), kMaxTrialsRange);
  EXPECT_EQ(property("until", "ci_half_width").at("exclusiveMinimum"), 0);
  EXPECT_EQ(property("until", "ci_half_width").at("maximum"), kWidestHalfWidth);
  EXPECT_EQ(property("hygiene", "wait_s").at("maximum"), kLongestWait);
  EXPECT_EQ(property("hygiene", "max_load").at("maximum"), kMostLoad);
  EXPECT_EQ(property("hygiene", "max_temperature_c").at("maximum"), kHottest);
  for (const char* key : {"max_mean_kl", "max_kl"}) EXPECT_EQ(property("quality", key).at("maximum"), kMostKl);
  expect_range(property("quality", "chunks"), kChunkRange);
  expect_range(property("quality", "ctx"), kContextRange);
  EXPECT_EQ(property("quality", "ops").at("maxItems"), kOps);
  EXPECT_EQ(property("quality", "ops").at("items").at("maxLength"), kOpBytes);
  expect_range(property("design", "resolution"), kResolutionRange);
  EXPECT_EQ(property("design", "factors").at("maxItems"), kFactors);
  EXPECT_EQ(property("factor", "levels").at("minItems"), 2);
  EXPECT_EQ(property("factor", "levels").at("maxItems"), kLevels);
  EXPECT_EQ(object("factor").at("properties").at("label").at("maxLength"), kLabelBytes);
  EXPECT_EQ(property("", "targets").at("maxProperties"), kTargets);
  EXPECT_EQ(object("target").at("maxProperties"), kOptions + 2);  // with kind and machine
  EXPECT_EQ(object("option").at("anyOf").at(0).at("maxLength"), kOptionBytes);
  EXPECT_EQ(object("option").at("anyOf").at(2).at("maxItems"), kOptionTexts);
}

TEST_F(Schema, HasTheParsersDefaults) {
  const Protocol protocol;
  EXPECT_EQ(property("protocol", "trials").at("default"), protocol.trials);
  EXPECT_EQ(property("protocol", "seed").at("default"), protocol.seed);
  EXPECT_EQ(property("protocol", "time_limit_s").at("default"), protocol.time_limit_s);
  EXPECT_EQ(property("protocol", "cooldown_s").at("default"), protocol.cooldown_s);
  EXPECT_EQ(property("workload", "r").at("default"), Workload().repetitions);
  EXPECT_EQ(object("arm").at("properties").at("target").at("default"), Arm().target);
  EXPECT_EQ(property("runtime", "kind").at("default"), Runtime().kind);
  EXPECT_EQ(property("protocol", "warmup_trials").at("default"), protocol.warmup_trials);
  EXPECT_EQ(property("protocol", "verbose_trial").at("default"), protocol.verbose_trial);
  EXPECT_EQ(property("protocol", "preload_s").at("default"), protocol.preload_s);
  EXPECT_EQ(property("hygiene", "gate").at("default"), Hygiene().gate);
  EXPECT_EQ(property("hygiene", "wait_s").at("default"), Hygiene().wait_s);
  EXPECT_EQ(property("hygiene", "require_ac").at("default"), Hygiene().require_ac);
  EXPECT_EQ(property("hygiene", "vms").at("default"), Hygiene().vms);
  EXPECT_EQ(property("until", "ci_half_width").at("default"), Until().ci_half_width);
  EXPECT_EQ(property("until", "max_trials").at("default"), Until().max_trials);
  EXPECT_EQ(object("quality").at("properties").at("text").at("default"), Quality().text);
  EXPECT_EQ(property("quality", "max_mean_kl").at("default"), Quality().max_mean_kl);
  EXPECT_EQ(property("quality", "max_kl").at("default"), Quality().max_kl);
  EXPECT_EQ(property("quality", "chunks").at("default"), Quality().chunks);
  EXPECT_EQ(property("quality", "ctx").at("default"), Quality().ctx);
  EXPECT_EQ(property("design", "resolution").at("default"), Design().resolution);
  EXPECT_EQ(object("base").at("properties").at("mode").at("default"), DesignBase().mode);
  EXPECT_EQ(object("base").at("properties").at("target").at("default"), DesignBase().target);
}

TEST_F(Schema, RequiresWhatTheParserRequires) {
  // Leaving a required key out of a whole suite is an error that names it; leaving any other out is not.
  const json whole = json::parse(
      R"({"capbench": 1, "name": "s", "description": "", "runtime": {"kind": "llama-bench", "executable": ""},
    "targets": {"far": {"kind": "ssh", "machine": "far", "port": 22}},
    "models": [{"name": "m", "like": "tiny", "seed": 1, "kind": "twin"}],
    "workloads": [{"name": "w", "p": 1, "n": 1, "d": 0, "r": 1, "t": 1, "ngl": 0, "args": []}],
    "arms": [{"name": "a", "mode": "x", "target": "local", "guest": {"cpu.isa": "x64"}, "set": {"cpu.isa": "best"}, "env": {},
              "device": "", "shim": "", "executable": "", "args": [], "expect": "fails"}],
    "design": {"kind": ["fractional"], "resolution": 4, "controls": [],
      "base": {"mode": "y", "target": "far", "guest": {}, "set": {}, "env": {}, "device": "", "shim": "", "executable": "", "args": []},
      "factors": [{"arg": "-fa", "label": "fa", "levels": ["off", "on"]}, {"env": "A", "levels": ["1", null]},
                  {"env": "B", "levels": ["1", null]}, {"name": "x.y", "levels": ["1", "2"]}]},
    "protocol": {"trials": 1, "order": "as-written", "seed": 1, "time_limit_s": 1, "cooldown_s": 0, "warmup_trials": 1,
      "verbose_trial": true, "preload_s": 1, "until": {"ci_half_width": 0.1, "max_trials": 9},
      "hygiene": {"gate": "off", "wait_s": 1, "max_load": 1, "max_gpu_use_percent": 1, "min_memory_free_percent": 1,
                  "max_temperature_c": 1, "require_ac": false, "vms": "any"}},
    "quality": {"text": "builtin", "max_mean_kl": 1, "max_kl": 1, "chunks": 1, "ctx": 8, "ops": []}})");
  ASSERT_TRUE(parse_suite(whole.dump()).ok()) << to_string(parse_suite(whole.dump()).error());
  const std::vector<std::pair<std::string, json::json_pointer>> objects = {
      {"", json::json_pointer("")},
      {"runtime", json::json_pointer("/runtime")},
      {"target", json::json_pointer("/targets/far")},
      {"model", json::json_pointer("/models/0")},
      {"workload", json::json_pointer("/workloads/0")},
      {"arm", json::json_pointer("/arms/0")},
      {"design", json::json_pointer("/design")},
      {"base", json::json_pointer("/design/base")},
      {"factor", json::json_pointer("/design/factors/0")},
      {"protocol", json::json_pointer("/protocol")},
      {"hygiene", json::json_pointer("/protocol/hygiene")},
      {"until", json::json_pointer("/protocol/until")},
      {"quality", json::json_pointer("/quality")}};
  for (const auto& [name, pointer] : objects) {
    std::set<std::string> required = object(name).value("required", std::set<std::string>());
    if (name.empty()) required.insert("models");  // of all runtimes but google-benchmark
    for (const auto& [key, value] : whole.at(pointer).items()) {
      if (name == "model" && key == "like") continue;  // one of three must be there
      if (name == "factor" && key == "arg") continue;  // likewise
      if (name.empty() && key == "targets") continue;  // the design names one
      json without = whole;
      without.at(pointer).erase(key);
      EXPECT_EQ(!parse_suite(without.dump()).ok(), required.contains(key)) << name << " " << key;
    }
  }
  json neither = whole;
  neither.erase("arms");
  neither.erase("design");
  EXPECT_FALSE(parse_suite(neither.dump()).ok());
}

TEST_F(Schema, EverySuiteInTheFolderParsesAndIsNamedLikeItsFile) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".json") continue;
    ++count;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text.ok());
    const auto suite = parse_suite(*text);
    ASSERT_TRUE(suite.ok()) << entry.path() << ": " << to_string(suite.error());
    EXPECT_EQ(suite->name, entry.path().stem().string());
    const auto again = parse_suite(canonical_json(*suite));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, *suite);
  }
  EXPECT_GE(count, 2);
}

}  // namespace
}  // namespace capbench::suite
