#include "harness/cli/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/shell_command.h"
#include "harness/runner/progress.h"
#include "harness/runner/run.h"
#include "harness/runner/stop_signal.h"
#include "harness/watch/build_list.h"
#include "reports/history.h"
#include "reports/regressions.h"
#include "schema/address.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string suite;
  std::string builds;
  std::string db;
  std::string comments;
  std::string baseline = "previous";
  bool quiet = false;
};

// Held while it lives. Nothing if another process has it.
Result<std::optional<Fd>> only_one(const fs::path& path) {
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock.valid()) return file_error(path, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<Fd>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<Fd>();
  return file_error(path, errno);
}

// How one build went, from good to bad, by its number.
enum class Outcome { kDone = 0, kFinding = 1, kUnusable = 2, kInterrupted = 130 };

class Watch {
 public:
  Watch(const Session& session, const Options& options, LoadedSuite loaded, schema::Store store, fs::path comments)
      : session_(session),
        options_(options),
        loaded_(std::move(loaded)),
        store_(std::move(store)),
        comments_(std::move(comments)) {}

  Outcome take(const watch::ListedBuild& build);

 private:
  Result<Outcome> compare(const watch::ListedBuild& build, bool measured_now);

  const Session& session_;
  const Options& options_;
  LoadedSuite loaded_;
  schema::Store store_;
  fs::path comments_;
  runner::StopSignal stop_;
};

Outcome Watch::take(const watch::ListedBuild& build) {
  runner::Install install = session_.install;
  std::error_code error;
  install.llama_bench = fs::is_directory(build.program, error) ? build.program / "llama-bench" : build.program;
  runner::RunOptions run;
  run.resume = true;
  run.same_program_only = true;
  auto progress = options_.quiet ? runner::make_quiet_progress() : runner::make_plain_progress();
  auto summary = runner::run_suite(loaded_.suite, loaded_.folder, store_, install, run, *progress, stop_);
  progress.reset();
  if (!summary) {
    fail(summary.error());
    tell(fmt::format("{}: not measured; the next watch tries it again\n", build.name));
    return Outcome::kUnusable;
  }
  if (summary->interrupted) return Outcome::kInterrupted;
  if (summary->target_lost) return Outcome::kUnusable;
  auto compared = compare(build, summary->ran > 0);
  if (!compared) {
    fail(compared.error());
    return Outcome::kUnusable;
  }
  std::size_t not_ok = 0;
  for (const auto& [status, count] : summary->by_status) not_ok += status == "ok" ? 0 : count;
  if (summary->ran > 0 && not_ok > summary->failed_as_expected) {
    tell(fmt::format("{}: {} of {} trials are not ok\n", build.name, not_ok, summary->planned));
    return std::max(*compared, Outcome::kFinding);
  }
  return *compared;
}

// Writes the comment of a build that was measured just now, or whose comment a stop has cut off.
Result<Outcome> Watch::compare(const watch::ListedBuild& build, bool measured_now) {
  const fs::path file = comments_ / (build.name + ".md");
  std::error_code error;
  if (!measured_now && fs::exists(file, error)) return Outcome::kDone;
  reports::HistoryFilter filter;
  filter.suite = suite::suite_id(loaded_.suite);
  auto history = reports::read_history(store_, filter);
  if (!history) return std::move(history).error();
  const bool has_earlier =
      std::any_of(history->begin(), history->end(), [](const auto& series) { return series.points.size() > 1; });
  if (!has_earlier) {
    if (auto status = replace_file(
            file, build.name + ": the first build that was measured. There is nothing to compare it with.\n");
        !status) {
      return std::move(status).error();
    }
    return Outcome::kDone;
  }
  auto report = reports::check_history(*history, filter.axis, options_.baseline);
  if (!report) return std::move(report).error();
  if (auto status = replace_file(file, reports::check_markdown(*report)); !status) return std::move(status).error();
  const auto slower =
      std::count_if(report->series.begin(), report->series.end(), [](const auto& s) { return s.counts; });
  if (const int status = print_data(fmt::format("{}\t{} slower\t{}\n", build.name, slower, file.string()));
      status != 0) {
    return Outcome::kUnusable;
  }
  return report->finding ? Outcome::kFinding : Outcome::kDone;
}

int watch_builds(const Session& session, const Options& options) {
  auto loaded = load_suite(options.suite);
  if (!loaded) return fail(loaded.error());
  const suite::Suite& suite = loaded->suite;
  const bool names_program =
      !suite.runtime.executable.empty() ||
      std::any_of(suite.arms.begin(), suite.arms.end(), [](const auto& arm) { return !arm.executable.empty(); });
  if (suite.runtime.kind != "llama-bench" || names_program) {
    return fail({ErrorKind::kUsage, options.suite, "names the program that it measures, so no build can take its place",
                 "\"executable\": \"\" with the llama-bench runtime"});
  }
  auto path = store_path(options.db, true);
  if (!path) return fail(path.error());
  if (schema::is_address(path->native())) {
    return fail({ErrorKind::kUsage, schema::shown(path->string()),
                 "watch keeps its lock and its comments beside the store",
                 "watch with a file, then `capbench copy --from FILE --to " + schema::shown(path->string()) + "`"});
  }
  auto lock = only_one(path->string() + ".watch-lock");
  if (!lock) return fail(lock.error());
  if (!lock->has_value()) {
    tell("another watch of this store is at work; nothing to do\n");
    return 0;
  }
  const fs::path comments =
      options.comments.empty() ? fs::path(path->string() + ".comments") : fs::path(options.comments);
  std::error_code error;
  fs::create_directories(comments, error);
  if (error) return fail(file_error(comments, error.value()));

  auto text = output_of(options.builds);
  if (!text) return fail(text.error());
  auto builds = watch::parse_build_list(*text);
  if (!builds) return fail(builds.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate, std::chrono::seconds(60));
  if (!store) return fail(store.error());

  Watch watch(session, options, std::move(*loaded), std::move(*store), comments);
  Outcome worst = Outcome::kDone;
  for (const watch::ListedBuild& build : *builds) {
    const Outcome outcome = watch.take(build);
    worst = std::max(worst, outcome);
    if (outcome == Outcome::kInterrupted) {
      tell("interrupted; the same command goes on\n");
      break;
    }
  }
  return static_cast<int>(worst);
}

}  // namespace

void add_watch(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("watch", "Measure each new build of llama.cpp, and say whether it is slower");
  command->add_option("SUITE", options->suite, "the suite file, which names no executable")->required();
  command
      ->add_option(
          "--builds", options->builds,
          "a shell command that prints builds, oldest first: the path of a llama-bench a line, or NAME, a tab, PATH")
      ->required();
  command->add_option("--db", options->db, "the store [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--baseline", options->baseline, "what each build is compared with, as for `check`")
      ->capture_default_str();
  command->add_option("--comments", options->comments, "the folder for a Markdown comment of each build [DB.comments]");
  command->add_flag("--quiet", options->quiet, "print only messages and trials that are not ok");
  command->footer(
      "What the store has is not measured again, so the same command does for cron and systemd\n"
      "(scripts/watch has a unit and a timer): it goes on where it was, and a second one beside\n"
      "it does nothing. Exit status: 0 nothing slower; 1 a build is slower, or a trial not ok;\n"
      "2 a build, the suite or the list is unusable; 3 the list cannot be had.\n"
      "Examples:\n"
      "  capbench watch suites/quickstart.json --db watch.db --builds 'ls -d /opt/llama/b*'\n"
      "  capbench watch suites/quickstart.json --db watch.db --builds ./list-builds --baseline b6450");
  command->callback(
      [&session, options] { session.action = [&session, options] { return watch_builds(session, *options); }; });
}

}  // namespace capbench::cli
