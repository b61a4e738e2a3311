#include <gtest/gtest.h>

#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

TEST(Glob, MatchesTheWholeKeyAndStarsCrossSlashes) {
  const std::string key = "twin/pp128+tg32/unlocked";
  for (const char* glob : {"twin/pp128+tg32/unlocked", "*", "*/unlocked", "twin/*", "*unlocked", "t*n/*/u*d", "**",
                           "*pp128*", "t?in/*", "tw[ij]n/*", "tw[!a-h]n/*", "[s-u]*"}) {
    EXPECT_TRUE(matches_glob(glob, key)) << glob;
  }
  for (const char* glob : {"", "twin", "unlocked", "*/stock", "twin/?", "tw[a-h]n/*", "*/unlocked/", "TWIN*"}) {
    EXPECT_FALSE(matches_glob(glob, key)) << glob;
  }
}

TEST(Glob, QuestionMarkIsOneCharacterOfAnyLanguage) {
  EXPECT_TRUE(matches_glob("?", "\xC3\xA9"));
  EXPECT_TRUE(matches_glob("[\xC3\xA0-\xC3\xBF]", "\xC3\xA9"));
  EXPECT_FALSE(matches_glob("??", "\xC3\xA9"));
  EXPECT_TRUE(matches_glob("?", "\xFF"));
  EXPECT_FALSE(matches_glob("?", ""));
}

TEST(Glob, BracketsAndBackslashesFollowTheShell) {
  EXPECT_TRUE(matches_glob("[]]", "]"));
  EXPECT_TRUE(matches_glob("[!]]", "a"));
  EXPECT_FALSE(matches_glob("[!]]", "]"));
  EXPECT_TRUE(matches_glob("[a-]", "-"));
  EXPECT_TRUE(matches_glob("[^a]", "b"));
  EXPECT_TRUE(matches_glob("\\*", "*"));
  EXPECT_FALSE(matches_glob("\\*", "a"));
  EXPECT_TRUE(matches_glob("[\\]a]", "]"));
  EXPECT_TRUE(matches_glob("[ab", "[ab"));  // never closed: itself
  EXPECT_FALSE(matches_glob("[ab", "a"));
  EXPECT_TRUE(matches_glob("a\\", "a\\"));
}

TEST(Glob, EmptyMatchesEmptyAndStarsMatchNothing) {
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*", "a"));
  EXPECT_FALSE(matches_glob("a", ""));
}

TEST(Glob, BacktracksToTheLastStar) {
  EXPECT_TRUE(matches_glob("*ab", "aab"));
  EXPECT_TRUE(matches_glob("*a*b", "xaxaxb"));
  EXPECT_FALSE(matches_glob("*ab*c", "abababd"));
}

}  // namespace
}  // namespace capbench::suite
