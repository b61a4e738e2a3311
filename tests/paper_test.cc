// `capbench report paper` over a published store: written, compiled, checked, and found out when the store changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "schema/store.h"
#include "tests/support/command.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PaperOfAStore : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy_file("reports/published/m1-ultra-2026-08/results.db", db_);
    fs::permissions(db_, fs::perms::owner_write, fs::perm_options::add);
  }

  CommandResult paper(std::vector<std::string> arguments, std::map<std::string, std::string> env = {}) const {
    std::vector<std::string> all = {"report", "paper", "--db", db_.string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return sandbox_.capbench(all, std::move(env));
  }

  static bool has(const std::string& program) {
    return run_command({{"/bin/sh", "-c", "command -v " + program}, {}}).exit_status == 0;
  }

  Sandbox sandbox_;
  fs::path db_ = sandbox_.dir / "results.db";
  fs::path out_ = sandbox_.dir / "paper";
};

TEST_F(PaperOfAStore, IsWrittenAndCheckedAgainstIt) {
  const auto written = paper({"--out", out_.string(), "--no-figures"});
  ASSERT_EQ(written.exit_status, 0) << written.err;
  for (const char* name : {"paper.tex", "numbers.tex", "paper.md", "paper.html", "numbers.json",
                           "figures/speedup.vl.json", "figures/ablation.vl.json"}) {
    EXPECT_TRUE(fs::exists(out_ / name)) << name;
  }
  const auto text = read_file(out_ / "paper.md");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("11.08x"));
  const auto same = paper({"--check", out_.string()});
  EXPECT_EQ(same.exit_status, 0) << same.out << same.err;

  // A trial of the series is excluded: what follows from it is named, nothing else.
  std::string id;
  {
    auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
    ASSERT_TRUE(store.ok());
    for (const schema::TrialView& view : *store->trials({})) {
      if (view.trial.status == "ok" && view.trial.model == "gemma-4-12b" && view.trial.mode == "unlocked") {
        id = view.trial.id;
      }
    }
  }
  ASSERT_FALSE(id.empty());
  const auto excluded = sandbox_.capbench({"exclude", id, "--why", "a test", "--db", db_.string()});
  ASSERT_EQ(excluded.exit_status, 0) << excluded.err;
  const auto differs = paper({"--check", out_.string()});
  EXPECT_EQ(differs.exit_status, 1) << differs.out;
  EXPECT_THAT(differs.out, HasSubstr("gemma-4-12b-pp512-"));
  EXPECT_THAT(differs.out, HasSubstr("-ratio: 7.198 (7.197"));
  EXPECT_THAT(differs.out, HasSubstr("nothing in the store"));
  EXPECT_EQ(differs.out.find("tinyllama-1-1b-pp512"), std::string::npos) << differs.out;
}

// A paper is gone on with. What somebody wrote stays, and a figure that somebody changed is found.
TEST_F(PaperOfAStore, TextsThatWereEditedStayAndAreChecked) {
  ASSERT_EQ(paper({"--out", out_.string(), "--no-figures"}).exit_status, 0);
  const std::string tex = *read_file(out_ / "paper.tex");
  ASSERT_TRUE(replace_file(out_ / "paper.tex", tex + "% mine\n").ok());
  std::string text = *read_file(out_ / "paper.md");
  ASSERT_TRUE(replace_file(out_ / "paper.md", "A preface of 3 words.\n\n" + text).ok());
  EXPECT_EQ(paper({"--check", out_.string()}).exit_status, 0);
  const auto again = paper({"--out", out_.string(), "--no-figures"});
  EXPECT_EQ(again.exit_status, 0);
  EXPECT_THAT(again.err, HasSubstr("paper.tex was changed"));
  EXPECT_EQ(*read_file(out_ / "paper.tex"), tex + "% mine\n");
  EXPECT_EQ(*read_file(out_ / "paper.tex.new"), tex);
  EXPECT_FALSE(fs::exists(out_ / "paper.html.new"));
  EXPECT_EQ(paper({"--check", out_.string()}).exit_status, 0);

  const std::size_t figure = text.find("4871.99");
  ASSERT_NE(figure, std::string::npos);
  text.replace(figure, 4, "4872");
  ASSERT_TRUE(replace_file(out_ / "paper.md", text).ok());
  const auto changed = paper({"--check", out_.string()});
  EXPECT_EQ(changed.exit_status, 1);
  EXPECT_THAT(changed.out, HasSubstr("paper.md: it does not have the line: |tinyllama-1.1b  |pp512|   4871.99|"));
}

TEST_F(PaperOfAStore, FilesOfOthersAreNotWrittenOver) {
  fs::create_directories(out_);
  ASSERT_TRUE(replace_file(out_ / "paper.tex", "my thesis\n").ok());
  const auto refused = paper({"--out", out_.string(), "--no-figures"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("paper.tex: is there"));
  EXPECT_EQ(*read_file(out_ / "paper.tex"), "my thesis\n");
  EXPECT_FALSE(fs::exists(out_ / "numbers.json"));
}

// A number's query, typed as it is recorded, prints the number.
TEST_F(PaperOfAStore, QueriesPrintTheirNumbers) {
  if (!has("jq") || !has("sqlite3")) GTEST_SKIP() << "no jq or no sqlite3 program";
  ASSERT_EQ(paper({"--out", out_.string(), "--no-figures"}).exit_status, 0);
  const auto text = read_file(out_ / "numbers.json");
  ASSERT_TRUE(text.ok());
  const std::string path = fs::path(capbench_program()).parent_path().string() + ":" + std::getenv("PATH");
  const auto document = nlohmann::json::parse(*text);
  EXPECT_GT(document.at("numbers").size(), 50U);
  std::size_t place = 0;
  for (const auto& [key, number] : document.at("numbers").items()) {
    // Each takes a process of its own: every kind of number, but not every row of each.
    if (place++ % 5 != 0 && !key.starts_with("count-")) continue;
    const auto result =
        run_command({{"/bin/sh", "-c", number["query"].get<std::string>()}, {{"PATH", path}, {"DB", db_.string()}}});
    ASSERT_EQ(result.exit_status, 0) << key << "\n" << number["query"] << result.err;
    if (number["value"].is_null()) {
      EXPECT_EQ(result.out, number["text"].get<std::string>() + "\n") << key;
    } else {
      const double printed = std::strtod(result.out.c_str(), nullptr);
      const double value = number["value"];
      EXPECT_NEAR(printed, value, 1e-9 * std::abs(value)) << key << "\n" << number["query"];
    }
  }
}

TEST_F(PaperOfAStore, Compiles) {
  if (!has("pdflatex")) GTEST_SKIP() << "no pdflatex on the PATH (Debian: texlive-latex-recommended)";
  ASSERT_EQ(paper({"--out", out_.string(), "--no-figures"}).exit_status, 0);
  const auto result = run_command({{"/bin/sh", "-c",
                                    "cd \"$OUT\" && pdflatex -halt-on-error -no-shell-escape -interaction=nonstopmode "
                                    "paper.tex && pdflatex -halt-on-error -no-shell-escape -interaction=nonstopmode "
                                    "paper.tex"},
                                   {{"OUT", out_.string()}, {"HOME", sandbox_.dir.string()}}});
  EXPECT_EQ(result.exit_status, 0) << result.out.substr(result.out.size() > 3000 ? result.out.size() - 3000 : 0);
  EXPECT_TRUE(fs::exists(out_ / "paper.pdf"));
  EXPECT_EQ(result.out.find("Undefined control sequence"), std::string::npos);
}

TEST_F(PaperOfAStore, FiguresAreDrawnOrTheLackOfAToolIsSaid) {
  const auto none = paper({"--out", out_.string()}, {{"PATH", sandbox_.dir.string()}});
  EXPECT_EQ(none.exit_status, 3) << none.out;
  EXPECT_THAT(none.err, HasSubstr("node is not on the PATH"));
  EXPECT_THAT(none.err, HasSubstr("--no-figures"));
  EXPECT_TRUE(fs::exists(out_ / "paper.tex"));
  const auto drawn = paper({"--out", out_.string()});
  if (drawn.exit_status == 3) GTEST_SKIP() << drawn.err;
  ASSERT_EQ(drawn.exit_status, 0) << drawn.err;
  for (const char* name : {"speedup", "ablation"}) {
    const auto svg = read_file(out_ / "figures" / (std::string(name) + ".svg"));
    ASSERT_TRUE(svg.ok()) << name;
    EXPECT_THAT(*svg, HasSubstr("gemma-4-12b, pp512"));
    // Two things changed at once in its stock arm: a speed to show, and no cost of either.
    EXPECT_EQ(svg->find("tinyllama-1.1b, pp512") != std::string::npos, name == std::string_view("speedup")) << name;
    const auto pdf = read_file(out_ / "figures" / (std::string(name) + ".pdf"));
    ASSERT_TRUE(pdf.ok()) << name;
    EXPECT_TRUE(pdf->starts_with("%PDF-")) << name;
  }
}

TEST_F(PaperOfAStore, WrongUsageIsNamed) {
  EXPECT_THAT(paper({}).err, HasSubstr("neither --out nor --check"));
  EXPECT_EQ(paper({}).exit_status, 2);
  EXPECT_EQ(paper({"--out", out_.string(), "--check", out_.string()}).exit_status, 2);
  EXPECT_EQ(paper({"--check", sandbox_.dir.string()}).exit_status, 2);
  sandbox_.write("numbers.json", "{\"kind\":\"capbench.paper\"}");
  const auto malformed = paper({"--check", sandbox_.dir.string()});
  EXPECT_EQ(malformed.exit_status, 2);
  EXPECT_THAT(malformed.err, HasSubstr("numbers.json"));
  EXPECT_EQ(paper({"--out", out_.string(), "--suite", "no such suite"}).exit_status, 2);
}

}  // namespace
}  // namespace capbench::testing
