#include "harness/cli/paper_figures.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/submit/run_program.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScript = "scripts/node/vega_svg.mjs";
constexpr int kNoPackages = 3;  // of the script
constexpr std::string_view kOrWithout = "; or --no-figures";

Error missing(std::string what, std::string_view remedy) {
  return {ErrorKind::kMachine, "the figures", std::move(what), fmt::format("{}{}", remedy, kOrWithout)};
}

// In the checkout that this program was built in.
std::optional<fs::path> find_script(const runner::Install& install) {
  std::vector<fs::path> starts = {install.invoked_dir};
  starts.insert(starts.end(), install.linked_dirs.begin(), install.linked_dirs.end());
  starts.push_back(install.program.parent_path());
  std::error_code ignored;
  for (const fs::path& start : starts) {
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      if (fs::is_regular_file(folder / kScript, ignored)) return folder / kScript;
      if (folder == folder.root_path()) break;
    }
  }
  return std::nullopt;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Status run(const std::vector<std::string>& argv, std::string_view remedy) {
  submit::ProgramRun program;
  program.argv = argv;
  // What is injected into a measured program has no place in these.
  program.drop_env = {"LD_PRELOAD", "NODE_OPTIONS"};
  auto end = submit::run_program(program);
  if (!end) return missing(argv.front() + " could not be run: " + end.error().cause, remedy);
  if (end->exit_status == 0) return {};
  if (end->exit_status == kNoPackages && argv.front() == "node") return missing(first_line(end->err), remedy);
  return Error{ErrorKind::kMachine, argv.front(), fmt::format("exited {}: {}", end->exit_status, first_line(end->err)),
               "the command by hand"};
}

}  // namespace

Status draw_figures(const runner::Install& install, const fs::path& folder, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const auto script = find_script(install);
  if (!script) return missing(fmt::format("{} does not lie beside this program", kScript), "a checkout of capbench");
  for (const char* program : {"node", "rsvg-convert"}) {
    if (runner::find_on_path(program)) continue;
    return missing(fmt::format("{} is not on the PATH", program), std::string_view(program) == "node"
                                                                      ? "scripts/setup, which installs Node.js"
                                                                      : "Debian's package librsvg2-bin");
  }
  for (const std::string& name : names) {
    const auto file = [&](const char* ending) { return (folder / (name + ending)).string(); };
    Status status = run({"node", script->string(), file(".vl.json"), file(".svg")}, "`npm ci` in the checkout");
    if (!status) return status;
    status = run({"rsvg-convert", "--format", "pdf", "--output", file(".pdf"), file(".svg")},
                 "Debian's package librsvg2-bin");
    if (!status) return status;
  }
  return {};
}

}  // namespace capbench::cli
