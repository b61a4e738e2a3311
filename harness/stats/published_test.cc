// The published evidence, recomputed: its medians, ratios and the intervals of its ratios.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "harness/stats/interval.h"
#include "harness/stats/summary.h"

namespace capbench::stats {
namespace {

struct Measured {
  std::vector<double> printed;  // samples_ts
  std::vector<double> exact;    // from samples_ns
};

class Published : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("CAPBENCH_SHARED");
    if (shared == nullptr) GTEST_SKIP() << "CAPBENCH_SHARED is not set: the published evidence is not here";
    folder_ = std::filesystem::path(shared) / "data" / "evidence";
  }

  nlohmann::json read(const std::string& name) const {
    const auto text = read_file(folder_ / name);
    EXPECT_TRUE(text.ok()) << name;
    return text.ok() ? nlohmann::json::parse(*text) : nlohmann::json();
  }

  // By test name.
  std::map<std::string, Measured> llama_bench(const std::string& name) const {
    std::map<std::string, Measured> tests;
    for (const auto& row : read(name)) {
      const std::int64_t prompt = row.at("n_prompt");
      const std::int64_t generated = row.at("n_gen");
      const std::string test = prompt > 0 ? "pp" + std::to_string(prompt) : "tg" + std::to_string(generated);
      const std::vector<std::int64_t> samples_ns = row.at("samples_ns");
      tests[test] = {row.at("samples_ts"), tokens_per_second(prompt + generated, samples_ns)};
    }
    return tests;
  }

  std::filesystem::path folder_;
};

struct Row {
  const char* test;
  double host, stock, unlocked, ratio, percent;
  int digits;  // of the two quotients in results.csv
};

// The rows of results.csv.
const std::map<std::string, std::vector<Row>>& published() {
  static const std::map<std::string, std::vector<Row>> rows = {
      {"tiny",
       {{"pp512", 4871.99, 431.8625, 4786.7, 11.0839, 98.2494, 4},
        {"tg128", 286.7055, 12.6307, 206.5965, 16.3567, 72.0588, 4}}},
      {"gemma4",
       {{"pp512", 517.8775, 71.65675, 515.763, 7.197689, 99.591699, 6},
        {"tg128", 52.3818, 3.41483, 49.66695, 14.544487, 94.817188, 6}}}};
  return rows;
}

std::map<std::string, std::string> files(const std::string& model) {
  if (model == "tiny") {
    const std::string folder = "2026-08-09-m1-ultra/";
    return {{"host", folder + "tiny-host-minimal.json"},
            {"stock", folder + "tiny-stock-minimal.json"},
            {"unlocked", folder + "tiny-safe-shim-10x-final.json"}};
  }
  const std::string folder = "2026-08-10-m1-ultra-gemma4/";
  return {{"host", folder + "gemma4-host-10x.json"},
          {"stock", folder + "gemma4-stock-10x.json"},
          {"unlocked", folder + "gemma4-safe-shim-10x.json"}};
}

TEST_F(Published, MediansAndRatiosAreReproduced) {
  for (const auto& [model, rows] : published()) {
    for (const Row& row : rows) {
      const std::map<std::string, double> expected = {
          {"host", row.host}, {"stock", row.stock}, {"unlocked", row.unlocked}};
      std::map<std::string, double> medians;
      for (const auto& [arm, file] : files(model)) {
        const Measured measured = llama_bench(file)[row.test];
        ASSERT_EQ(measured.printed.size(), 10U) << file;
        medians[arm] = median(measured.printed);
        // Decimal digits, so that binary rounding of "12.6307" is not in the way.
        EXPECT_EQ(fmt::format("{:.7f}", medians[arm]), fmt::format("{:.7f}", expected.at(arm))) << file << row.test;
        // From the exact times: the same to the sixth digit, all that the print had.
        EXPECT_NEAR(median(measured.exact) / expected.at(arm), 1, 5e-6);
      }
      EXPECT_EQ(fmt::format("{:.{}f}", medians["unlocked"] / medians["stock"], row.digits),
                fmt::format("{:.{}f}", row.ratio, row.digits));
      EXPECT_EQ(fmt::format("{:.{}f}", 100 * medians["unlocked"] / medians["host"], row.digits),
                fmt::format("{:.{}f}", row.percent, row.digits));
    }
  }
}

TEST_F(Published, OurTokensPerSecondRoundToWhatLlamaBenchPrinted) {
  for (const char* model : {"tiny", "gemma4"}) {
    for (const auto& [arm, file] : files(model)) {
      for (const auto& [test, measured] : llama_bench(file)) {
        for (std::size_t i = 0; i < measured.exact.size(); ++i) {
          EXPECT_EQ(fmt::format("{:.6g}", measured.exact[i]), fmt::format("{:.6g}", measured.printed[i]))
              << file << test;
        }
      }
    }
  }
}

TEST_F(Published, MlxMediansAreReproduced) {
  const std::vector<std::tuple<const char*, const char*, const char*>> expected = {
      {"mlx-stock-10x.json", "prompt_tps", "1656.5539"},
      {"mlx-stock-10x.json", "generation_tps", "172.0882"},
      {"mlx-safe-shim-10x.json", "prompt_tps", "1665.4671"},
      {"mlx-safe-shim-10x.json", "generation_tps", "170.8605"}};
  for (const auto& [file, key, figure] : expected) {
    std::vector<double> rates;
    const nlohmann::json evidence = read(std::string("2026-08-09-m1-ultra/") + file);
    for (const auto& sample : evidence.at("samples")) {
      rates.push_back(sample.at(key));
    }
    EXPECT_EQ(fmt::format("{:.4f}", median(rates)), figure) << file << key;
  }
}

// Bootstrap intervals computed elsewhere with other random numbers: lo and hi to 3 digits or so.
TEST_F(Published, IntervalsOfOneProcessAgree) {
  struct Expected {
    const char *model, *test, *over;
    double lo, hi;
  };
  const std::vector<Expected> all = {
      {"tiny", "pp512", "stock", 11.01, 11.17},    {"tiny", "tg128", "stock", 15.80, 17.60},
      {"gemma4", "pp512", "stock", 7.11, 7.28},    {"gemma4", "tg128", "stock", 14.36, 14.63},
      {"tiny", "pp512", "host", 0.977, 0.987},     {"tiny", "tg128", "host", 0.696, 0.737},
      {"gemma4", "pp512", "host", 0.9943, 0.9971}, {"gemma4", "tg128", "host", 0.9463, 0.9500}};
  for (const Expected& expected : all) {
    const auto arms = files(expected.model);
    const std::vector<Trial> unlocked = {{0, llama_bench(arms.at("unlocked"))[expected.test].exact}};
    const std::vector<Trial> other = {{0, llama_bench(arms.at(expected.over))[expected.test].exact}};
    const auto interval = ratio_interval(unlocked, other);
    ASSERT_TRUE(interval.ok());
    const double width = expected.hi - expected.lo;
    EXPECT_NEAR(*interval->lo, expected.lo, 0.1 * width) << expected.model << expected.test << expected.over;
    EXPECT_NEAR(*interval->hi, expected.hi, 0.1 * width) << expected.model << expected.test << expected.over;
  }
}

}  // namespace
}  // namespace capbench::stats
