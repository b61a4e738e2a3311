#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/cli/command.h"
#include "harness/runner/progress.h"
#include "harness/runtime/llama_bench.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string suite;
  std::string db;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

// Mean wall time of each "MODEL/WORKLOAD/ARM" in earlier runs of the suite, in nanoseconds. An absent or unreadable
// store is no reason to refuse a plan.
std::map<std::string, double> earlier_walls(const std::string& db, const std::string& suite_id) {
  std::map<std::string, double> means;
  auto path = store_path(db, false);
  if (!path) return means;
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return means;
  auto trials = store->trials({suite_id, "", false});
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

// Nothing unless every cell has been measured before.
std::optional<double> estimate_ns(const suite::Suite& suite, const suite::Plan& plan,
                                  const std::map<std::string, double>& walls) {
  double total = 0;
  for (const suite::PlannedTrial& trial : plan.trials) {
    const auto it = walls.find(suite::trial_key(suite, trial));
    if (it == walls.end()) return std::nullopt;
    total += it->second + suite.protocol.cooldown_s * 1e9;
  }
  return total;
}

std::string plan_json(const suite::Suite& suite, const suite::Plan& plan, std::optional<double> estimate) {
  nlohmann::json trials = nlohmann::json::array();
  for (const suite::PlannedTrial& trial : plan.trials) {
    trials.push_back({{"position", trial.position},
                      {"block", trial.block},
                      {"model", suite.models[trial.model].name},
                      {"workload", suite.workloads[trial.workload].name},
                      {"arm", suite.arms[trial.arm].name}});
  }
  nlohmann::json document{{"plan", suite.name},
                          {"suite_id", suite::suite_id(suite)},
                          {"seed", plan.seed},
                          {"estimate_s", nullptr},
                          {"limit_s", suite.protocol.time_limit_s * static_cast<double>(plan.trials.size())},
                          {"trials", std::move(trials)}};
  if (estimate) document["estimate_s"] = *estimate / 1e9;
  return document.dump(2) + "\n";
}

std::string plan_text(const suite::Suite& suite, const suite::Plan& plan, std::optional<double> estimate) {
  std::string text = fmt::format("{}: {} trials = {} blocks x {} models x {} workloads x {} arms, order seed {}\n",
                                 suite.name, plan.trials.size(), suite.protocol.trials, suite.models.size(),
                                 suite.workloads.size(), suite.arms.size(), plan.seed);
  for (const suite::Workload& workload : suite.workloads) {
    text += fmt::format("workload {}: {} samples each of {}\n", workload.name, workload.repetitions,
                        fmt::join(runtime::expected_tests(workload), ", "));
  }
  const auto limit = std::chrono::nanoseconds(
      static_cast<std::int64_t>(suite.protocol.time_limit_s * 1e9 * static_cast<double>(plan.trials.size())));
  if (estimate) {
    text += fmt::format("time: about {}, from earlier runs in the store\n",
                        runner::clock_text(std::chrono::nanoseconds(static_cast<std::int64_t>(*estimate))));
  } else {
    text += fmt::format("time: not known before a first run; at most {}\n", runner::clock_text(limit));
  }
  text += "\n";
  for (const suite::PlannedTrial& trial : plan.trials) {
    text +=
        fmt::format("{:>4}  block {:<3}  {:<16}  {}  {}\n", trial.position + 1, trial.block, suite.arms[trial.arm].name,
                    suite.models[trial.model].name, suite.workloads[trial.workload].name);
  }
  return text;
}

int plan(const Options& options) {
  auto loaded = load_suite(options.suite);
  if (!loaded) return fail(loaded.error());
  const suite::Suite& suite = loaded->suite;
  const suite::Plan plan = suite::make_plan(suite, options.seed);
  const auto estimate = estimate_ns(suite, plan, earlier_walls(options.db, suite::suite_id(suite)));
  return print_data(options.json ? plan_json(suite, plan, estimate) : plan_text(suite, plan, estimate));
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "Print the trials of a suite in the order they would run");
  command->add_option("SUITE", options->suite, "the suite file")->required();
  command->add_option("--db", options->db, "where to look for earlier times [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--seed", options->seed, "seed of the order within blocks [the suite's]")->check(whole_number);
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example:\n  capbench plan suites/quickstart.json");
  command->callback([&session, options] { session.action = [options] { return plan(*options); }; });
}

}  // namespace capbench::cli
