#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "harness/export/render.h"
#include "schema/address.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string db;
  std::string suite;
  std::string format = "jsonl";
  std::string out;
};

int export_results(const Options& options) {
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return fail(store.error());
  schema::TrialFilter filter;
  filter.suite = options.suite;
  auto trials = store->trials(filter);
  if (!trials) return fail(trials.error());
  const exports::ExportRows found = exports::export_rows(*trials);
  const std::vector<exports::ExportRow>& rows = found.rows;
  for (const std::string& result : found.left_out) {
    fmt::print(stderr, "left out, since nobody can have measured it: {}\n", result);
  }
  if (rows.empty()) {
    return fail({ErrorKind::kUsage, schema::shown(path->string()), "holds no result of a trial that is ok",
                 "`capbench report speedup`, which says what became of the trials"});
  }
  if (options.format == "llama-bench-sqlite") {
    if (options.out.empty()) {
      return fail({ErrorKind::kUsage, "--out", "a database is not for a terminal", "--out llama-bench.sqlite"});
    }
    auto bytes = exports::render_sqlite(rows);
    if (!bytes) return fail(bytes.error());
    const int status = write_output(options.out, *bytes);
    return status == 0 && !found.left_out.empty() ? 1 : status;
  }
  std::string text;
  if (options.format == "jsonl") text = exports::render_jsonl(rows);
  if (options.format == "csv") text = exports::render_csv(rows);
  if (options.format == "sql") text = exports::render_sql(rows);
  if (options.format == "md") text = exports::render_markdown(rows);
  const int status = write_output(options.out, text);
  return status == 0 && !found.left_out.empty() ? 1 : status;
}

}  // namespace

void add_export(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Print results as llama-bench's own formats");
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--suite", options->suite, "only this suite (name or id)");
  command->add_option("--format", options->format, "jsonl, csv, sql, md or llama-bench-sqlite")
      ->check(CLI::IsMember({"jsonl", "csv", "sql", "md", "llama-bench-sqlite"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "a file instead of standard output");
  command->footer(
      "Only trials that are ok. Whatever reads llama-bench's output reads this; llama.cpp's\n"
      "compare-llama-bench.py reads llama-bench-sqlite. Arm, mode and trial stand in fields named\n"
      "capbench_..., from which `capbench import` takes them; a Markdown table has none of them.\n"
      "Exit status 1: results that nobody can have measured were left out.\n"
      "Examples:\n"
      "  capbench export --db results.db --format md\n"
      "  capbench export --db results.db --format llama-bench-sqlite --out llama-bench.sqlite");
  command->callback([&session, options] { session.action = [options] { return export_results(*options); }; });
}

}  // namespace capbench::cli
