#include "harness/runner/run.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "harness/cli/command.h"
#include "harness/runner/progress.h"
#include "harness/runner/stop_signal.h"
#include "schema/address.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string suite;
  std::string db;
  std::string only;
  std::string shard;
  std::optional<std::uint64_t> seed;
  bool resume = false;
  bool quiet = false;
  bool no_wait = false;
};

std::unique_ptr<runner::Progress> make_progress(bool quiet) {
  if (quiet) return runner::make_quiet_progress();
  if (::isatty(STDERR_FILENO) == 0) return runner::make_plain_progress();
  winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return runner::make_terminal_progress(known ? size.ws_col : 80);
}

std::string resume_command(const std::string& db, const Options& options) {
  const std::string only = options.only.empty() ? "" : fmt::format(" --only '{}'", options.only);
  const std::string shard = options.shard.empty() ? "" : fmt::format(" --shard {}", options.shard);
  return fmt::format("capbench run {} --db {}{}{} --resume", options.suite, db, only, shard);
}

int summarize(const runner::RunSummary& summary, const std::string& db, const Options& options) {
  std::string counts;
  std::size_t ok = 0;
  std::size_t recorded = 0;
  for (const auto& [status, count] : summary.by_status) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, status);
    recorded += count;
    if (status == "ok") ok = count;
  }
  tell(fmt::format("{} of {} trials in the store{}{}; {} ran now\n", recorded, summary.planned,
                   counts.empty() ? "" : ": ", counts, summary.ran));
  if (summary.target_lost) {
    tell(fmt::format("to go on when the target is back: {}\n", resume_command(db, options)));
    return exit_status(ErrorKind::kMachine);
  }
  if (summary.interrupted) {
    tell(fmt::format("interrupted; to go on: {}\n", resume_command(db, options)));
    return 130;
  }
  tell(fmt::format("the table: capbench report speedup --db {}\n", db));
  return ok + summary.failed_as_expected == summary.planned && summary.unexpected_successes == 0 ? 0 : 1;
}

int run(const Session& session, const Options& options) {
  auto loaded = load_suite(options.suite);
  if (!loaded) return fail(loaded.error());
  auto path = store_path(options.db, true);
  if (!path) return fail(path.error());
  // Somebody else's long write (an import) must not cost a trial.
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate, std::chrono::seconds(60));
  if (!store) return fail(store.error());
  const runner::StopSignal stop;
  auto progress = make_progress(options.quiet);
  runner::RunOptions run_options;
  run_options.resume = options.resume;
  run_options.only = options.only;
  if (!options.shard.empty()) {
    auto shard = suite::parse_shard(options.shard);
    if (!shard) return fail(shard.error());
    run_options.shard = *shard;
  }
  run_options.seed = options.seed;
  run_options.wait_for_machine = !options.no_wait;
  auto summary =
      runner::run_suite(loaded->suite, loaded->folder, *store, session.install, run_options, *progress, stop);
  progress.reset();  // a bar must be gone before anything else is printed
  if (!summary) return fail(summary.error());
  return summarize(*summary, schema::shown(path->string()), options);
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a suite: every trial a fresh process, every sample kept");
  command->add_option("SUITE", options->suite, "the suite file")->required();
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_flag("--resume", options->resume, "go on with this suite's newest run here: only what is missing");
  command->add_option("--only", options->only, "only trials whose MODEL/WORKLOAD/ARM matches this pattern (* ? [])");
  command->add_option("--shard", options->shard, "I/N: only the I-th of N parts, made of whole blocks");
  command->add_option("--seed", options->seed, "seed of the order within blocks [the suite's]")->check(whole_number);
  command->add_flag("--quiet", options->quiet, "print only messages and trials that are not ok");
  command->add_flag("--no-wait", options->no_wait, "give up if another capbench run is measuring on this machine");
  command->footer(
      "Ctrl-C ends the trial in flight and keeps all others. Exit status 1: a trial is not ok.\n"
      "Examples:\n"
      "  capbench run suites/quickstart.json\n"
      "  capbench run suites/quickstart.json --db results.db --resume\n"
      "  capbench run suites/quickstart.json --only '*/stock'\n"
      "  capbench run suites/quickstart.json --shard 2/5 --db shard-2.db");
  command->callback([&session, options] { session.action = [&session, options] { return run(session, *options); }; });
}

}  // namespace capbench::cli
