// The published evidence, read here with nothing but its samples, must give the published figures. Those were computed
// from speeds printed with 6 digits, the report's from nanoseconds: they agree to that rounding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "reports/speedup.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

struct Published {
  const char* test;
  double bare_metal;
  double stock;
  double unlocked;
  double speedup;
  double percent;
};

schema::TrialView read_trial(const std::filesystem::path& file, const std::string& mode) {
  schema::TrialView view;
  view.suite_name = "published";
  view.trial.mode = mode;
  view.trial.arm = mode;
  view.trial.guest = mode == kBareMetal ? "" : "vm";
  view.trial.status = "ok";
  const auto bytes = read_file(file);
  if (!bytes.ok()) ADD_FAILURE() << to_string(bytes.error());
  if (!bytes.ok()) return view;
  for (const auto& printed : nlohmann::json::parse(*bytes)) {
    schema::ResultRecord result;
    result.n_prompt = printed.at("n_prompt");
    result.n_gen = printed.at("n_gen");
    result.test = result.n_prompt > 0 ? "pp" + std::to_string(result.n_prompt) : "tg" + std::to_string(result.n_gen);
    result.samples_ns = printed.at("samples_ns").get<std::vector<std::int64_t>>();
    view.trial.results.push_back(result);
  }
  return view;
}

void expect_published(const SpeedupRow& row, const Published& published) {
  constexpr double kRounding = 2e-6;  // relative; half a unit in the sixth digit of a speed is 0.5e-6 to 5e-6
  EXPECT_EQ(row.test, published.test);
  const double medians[] = {published.bare_metal, published.stock, published.unlocked};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(row.modes[i].stats.has_value());
    EXPECT_NEAR(row.modes[i].stats->median.value, medians[i], medians[i] * kRounding) << published.test;
    EXPECT_EQ(row.modes[i].stats->n_samples, 10U);
    EXPECT_EQ(row.modes[i].stats->median.estimator, "median of samples");
  }
  ASSERT_TRUE(row.speedup && row.percent_of_bare_metal);
  EXPECT_NEAR(row.speedup->value, published.speedup, published.speedup * 5e-6) << published.test;
  EXPECT_NEAR(row.percent_of_bare_metal->value, published.percent, published.percent * kRounding) << published.test;
  EXPECT_EQ(row.speedup->interval, "within one process");
}

std::filesystem::path evidence() {
  const char* shared = std::getenv("CAPBENCH_SHARED");
  return shared == nullptr ? "" : std::filesystem::path(shared) / "data" / "evidence";
}

SpeedupReport report_of(const char* host, const char* stock, const char* unlocked) {
  return build_speedup({read_trial(evidence() / host, kBareMetal), read_trial(evidence() / stock, kStock),
                        read_trial(evidence() / unlocked, kUnlocked)});
}

TEST(Published, TinyLlamaComesOutAsPublished) {
  if (evidence().empty()) GTEST_SKIP() << "CAPBENCH_SHARED is not set: the published evidence is not here";
  const SpeedupReport report =
      report_of("2026-08-09-m1-ultra/tiny-host-minimal.json", "2026-08-09-m1-ultra/tiny-stock-minimal.json",
                "2026-08-09-m1-ultra/tiny-safe-shim-10x-final.json");
  ASSERT_EQ(report.rows.size(), 2U);
  expect_published(report.rows[0], {"pp512", 4871.99, 431.8625, 4786.70, 11.0839, 98.2494});
  expect_published(report.rows[1], {"tg128", 286.7055, 12.6307, 206.5965, 16.3567, 72.0588});
  // As a reader sees them.
  EXPECT_EQ(format_number(report.rows[0].modes[0].stats->median.value), "4871.99");
  EXPECT_EQ(format_number(report.rows[0].modes[1].stats->median.value), "431.86");
  EXPECT_EQ(format_number(report.rows[0].modes[2].stats->median.value), "4786.70");
  EXPECT_EQ(format_number(report.rows[0].speedup->value), "11.08");
  EXPECT_EQ(format_number(report.rows[1].speedup->value), "16.36");
  EXPECT_EQ(format_number(report.rows[0].percent_of_bare_metal->value), "98.25");
  EXPECT_EQ(format_number(report.rows[1].percent_of_bare_metal->value), "72.06");
  // With the four decimals of the publication. Its 72.0588 is 72.05886 cut short by the rounding of its inputs.
  EXPECT_EQ(fmt::format("{:.4f}", report.rows[0].speedup->value), "11.0839");
  EXPECT_EQ(fmt::format("{:.4f}", report.rows[1].speedup->value), "16.3567");
  EXPECT_EQ(fmt::format("{:.4f}", report.rows[0].percent_of_bare_metal->value), "98.2494");
  EXPECT_NEAR(report.rows[1].percent_of_bare_metal->value, 72.0588, 0.0001);
}

TEST(Published, GemmaComesOutAsPublished) {
  if (evidence().empty()) GTEST_SKIP() << "CAPBENCH_SHARED is not set: the published evidence is not here";
  const SpeedupReport report =
      report_of("2026-08-10-m1-ultra-gemma4/gemma4-host-10x.json", "2026-08-10-m1-ultra-gemma4/gemma4-stock-10x.json",
                "2026-08-10-m1-ultra-gemma4/gemma4-safe-shim-10x.json");
  ASSERT_EQ(report.rows.size(), 2U);
  expect_published(report.rows[0], {"pp512", 517.8775, 71.65675, 515.763, 7.197689, 99.591699});
  expect_published(report.rows[1], {"tg128", 52.3818, 3.41483, 49.66695, 14.544487, 94.817188});
}

}  // namespace
}  // namespace capbench::reports
