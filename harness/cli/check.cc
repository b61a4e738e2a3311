#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "harness/cli/check_find.h"
#include "harness/cli/command.h"
#include "reports/history.h"
#include "reports/regressions.h"
#include "schema/address.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string db;
  std::string baseline;
  std::string suite;
  std::string model;
  std::string test;
  std::string arm;
  std::string over = "builds";
  std::string format = "md";
  std::string out;
  std::vector<std::string> triage;  // id, state
  std::string why;
  bool find = false;
  FindOptions search;
};

int check(const Options& options) {
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return fail(store.error());
  reports::HistoryFilter filter;
  filter.axis = reports::axis_of(options.over).value_or(reports::Axis::kBuilds);
  filter.suite = options.suite;
  filter.model = options.model;
  filter.test = options.test;
  filter.arm = options.arm;
  filter.details = false;
  auto history = reports::read_history(*store, filter);
  if (!history) return fail(history.error());
  if (history->empty()) {
    return fail({ErrorKind::kUsage, schema::shown(path->string()), "holds no trials to compare",
                 "`capbench run SUITE --db " + schema::shown(path->string()) + "`"});
  }
  auto report = reports::check_history(*history, filter.axis, options.baseline);
  if (!report) return fail(report.error());
  const int status = write_output(options.out, reports::check_text(*report, options.format));
  if (status != 0) return status;
  if (report->compared == 0) {
    return fail({ErrorKind::kUsage, schema::shown(path->string()),
                 "no speed could be compared with the baseline, so that nothing is known of what is slower",
                 "what the report says of each; mostly more trials of both builds on one machine are needed"});
  }
  return report->finding ? exit_status(ErrorKind::kFinding) : 0;
}

int triage(const Options& options) {
  const std::string& id = options.triage[0];
  const std::string& state = options.triage[1];
  if (options.why.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail({ErrorKind::kUsage, "--why", "it is empty", "say in a few words what was decided and on what grounds"});
  }
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  // Opening for writing would make an empty store out of a mistyped name.
  if (std::error_code error; !schema::is_address(path->native()) && !std::filesystem::exists(*path, error)) {
    return fail(file_error(*path, ENOENT));
  }
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate);
  if (!store) return fail(store.error());
  auto subject = reports::find_regression(*store, id);
  if (!subject) return fail(subject.error());
  schema::TriageRecord decision;
  decision.regression_id = sha256(*subject);
  decision.state = state;
  decision.why = options.why;
  decision.subject = *subject;
  if (Status status = store->put_triage(decision); !status) return fail(status.error());
  tell(fmt::format("regression {} is {} now\n", decision.regression_id.substr(0, 12), state));
  return 0;
}

int dispatch(const Session& session, const Options& options) {
  const int modes = (options.find ? 1 : 0) + (options.triage.empty() ? 0 : 1) + (options.baseline.empty() ? 0 : 1);
  if (modes != 1) {
    return fail({ErrorKind::kUsage, "check", modes == 0 ? "nothing to do" : "one thing at a time",
                 "--baseline REV, or --triage ID STATE, or --find; `capbench check --help` describes each"});
  }
  if (options.find) return find_first_bad(session, options.search);
  return options.triage.empty() ? check(options) : triage(options);
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Is anything slower than at a baseline? Since when, and how sure?");
  command->add_option("--baseline", options->baseline,
                      "a llama.cpp build number, the beginning of a commit, a label, or `previous`");
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--over", options->over, "what varies: builds, systems, runs")
      ->check(CLI::IsMember({"builds", "systems", "runs"}))
      ->capture_default_str();
  command->add_option("--suite", options->suite, "only this suite (name or id)");
  command->add_option("--model", options->model, "only this model");
  command->add_option("--test", options->test, "only this test: pp512");
  command->add_option("--arm", options->arm, "only this arm");
  command->add_option("--format", options->format, "md: a comment for a pull request; csv, json, html, latex")
      ->check(CLI::IsMember({"md", "csv", "json", "html", "latex"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "a file instead of standard output");
  command
      ->add_option("--triage", options->triage,
                   "ID STATE: what was decided of a regression; open, acknowledged, "
                   "fixed or noise")
      ->expected(2)
      ->type_name("ID STATE");
  command->add_option("--why", options->why, "the reason, kept in the store");
  command->add_flag("--find", options->find, "find the first slow build between a good and a bad one, by bisection");
  FindOptions& search = options->search;
  command->add_option("SUITE", search.suite, "with --find: what to measure; of several arms the first");
  command->add_option("--good", search.good, "with --find: a build that is fast");
  command->add_option("--bad", search.bad, "with --find: a later build that is slow");
  command->add_option("--build-cmd", search.build_command,
                      "with --find: makes a build; {build} is its name; its last line of output is the llama-bench");
  command->add_option("--list-cmd", search.list_command,
                      "with --find: prints the builds after {good} up to {bad}, oldest first [the numbers between]");
  command->footer(
      "Exit status: 0 nothing counts as slower; 1 something does; 2 wrong usage, or nothing could\n"
      "be compared with the baseline. A regression that is acknowledged or called noise is listed and\n"
      "does not count; one that is called fixed and is slower still does. --find: 0 found;\n"
      "1 it cannot be told which build; 2 the bad build is not slower; 3 a build cannot be made.\n"
      "Examples:\n"
      "  capbench check --db results.db --baseline b4321 --out comment.md\n"
      "  capbench check --db results.db --baseline previous --format json\n"
      "  capbench check --db results.db --triage 3fa81c acknowledged --why 'known, #123'\n"
      "  capbench check --find suite.json --db find.db --good b4300 --bad b4321 \\\n"
      "    --build-cmd './build-llama {build}'\n"
      "  capbench check --find suite.json --db find.db --good 0ad4a86 --bad HEAD \\\n"
      "    --build-cmd './build-llama {build}' \\\n"
      "    --list-cmd 'git -C llama.cpp rev-list --reverse {good}..{bad}'");
  command->callback([&session, options] {
    options->search.db = options->db;
    options->search.test = options->test;
    options->search.arm = options->arm;
    options->search.model = options->model;
    session.action = [&session, options] { return dispatch(session, *options); };
  });
}

}  // namespace capbench::cli
