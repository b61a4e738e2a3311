// The name of a suite is the digest of its canonical bytes. Results in stores and bundles everywhere hang on the names
// of the suites that made them, so a later version must give the same ones.
#include <gtest/gtest.h>

#include <utility>

#include "base/file.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

TEST(SuiteId, OfSuitesOfTheFirstVersionStays) {
  const std::vector<std::pair<const char*, const char*>> published = {
      {"suites/quickstart.json", "d59052b3bdfc831da3ab11a80bc1b3cb36273dd847081eeece0a4bc2864943ce"},
      {"suites/tinyllama-cpu.json", "2589bfe9194e5f5ee6f78281940db82645e4ef9cd920c0c8667c47c092de9f30"},
      {"suites/vulkan-gpu.json", "cbe2f3abfe4075842dd5066a9da07583ee0ef11f48864705daa53742a1f58f6f"},
      {"suites/vulkan-llvmpipe.json", "6af7d6ab3df4344152e8e94042f6ac5739652627c7e97ba7b50a0f721bdd1c67"},
  };
  for (const auto& [file, id] : published) {
    const auto text = read_file(file);
    ASSERT_TRUE(text.ok()) << file;
    const auto suite = parse_suite(*text);
    ASSERT_TRUE(suite.ok()) << file << ": " << to_string(suite.error());
    EXPECT_EQ(suite_id(*suite), id) << file;
  }
}

}  // namespace
}  // namespace capbench::suite
