#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/beside.h"
#include "base/parallel.h"

namespace capbench {
namespace {

TEST(ForEachIndex, DoesEachOnce) {
  for (const std::size_t threads : {0U, 1U, 3U, 50U}) {
    std::vector<std::atomic<int>> done(20);
    for_each_index(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1) << threads << " threads";
  }
  for_each_index(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ForEachIndex, WhatAnyThreadThrowsReachesTheCaller) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running = 0;
    const auto work = [&](std::size_t i) {
      ++running;
      if (i == 7) {
        --running;
        throw std::bad_alloc();
      }
      --running;
    };
    EXPECT_THROW(for_each_index(1000, 4, work), std::bad_alloc);
    EXPECT_EQ(running, 0) << "a thread was left behind";
  }
}

TEST(Beside, SaysHowItsWorkWent) {
  auto only = std::make_unique<int>(3);
  int seen = 0;
  Beside fine("the work", [&seen, only = std::move(only)]() -> Status {
    seen = *only;
    return {};
  });
  EXPECT_TRUE(fine.finish());
  EXPECT_EQ(seen, 3);
  Beside failing("the work", []() -> Status { return Error{ErrorKind::kUsage, "a", "b", "c"}; });
  const Status failed = failing.finish();
  ASSERT_FALSE(failed);
  EXPECT_EQ(to_string(failed.error()), "a: b; try: c");
}

TEST(Beside, WhatItsWorkThrowsIsAnError) {
  Beside thrown("the work", []() -> Status { throw std::runtime_error("no memory"); });
  const Status status = thrown.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kMachine);
  EXPECT_EQ(status.error().what, "the work");
  EXPECT_EQ(status.error().cause, "no memory");
}

TEST(Beside, NobodyNeedsToAsk) {
  std::atomic<bool> ended = false;
  {
    const Beside alone("the work", [&]() -> Status {
      ended = true;
      throw std::runtime_error("nobody hears this");
    });
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace capbench
