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
#include "reports/noise_formats.h"
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
  expect_terminal_width(document_markdown(capabilities_document(build_capabilities(testing::ablation_trials()))));
}

TEST(Golden, MarkdownFitsTheTerminal) {
  expect_terminal_width(render_markdown(report()));
}

}  // namespace
}  // namespace capbench::reports
