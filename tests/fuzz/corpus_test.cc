// A short run of every target, with what any compiler can do on every machine: over its corpus, over each of those
// inputs cut short and damaged, and over inputs grown out of several of them. The same inputs in every run.
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

// By name, since folders are listed in any order.
std::vector<std::string> inputs(const std::string& target) {
  std::vector<fs::path> files;
  const fs::path folder = fs::path("tests/fuzz/corpus") / target;
  if (!fs::exists(folder)) return {};
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> all;
  for (const fs::path& file : files) all.push_back(read_file(file).value());
  return all;
}

class Mutations {
 public:
  explicit Mutations(const std::vector<std::string>& corpus) : corpus_(corpus) {}

  // One of the corpus after one to eight changes.
  std::string next() {
    std::string text = corpus_[below(corpus_.size())];
    for (std::size_t left = 1 + below(8); left > 0; --left) change(text);
    if (text.size() > kLongest) text.resize(kLongest);
    return text;
  }

 private:
  static constexpr std::size_t kLongest = 8192;

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.below(n)); }

  // A part of up to 64 bytes.
  std::string_view part_of(const std::string& text) {
    if (text.empty()) return {};
    return std::string_view(text).substr(below(text.size()), 1 + below(64));
  }

  void change(std::string& text) {
    const std::size_t place = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        if (place < text.size()) text[place] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(place, 1 + below(16));
        break;
      case 2:  // the same again
        text.insert(place, std::string(part_of(text)));
        break;
      case 3:  // something of another
        text.insert(place, std::string(part_of(corpus_[below(corpus_.size())])));
        break;
      case 4:  // one byte many times
        text.insert(place, 1 + below(100), static_cast<char>(below(256)));
        break;
      default:  // the end of another
        const std::string& other = corpus_[below(corpus_.size())];
        text.replace(place, std::string::npos, other, other.empty() ? 0 : below(other.size()), std::string::npos);
        break;
    }
  }

  const std::vector<std::string>& corpus_;
  stats::Random random_{2};
};

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

TEST_P(Corpus, MayBeMixed) {
  constexpr int kInputs = 50000;
  const Target* target = find_target(GetParam());
  ASSERT_NE(target, nullptr);
  const std::vector<std::string> all = inputs(GetParam());
  ASSERT_FALSE(all.empty()) << "no corpus";
  Mutations mutations(all);
  for (int i = 0; i < kInputs; ++i) target->run(mutations.next());
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
