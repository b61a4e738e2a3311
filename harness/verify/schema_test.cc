// The JSON Schema and what is printed are one format.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/verify/test_bundle.h"
#include "harness/verify/verify.h"

namespace capbench::verify {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

template <class Object>
std::set<std::string> keys_of(const Object& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

class Schema : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto text = read_file("harness/verify/json/verify.schema.json");
    ASSERT_TRUE(text.ok());
    schema_ = json::parse(*text);
    verdicts_.push_back({"good.capbundle", testing::verdict_of(testing::real_bundle())});
    verdicts_.push_back({"bad.capbundle", refused({ErrorKind::kFinding, "the bundle", "is no bundle", "ask again"})});
    document_ = json::parse(verdicts_json(verdicts_));
  }

  void expect_keys(const json& printed, const json& described) const {
    EXPECT_EQ(keys_of(printed), keys_of(described.at("properties")));
    const auto required = described.at("required").get<Names>();
    EXPECT_EQ(keys_of(printed), std::set<std::string>(required.begin(), required.end()));
  }

  static bool is_one_of(const json& value, const json& described) {
    const json& values = described.at("enum");
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  json schema_;
  std::vector<NamedVerdict> verdicts_;
  json document_;
};

TEST_F(Schema, HasTheKeysThatArePrintedAndNoOthers) {
  expect_keys(document_, schema_);
  ASSERT_EQ(document_.at("bundles").size(), 2U);
  const json& bundle = schema_.at("$defs").at("bundle");
  const json& check = schema_.at("$defs").at("check");
  for (const json& one : document_.at("bundles")) {
    expect_keys(one, bundle);
    EXPECT_TRUE(is_one_of(one.at("tier"), bundle.at("properties").at("tier")));
    EXPECT_TRUE(is_one_of(one.at("verdict"), bundle.at("properties").at("verdict")));
    for (const json& row : one.at("checks")) {
      expect_keys(row, check);
      EXPECT_TRUE(is_one_of(row.at("name"), check.at("properties").at("name"))) << row;
      EXPECT_TRUE(is_one_of(row.at("outcome"), check.at("properties").at("outcome"))) << row;
    }
  }
}

TEST_F(Schema, NamesEveryCheckInTheOrderInWhichItIsPrinted) {
  const auto described = schema_.at("$defs").at("check").at("properties").at("name").at("enum").get<Names>();
  for (const NamedVerdict& named : verdicts_) {
    Names printed;
    for (const Check& check : named.verdict.checks) {
      if (printed.empty() || printed.back() != check.name) printed.push_back(check.name);
    }
    EXPECT_EQ(printed, described) << named.name;
  }
}

}  // namespace
}  // namespace capbench::verify
