#include "harness/suite/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capbench::suite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Arm arm(const std::string& name, std::map<std::string, std::string> env, const std::string& target = "local") {
  Arm out;
  out.name = name;
  out.target = target;
  out.env = std::move(env);
  return out;
}

TEST(VariedVariables, AreThoseThatDistinguishAnArmFromOthersOfItsTarget) {
  Suite suite;
  suite.arms = {arm("plain", {{"DEVICE", "0"}}), arm("switched", {{"DEVICE", "0"}, {"OFF", "1"}, {"MODE", "a"}}),
                arm("other", {{"DEVICE", "0"}, {"MODE", "b"}}), arm("guest", {{"DEVICE", "1"}}, "vm")};
  EXPECT_THAT(varied_variables(suite, suite.arms[0]), IsEmpty());
  EXPECT_THAT(varied_variables(suite, suite.arms[1]), ElementsAre("MODE", "OFF"));
  EXPECT_THAT(varied_variables(suite, suite.arms[2]), ElementsAre("MODE"));
  // Nothing to tell it from.
  EXPECT_THAT(varied_variables(suite, suite.arms[3]), IsEmpty());
}

}  // namespace
}  // namespace capbench::suite
