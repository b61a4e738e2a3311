#include "harness/cli/help.h"

#include <gtest/gtest.h>

namespace capbench::cli {
namespace {

TEST(WrapHelp, LeavesShortLinesAlone) {
  EXPECT_EQ(wrap_help("a b\n\n  --x   what\n", 20), "a b\n\n  --x   what\n");
  EXPECT_EQ(wrap_help("", 20), "");
}

TEST(WrapHelp, ContinuesADescriptionBelowItsBeginning) {
  EXPECT_EQ(wrap_help("  --x   one two three four five\n", 20), "  --x   one two\n        three four\n        five\n");
  EXPECT_EQ(wrap_help("one two three four five six", 12), "one two\nthree four\nfive six\n");
}

TEST(WrapHelp, NeverLosesOrBreaksAWord) {
  EXPECT_EQ(wrap_help("  --an-option-that-is-very-long   text of it\n", 20),
            "  --an-option-that-is-very-long\n  text of it\n");
  EXPECT_EQ(wrap_help("averyveryverylongwordwithoutspaces x", 10), "averyveryverylongwordwithoutspaces\nx\n");
}

}  // namespace
}  // namespace capbench::cli
