#include "harness/bisect/bisect.h"

#include <gtest/gtest.h>

#include <set>

namespace capbench::bisect {
namespace {

TEST(Bisection, FindsEveryFirstBadBuildInTheFewestSteps) {
  for (std::size_t count = 2; count < 70; ++count) {
    for (std::size_t first_bad = 1; first_bad < count; ++first_bad) {
      Bisection search(count);
      std::size_t steps = 0;
      const std::size_t most = search.steps_left();
      while (const auto build = search.next()) {
        ASSERT_LE(++steps, most);
        search.tell(*build, *build >= first_bad ? Verdict::kBad : Verdict::kGood);
      }
      EXPECT_EQ(search.first_bad(), first_bad);
      EXPECT_EQ(search.last_good(), first_bad - 1);
      EXPECT_TRUE(search.open().empty());
    }
  }
}

TEST(Bisection, GoesRoundBuildsThatCannotBeTold) {
  const std::set<std::size_t> broken = {4, 5, 6};
  for (std::size_t first_bad = 1; first_bad < 11; ++first_bad) {
    Bisection search(11);
    std::set<std::size_t> asked;
    while (const auto build = search.next()) {
      ASSERT_TRUE(asked.insert(*build).second) << *build;
      search.tell(*build, broken.contains(*build) ? Verdict::kSkipped
                          : *build >= first_bad   ? Verdict::kBad
                                                  : Verdict::kGood);
    }
    // What is left holds the answer, and nothing but builds that could not be told.
    EXPECT_LT(search.last_good(), first_bad);
    EXPECT_GE(search.first_bad(), first_bad);
    for (const std::size_t build : search.open()) EXPECT_TRUE(broken.contains(build));
  }
}

TEST(Judge, PutsTheLimitHalfWayToTheBadBuild) {
  // The bad build has 81 % of the speed: the limit is 90 %.
  EXPECT_EQ(judge(0.97, 1.02, 0.81), Verdict::kGood);
  EXPECT_EQ(judge(0.905, 0.95, 0.81), Verdict::kGood);
  EXPECT_EQ(judge(0.80, 0.895, 0.81), Verdict::kBad);
  EXPECT_EQ(judge(0.85, 0.95, 0.81), Verdict::kCannotTell);
}

}  // namespace
}  // namespace capbench::bisect
