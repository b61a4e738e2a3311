// The real llama-bench must take what synth writes.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "models/catalog.h"
#include "models/inspect.h"
#include "models/synth.h"

namespace capbench::models {
namespace {

// Standard output, and whether the command succeeded.
std::pair<std::string, bool> output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {"", false};
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
  return {text, ::pclose(pipe) == 0};
}

class Load : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("CAPBENCH_LLAMA_DIR");
    if (folder == nullptr) GTEST_SKIP() << "set CAPBENCH_LLAMA_DIR to the folder of llama-bench to load twins for real";
    bench_ = std::filesystem::path(folder) / "llama-bench";
    if (!std::filesystem::exists(bench_)) GTEST_SKIP() << bench_ << " does not exist";
  }

  void expect_loads(const Shape& shape, Fill fill, const std::string& model_type) {
    const auto path = std::filesystem::path(::testing::TempDir()) / (shape.name + "-load.gguf");
    ASSERT_TRUE(synth(shape, 1, fill, path).ok());
    const auto [text, succeeded] =
        output_of("'" + bench_.string() + "' -m '" + path.string() + "' -p 16 -n 4 -r 1 -t 1 -o jsonl 2>/dev/null");
    const auto info = inspect(path);
    std::filesystem::remove(path);
    ASSERT_TRUE(succeeded);
    ASSERT_TRUE(info.ok());
    std::istringstream lines(text);
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
      const auto row = nlohmann::json::parse(line);
      EXPECT_EQ(row["model_type"], model_type);
      EXPECT_EQ(row["model_size"], info->weight_bytes);
      EXPECT_EQ(row["model_n_params"], info->parameters);
      EXPECT_GT(row["avg_ts"].get<double>(), 0);
    }
    EXPECT_EQ(rows, 2);
  }

 private:
  std::filesystem::path bench_;
};

TEST_F(Load, LlamaBenchTakesTheTinyTwins) {
  expect_loads(*find_shape("tiny"), Fill::kPlanted, "llama ?B Q4_K - Medium");
  expect_loads(*find_shape("tiny"), Fill::kPattern, "llama ?B Q4_K - Medium");
}

TEST_F(Load, LlamaBenchTakesTheQuickstartTwin) {
  expect_loads(*find_shape("quickstart"), Fill::kPlanted, "llama ?B Q4_0");
}

TEST_F(Load, LlamaBenchTakesEveryMix) {
  Shape shape = *find_shape("tiny");
  shape.layers = 1;
  shape.mix = Mix::kF16;
  expect_loads(shape, Fill::kPlanted, "llama ?B F16");
  shape.mix = Mix::kBF16;
  expect_loads(shape, Fill::kPlanted, "llama ?B BF16");
  shape.mix = Mix::kQ8_0;
  expect_loads(shape, Fill::kPlanted, "llama ?B Q8_0");
  shape.mix = Mix::kQ4_0;
  expect_loads(shape, Fill::kPlanted, "llama ?B Q4_0");
}

}  // namespace
}  // namespace capbench::models
