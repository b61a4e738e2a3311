#include "reports/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/ablation_data.h"
#include "reports/ablation_document.h"
#include "reports/capabilities_formats.h"
#include "reports/latex_text.h"
#include "reports/noise_formats.h"
#include "reports/speedup_latex.h"
#include "reports/test_ablation.h"
#include "reports/test_formats.h"
#include "reports/test_trials.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every document of every report here, with this in place of each name.
std::vector<Document> documents_named(const std::string& name) {
  const auto trials = testing::ablation_trials_named(name);
  const AblationReport ablation = build_ablation(trials, testing::ablation_background_named(name));
  return {ablation_document(ablation), noise_document(ablation), capabilities_document(build_capabilities(trials))};
}

TEST(Document, HostileNamesMakeNoHtml) {
  // As long as the hostile name: charts give a long name two lines.
  const auto harmless = documents_named(std::string(std::string_view(testing::kHostile).size(), 'h'));
  const auto hostile = documents_named(testing::kHostile);
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    const std::string html = document_html(hostile[i]);
    auto tags = testing::tags_of(html);
    EXPECT_EQ(tags, testing::tags_of(document_html(harmless[i]))) << i;
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_EQ(valid_utf8(html), html);
    tags.insert(tags.begin(), {"html", "head", "style"});
    testing::expect_balanced(tags);
    for (const char* foreign : {"src=", "href=", "@import", "http:", "https:"})
      EXPECT_THAT(html, Not(HasSubstr(foreign)));
  }
}

TEST(Document, HostileNamesMakeNoMarkdown) {
  for (const Document& document : documents_named(testing::kHostile)) {
    std::size_t bars = 0;
    for (const std::string& line : testing::lines_of(document_markdown(document))) {
      EXPECT_THAT(line, Not(HasSubstr("<")));
      EXPECT_THAT(line, Not(HasSubstr("\r")));
      if (line.starts_with("|")) {
        EXPECT_EQ(testing::bars_in(line), bars == 0 ? testing::bars_in(line) : bars) << line;
        bars = testing::bars_in(line);
      } else {
        bars = 0;
        EXPECT_FALSE(line.starts_with("# ")) << line;
      }
    }
  }
}

// What is left of LaTeX without its own commands must have none of TeX's special characters.
void expect_no_foreign_tex(const std::string& tex) {
  int depth = 0;
  for (std::size_t i = 0; i < tex.size(); ++i) {
    if (tex[i] == '\\') {
      ++i;
      continue;
    }
    if (tex[i] == '{') ++depth;
    if (tex[i] == '}') --depth;
    ASSERT_GE(depth, 0) << tex.substr(i < 60 ? 0 : i - 60, 120);
    EXPECT_THAT(std::string("#_~\"|<>"), Not(HasSubstr(std::string(1, tex[i]))))
        << tex.substr(i < 60 ? 0 : i - 60, 120);
  }
  EXPECT_EQ(depth, 0);
}

TEST(Document, HostileNamesMakeNoLatex) {
  for (const Document& document : documents_named(testing::kHostile)) {
    const std::string tex = document_latex(document);
    expect_no_foreign_tex(tex);
    EXPECT_EQ(valid_utf8(tex), tex);
    EXPECT_THAT(tex, HasSubstr("\\toprule"));
  }
  expect_no_foreign_tex(speedup_latex(build_speedup(testing::golden_trials(), testing::golden_background())));
}

TEST(Document, HostileNamesStayInTheirFields) {
  const std::string name = testing::kHostile;
  const auto trials = testing::ablation_trials_named(name);
  const AblationReport ablation = build_ablation(trials, testing::ablation_background_named(name));
  for (const std::string& csv :
       {ablation_csv(ablation), noise_csv(ablation), capabilities_csv(build_capabilities(trials))}) {
    const auto lines = testing::parse_csv(csv);
    ASSERT_GT(lines.size(), 1U);
    for (const auto& line : lines) EXPECT_EQ(line.size(), lines.front().size());
  }
}

TEST(Document, JsonKeepsToItsSchemas) {
  for (const std::string& name : {std::string(), std::string("x"), std::string(testing::kHostile)}) {
    const auto trials = name.empty() ? testing::ablation_trials() : testing::ablation_trials_named(name);
    const AblationReport ablation = build_ablation(
        trials, name.empty() ? testing::ablation_background() : testing::ablation_background_named(name));
    testing::expect_keeps_to_schema(ablation_json(ablation), "reports/json/ablation.schema.json");
    testing::expect_keeps_to_schema(noise_json(ablation), "reports/json/noise.schema.json");
    testing::expect_keeps_to_schema(capabilities_json(build_capabilities(trials)),
                                    "reports/json/capabilities.schema.json");
  }
  testing::expect_keeps_to_schema(ablation_json({}), "reports/json/ablation.schema.json");
  testing::expect_keeps_to_schema(noise_json({}), "reports/json/noise.schema.json");
  testing::expect_keeps_to_schema(capabilities_json({}), "reports/json/capabilities.schema.json");
}

TEST(Document, ColumnsThatSayTheSameStandInTheCaption) {
  Table table;
  table.caption = "c";
  table.columns = {{"name", false, false}, {"status", false, true}, {"n", true, false}};
  table.rows = {{{"a", "", "", ""}, {"ok", "", "", ""}, {"1", "", "", ""}},
                {{"b", "", "", ""}, soft(""), {"1", "", "", ""}}};
  EXPECT_EQ(condensed(table).caption, "c; every row: status ok");
  EXPECT_EQ(condensed(table).columns.size(), 2U);
  table.rows[1][1].text = "failed";
  EXPECT_EQ(condensed(table).columns.size(), 3U);
}

TEST(Latex, EscapesWhatMeansSomethingToTex) {
  EXPECT_EQ(escape_latex("100 % & #1_x^2 ~{a}\\b $"),
            "100 \\% \\& \\#1\\_x\\textasciicircum{}2 \\textasciitilde{}\\{a\\}\\textbackslash{}b \\$");
  EXPECT_EQ(escape_latex("a--b, [c] 'd''"), "a-{}-b, {[}c] 'd'{}'");
  EXPECT_EQ(escape_latex("\xC3\xA9\xC3\x97\xE4\xB8\xAD"), "\xC3\xA9$\\times${[}U+4E2D]");
}

TEST(Latex, TakesAnyBytes) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char bytes[] = {static_cast<char>(first), static_cast<char>(second)};
      const std::string out = escape_latex(std::string_view(bytes, 2));
      EXPECT_EQ(valid_utf8(out), out);
    }
  }
}

}  // namespace
}  // namespace capbench::reports
