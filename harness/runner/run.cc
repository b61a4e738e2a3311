#include "harness/runner/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "harness/observe/environment.h"
#include "harness/runner/injection.h"
#include "harness/runner/inputs.h"
#include "harness/runner/judge.h"
#include "harness/runner/machine_lock.h"
#include "harness/runner/version.h"
#include "harness/runtime/llama_bench.h"
#include "harness/target/target.h"
#include "schema/canonical.h"
#include "schema/digest_cache.h"
#include "schema/identity.h"

namespace capbench::runner {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// What makes a trial the same trial in a later sitting.
using CellKey = std::tuple<std::string, std::string, std::string, std::int64_t>;

CellKey cell_key(const schema::TrialRecord& trial) {
  return {trial.arm, trial.workload, trial.model, trial.block};
}

CellKey cell_key(const suite::Suite& suite, const suite::PlannedTrial& trial) {
  return {suite.arms[trial.arm].name, suite.workloads[trial.workload].name, suite.models[trial.model].name,
          trial.block};
}

struct Attempt {
  std::int64_t number = 0;
  std::string status;
  bool cut_short = false;  // by the user, not by itself: it is run again
};

using Journal = std::map<CellKey, Attempt>;

// The variables of the harness's own environment that steer what is measured, as facts.
schema::EnvironmentRecord environment_with_variables() {
  schema::EnvironmentRecord environment = observe::collect_environment();
  constexpr std::array<std::string_view, 10> kSteering{"GGML_", "LLAMA_", "OMP_",  "GOMP_",     "MALLOC_",
                                                       "VK_",   "MESA_",  "CUDA_", "OPENBLAS_", "GLIBC_TUNABLES"};
  nlohmann::json variables = nlohmann::json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t at = text.find('=');
    if (at == std::string_view::npos) continue;
    const bool steers = std::any_of(kSteering.begin(), kSteering.end(), [&](auto p) { return text.starts_with(p); });
    if (steers) variables[schema::to_utf8(text.substr(0, at))] = schema::to_utf8(text.substr(at + 1));
  }
  if (!variables.empty()) {
    nlohmann::json facts = nlohmann::json::parse(environment.json);
    facts["variables"] = std::move(variables);
    environment.json = schema::canonical(facts);
    environment.id = schema::environment_id(environment);
  }
  return environment;
}

class Run {
 public:
  Run(const suite::Suite& suite, schema::Store& store, const Install& install, const RunOptions& options,
      Progress& progress, const StopSignal& stop, Inputs inputs, schema::DigestCache digests)
      : suite_(suite),
        store_(store),
        install_(install),
        options_(options),
        progress_(progress),
        stop_(stop),
        inputs_(std::move(inputs)),
        digests_(std::move(digests)) {}

  Result<RunSummary> execute();

 private:
  Status begin();
  Status adopt(const schema::RunRecord& run);
  Status check_same_inputs(const std::vector<schema::TrialView>& earlier);
  Status run_trial(const suite::PlannedTrial& planned);
  Status put(schema::TrialRecord trial, const target::JobResult& job, const std::string& probe,
             const schema::ClosureRecord& closure);
  Status save_run_state(const char* state);
  bool is_missing(const suite::PlannedTrial& planned) const;
  bool cool_down();
  Result<target::Target*> target_of(const suite::Arm& arm);
  const std::string& probe_of(std::size_t arm, target::Target& target);
  ProgressState progress_state(const std::string& running) const;

  const suite::Suite& suite_;
  schema::Store& store_;
  const Install& install_;
  const RunOptions& options_;
  Progress& progress_;
  const StopSignal& stop_;
  Inputs inputs_;
  schema::DigestCache digests_;
  schema::EnvironmentRecord environment_;
  schema::RunRecord run_;
  std::vector<suite::PlannedTrial> plan_;
  Journal journal_;
  std::map<std::string, std::unique_ptr<target::Target>> targets_;
  std::map<std::size_t, std::string> probes_;                 // by arm: what a probe printed there
  std::map<std::string, std::pair<nanoseconds, int>> walls_;  // by trial key: total and count, for the estimate
  Clock::time_point started_ = Clock::now();
  std::size_t done_ = 0;
  RunSummary summary_;
};

Result<RunSummary> Run::execute() {
  environment_ = environment_with_variables();
  if (auto status = begin(); !status) return std::move(status).error();
  summary_.run_id = run_.id;
  summary_.planned = plan_.size();
  summary_.machine_is_virtual = environment_.is_virtual;
  done_ = static_cast<std::size_t>(
      std::count_if(plan_.begin(), plan_.end(), [&](const auto& planned) { return !is_missing(planned); }));
  for (const suite::PlannedTrial& planned : plan_) {
    if (!is_missing(planned)) continue;
    if (stop_.raised() || !cool_down()) {
      summary_.interrupted = true;
      break;
    }
    if (auto status = run_trial(planned); !status) return std::move(status).error();
  }
  // Of the whole run, which --only may have taken a part of.
  const auto finished = static_cast<std::size_t>(
      std::count_if(journal_.begin(), journal_.end(), [](const auto& entry) { return !entry.second.cut_short; }));
  if (auto status = save_run_state(finished >= run_.planned_trials ? "complete" : "interrupted"); !status) {
    return std::move(status).error();
  }
  for (const suite::PlannedTrial& planned : plan_) {
    const auto it = journal_.find(cell_key(suite_, planned));
    if (it != journal_.end()) ++summary_.by_status[it->second.status];
  }
  return summary_;
}

// Chooses the run to go on with, or makes a new one, and lays out the plan.
Status Run::begin() {
  const std::string suite_id = suite::suite_id(suite_);
  if (auto s = store_.put_suite({suite_id, suite_.name, suite::canonical_json(suite_)}); !s) return s;
  if (auto s = store_.put_environment(environment_); !s) return s;
  if (options_.resume) {
    auto runs = store_.runs(suite_id);
    if (!runs) return std::move(runs).error();
    const auto it = std::find_if(runs->begin(), runs->end(),
                                 [&](const auto& run) { return run.machine_id == environment_.machine_id; });
    if (it != runs->end()) {
      if (auto s = adopt(*it); !s) return s;
    } else {
      progress_.message("no earlier run of this suite on this machine in the store; starting one");
    }
  }
  if (run_.id.empty()) {
    run_.suite_id = suite_id;
    run_.machine_id = environment_.machine_id;
    run_.seed = options_.seed.value_or(suite_.protocol.seed);
    run_.started_at = observe::utc_now();
    run_.harness_version = std::string(kVersion);
    run_.id = schema::run_id(run_);
  }
  plan_ = suite::make_plan(suite_, run_.seed).trials;
  if (!options_.only.empty()) {
    std::erase_if(plan_, [&](const auto& planned) {
      return !suite::matches_glob(options_.only, suite::trial_key(suite_, planned));
    });
    if (plan_.empty()) {
      return Error{ErrorKind::kUsage, "--only " + options_.only, "matches no trial of the suite",
                   "a pattern over MODEL/WORKLOAD/ARM; `capbench plan` lists them"};
    }
  }
  run_.planned_trials = std::max<std::size_t>(run_.planned_trials, plan_.size());
  return save_run_state("running");
}

Status Run::adopt(const schema::RunRecord& run) {
  if (options_.seed && *options_.seed != run.seed) {
    return Error{ErrorKind::kUsage, fmt::format("--seed {}", *options_.seed),
                 fmt::format("the run to resume has seed {}", run.seed), "leave --seed out, or --resume"};
  }
  run_ = run;
  auto trials = store_.trials({"", run.id, false});
  if (!trials) return std::move(trials).error();
  for (const schema::TrialView& view : *trials) {
    const schema::TrialRecord& trial = view.trial;
    const bool cut_short =
        trial.status == "not_run" || (trial.status == "killed" && trial.reason.starts_with("interrupted"));
    Attempt& attempt = journal_[cell_key(trial)];
    if (trial.attempt >= attempt.number) attempt = {trial.attempt, trial.status, cut_short};
  }
  return check_same_inputs(*trials);
}

// Half a run with one program and half with another would be a comparison of neither.
Status Run::check_same_inputs(const std::vector<schema::TrialView>& earlier) {
  std::map<std::string, std::string> now;  // what it is -> digest
  auto executable = digests_.digest(inputs_.executable);
  if (!executable) return std::move(executable).error();
  for (const schema::TrialView& view : earlier) {
    if (!view.executable_sha256.empty() && view.executable_sha256 != executable->sha256) {
      return Error{ErrorKind::kUsage, inputs_.executable.string(), "is not the program that this run began with",
                   "the same program again, or a new run (without --resume)"};
    }
    if (view.trial.closure_id.empty()) continue;
    const std::string& model = view.trial.model;
    const auto index = std::find_if(suite_.models.begin(), suite_.models.end(),
                                    [&](const suite::Model& m) { return m.name == model; });
    if (index == suite_.models.end() || !now.emplace(model, "").second) continue;  // each model once
    auto closure = store_.closure(view.trial.closure_id);
    if (!closure) return std::move(closure).error();
    if (!closure->has_value()) continue;
    const auto& input = inputs_.models[static_cast<std::size_t>(index - suite_.models.begin())];
    for (const schema::ClosureMember& member : (*closure)->members) {
      if (member.role == "model" && member.artifact.sha256 != input.artifact.sha256) {
        return Error{ErrorKind::kUsage, input.path.string(), "is not the model file that this run began with",
                     "the same file again, or a new run (without --resume)"};
      }
    }
  }
  return {};
}

Status Run::save_run_state(const char* state) {
  run_.state = state;
  return store_.put_run(run_);
}

bool Run::is_missing(const suite::PlannedTrial& planned) const {
  const auto it = journal_.find(cell_key(suite_, planned));
  return it == journal_.end() || it->second.cut_short;
}

// False if the user stopped the run meanwhile.
bool Run::cool_down() {
  if (suite_.protocol.cooldown_s <= 0 || summary_.ran == 0) return true;
  pollfd stop{stop_.fd(), POLLIN, 0};
  return ::poll(&stop, 1, static_cast<int>(suite_.protocol.cooldown_s * 1000)) == 0;
}

Result<target::Target*> Run::target_of(const suite::Arm& arm) {
  auto& target = targets_[arm.target];
  if (!target) {
    auto made = target::make_target(arm.target);
    if (!made) return std::move(made).error();
    target = std::move(*made);
  }
  return target.get();
}

ProgressState Run::progress_state(const std::string& running) const {
  ProgressState state{done_, plan_.size(), running, Clock::now() - started_, std::nullopt};
  nanoseconds total{0};
  int count = 0;
  for (const auto& [key, wall] : walls_) {
    total += wall.first;
    count += wall.second;
  }
  if (count == 0) return state;
  nanoseconds left{0};
  for (const suite::PlannedTrial& planned : plan_) {
    if (!is_missing(planned)) continue;
    const auto it = walls_.find(suite::trial_key(suite_, planned));
    left += it != walls_.end() ? it->second.first / it->second.second : total / count;
    left += nanoseconds(static_cast<std::int64_t>(suite_.protocol.cooldown_s * 1e9));
  }
  state.remaining = left;
  return state;
}

// Once for each arm: a process of our own asks the same questions under the same injection.
const std::string& Run::probe_of(std::size_t arm, target::Target& target) {
  const auto [it, is_new] = probes_.try_emplace(arm);
  const ArmInput& input = inputs_.arms[arm];
  if (!is_new || input.probe_domain.empty() || target.kind() != "local") return it->second;
  target::Job job;
  job.argv = {install_.program.string(), "probe", input.probe_domain, "--format", "json"};
  job.set_env = input.set_env;
  job.unset_env = foreign_injection_variables();
  job.time_limit = std::chrono::minutes(1);
  target::JobWatch watch;
  watch.stop_fd = stop_.fd();
  auto result = target.run(job, watch);
  // Without an answer the other evidence must do: the probe is not what is measured.
  const bool answered = result.ok() && result->ending == target::Ending::kExited && result->exit_status == 0;
  if (answered) it->second = std::move(result->out);
  return it->second;
}

Status Run::run_trial(const suite::PlannedTrial& planned) {
  const suite::Arm& arm = suite_.arms[planned.arm];
  const suite::Workload& workload = suite_.workloads[planned.workload];
  const suite::Model& model = suite_.models[planned.model];
  const ArmInput& arm_input = inputs_.arms[planned.arm];
  const ModelInput& model_input = inputs_.models[planned.model];
  auto target = target_of(arm);
  if (!target) return std::move(target).error();

  const std::string& probe = probe_of(planned.arm, **target);

  target::Job job;
  job.argv = runtime::llama_bench_argv(inputs_.executable.string(), model_input.argument, workload, arm);
  job.set_env = arm_input.set_env;
  job.unset_env = foreign_injection_variables();
  job.time_limit = nanoseconds(static_cast<std::int64_t>(suite_.protocol.time_limit_s * 1e9));

  const std::string running = fmt::format("{}  {}  {}", arm.name, model.name, workload.name);
  progress_.show(progress_state(running));
  target::JobWatch watch;
  watch.stop_fd = stop_.fd();
  if (progress_.wants_ticks()) watch.on_tick = [&] { progress_.show(progress_state(running)); };

  schema::TrialRecord trial;
  trial.started_at = observe::utc_now();
  auto job_result = (*target)->run(job, watch);
  if (!job_result) return std::move(job_result).error();

  trial.run_id = run_.id;
  trial.suite_id = run_.suite_id;
  trial.environment_id = environment_.id;
  trial.arm = arm.name;
  trial.mode = arm.mode;
  trial.target = arm.target;
  trial.guest = arm_input.guest;
  trial.workload = workload.name;
  trial.model = model.name;
  trial.model_kind = model_input.kind;
  trial.block = planned.block;
  trial.position = static_cast<std::int64_t>(planned.position);
  trial.argv = job.argv;
  trial.environment_set = job.set_env;
  judge(*job_result,
        {workload, arm, inputs_.cpu_variants, inputs_.hardware_features, probe, arm_input.injection_problem},
        suite_.protocol.time_limit_s, trial);
  Attempt& attempt = journal_[cell_key(suite_, planned)];
  trial.attempt = attempt.number + 1;

  schema::ClosureRecord closure;
  if (job_result->ending != target::Ending::kNotStarted) {
    closure = make_closure(inputs_, model_input, arm_input, job_result->mapped_files, digests_);
  }
  const TrialNotice notice{trial.status, trial.reason, trial.block, nanoseconds(job_result->wall_ns)};
  const bool cut_short = job_result->ending == target::Ending::kInterrupted;
  attempt = {trial.attempt, trial.status, cut_short};
  if (auto status = put(std::move(trial), *job_result, probe, closure); !status) return status;

  ++summary_.ran;
  if (cut_short) {
    summary_.interrupted = true;
    return {};
  }
  ++done_;
  auto& wall = walls_[suite::trial_key(suite_, planned)];
  wall.first += notice.wall;
  ++wall.second;
  progress_.trial_ended(progress_state(running), notice);
  return {};
}

Status Run::put(schema::TrialRecord trial, const target::JobResult& job, const std::string& probe,
                const schema::ClosureRecord& closure) {
  if (!closure.members.empty()) {
    if (auto status = store_.put_closure(closure); !status) return status;
    trial.closure_id = closure.id;
  }
  trial.stdout_sha256 = sha256(job.out);
  trial.stderr_sha256 = sha256(job.err);
  if (!probe.empty()) trial.probe_sha256 = sha256(probe);
  trial.id = schema::trial_id(trial);
  auto stored = store_.put_trial(trial, job.out, job.err, probe);
  if (stored || stored.error().kind == ErrorKind::kMachine || trial.results.empty()) return stored;
  // Something it printed is more than the store takes. The trial is a row all the same, with its raw output.
  trial.status = "failed";
  trial.reason = "its results cannot be stored: " + stored.error().cause + "; try: another version of llama-bench";
  trial.results.clear();
  trial.id = schema::trial_id(trial);
  return store_.put_trial(trial, job.out, job.err, probe);
}

}  // namespace

Result<RunSummary> run_suite(const suite::Suite& suite, const std::filesystem::path& suite_dir, schema::Store& store,
                             const Install& install, const RunOptions& options, Progress& progress,
                             const StopSignal& stop) {
  auto lock = lock_machine({machine_lock_path(), options.wait_for_machine, stop.fd(), [&](const std::string& holder) {
                              progress.message("waiting: another capbench run is measuring on this machine (" + holder +
                                               "); Ctrl-C stops waiting");
                            }});
  if (!lock) return std::move(lock).error();
  schema::DigestCache digests(install.cache / "digests.db");
  auto inputs =
      prepare_inputs(suite, suite_dir, install, digests, [&](const std::string& line) { progress.message(line); });
  if (!inputs) return std::move(inputs).error();
  return Run(suite, store, install, options, progress, stop, std::move(*inputs), std::move(digests)).execute();
}

}  // namespace capbench::runner
