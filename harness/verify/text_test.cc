#include <gtest/gtest.h>

#include <string>

#include "harness/verify/same_text.h"
#include "harness/verify/utc.h"

namespace capbench::verify {
namespace {

TEST(SameText, TakesPlaceholdersForAnything) {
  EXPECT_TRUE(same_text("/home/jo/m.gguf", "<home>/m.gguf"));
  EXPECT_TRUE(same_text("<home>/m.gguf", "/Users/kim/x/m.gguf"));
  EXPECT_TRUE(same_text("a <user> b <host> c", "a jo b mac c"));
  EXPECT_TRUE(same_text("<home>/a", "<host>/a"));
  EXPECT_TRUE(same_text("", ""));
}

TEST(SameText, SeesWhatDiffersBesideThem) {
  EXPECT_FALSE(same_text("/home/jo/m.gguf", "<home>/n.gguf"));
  EXPECT_FALSE(same_text("/home/jo/m.gguf", "/home/kim/m.gguf"));
  EXPECT_FALSE(same_text("a <user> b", "a"));
  EXPECT_FALSE(same_text("ab", "a<user>ab"));
  EXPECT_FALSE(same_text("<home>/a", "<home>/b"));
  EXPECT_FALSE(same_text("<Home>/a", "/x/a"));
  EXPECT_FALSE(same_text("<>", "x"));
}

TEST(SameText, TakesManyPlaceholdersInBoundedTime) {
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "<a>b";
  EXPECT_FALSE(same_text(many, std::string(40'000, 'b')));
}

TEST(ParseUtc, ReadsWhatRecordsAndProgramsWrite) {
  EXPECT_EQ(parse_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_utc("2026-11-30T04:25:07.123Z"), 1796012707123);
  EXPECT_EQ(parse_utc("2026-11-30T04:25:07.1Z"), 1796012707100);
  EXPECT_EQ(parse_utc("2024-02-29T23:59:59.999999999Z"), 1709251199999);
}

TEST(ParseUtc, TakesNothingElse) {
  const std::string whole = "2026-11-30T04:25:07.123Z";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_utc(whole.substr(0, length))) << length;
  }
  for (const char* text :
       {"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T04:60:00Z",
        "2026-11-30 04:25:07Z", "2026-11-30T04:25:07+01:00", "2026-11-30T04:25:07.Z", "2026-11-30T04:25:07.1234567890Z",
        "2026-11-30T04:25:07Zx", "-026-11-30T04:25:07Z"}) {
    EXPECT_FALSE(parse_utc(text)) << text;
  }
}

}  // namespace
}  // namespace capbench::verify
