#include "harness/cli/report_paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/digest.h"
#include "base/file.h"
#include "harness/cli/paper_figures.h"
#include "reports/paper/paper.h"
#include "reports/read_ablation.h"
#include "reports/read_speedup.h"
#include "schema/address.h"
#include "schema/store.h"
#include "schema/store_file.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;
namespace paper = reports::paper;

struct Options {
  std::string db;
  std::string suite;
  std::string out;
  std::string check;
  bool no_figures = false;
};

Result<paper::Paper> read_paper(const Options& options, const std::string& suite) {
  auto path = store_path(options.db, false);
  if (!path) return std::move(path).error();
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return std::move(store).error();
  schema::TrialFilter filter;
  filter.suite = suite;
  auto speedup = reports::read_speedup(*store, filter);
  if (!speedup) return std::move(speedup).error();
  if (speedup->rows.empty()) {
    const std::string of = suite.empty() ? "" : fmt::format(" of suite \"{}\"", suite);
    return Error{ErrorKind::kUsage, schema::shown(path->string()), "holds no trials" + of,
                 "`capbench run SUITE --db " + schema::shown(path->string()) + "`"};
  }
  auto ablation = reports::read_ablation(*store, filter);
  if (!ablation) return std::move(ablation).error();
  return paper::make_paper({std::move(*speedup), std::move(*ablation), suite});
}

using Files = std::vector<std::pair<std::string, std::string>>;  // by name

// The texts that people go on with.
constexpr std::array<std::string_view, 3> kTexts = {"paper.tex", "paper.md", "paper.html"};

bool is_text(std::string_view name) {
  return std::find(kTexts.begin(), kTexts.end(), name) != kTexts.end();
}

// What an earlier call wrote there; nothing if none did. Files of somebody else are not written over.
Result<std::optional<paper::RecordedNumbers>> earlier_paper(const fs::path& folder, const Files& files) {
  std::error_code error;
  if (fs::exists(folder / "numbers.json", error)) {
    auto text = read_file(folder / "numbers.json");
    if (!text) return std::move(text).error();
    auto recorded = paper::parse_numbers(*text);
    if (recorded) return std::optional(std::move(*recorded));
  }
  for (const auto& [name, text] : files) {
    if (!fs::exists(folder / name, error)) continue;
    return Error{ErrorKind::kUsage, (folder / name).string(), "is there, and not of a paper that capbench wrote",
                 "a new folder, or one without it"};
  }
  return std::optional<paper::RecordedNumbers>();
}

// Whether somebody went on with the text since it was written.
Result<bool> is_edited(const fs::path& file, const std::string& written_sha256) {
  std::error_code error;
  if (!fs::exists(file, error)) return false;
  auto text = read_file(file);
  if (!text) return std::move(text).error();
  return sha256(*text) != written_sha256;
}

// The files; beside a text that somebody went on with, NAME.new.
Status write_files(const fs::path& folder, Files& files) {
  auto earlier = earlier_paper(folder, files);
  if (!earlier) return std::move(earlier).error();
  std::error_code error;
  fs::create_directories(folder / "figures", error);
  if (error) return file_error(folder, error.value());
  for (auto& [name, text] : files) {
    if (is_text(name) && *earlier) {
      const auto edited = is_edited(folder / name, (*earlier)->files[name]);
      if (!edited) return edited.error();
      if (*edited) {
        tell(fmt::format("{} was changed since it was written and stays; the new text is {}.new\n",
                         (folder / name).string(), name));
        name += ".new";
      }
    }
    if (Status status = schema::may_replace(folder / name); !status) return status;
    if (Status status = replace_file(folder / name, text); !status) return status;
  }
  return {};
}

int write_paper(const runner::Install& install, const Options& options) {
  auto made = read_paper(options, options.suite);
  if (!made) return fail(made.error());
  Files files = {
      {"paper.tex", paper::paper_latex(*made)},
      {"numbers.tex", paper::numbers_latex(made->numbers)},
      {"paper.md", paper::paper_markdown(*made)},
      {"paper.html", paper::paper_html(*made)},
  };
  paper::WrittenFiles digests;
  for (const auto& [name, text] : files) {
    if (is_text(name)) digests[name] = sha256(text);
  }
  files.emplace_back("numbers.json", paper::numbers_json(made->numbers, options.suite, digests));
  std::vector<std::string> figures;
  for (const paper::Figure& figure : paper::figures_of(*made)) {
    files.emplace_back("figures/" + figure.name + ".vl.json", figure.specification);
    figures.push_back(figure.name);
  }
  const fs::path folder = options.out;
  if (Status status = write_files(folder, files); !status) return fail(status.error());
  if (!options.no_figures) {
    if (Status status = draw_figures(install, folder / "figures", figures); !status) {
      tell(fmt::format("the texts and the numbers are in {}; the figures are not drawn\n", folder.string()));
      return fail(status.error());
    }
  }
  std::string listed;
  for (const auto& [name, text] : files) listed += (folder / name).string() + "\n";
  if (!options.no_figures) {
    for (const std::string& name : figures) {
      for (const char* ending : {".svg", ".pdf"}) listed += (folder / "figures" / (name + ending)).string() + "\n";
    }
  }
  return print_data(listed);
}

// Where a file of the folder prints other figures than its numbers.json has. paper.tex takes them from numbers.tex.
Result<std::vector<std::string>> changed_texts(const fs::path& folder, const paper::Paper& now) {
  std::vector<std::string> changed;
  for (const auto& [name, written] :
       {std::pair("numbers.tex", paper::numbers_latex(now.numbers)), std::pair("paper.md", paper::paper_markdown(now)),
        std::pair("paper.html", paper::paper_html(now))}) {
    std::error_code error;
    if (!fs::exists(folder / name, error)) continue;
    auto text = read_file(folder / name);
    if (!text) return std::move(text).error();
    for (const std::string& line : paper::changed_lines(written, *text)) {
      changed.push_back(fmt::format("{}: it does not have the line: {}", name, line));
    }
  }
  return changed;
}

// Whether the store still gives every number that the folder's numbers.json records, and whether the texts print them.
int check_paper(const Options& options) {
  const fs::path folder = options.check;
  auto text = read_file(folder / "numbers.json");
  if (!text) return fail(text.error());
  auto recorded = paper::parse_numbers(*text);
  if (!recorded) return fail(recorded.error());
  auto now = read_paper(options, recorded->suite);
  if (!now) return fail(now.error());
  const std::vector<std::string> differences = paper::differences(recorded->numbers, now->numbers);
  std::vector<std::string> changed;
  if (differences.empty()) {
    auto found = changed_texts(folder, *now);
    if (!found) return fail(found.error());
    changed = std::move(*found);
  }
  constexpr std::size_t kMostShown = 20;
  std::string out;
  for (const std::string& difference : differences) out += difference + "\n";
  for (std::size_t i = 0; i < std::min(changed.size(), kMostShown); ++i) out += changed[i] + "\n";
  if (changed.size() > kMostShown) out += fmt::format("and {} more\n", counted(changed.size() - kMostShown, "line"));
  const std::size_t checked = recorded->numbers.all().size();
  out += fmt::format("{} of {} numbers are as the store gives them\n", checked - differences.size(), checked);
  if (!changed.empty())
    out += fmt::format("{} with figures differ from what they give\n", counted(changed.size(), "line"));
  const int printed = print_data(out);
  if (printed != 0) return printed;
  return differences.empty() && changed.empty() ? 0 : 1;
}

int act(const runner::Install& install, const Options& options) {
  if (options.out.empty() == options.check.empty()) {
    return fail({ErrorKind::kUsage, "report paper",
                 options.out.empty() ? "neither --out nor --check is given" : "--out and --check exclude each other",
                 "--out DIR to write a paper, --check DIR to compare one with the store"});
  }
  if (!options.check.empty() && !options.suite.empty()) {
    return fail({ErrorKind::kUsage, "--suite", "has no place beside --check",
                 "leave it out: numbers.json knows which suite the paper is about"});
  }
  return options.check.empty() ? write_paper(install, options) : check_paper(options);
}

}  // namespace

void add_report_paper(CLI::App& report, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = report.add_subcommand(
      "paper", "Write a paper's text, tables, figures and numbers, or check that the store still gives them");
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--suite", options->suite, "only this suite (name or id)");
  command->add_option("--out", options->out, "the folder to write: LaTeX, Markdown, HTML, numbers.json, figures/");
  command->add_option("--check", options->check,
                      "a folder written by --out: exit 1, naming them, if the store does not give its numbers or its "
                      "texts print others");
  command->add_flag("--no-figures", options->no_figures, "write the figures' specifications and draw none of them");
  command->footer(
      "--out keeps a paper.tex, paper.md or paper.html that was changed since it was written, and\n"
      "writes NAME.new beside it.\n"
      "Figures are drawn by Vega (npm) and librsvg (Debian: librsvg2-bin); without them this exits 3.\n"
      "Examples:\n"
      "  capbench report paper --db results.db --out paper\n"
      "  capbench report paper --db results.db --check paper");
  command->callback(
      [&session, options] { session.action = [&session, options] { return act(session.install, *options); }; });
}

}  // namespace capbench::cli
