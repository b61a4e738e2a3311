#include "harness/runtime/test_backend_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace capbench::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kPassed =
    "Testing 2 devices\n"
    "\n"
    "Backend 1/2: Vulkan0\n"
    "  Device description: llvmpipe (LLVM 15.0.6, 256 bits)\n"
    "  Device memory: 2048 MB (2048 MB free)\n"
    "\n"
    "  SWIGLU(type=f16,ne_a=[128,2,2,2],v=0,swapped=0): \x1B[1;32mOK\x1B[0m\n"
    "  SWIGLU(type=f16,ne_a=[5,7,11,13],v=0,swapped=0): not supported [Vulkan0]\n"
    "  1/1 tests passed\n"
    "  Backend Vulkan0: \x1B[1;32mOK\x1B[0m\n"
    "Backend 2/2: CPU\n"
    "  Skipping\n"
    "2/2 backends passed\n"
    "\x1B[1;32mOK\x1B[0m\n";

TEST(TestBackendOpsArgv, NarrowsWhatWouldTakeHours) {
  OperatorNeeds needs{{"q4_K", "q6_K"}, 64};
  EXPECT_THAT(
      test_backend_ops_argvs("/x/t", "Vulkan0", {"ADD", "MUL_MAT", "MUL", "FLASH_ATTN_EXT"}, needs),
      ElementsAre(
          ElementsAre("/x/t", "test", "-b", "Vulkan0", "-o", "ADD,MUL"),
          ElementsAre("/x/t", "test", "-b", "Vulkan0", "-o", "MUL_MAT", "-p", "type_a=(q4_K|q6_K),type_b=f32"),
          ElementsAre("/x/t", "test", "-b", "Vulkan0", "-o", "FLASH_ATTN_EXT", "-p",
                      "hsk=64,hsv=64,.*sinks=0,max_bias=0\\.0+,logit_softcap=0\\.0+,.*type_K=f16,.*n_kv_max=0")));
  EXPECT_TRUE(test_backend_ops_argvs("/x/t", "CPU", {}, needs).empty());
}

TEST(ParseTestBackendOps, CountsTheDevicesOwnTests) {
  const OperatorFigures figures = parse_test_backend_ops(kPassed, "Vulkan0");
  EXPECT_TRUE(figures.all_passed());
  EXPECT_EQ(figures.passed, 1U);
  EXPECT_EQ(figures.total, 1U);
  EXPECT_EQ(figures.not_supported, 1U);
}

TEST(ParseTestBackendOps, NothingRunIsNoPass) {
  // Exit status 0, all of them.
  EXPECT_FALSE(parse_test_backend_ops(kPassed, "CPU").device_found);
  EXPECT_FALSE(parse_test_backend_ops(kPassed, "Vulkan1").device_found);
  EXPECT_FALSE(parse_test_backend_ops("", "CPU").all_passed());
  const OperatorFigures none = parse_test_backend_ops(
      "Backend 1/1: CPU\n  Device description: x\n\n  0/0 tests passed\n  Backend CPU: OK\n1/1 backends passed\nOK\n",
      "CPU");
  EXPECT_TRUE(none.device_found && none.whole);
  EXPECT_FALSE(none.all_passed());
}

TEST(ParseTestBackendOps, NamesWhatFailed) {
  const OperatorFigures figures = parse_test_backend_ops(
      "Backend 1/1: Vulkan0\n"
      "  MUL_MAT(type_a=q4_0): [MUL_MAT] ERR = 0.5 > 0.0005   MUL_MAT(type_a=q4_0): \x1B[1;31mFAIL\x1B[0m\n"
      "  1/2 tests passed\n"
      "\n"
      "Failing tests:\n"
      "  MUL_MAT(type_a=q4_0)\n"
      "  Backend Vulkan0: \x1B[1;31mFAIL\x1B[0m\n"
      "0/1 backends passed\n",
      "Vulkan0");
  EXPECT_FALSE(figures.all_passed());
  EXPECT_EQ(figures.passed, 1U);
  EXPECT_EQ(figures.total, 2U);
  EXPECT_THAT(figures.failing, ElementsAre("MUL_MAT(type_a=q4_0)"));
}

TEST(ParseTestBackendOps, ACutOutputIsNoPass) {
  const std::size_t summary = kPassed.find("1/1 tests passed");
  for (std::size_t length = 0; length < summary + 16; ++length) {
    EXPECT_FALSE(parse_test_backend_ops(kPassed.substr(0, length), "Vulkan0").all_passed()) << length;
  }
}

TEST(ParseTestBackendOps, SurvivesMutations) {
  std::mt19937 random(6);  // NOLINT: the same bytes every time
  for (int i = 0; i < 5000; ++i) {
    std::string text(kPassed);
    for (auto n = random() % 6 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    EXPECT_LE(parse_test_backend_ops(text, "Vulkan0").failing.size(), kMaxFailing);
  }
}

}  // namespace
}  // namespace capbench::runtime
