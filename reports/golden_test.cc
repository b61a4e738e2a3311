// The formats against files kept in testdata/. After a wanted change write them anew with
//   bazel test //reports:golden_test --test_env=CAPBENCH_UPDATE_GOLDEN=$PWD/reports/testdata
// and read the difference.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "reports/ablation_data.h"
#include "reports/ablation_document.h"
#include "reports/capabilities_formats.h"
#include "reports/compare.h"
#include "reports/noise_formats.h"
#include "reports/regressions.h"
#include "reports/render_csv.h"
#include "reports/render_html.h"
#include "reports/render_json.h"
#include "reports/render_markdown.h"
#include "reports/speedup_latex.h"
#include "reports/test_ablation.h"
#include "reports/test_trials.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

// Reads a number where `text` starts with a digit; 0 characters otherwise.
std::size_t number_length(std::string_view text, double& value) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0;
}

// Where two texts begin to differ by more than the last digits of a number, which are the C library's affair; npos if
// nowhere.
std::size_t first_difference(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    double x = 0;
    double y = 0;
    const std::size_t n = number_length(a.substr(i), x);
    const std::size_t m = number_length(b.substr(j), y);
    if (n > 0 && m > 0) {
      if (std::fabs(x - y) > 1e-9 * std::fabs(x)) return i;
      i += n;
      j += m;
    } else if (a[i++] != b[j++]) {
      return i - 1;
    }
  }
  return i == a.size() && j == b.size() ? std::string_view::npos : i;
}

void expect_golden(const std::string& produced, const std::string& name) {
  if (const char* folder = std::getenv("CAPBENCH_UPDATE_GOLDEN"); folder != nullptr) {
    const Status written = replace_file(std::filesystem::path(folder) / name, produced);
    ASSERT_TRUE(written.ok()) << to_string(written.error());
    GTEST_SKIP() << "wrote " << name;
  }
  const auto golden = read_file(std::filesystem::path("reports/testdata") / name);
  ASSERT_TRUE(golden.ok()) << to_string(golden.error());
  const std::size_t at = first_difference(*golden, produced);
  EXPECT_EQ(at, std::string_view::npos) << name << " differs; expected:\n"
                                        << golden->substr(std::min(at, golden->size()), 300) << "\nproduced:\n"
                                        << produced.substr(std::min(at, produced.size()), 300);
}

SpeedupReport report() {
  return build_speedup(testing::golden_trials(), testing::golden_background());
}

TEST(Golden, TheComparisonSeesDifferences) {
  EXPECT_EQ(first_difference("a 1.25 b", "a 1.2500000000001 b"), std::string_view::npos);
  EXPECT_EQ(first_difference("a 1.25 b", "a 1.26 b"), 2U);
  EXPECT_EQ(first_difference("abc", "abd"), 2U);
  EXPECT_EQ(first_difference("abc", "abcd"), 3U);
  EXPECT_EQ(first_difference("abc", "ab"), 2U);
}

TEST(Golden, Markdown) {
  expect_golden(render_markdown(report()), "speedup.md");
}
TEST(Golden, Csv) {
  expect_golden(render_csv(report()), "speedup.csv");
}
TEST(Golden, Json) {
  expect_golden(render_json(report()), "speedup.json");
}
TEST(Golden, Html) {
  expect_golden(render_html(report()), "speedup.html");
}

TEST(Golden, Latex) {
  expect_golden(speedup_latex(report()), "speedup.tex");
}

AblationReport ablation() {
  return build_ablation(testing::ablation_trials(), testing::ablation_background());
}

TEST(Golden, AblationMarkdown) {
  expect_golden(document_markdown(ablation_document(ablation())), "ablation.md");
}
TEST(Golden, AblationCsv) {
  expect_golden(ablation_csv(ablation()), "ablation.csv");
}
TEST(Golden, AblationJson) {
  expect_golden(ablation_json(ablation()), "ablation.json");
}
TEST(Golden, AblationHtml) {
  expect_golden(document_html(ablation_document(ablation())), "ablation.html");
}
TEST(Golden, AblationLatex) {
  expect_golden(document_latex(ablation_document(ablation())), "ablation.tex");
}
TEST(Golden, NoiseMarkdown) {
  expect_golden(document_markdown(noise_document(ablation())), "noise.md");
}
TEST(Golden, NoiseCsv) {
  expect_golden(noise_csv(ablation()), "noise.csv");
}
TEST(Golden, NoiseJson) {
  expect_golden(noise_json(ablation()), "noise.json");
}
TEST(Golden, NoiseHtml) {
  expect_golden(document_html(noise_document(ablation())), "noise.html");
}
TEST(Golden, NoiseLatex) {
  expect_golden(document_latex(noise_document(ablation())), "noise.tex");
}

// A speed that fell, one that cannot be told, one that rose, and one that was decided about; foreign words among them.
CheckReport check() {
  CheckReport report;
  report.axis = Axis::kBuilds;
  report.baseline = "b4300";
  report.asked = 3;
  report.finding = true;
  const auto add = [&](const std::string& test, const std::string& arm, Standing standing) -> CheckedSeries& {
    CheckedSeries& one = report.series.emplace_back();
    one.key = {"nightly",
               "Apple M1 Ultra",
               "machine-a",
               "Apple M1 Ultra",
               "tinyllama-1.1b",
               "real",
               "pp512+tg128",
               arm,
               arm,
               arm == "bare-metal" ? "" : "vm",
               test};
    one.setting = std::string(64, 'a');
    one.standing = standing;
    one.baseline = "0ad4a86 (4300)";
    one.newest = "1bc5d97 (4321)";
    one.baseline_trials = one.newest_trials = 5;
    return one;
  };
  CheckedSeries& slower = add("pp512", "unlocked", Standing::kSlower);
  slower.baseline_ts = 4871.99;
  slower.newest_ts = 4287.35;
  slower.ratio = 0.88;
  slower.ci95 = Interval{0.866, 0.894};
  slower.method = "trials";
  slower.p = 0.002;
  slower.last_good = "0de1f20 (4310)";
  slower.first_bad = "0fe2a31 (4311)";
  slower.first_bad_date = "2026-10-02T04:25:07.123Z";
  slower.id = std::string(64, 'b');
  slower.state = "open";
  slower.counts = true;
  CheckedSeries& known = add("tg128", "unlocked", Standing::kSlower);
  known.baseline_ts = 181.5;
  known.newest_ts = 174.2;
  known.ratio = 0.96;
  known.ci95 = Interval{0.951, 0.969};
  known.method = "change point";
  known.last_good = "0de1f20 (4310)";
  known.first_bad = "0fe2a31 (4311)";
  known.id = std::string(64, 'c');
  known.state = "acknowledged";
  known.state_why = "the <price> of a fix_ & known, #123 | 50 % of it";
  CheckedSeries& unsure = add("pp512", "stock", Standing::kCannotTell);
  unsure.baseline_trials = 1;
  unsure.baseline_ts = 431.86;
  unsure.newest_ts = 430.02;
  unsure.why = "too few trials: 1 at the baseline, 5 now; 3 each are needed";
  CheckedSeries& faster = add("tg128", "bare-metal", Standing::kFaster);
  faster.baseline_ts = 181.5;
  faster.newest_ts = 199.65;
  faster.ratio = 1.1;
  faster.ci95 = Interval{1.08, 1.12};
  faster.method = "trials";
  return report;
}

TEST(Golden, CheckMarkdown) {
  expect_golden(check_text(check(), "md"), "check.md");
}
TEST(Golden, CheckCsv) {
  expect_golden(check_text(check(), "csv"), "check.csv");
}
TEST(Golden, CheckJson) {
  expect_golden(check_text(check(), "json"), "check.json");
}
TEST(Golden, CheckHtml) {
  expect_golden(check_text(check(), "html"), "check.html");
}
TEST(Golden, CheckLatex) {
  expect_golden(check_text(check(), "latex"), "check.tex");
}

// Two cells that both sides have, one of them of single processes, and one of each side alone.
CompareReport compare() {
  CompareReport report;
  report.sides = {"4300", "4321"};
  report.different = {"executable llama-bench", "kernel: 6.1 -> 6.8", "fact <b>_x & y"};
  report.compared = 1;
  const auto add = [&](const std::string& test, const std::string& arm) -> ComparedCell& {
    ComparedCell& cell = report.cells.emplace_back();
    cell.key = {"nightly",
                "Apple M1 Ultra",
                "machine-a",
                "Apple M1 Ultra",
                "tinyllama-1.1b",
                "twin",
                "pp512+tg128",
                arm,
                arm,
                arm == "bare-metal" ? "" : "vm",
                test};
    return cell;
  };
  const auto side = [](const char* build, double speed, std::size_t trials) {
    ComparedSide one{"Apple M1 Ultra",           "machine-a", build, std::string(64, 'e'),
                     "2026-10-02T04:25:07.123Z", trials,      speed, {}};
    if (trials > 1) one.ci95 = Interval{0.99 * speed, 1.01 * speed};
    return one;
  };
  ComparedCell& both = add("pp512", "unlocked");
  both.base = side("0ad4a86 (4300)", 4871.99, 5);
  both.other = side("1bc5d97 (4321)", 4287.35, 5);
  both.ratio = 0.88;
  both.ci95 = Interval{0.866, 0.894};
  both.interval = "Welch t on log trial medians, weak: 5 trials";
  both.holds_together = true;
  ComparedCell& single = add("tg128", "unlocked");
  single.base = side("0ad4a86 (4300)", 181.5, 1);
  single.other = side("1bc5d97 (4321)", 182.25, 1);
  single.ratio = 182.25 / 181.5;
  single.interval = "within one process";
  add("pp512", "stock").base = side("0ad4a86 (4300)", 431.86, 5);
  add("tg128", "bare-metal").other = side("1bc5d97 (4321)", 199.65, 5);
  return report;
}

TEST(Golden, CompareMarkdown) {
  expect_golden(document_markdown(compare_document(compare())), "compare.md");
}
TEST(Golden, CompareCsv) {
  expect_golden(compare_csv(compare()), "compare.csv");
}
TEST(Golden, CompareJson) {
  expect_golden(compare_json(compare()), "compare.json");
}
TEST(Golden, CompareHtml) {
  expect_golden(document_html(compare_document(compare())), "compare.html");
}
TEST(Golden, CompareLatex) {
  expect_golden(document_latex(compare_document(compare())), "compare.tex");
}

CapabilityReport capabilities() {
  return build_capabilities(testing::ablation_trials());
}

TEST(Golden, CapabilitiesMarkdown) {
  expect_golden(document_markdown(capabilities_document(capabilities())), "capabilities.md");
}
TEST(Golden, CapabilitiesCsv) {
  expect_golden(capabilities_csv(capabilities()), "capabilities.csv");
}
TEST(Golden, CapabilitiesJson) {
  expect_golden(capabilities_json(capabilities()), "capabilities.json");
}
TEST(Golden, CapabilitiesHtml) {
  expect_golden(document_html(capabilities_document(capabilities())), "capabilities.html");
}
TEST(Golden, CapabilitiesLatex) {
  expect_golden(document_latex(capabilities_document(capabilities())), "capabilities.tex");
}

void expect_terminal_width(const std::string& rendered) {
  for (std::string_view text = rendered; !text.empty();) {
    const std::size_t end = text.find('\n');
    ASSERT_NE(end, std::string_view::npos);
    EXPECT_LE(display_width(text.substr(0, end)), 80U) << text.substr(0, end);
    text.remove_prefix(end + 1);
  }
}

TEST(Golden, DocumentsFitTheTerminal) {
  expect_terminal_width(document_markdown(ablation_document(ablation())));
  expect_terminal_width(document_markdown(noise_document(ablation())));
  expect_terminal_width(check_markdown(check()));
  expect_terminal_width(document_markdown(compare_document(compare())));
  expect_terminal_width(document_markdown(capabilities_document(build_capabilities(testing::ablation_trials()))));
}

TEST(Golden, MarkdownFitsTheTerminal) {
  expect_terminal_width(render_markdown(report()));
}

}  // namespace
}  // namespace capbench::reports
