#include "harness/watch/build_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capbench::watch {
namespace {

TEST(BuildList, TakesNamesFromFoldersOrFromBeforeATab) {
  const auto builds = parse_build_list(
      "# nightly\n"
      "\n"
      "/opt/llama/b6450/llama-bench\n"
      "/opt/llama/b6451/build/bin/llama-bench\r\n"
      "/opt/llama/b6452/\n"
      "my build\t/opt/x/llama-bench\n"
      "/opt/llama/b6450/../b6450/llama-bench\n"
      "relative/b7/llama-bench");
  ASSERT_TRUE(builds.ok()) << to_string(builds.error());
  const std::vector<ListedBuild> expected = {
      {"b6450", "/opt/llama/b6450/llama-bench"},
      {"b6451", "/opt/llama/b6451/build/bin/llama-bench"},
      {"b6452", "/opt/llama/b6452/"},
      {"my_build", "/opt/x/llama-bench"},
      {"b7", "relative/b7/llama-bench"},
  };
  EXPECT_EQ(*builds, expected);
}

TEST(BuildList, NothingListedIsNoError) {
  const auto builds = parse_build_list("");
  ASSERT_TRUE(builds.ok());
  EXPECT_TRUE(builds->empty());
}

TEST(BuildList, WrongLinesAreNamed) {
  const auto error = [](const std::string& text) {
    const auto builds = parse_build_list(text);
    EXPECT_FALSE(builds.ok()) << text;
    return builds.ok() ? std::string() : to_string(builds.error());
  };
  EXPECT_NE(error("a\t\n").find("line 1"), std::string::npos);
  EXPECT_NE(error("/ok/a/llama-bench\n\t/b/llama-bench\n").find("line 2"), std::string::npos);
  EXPECT_NE(error("/x/b1/llama-bench\n/y/b1/llama-bench\n").find("name of line 1"), std::string::npos);
  EXPECT_NE(error(std::string("a\t/b\0c", 6)).find("control"), std::string::npos);
  EXPECT_NE(error("a\t/b\x1b[31m\n").find("control"), std::string::npos);
  std::string many;
  for (int i = 0; i <= 10'000; ++i) many += "/opt/b" + std::to_string(i) + "/llama-bench\n";
  EXPECT_NE(error(many).find("10000"), std::string::npos);
}

TEST(BuildList, NamesAreSafeAsFileNames) {
  const auto builds = parse_build_list("../../etc/x\t/a/llama-bench\n.hidden\t/b/llama-bench\n");
  ASSERT_TRUE(builds.ok()) << to_string(builds.error());
  EXPECT_EQ((*builds)[0].name, "_._.._etc_x");
  EXPECT_EQ((*builds)[1].name, "_hidden");
}

}  // namespace
}  // namespace capbench::watch
