// Every LaTeX report through a real pdflatex, with nothing in the preamble but what the report's first line asks for.
// Skipped where there is no pdflatex.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "base/file.h"
#include "reports/ablation_document.h"
#include "reports/capabilities_formats.h"
#include "reports/latex_text.h"
#include "reports/noise_formats.h"
#include "reports/speedup_latex.h"
#include "reports/test_ablation.h"
#include "reports/test_trials.h"

namespace capbench::reports {
namespace {

// What a line may stick out, of reports whose names are of ordinary length; 345 pt are a line.
constexpr double kMostOverfull = 20;

constexpr const char* kTexHostile =
    "\\input{/etc/passwd} \\end{tabular} & % # _ ^ ~ $ {x} } { \\\\[9pt] \\newpage ``q'' \"d\" 'e' <a> | * [b] -- --- "
    "\xC2\xB1 \xC3\x97 \xC2\xB5 \xC2\xB0 \xE2\x80\xA6 \xE2\x80\x93 \xC3\xA9 \xC3\x9F \xC5\x82 \xC4\x85 \xE4\xB8\xAD\xE6"
    "\x96\x87 \xD8\xB9 \xF0\x9F\x98\x80 \xE2\x80\xAE \xCC\x81 \xEF\xBB\xBF ^^41 \x01\x7F\xFF";

bool has_pdflatex() {
  const char* path = std::getenv("PATH");
  for (std::string rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(rest.substr(0, end)) / "pdflatex", error)) return true;
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return false;
}

// The exit status. Output is in NAME.log.
int run_pdflatex(const std::filesystem::path& folder, const std::string& name) {
  std::vector<std::string> argv = {"pdflatex",
                                   "-halt-on-error",
                                   "-no-shell-escape",
                                   "-interaction=nonstopmode",
                                   "-output-directory=" + folder.string(),
                                   (folder / (name + ".tex")).string()};
  std::vector<char*> pointers;
  for (std::string& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::string home = "HOME=" + folder.string();
  std::string path = std::string("PATH=") + std::getenv("PATH");
  // TeX breaks the lines of its log here; openin_any: it reads no absolute path but its own files.
  std::string width = "max_print_line=10000";
  char* environment[] = {home.data(), path.data(), width.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int spawned = posix_spawnp(&child, "pdflatex", &actions, nullptr, pointers.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class LatexCompiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_pdflatex()) GTEST_SKIP() << "no pdflatex on the PATH (Debian: texlive-latex-recommended)";
  }

  // The log of a document with this body; a failure if TeX stops or writes no PDF.
  static std::string compile(const std::string& name, const std::string& body) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "latex";
    std::filesystem::create_directories(folder);
    const std::string text =
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + body + "\n\\end{document}\n";
    const Status written = replace_file(folder / (name + ".tex"), text);
    EXPECT_TRUE(written.ok());
    std::filesystem::remove(folder / (name + ".pdf"));
    const int status = run_pdflatex(folder, name);
    const auto log = read_file(folder / (name + ".log"));
    EXPECT_TRUE(log.ok()) << name;
    if (!log.ok()) return {};
    const std::size_t stopped = log->find("\n!");
    EXPECT_EQ(status, 0) << name << (stopped == std::string::npos ? "" : log->substr(stopped, 400));
    const auto pdf = read_file(folder / (name + ".pdf"));
    EXPECT_TRUE(pdf.ok() && pdf->starts_with("%PDF-") && pdf->size() > 2000) << name;
    for (const char* fault : {"Missing character", "undefined", "(/etc/passwd"}) {
      EXPECT_EQ(log->find(fault), std::string::npos) << name << ": " << fault;
    }
    return *log;
  }
};

// A table that is longer than a page loses its end.
void expect_tables_fit_pages(const std::string& log) {
  EXPECT_EQ(log.find("Float too large"), std::string::npos);
}

double widest_overfull(const std::string& log) {
  static const std::regex kOverfull("Overfull \\\\hbox \\(([0-9.]+)pt");
  double widest = 0;
  for (std::sregex_iterator it(log.begin(), log.end(), kOverfull), end; it != end; ++it) {
    widest = std::max(widest, std::strtod((*it)[1].str().c_str(), nullptr));
  }
  return widest;
}

std::vector<schema::TrialView> golden_trials_named(const std::string& name) {
  std::vector<schema::TrialView> trials = testing::golden_trials();
  for (schema::TrialView& view : trials) {
    view.suite_name += name;
    view.machine_label += name;
    view.trial.model += name;
    view.trial.workload += name;
    if (view.trial.mode == "half") view.trial.mode += name;
    for (schema::ResultRecord& result : view.trial.results) result.gpu_info += name;
  }
  return trials;
}

TEST_F(LatexCompiles, EveryReport) {
  const auto trials = testing::ablation_trials();
  const AblationReport ablation = build_ablation(trials, testing::ablation_background());
  const std::vector<std::pair<std::string, std::string>> reports = {
      {"speedup", speedup_latex(build_speedup(testing::golden_trials(), testing::golden_background()))},
      {"ablation", document_latex(ablation_document(ablation))},
      {"noise", document_latex(noise_document(ablation))},
      {"capabilities", document_latex(capabilities_document(build_capabilities(trials)))}};
  for (const auto& [name, tex] : reports) {
    const std::string log = compile(name, tex);
    EXPECT_LT(widest_overfull(log), kMostOverfull) << name;
    expect_tables_fit_pages(log);
  }
}

TEST_F(LatexCompiles, WithoutTrials) {
  compile("empty", speedup_latex({}) + document_latex(ablation_document({})) + document_latex(noise_document({})) +
                       document_latex(capabilities_document({})) + "\nsome text\\newpage more text");
}

TEST_F(LatexCompiles, HostileNames) {
  for (const std::string& name : {std::string(kTexHostile) + testing::kHostile, std::string(150, '_')}) {
    const auto trials = testing::ablation_trials_named(name);
    const AblationReport ablation = build_ablation(trials, testing::ablation_background_named(name));
    compile("hostile-speedup", speedup_latex(build_speedup(golden_trials_named(name), testing::golden_background())));
    compile("hostile", document_latex(ablation_document(ablation)) + document_latex(noise_document(ablation)) +
                           document_latex(capabilities_document(build_capabilities(trials))));
  }
}

// Each character at the start of a paragraph, of an item and of a table's row, and beside itself.
TEST_F(LatexCompiles, AnyCharacter) {
  std::vector<std::string> characters;
  for (int byte = 1; byte < 256; ++byte) characters.emplace_back(1, static_cast<char>(byte));
  for (unsigned code = 0xA0; code < 0x250; ++code) {
    characters.push_back({static_cast<char>(0xC0U | (code >> 6U)), static_cast<char>(0x80U | (code & 0x3FU))});
  }
  for (const char* other : {"\xE2\x80\xA6", "\xE2\x84\xA2", "\xE2\x82\xAC", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"}) {
    characters.emplace_back(other);
  }
  Section section;
  section.title = "characters";
  Table table;
  table.columns = {{"c", false}, {"twice", false}};
  for (const std::string& character : characters) {
    section.notes.push_back(character + character + " x");
    table.rows.push_back({{character, "", "", ""}, {"x" + character + character, character, "", ""}});
  }
  section.tables.push_back(table);
  Document document;
  document.title = "Characters";
  document.sections.push_back(section);
  compile("characters", document_latex(document));
}

// 64 arms and long texts: tables are broken into parts that fit a line and a page.
TEST_F(LatexCompiles, LargeTablesFitThePage) {
  Table table;
  table.caption = "many arms";
  for (const char* header :
       {"arm", "trials", "tokens/s", "x stock", "% bare", "gap %", "roof %", "status", "reported"}) {
    table.columns.push_back({header, std::string_view(header) != "arm" && std::string_view(header) != "reported"});
  }
  for (int i = 0; i < 64; ++i) {
    table.rows.push_back(
        {{fmt::format("layer: cooperative_matrix=on float16={} integer_dot_product=off", i), "", "", ""},
         {"8x5", "", "", ""},
         {"31948.80", "", "", ""},
         {"3.553x", "[3.553, 3.553]", "", ""},
         {"100.2", "[99.12, 101.3]", "", ""},
         {"100", "[98, 103]", "", ""},
         {"~7.1?", "", "", ""},
         {"ok", "", "", ""},
         {"vulkan.cooperative_matrix=on, vulkan.shader_float16=on, cpu.isa=x64", "", "", ""}});
  }
  Section section;
  section.title = "a model, workload pp512+tg128";
  section.tables.assign(30, table);  // TeX stops at a hundred tables that wait for a page
  Document document;
  document.title = "Large";
  document.sections.push_back(section);
  const std::string log = compile("large", document_latex(document));
  EXPECT_LT(widest_overfull(log), kMostOverfull);
  expect_tables_fit_pages(log);
}

}  // namespace
}  // namespace capbench::reports
