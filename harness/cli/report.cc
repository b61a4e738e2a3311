#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/report_paper.h"
#include "reports/render.h"
#include "schema/address.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string db;
  std::string suite;
  std::string format = "md";
  std::string out;
  reports::RenderSides sides;
};

int print_report(std::string_view kind, const Options& options) {
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return fail(store.error());
  schema::TrialFilter filter;
  filter.suite = options.suite;
  auto report = reports::render(*store, filter, kind, options.format, options.sides);
  if (!report) return fail(report.error());
  if (report->empty) {
    const std::string of = options.suite.empty() ? "" : fmt::format(" of suite \"{}\"", options.suite);
    return fail({ErrorKind::kUsage, schema::shown(path->string()), "holds no trials" + of,
                 "`capbench run SUITE --db " + schema::shown(path->string()) + "`"});
  }
  return write_output(options.out, report->text);
}

}  // namespace

void add_report(CLI::App& app, Session& session) {
  CLI::App* report = app.add_subcommand("report", "Print what the store says");
  report->footer(
      "Examples:\n"
      "  capbench report speedup --db results.db --format html --out report.html\n"
      "  capbench report ablation --db results.db --format latex");
  report->require_subcommand(1);
  std::vector<std::string> formats;
  for (const std::string_view format : reports::report_formats()) formats.emplace_back(format);
  for (const reports::ReportKind& kind : reports::report_kinds()) {
    auto options = std::make_shared<Options>();
    CLI::App* command = report->add_subcommand(std::string(kind.name), std::string(kind.about));
    command->add_option("--db", options->db,
                        "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
    command->add_option("--suite", options->suite, "only this suite (name or id)");
    command->add_option("--format", options->format, fmt::format("{}", fmt::join(formats, ", ")))
        ->check(CLI::IsMember(formats))
        ->capture_default_str();
    command->add_option("--out", options->out, "a file instead of standard output");
    const bool compares = kind.name == "compare";
    if (compares) {
      command->add_option("--base", options->sides.base,
                          "a build number, the beginning of a commit or of an environment's id, or a machine");
      command->add_option("--other", options->sides.other, "likewise [both: the newest two]");
    }
    command->footer(
        fmt::format("Examples:\n  capbench report {0} --db results.db\n"
                    "  capbench report {0} --db results.db --format html --out {0}.html",
                    kind.name));
    command->callback([&session, options, name = kind.name] {
      session.action = [options, name] { return print_report(name, *options); };
    });
  }
  add_report_paper(*report, session);
}

}  // namespace capbench::cli
