#include <fmt/format.h>

#include <memory>
#include <string>

#include "harness/cli/command.h"
#include "reports/read_speedup.h"
#include "reports/render_csv.h"
#include "reports/render_html.h"
#include "reports/render_json.h"
#include "reports/render_markdown.h"
#include "reports/speedup.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string db;
  std::string suite;
  std::string format = "md";
  std::string out;
};

std::string render(const reports::SpeedupReport& report, const std::string& format) {
  if (format == "csv") return reports::render_csv(report);
  if (format == "json") return reports::render_json(report);
  if (format == "html") return reports::render_html(report);
  return reports::render_markdown(report);
}

int speedup(const Options& options) {
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return fail(store.error());
  schema::TrialFilter filter;
  filter.suite = options.suite;
  auto report = reports::read_speedup(*store, filter);
  if (!report) return fail(report.error());
  if (report->rows.empty()) {
    const std::string of = options.suite.empty() ? "" : fmt::format(" of suite \"{}\"", options.suite);
    return fail({ErrorKind::kUsage, path->string(), "holds no trials" + of,
                 "`capbench run SUITE --db " + path->string() + "`"});
  }
  return write_output(options.out, render(*report, options.format));
}

}  // namespace

void add_report(CLI::App& app, Session& session) {
  CLI::App* report = app.add_subcommand("report", "Print what the store says");
  report->footer("Example:\n  capbench report speedup --db results.db --format html --out report.html");
  report->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* command = report->add_subcommand("speedup", "unlocked against stock, and against bare-metal");
  command->add_option("--db", options->db, "the store [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--suite", options->suite, "only this suite (name or id)");
  command->add_option("--format", options->format, "md, csv, json or html")
      ->check(CLI::IsMember({"md", "csv", "json", "html"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "a file instead of standard output");
  command->footer(
      "Examples:\n"
      "  capbench report speedup --db results.db\n"
      "  capbench report speedup --db results.db --format html --out speedup.html");
  command->callback([&session, options] { session.action = [options] { return speedup(*options); }; });
}

}  // namespace capbench::cli
