#include "shim/inspect/inspect.h"

#include <memory>
#include <string>

#include "harness/cli/command.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string binary;
  std::string shim;
  std::string format = "text";
};

int inspect(const Options& options) {
  namespace inspect = shim::inspect;
  inspect::ShimFacts shim;
  if (!options.shim.empty()) {
    auto read = inspect::read_shim(options.shim);
    if (!read) return fail(read.error());
    shim = *read;
  }
  const auto inspection = inspect::inspect_file(options.binary, shim);
  if (!inspection) return fail(inspection.error());
  const bool json = options.format == "json";
  const int printed = print_data(json ? inspect::inspection_json(*inspection) : inspect::inspection_text(*inspection));
  if (printed != 0) return printed;
  const bool blocked = inspection->running().verdict.injection == inspect::Injection::kBlocked;
  return blocked ? exit_status(ErrorKind::kFinding) : 0;
}

}  // namespace

void add_inspect(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Will this binary accept a shim, and what does it ask a device?");
  command->add_option("BINARY", options->binary, "a program or library, Mach-O or ELF, of any machine")->required();
  command->add_option("--shim", options->shim, "the shim to be injected, to compare them");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Nothing is run: the file is read. Libraries hold questions of their own: inspect them too.\n"
      "For a Mach-O file without --shim, a Metal shim for arm64 is meant.\n"
      "What a Metal library asks when it runs, and what it needs: capbench explain.\n"
      "Exit status: 0 injection works, or the program that loads the library decides; 1 it will not work;\n"
      "2 not a readable binary.\n"
      "Examples:\n"
      "  capbench inspect /opt/homebrew/bin/llama-bench\n"
      "  capbench inspect libggml-metal.so --format json");
  command->callback([&session, options] { session.action = [options] { return inspect(*options); }; });
}

}  // namespace capbench::cli
