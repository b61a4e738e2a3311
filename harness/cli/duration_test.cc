#include "harness/cli/duration.h"

#include <gtest/gtest.h>

namespace capbench::cli {
namespace {

TEST(Duration, ReadsWhatPeopleType) {
  EXPECT_EQ(parse_duration_s("90"), 90);
  EXPECT_EQ(parse_duration_s("90s"), 90);
  EXPECT_EQ(parse_duration_s("5m"), 300);
  EXPECT_EQ(parse_duration_s("1.5h"), 5400);
  EXPECT_EQ(parse_duration_s("1h30m"), 5400);
  EXPECT_EQ(parse_duration_s("0.5s"), 0.5);
}

TEST(Duration, RefusesTheRest) {
  for (const char* text : {"", "h", "-5m", "+5", "5 m", "5d", "inf", "nan", "0", "0s", "1e9", "99999h", "5mm", "."}) {
    EXPECT_FALSE(parse_duration_s(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace capbench::cli
