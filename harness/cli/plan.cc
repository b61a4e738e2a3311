#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/cli/command.h"
#include "harness/cli/duration.h"
#include "harness/design/fit.h"
#include "harness/design/fraction.h"
#include "harness/design/problems.h"
#include "harness/matrix/github_actions.h"
#include "harness/matrix/slurm.h"
#include "harness/runner/describe.h"
#include "harness/runner/progress.h"
#include "harness/runtime/runtime.h"
#include "harness/suite/shard.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string suite;
  std::string db;
  std::string max_time;
  std::string trial_time;
  std::string out;
  std::string shard;
  std::string emit;
  std::optional<std::uint64_t> shards;
  std::optional<std::uint64_t> seed;
  bool json = false;
  bool commands = true;
};

// Mean wall time of each "MODEL/WORKLOAD/ARM" in earlier runs of the suite, in nanoseconds. An absent or unreadable
// store is no reason to refuse a plan.
std::map<std::string, double> earlier_walls(const std::string& db, const std::string& suite_name) {
  std::map<std::string, double> means;
  auto path = store_path(db, false);
  if (!path) return means;
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return means;
  auto trials = store->trials({suite_name, "", false});
  if (!trials) return means;
  std::map<std::string, std::pair<double, double>> totals;
  for (const schema::TrialView& view : *trials) {
    if (view.trial.status != "ok") continue;
    auto& total = totals[view.trial.model + "/" + view.trial.workload + "/" + view.trial.arm];
    total.first += static_cast<double>(view.trial.wall_ns);
    total.second += 1;
  }
  for (const auto& [key, total] : totals) means[key] = total.first / total.second;
  return means;
}

// Nothing unless every cell has been measured before. Of several machines, which run side by side, the slowest.
std::optional<double> estimate_ns(const suite::Suite& suite, const suite::Plan& plan,
                                  const std::map<std::string, double>& walls) {
  std::map<std::string, double> totals;
  for (const suite::PlannedTrial& trial : plan.trials) {
    const auto it = walls.find(suite::trial_key(suite, trial));
    if (it == walls.end()) return std::nullopt;
    totals[suite::machine_of(suite, suite.arms[trial.arm])] +=
        it->second + (suite.protocol.cooldown_s + suite.protocol.preload_s) * 1e9;
  }
  double longest = 0;
  for (const auto& [machine, total] : totals) longest = std::max(longest, total);
  return longest;
}

// Of the longest shard, in nanoseconds.
std::optional<double> estimate_of_shards_ns(const suite::Suite& suite, const suite::Plan& plan,
                                            const std::map<std::string, double>& walls, std::size_t count) {
  double longest = 0;
  for (std::size_t index = 1; index <= count; ++index) {
    suite::Plan part = plan;
    suite::keep_shard(suite, {index, count}, part.trials);
    const auto estimate = estimate_ns(suite, part, walls);
    if (!estimate) return std::nullopt;
    longest = std::max(longest, *estimate);
  }
  return longest;
}

// What is wrong with the command line itself.
Status check(const Options& options) {
  if (options.emit.empty()) {
    if (options.shards)
      return Error{ErrorKind::kUsage, "--shards", "says into how many parts to --emit", "--emit slurm"};
    return {};
  }
  if (!options.shards) {
    return Error{ErrorKind::kUsage, "--emit " + options.emit, "needs the number of shards", "--shards 4"};
  }
  if (*options.shards == 0) return Error{ErrorKind::kUsage, "--shards 0", "is no number of shards", "--shards 4"};
  if (options.json || !options.shard.empty()) {
    return Error{ErrorKind::kUsage, "--emit " + options.emit, "excludes --json and --shard", "one without the others"};
  }
  if (!options.max_time.empty() && options.out.empty()) {
    return Error{ErrorKind::kUsage, "--emit " + options.emit, "with --max-time the suite to run is not the file named",
                 "--out FILE as well, which the shards will run"};
  }
  return {};
}

// The mean of a trial, in seconds: as given, else as measured before.
std::optional<double> mean_trial_s(const Options& options, const std::map<std::string, double>& walls) {
  if (!options.trial_time.empty()) return parse_duration_s(options.trial_time);
  if (walls.empty()) return std::nullopt;
  double total = 0;
  for (const auto& [key, ns] : walls) total += ns;
  return total / static_cast<double>(walls.size()) / 1e9;
}

struct Shown {
  suite::Suite suite;
  suite::Plan plan;
  std::optional<double> estimate;
  std::optional<double> shard_estimate;  // of the longest of --shards
  std::vector<std::string> left_out;
  std::vector<design::DesignProblem> problems;
  std::vector<runner::CellCommands> commands;
};

std::string plan_json(const Shown& shown) {
  const suite::Suite& suite = shown.suite;
  nlohmann::json trials = nlohmann::json::array();
  for (const suite::PlannedTrial& trial : shown.plan.trials) {
    trials.push_back({{"position", trial.position},
                      {"block", trial.block},
                      {"model", suite.models[trial.model].name},
                      {"workload", suite.workloads[trial.workload].name},
                      {"arm", suite.arms[trial.arm].name},
                      {"machine", suite::machine_of(suite, suite.arms[trial.arm])}});
  }
  nlohmann::json commands = nlohmann::json::array();
  for (const runner::CellCommands& cell : shown.commands) {
    commands.push_back({{"cell", cell.cell}, {"target", cell.target}, {"commands", cell.commands}});
  }
  nlohmann::json notes = nlohmann::json::array();
  for (const design::DesignProblem& problem : shown.problems) notes.push_back(to_string(problem.error));
  nlohmann::json document{{"plan", suite.name},
                          {"suite_id", suite::suite_id(suite)},
                          {"seed", shown.plan.seed},
                          {"estimate_s", nullptr},
                          {"limit_s", suite.protocol.time_limit_s * static_cast<double>(shown.plan.trials.size())},
                          {"trials", std::move(trials)},
                          {"commands", std::move(commands)},
                          {"notes", std::move(notes)},
                          {"left_out", shown.left_out}};
  if (shown.estimate) document["estimate_s"] = *shown.estimate / 1e9;
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string plan_text(const Shown& shown) {
  const suite::Suite& suite = shown.suite;
  std::string text = fmt::format("{}: {} trials = {} blocks x {} models x {} workloads x {} arms, order seed {}\n",
                                 suite.name, shown.plan.trials.size(), suite.protocol.trials, suite.models.size(),
                                 suite.workloads.size(), suite.arms.size(), shown.plan.seed);
  if (suite.protocol.verbose_trial) text += "and one verbose trial of every cell first, with -v and one repetition\n";
  if (suite.protocol.warmup_trials > 0) {
    text += fmt::format("and {} warm-up trials on each machine first\n", suite.protocol.warmup_trials);
  }
  for (const suite::Workload& workload : suite.workloads) {
    const auto tests = runtime::tests_of(suite.runtime.kind, workload);
    text += fmt::format("workload {}: {} samples each of {}\n", workload.name, workload.repetitions,
                        tests.empty() ? "what the program names" : fmt::format("{}", fmt::join(tests, ", ")));
  }
  if (suite.design) {
    if (const auto aliases = design::aliases_of(*suite.design)) {
      text += fmt::format("fraction of resolution {}; {}\n", aliases->resolution, design::alias_text(*aliases));
    }
  }
  const auto limit = std::chrono::nanoseconds(
      static_cast<std::int64_t>(suite.protocol.time_limit_s * 1e9 * static_cast<double>(shown.plan.trials.size())));
  if (shown.estimate) {
    text += fmt::format("time: about {}\n",
                        runner::clock_text(std::chrono::nanoseconds(static_cast<std::int64_t>(*shown.estimate))));
  } else {
    text += fmt::format("time: not known before a first run; at most {}\n", runner::clock_text(limit));
  }
  for (const std::string& sentence : shown.left_out) text += "left out: " + sentence + "\n";
  for (const design::DesignProblem& problem : shown.problems) text += "note: " + to_string(problem.error) + "\n";
  text += "\n";
  for (const suite::PlannedTrial& trial : shown.plan.trials) {
    const std::string block = trial.is_measured() ? fmt::format("block {:<3}", trial.block)
                              : trial.block == suite::verbose_block(suite.protocol) ? "verbose  "
                                                                                    : "warm-up  ";
    text += fmt::format("{:>4}  {}  {:<16}  {}  {}\n", trial.position + 1, block, suite.arms[trial.arm].name,
                        suite.models[trial.model].name, suite.workloads[trial.workload].name);
  }
  if (shown.commands.empty()) return text;
  text += "\nThe commands, by model, workload and arm:\n";
  for (const runner::CellCommands& cell : shown.commands) {
    text += fmt::format("\n{}{}\n", cell.cell, cell.target == "local" ? "" : fmt::format(" on {}", cell.target));
    for (const std::string& command : cell.commands) text += "  " + command + "\n";
  }
  return text;
}

Result<Shown> prepare(const Session& session, const Options& options) {
  auto loaded = load_suite(options.suite);
  if (!loaded) return std::move(loaded).error();
  Shown shown;
  shown.suite = std::move(loaded->suite);
  const auto walls = earlier_walls(options.db, shown.suite.name);
  const auto trial_s = mean_trial_s(options, walls);
  if (!options.trial_time.empty() && !trial_s) {
    return Error{ErrorKind::kUsage, "--trial-time " + options.trial_time, "is no duration", "90s, 5m or 1h30m"};
  }
  if (!options.max_time.empty()) {
    const auto most = parse_duration_s(options.max_time);
    if (!most) return Error{ErrorKind::kUsage, "--max-time " + options.max_time, "is no duration", "90s, 5m or 1h30m"};
    if (!trial_s) {
      return Error{ErrorKind::kUsage, "--max-time", "how long one trial takes is not known before a first run",
                   "--trial-time 20s, or run one block first"};
    }
    auto fitted = design::largest_design_that_fits(shown.suite, *trial_s, *most);
    if (!fitted) return std::move(fitted).error();
    shown.suite = std::move(fitted->suite);
    shown.left_out = std::move(fitted->left_out);
  }
  shown.problems = design::design_problems(shown.suite);
  for (const design::DesignProblem& problem : shown.problems) {
    if (problem.severity == design::DesignProblem::Severity::kRefuse) return problem.error;
  }
  shown.plan = suite::make_plan(shown.suite, options.seed);
  if (!options.shard.empty()) {
    auto shard = suite::parse_shard(options.shard);
    if (!shard) return std::move(shard).error();
    if (auto status = suite::check_shard(shown.suite, *shard); !status) return std::move(status).error();
    suite::keep_shard(shown.suite, *shard, shown.plan.trials);
  }
  shown.estimate = estimate_ns(shown.suite, shown.plan, walls);
  if (!shown.estimate && trial_s && options.shard.empty()) {
    shown.estimate = design::duration_s(shown.suite, *trial_s) * 1e9;
  }
  if (options.shards) {
    if (auto status = suite::check_shard(shown.suite, {1, *options.shards}); !status) return std::move(status).error();
    shown.shard_estimate = estimate_of_shards_ns(shown.suite, shown.plan, walls, *options.shards);
  }
  if (options.commands) {
    auto commands = runner::describe_commands(shown.suite, loaded->folder, session.install);
    if (!commands) return std::move(commands).error();
    shown.commands = std::move(*commands);
  }
  return shown;
}

std::string emit(const Options& options, const Shown& shown) {
  matrix::MatrixJob job;
  job.suite_name = shown.suite.name;
  job.suite_path = options.out.empty() ? options.suite : options.out;
  job.suite_id = suite::suite_id(shown.suite);
  job.shards = *options.shards;
  job.trials = shown.plan.trials.size();
  if (shown.shard_estimate) job.estimate = std::chrono::seconds(static_cast<std::int64_t>(*shown.shard_estimate / 1e9));
  return options.emit == "slurm" ? matrix::slurm_script(job) : matrix::github_workflow(job);
}

int plan(const Session& session, const Options& options) {
  if (auto status = check(options); !status) return fail(status.error());
  auto shown = prepare(session, options);
  if (!shown) return fail(shown.error());
  if (!options.out.empty()) {
    const nlohmann::json document = nlohmann::json::parse(suite::canonical_json(shown->suite));
    if (const int status = write_output(options.out, document.dump(2) + "\n"); status != 0) return status;
  }
  if (!options.emit.empty()) return print_data(emit(options, *shown));
  return print_data(options.json ? plan_json(*shown) : plan_text(*shown));
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "Print the trials of a suite in the order they would run");
  command->add_option("SUITE", options->suite, "the suite file")->required();
  command->add_option("--db", options->db, "where to look for earlier times [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--seed", options->seed, "seed of the order within blocks [the suite's]")->check(whole_number);
  command->add_option("--max-time", options->max_time,
                      "choose the largest design that fits, and say what it leaves out");
  command->add_option("--trial-time", options->trial_time, "how long one trial takes [as earlier runs took]");
  command->add_option("--out", options->out, "also write the suite as planned (after --max-time) to this file");
  command->add_option("--shard", options->shard, "I/N: only the I-th of N parts, as `run --shard` would run it");
  command->add_option("--emit", options->emit, "print a job for this engine instead, which runs the suite in shards")
      ->check(CLI::IsMember({"slurm", "github-actions"}));
  command->add_option("--shards", options->shards, "into how many, with --emit")->check(whole_number);
  command->add_flag("--commands,!--no-commands", options->commands, "print every command that would run [yes]");
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Nothing is run. A design that could not find anything is refused, with the number of trials that could.\n"
      "Examples:\n"
      "  capbench plan suites/quickstart.json\n"
      "  capbench plan suites/vulkan-factorial.json --trial-time 10s --max-time 1h --out hour.json\n"
      "  capbench plan suites/quickstart.json --emit slurm --shards 5 >matrix.sh   # then: bash matrix.sh");
  command->callback([&session, options] { session.action = [&session, options] { return plan(session, *options); }; });
}

}  // namespace capbench::cli
