// Every target over its corpus, and over each of those inputs cut short and damaged: what a compiler without libFuzzer
// can do, on every machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/stats/random.h"
#include "tests/fuzz/targets.h"

namespace capbench::fuzz {
namespace {

namespace fs = std::filesystem;

class Corpus : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> inputs(const std::string& target) {
  std::vector<std::string> all;
  const fs::path folder = fs::path("tests/fuzz/corpus") / target;
  if (!fs::exists(folder)) return all;
  for (const auto& entry : fs::directory_iterator(folder)) all.push_back(read_file(entry.path()).value());
  return all;
}

TEST_P(Corpus, IsReadWholeCutAndDamaged) {
  const Target* target = find_target(GetParam());
  ASSERT_NE(target, nullptr);
  const std::vector<std::string> all = inputs(GetParam());
  ASSERT_FALSE(all.empty()) << "no corpus";
  stats::Random random(1);
  for (const std::string& input : all) {
    target->run(input);
    for (std::size_t i = 0; i < 100 && !input.empty(); ++i) {
      target->run(std::string_view(input).substr(0, static_cast<std::size_t>(random.below(input.size()))));
      std::string changed = input;
      for (int changes = 0; changes < 3; ++changes) {
        changed[static_cast<std::size_t>(random.below(changed.size()))] = static_cast<char>(random.below(256));
      }
      target->run(changed);
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Target& target : targets()) all.emplace_back(target.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, ::testing::ValuesIn(names()), [](const auto& parameter) {
  std::string name = parameter.param;
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
});

}  // namespace
}  // namespace capbench::fuzz
