#include "reports/paper/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/test_formats.h"

namespace capbench::reports::paper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Numbers some_numbers() {
  Numbers numbers;
  numbers.add({"m-pp512-ratio", "11.08", 11.083859, "capbench report speedup", {"b", "a", "b"}});
  numbers.add({"m-pp512-finding", "pp512 depends on (a or b)", std::nullopt, "capbench report ablation", {"a"}});
  return numbers;
}

TEST(Numbers, ComeBackFromTheirJson) {
  const std::string text = numbers_json(some_numbers(), "quick", {{"paper.md", "0123"}});
  testing::expect_keeps_to_schema(text, "reports/json/paper-numbers.schema.json");
  const auto read = parse_numbers(text);
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  EXPECT_EQ(read->suite, "quick");
  EXPECT_EQ(read->numbers.all(), some_numbers().all());
  EXPECT_THAT(read->numbers.find("m-pp512-ratio")->result_ids, ElementsAre("a", "b"));
  EXPECT_THAT(differences(read->numbers, some_numbers()), IsEmpty());
}

TEST(Numbers, SayWhatTheStoreDoesNotGiveAnyMore) {
  Numbers now;
  now.add({"m-pp512-ratio", "11.09", 11.09, "", {"a", "b"}});
  now.add({"another", "1", 1.0, "", {}});  // new results make no old number wrong
  EXPECT_THAT(differences(some_numbers(), now),
              ElementsAre("m-pp512-finding: pp512 depends on (a or b) in the paper, nothing in the store",
                          "m-pp512-ratio: 11.08 (11.083859) in the paper, 11.09 in the store"));
  Numbers others;
  others.add({"m-pp512-ratio", "11.08", 11.083859, "", {"a", "c"}});
  others.add({"m-pp512-finding", "pp512 depends on (a or b)", std::nullopt, "", {"a"}});
  EXPECT_THAT(differences(some_numbers(), others),
              ElementsAre(HasSubstr("from other results: 2 there, 2 in the store")));
  // The same digits, another value.
  Numbers close;
  close.add({"m-pp512-ratio", "11.08", 11.0841, "", {"a", "b"}});
  EXPECT_EQ(differences(some_numbers(), close).size(), 2U);
}

TEST(Numbers, MalformedTextIsAnErrorThatNamesTheEntry) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "is no JSON object"},
           {"[]", "is no JSON object"},
           {"{}", "kind"},
           {R"({"kind":"capbench.paper","suite":"","numbers":[]})", "numbers"},
           {R"({"kind":"capbench.paper","suite":"","numbers":{"A b":{}}})", "is no key"},
           {R"({"kind":"capbench.paper","suite":"","numbers":{"a":3}})", "a: expected an object"},
           {R"({"kind":"capbench.paper","suite":"","numbers":{"a":{"text":"1","query":"q","value":"1","results":[]}}})",
            "a: expected a number or null"},
           {R"({"kind":"capbench.paper","suite":"","numbers":{"a":{"text":"1","query":"q","value":1,"results":[1]}}})",
            "\"results\" is no text"}}) {
    const auto read = parse_numbers(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(to_string(read.error()), HasSubstr(expected)) << text;
  }
}

}  // namespace
}  // namespace capbench::reports::paper
