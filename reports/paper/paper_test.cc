// The paper against files kept in testdata/, and its formats against each other. After a wanted change write the files
// anew with
//   bazel test //reports/paper:paper_test --test_env=CAPBENCH_UPDATE_GOLDEN=$PWD/reports/paper/testdata
// and read the difference.
#include "reports/paper/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/file.h"
#include "reports/test_ablation.h"
#include "reports/test_trials.h"

namespace capbench::reports::paper {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PaperSource source_of(const std::vector<schema::TrialView>& trials, const AblationBackground& background) {
  return {build_speedup(trials, background.names), build_ablation(trials, background), ""};
}

Paper golden_paper() {
  return make_paper(source_of(testing::ablation_trials(), testing::ablation_background()));
}

void expect_golden(const std::string& produced, const std::string& name) {
  if (const char* folder = std::getenv("CAPBENCH_UPDATE_GOLDEN"); folder != nullptr) {
    const Status written = replace_file(std::filesystem::path(folder) / name, produced);
    ASSERT_TRUE(written.ok()) << to_string(written.error());
    GTEST_SKIP() << "wrote " << name;
  }
  const auto golden = read_file(std::filesystem::path("reports/paper/testdata") / name);
  ASSERT_TRUE(golden.ok()) << to_string(golden.error());
  EXPECT_EQ(produced, *golden) << name;
}

TEST(Paper, GoldenMarkdown) {
  expect_golden(paper_markdown(golden_paper()), "paper.md");
}
TEST(Paper, GoldenLatex) {
  expect_golden(paper_latex(golden_paper()), "paper.tex");
}
TEST(Paper, GoldenHtml) {
  expect_golden(paper_html(golden_paper()), "paper.html");
}

TEST(Paper, HasItsSectionsInEveryFormat) {
  const Paper paper = golden_paper();
  for (const char* title : {"Setup", "Method", "Results", "Ablation", "Threats to validity", "Artifact appendix"}) {
    EXPECT_THAT(paper_latex(paper), HasSubstr(std::string("\\section{") + title + "}"));
    EXPECT_THAT(paper_markdown(paper), HasSubstr(std::string("## ") + title + "\n"));
    EXPECT_THAT(paper_html(paper), HasSubstr(std::string("<h2>") + title + "</h2>"));
  }
}

// Every number that the text uses is defined with its query and the results behind it, and none is written out.
TEST(Paper, EveryNumberIsAMacroWithItsOrigin) {
  const Paper paper = golden_paper();
  const std::string tex = paper_latex(paper);
  const std::string macros = numbers_latex(paper.numbers);
  const std::regex use(R"(\\cbnumber\{([^}]*)\})");
  std::set<std::string> used;
  for (std::sregex_iterator at(tex.begin(), tex.end(), use), end; at != end; ++at) used.insert((*at)[1]);
  EXPECT_EQ(used.size(), paper.numbers.all().size());
  for (const std::string& key : used) {
    const Number* number = paper.numbers.find(key);
    ASSERT_NE(number, nullptr) << key;
    EXPECT_FALSE(number->query.empty()) << key;
    EXPECT_FALSE(number->result_ids.empty()) << key;
    EXPECT_THAT(macros, HasSubstr("\\cbdefine{" + key + "}"));
  }
  for (const auto& [key, number] : paper.numbers.all()) {
    if (!number.value || number.text.size() < 5) continue;
    EXPECT_THAT(tex, Not(HasSubstr(" " + number.text + " "))) << key;
  }
}

// Other results in the store change no key.
TEST(Paper, KeysStayWhenResultsJoin) {
  std::vector<schema::TrialView> more = testing::ablation_trials();
  testing::append(more, testing::golden_trials());
  const Paper before = golden_paper();
  const Paper after = make_paper(source_of(more, testing::ablation_background()));
  EXPECT_GT(after.numbers.all().size(), before.numbers.all().size());
  for (const std::string& difference : differences(before.numbers, after.numbers)) {
    EXPECT_EQ(difference.rfind("count-", 0), 0U) << difference;  // what counts all results counts more of them
  }
}

TEST(Paper, FiguresAreVegaLite) {
  const std::vector<Figure> figures = figures_of(golden_paper());
  ASSERT_EQ(figures.size(), 2U);
  for (const Figure& figure : figures) {
    const auto specification = nlohmann::json::parse(figure.specification);
    EXPECT_EQ(specification["$schema"], "https://vega.github.io/schema/vega-lite/v6.json");
    EXPECT_FALSE(specification["data"]["values"].empty());
    EXPECT_FALSE(specification["data"].contains("url"));
  }
}

TEST(Paper, HostileNamesStayText) {
  const Paper paper = make_paper(source_of(testing::ablation_trials_named(testing::kHostile),
                                           testing::ablation_background_named(testing::kHostile)));
  EXPECT_THAT(paper_html(paper), Not(HasSubstr("<script>")));
  EXPECT_THAT(paper_markdown(paper), Not(HasSubstr("\n# h")));
  for (const Figure& figure : figures_of(paper)) {
    EXPECT_FALSE(nlohmann::json::parse(figure.specification, nullptr, false).is_discarded());
  }
  EXPECT_FALSE(
      nlohmann::json::parse(numbers_json(paper.numbers, testing::kHostile, {}), nullptr, false).is_discarded());
}

TEST(Paper, WithoutTrialsItStillReads) {
  const Paper paper = make_paper({});
  EXPECT_THAT(paper_markdown(paper), HasSubstr("No trial got as far as a result."));
  EXPECT_TRUE(figures_of(paper).empty());
}

}  // namespace
}  // namespace capbench::reports::paper
