#include "shim/expectations/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "base/file.h"
#include "shim/common/toggles.h"
#include "shim/expectations/describe.h"

namespace capbench::shim {
namespace {

using ::testing::HasSubstr;

// The smallest file there can be.
std::string file(const std::string& needs, const std::string& more = "") {
  return R"({"application":"a","version":"1","backend":"vulkan","flags":[{"flag":"f","needs":)" + needs +
         R"(,"also_needs":[],"opens":["x"],"without":"w","log":"","off_switch":"","source":"s")" + more + "}]}";
}

const std::string kGood = R"([[{"capability":"vulkan.shader_float16","is":"on"}],
                              [{"capability":"metal.apple_family","at_least":1007}]])";

TEST(Expectations, OfEveryBackendAreInTheProgramAndSpeakOfKnownCapabilities) {
  const auto maps = load_expectations();
  ASSERT_TRUE(maps.ok()) << to_string(maps.error());
  std::set<std::string> backends;
  std::set<std::string> capabilities;
  for (const ExpectationMap& map : *maps) {
    backends.insert(map.backend);
    std::set<std::string> names;
    for (const Expectation& flag : map.flags) {
      EXPECT_TRUE(names.insert(flag.flag).second) << map.backend << ": " << flag.flag << " twice";
      for (const auto& group : flag.needs) {
        for (const Need& need : group) {
          EXPECT_NE(find_toggle(need.capability), kToggleCount) << need.capability;
          capabilities.insert(need.capability);
        }
      }
    }
  }
  EXPECT_EQ(backends, (std::set<std::string>{"cpu", "cuda", "metal", "vulkan"}));
  // Whatever llama.cpp asks of a GPU or the CPU has an entry; the others are asked by nobody in this version.
  const std::set<std::string> unasked{"metal.mac_family", "metal.common_family", "metal.bfloat"};
  for (const Toggle& toggle : kToggles) {
    const std::string name(toggle.name);
    EXPECT_NE(capabilities.contains(name), unasked.contains(name)) << name;
  }
}

TEST(Expectations, RefuseWhatCannotBeMeant) {
  ASSERT_TRUE(parse_expectations(file(kGood)).ok()) << to_string(parse_expectations(file(kGood)).error());
  struct Bad {
    std::string json;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{"", "not JSON"}, Bad{"[]", "expected an object"}, Bad{"{}", "no key \"application\""},
        Bad{R"({"application":"a","version":"1","backend":"b","flags":[]})", "is empty"},
        Bad{file("1"), "expected a list"}, Bad{file("[]"), "nothing is needed"}, Bad{file("[[]]"), "list of answers"},
        Bad{file(R"([[{"capability":"vulkan.shader_float17","is":"on"}]])"), "no such capability"},
        Bad{file(R"([[{"capability":"vulkan.shader_float16","is":"maybe"}]])"), "needs[0][0]"},
        Bad{file(R"([[{"capability":"vulkan.shader_float16"}]])"), "either"},
        Bad{file(R"([[{"capability":"vulkan.shader_float16","at_least":1}]])"), "is no number"},
        Bad{file(R"([[{"capability":"metal.apple_family","at_least":7}]])"), "needs[0][0]"},
        Bad{file(kGood, R"(,"opnes":[])"), "unknown key \"opnes\""}}) {
    const auto read = parse_expectations(bad.json);
    ASSERT_FALSE(read.ok()) << bad.json;
    EXPECT_THAT(to_string(read.error()), HasSubstr(bad.says)) << bad.json;
  }
}

TEST(Expectations, SurviveTruncationAndMutations) {
  const std::string whole = file(kGood);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_expectations({whole.data(), size}).ok());
  std::mt19937 random(5);  // NOLINT: the same bytes every time
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (auto n = random() % 4 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    const auto read = parse_expectations(text);
    EXPECT_NE(read.ok() ? read->application : to_string(read.error()), "");
  }
}

TEST(Describe, FitsATerminalAndSaysWhatIsExpected) {
  const auto maps = load_expectations();
  ASSERT_TRUE(maps.ok());
  const auto fits = [](std::string_view rest) {
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      ASSERT_NE(end, std::string_view::npos);
      EXPECT_LE(end, 80U) << rest.substr(0, end);
      rest.remove_prefix(end + 1);
    }
  };
  fits(list_text());
  for (const Toggle& toggle : kToggles) {
    fits(describe_text(toggle, *maps));
    EXPECT_THAT(list_text(), HasSubstr(std::string(toggle.name)));
    const auto document = nlohmann::json::parse(describe_json(toggle, *maps));
    EXPECT_EQ(document["capability"], std::string(toggle.name));
  }
  const Toggle& coopmat = kToggles[find_toggle("vulkan.cooperative_matrix")];
  const std::string text = describe_text(coopmat, *maps);
  EXPECT_THAT(text, HasSubstr("matrix cores: KHR_coopmat"));
  EXPECT_THAT(text, HasSubstr("GGML_VK_DISABLE_COOPMAT"));
  EXPECT_THAT(text, HasSubstr("expected of llama.cpp v0.5.0 on vulkan"));
  const auto document = nlohmann::json::parse(describe_json(coopmat, *maps));
  EXPECT_EQ(document["expectations"].size(), 2U);
  EXPECT_EQ(document["expectations"][0]["needs"][0][0]["is"], "on");
  // Either of two answers is enough.
  const std::string reduction = describe_text(kToggles[find_toggle("metal.metal_family")], *maps);
  EXPECT_THAT(reduction, HasSubstr("metal.apple_family >= 1007, or"));
}

// The schema's lists of keys are what is written.
TEST(Describe, WritesWhatItsSchemaSays) {
  const auto text = read_file("shim/expectations/describe.schema.json");
  ASSERT_TRUE(text.ok());
  const auto definitions = nlohmann::json::parse(*text)["$defs"];
  const auto expect_keys = [&](const nlohmann::json& node, const char* definition) {
    for (const auto& [key, value] : node.items()) {
      EXPECT_TRUE(definitions[definition]["properties"].contains(key)) << definition << " " << key;
    }
    for (const auto& key : definitions[definition]["required"]) {
      EXPECT_TRUE(node.contains(key.get<std::string>())) << definition << " " << key;
    }
  };
  const auto maps = load_expectations();
  ASSERT_TRUE(maps.ok());
  for (const Toggle& toggle : kToggles) {
    const auto document = nlohmann::json::parse(describe_json(toggle, *maps));
    expect_keys(document, "capability");
    expect_keys(document["values"], "values");
    for (const auto& expectation : document["expectations"]) {
      expect_keys(expectation, "expectation");
      for (const auto& group : expectation["needs"]) {
        for (const auto& need : group) expect_keys(need, "need");
      }
    }
  }
}

// What was read from the sources, against what the newest published library answers when it is run: "simdgroup
// reduction
//   = true" of the log is the property "simdgroup reduction" of the map that `capbench explain --map` made.
TEST(Expectations, AgreeWithWhatTheMetalLibraryDoes) {
  using Group = std::map<std::string, std::int64_t>;
  const auto text = read_file("shim/emulate/releases/3.21.1.json");
  ASSERT_TRUE(text.ok());
  const nlohmann::json extracted = nlohmann::json::parse(*text);
  std::map<std::string, std::set<Group>> found;
  for (const auto& property : extracted["properties"]) {
    std::set<Group>& groups = found[property["name"]];
    for (const auto& needs : property["needs"]) {
      Group group;
      for (const auto& [name, level] : needs.items()) {
        if (name.starts_with("metal.")) group[name] = level.get<std::int64_t>();
      }
      groups.insert(group);
    }
  }
  const auto maps = load_expectations();
  ASSERT_TRUE(maps.ok());
  int compared = 0;
  for (const ExpectationMap& map : *maps) {
    if (map.backend != "metal") continue;
    for (const Expectation& flag : map.flags) {
      const std::size_t equals = flag.log.find('=');
      if (equals == std::string::npos || !flag.log.ends_with("true")) continue;
      const std::string property = flag.log.substr(0, flag.log.find_last_not_of(" =", equals) + 1);
      std::set<Group> groups;
      for (const auto& needs : flag.needs) {
        Group group;
        for (const Need& need : needs) group[need.capability] = need.at_least.value_or(need.is == "on" ? 1 : 0);
        groups.insert(group);
      }
      ASSERT_TRUE(found.contains(property)) << property;
      EXPECT_EQ(found[property], groups) << property;
      ++compared;
    }
  }
  EXPECT_GE(compared, 4);
}

}  // namespace
}  // namespace capbench::shim
