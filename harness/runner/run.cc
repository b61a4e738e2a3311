#include "harness/runner/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "harness/observe/environment.h"
#include "harness/runner/inputs.h"
#include "harness/runner/journal.h"
#include "harness/runner/lane.h"
#include "harness/runner/place.h"
#include "harness/runner/shared_progress.h"
#include "harness/runner/stopping.h"
#include "harness/runner/version.h"
#include "harness/target/target.h"
#include "schema/digest_cache.h"
#include "schema/identity.h"

namespace capbench::runner {
namespace {

using std::chrono::nanoseconds;
using Lanes = std::vector<std::unique_ptr<Lane>>;

// One lane for each physical machine that the planned arms live on.
Lanes make_lanes(const LaneContext& context, const std::vector<suite::PlannedTrial>& plan) {
  std::map<std::string, std::set<std::string>> by_machine;
  for (const suite::PlannedTrial& planned : plan) {
    const suite::Arm& arm = context.suite.arms[planned.arm];
    by_machine[suite::machine_of(context.suite, arm)].insert(arm.target);
  }
  Lanes lanes;
  for (const auto& [machine, names] : by_machine) {
    lanes.push_back(std::make_unique<Lane>(context, machine, std::vector<std::string>(names.begin(), names.end())));
  }
  return lanes;
}

// Runs `work` for every lane, side by side if there are several. The first error in the lanes' order.
template <class Work>
Status for_each_lane(Lanes& lanes, const Work& work) {
  if (lanes.size() == 1) return work(*lanes.front());
  std::vector<Status> outcomes(lanes.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    threads.emplace_back([&, i] { outcomes[i] = work(*lanes[i]); });
  }
  threads.clear();  // joins
  for (Status& outcome : outcomes) {
    if (!outcome) return std::move(outcome);
  }
  return {};
}

class Run {
 public:
  Run(const LaneContext& context, const RunOptions& options) : context_(context), options_(options) {}

  Result<RunSummary> execute();

 private:
  Status choose_run();
  Result<bool> may_go_on_with(const schema::RunRecord& run, bool of_the_program);
  bool has_another_program(const std::vector<schema::TrialView>& trials) const;
  Status adopt(const schema::RunRecord& run);
  Status check_same_inputs(const std::vector<schema::TrialView>& earlier);
  Status lay_out(std::optional<std::int64_t> blocks);
  void tell_progress();
  Result<bool> wants_more_blocks();
  Status save_run_state(const char* state);
  std::string machine_of_run() const;

  const LaneContext& context_;
  const RunOptions& options_;
  Lanes lanes_;
  schema::RunRecord run_;
  std::vector<suite::PlannedTrial> plan_;
  std::int64_t blocks_ = 0;
  RunSummary summary_;
};

Result<RunSummary> Run::execute() {
  // What there is to do does not depend on the seed, so the lanes are known before the run is.
  if (auto status = lay_out(std::nullopt); !status) return std::move(status).error();
  lanes_ = make_lanes(context_, plan_);
  if (auto status = for_each_lane(lanes_, [](Lane& lane) { return lane.prepare(); }); !status) {
    return std::move(status).error();
  }
  if (auto status = choose_run(); !status) return std::move(status).error();
  if (auto status = for_each_lane(lanes_, [&](Lane& lane) { return lane.check_quality(run_, plan_); }); !status) {
    return std::move(status).error();
  }
  bool lost = false;
  bool more = true;
  while (more && !lost && !summary_.interrupted) {
    tell_progress();
    auto status = for_each_lane(lanes_, [&](Lane& lane) { return lane.run(run_, plan_); });
    for (const auto& lane : lanes_) {
      summary_.interrupted = summary_.interrupted || lane->interrupted() || context_.stop.raised();
      if (lane->lost().empty()) continue;
      lost = true;
      context_.progress.message(lane->lost() + "; try: `capbench run --resume` when it is back");
    }
    if (!status) return std::move(status).error();
    if (lost || summary_.interrupted) break;
    auto wanted = wants_more_blocks();
    if (!wanted) return std::move(wanted).error();
    more = *wanted;
    if (!more) break;
    if (auto laid_out = lay_out(blocks_ + 1); !laid_out) return std::move(laid_out).error();
  }
  summary_.run_id = run_.id;
  summary_.planned = plan_.size();
  summary_.target_lost = lost;
  for (const auto& lane : lanes_) {
    summary_.ran += lane->ran();
    summary_.machine_is_virtual = summary_.machine_is_virtual || lane->is_virtual();
  }
  // Of the whole run, which --only may have taken a part of.
  const bool complete = context_.journal.finished() >= run_.planned_trials;
  if (auto status = save_run_state(complete ? "complete" : "interrupted"); !status) return std::move(status).error();
  std::vector<suite::PlannedTrial> expected_to_fail;
  std::copy_if(plan_.begin(), plan_.end(), std::back_inserter(expected_to_fail),
               [&](const auto& planned) { return context_.suite.arms[planned.arm].expected_to_fail; });
  for (const auto& [status, count] : context_.journal.by_status(expected_to_fail)) {
    (status == "ok" ? summary_.unexpected_successes : summary_.failed_as_expected) += count;
  }
  summary_.by_status = context_.journal.by_status(plan_);
  return summary_;
}

// A run belongs to the machine of this harness if it takes part, else to the first by name.
std::string Run::machine_of_run() const {
  return lanes_.front()->machine_id();
}

// Chooses the run to go on with, or makes a new one, and lays out the plan.
Status Run::choose_run() {
  const std::string suite_id = suite::suite_id(context_.suite);
  if (auto s = context_.journal.put_suite({suite_id, context_.suite.name, suite::recorded_json(context_.suite)}); !s) {
    return s;
  }
  for (const auto& lane : lanes_) {
    for (const schema::EnvironmentRecord& environment : lane->environments()) {
      if (auto s = context_.journal.put_environment(environment); !s) return s;
    }
  }
  const std::string machine = machine_of_run();
  if (options_.resume) {
    auto runs = context_.journal.runs(suite_id);
    if (!runs) return std::move(runs).error();
    // A run that was cut short before its first trial is of no program yet: another one may have what is looked for.
    for (const bool of_the_program : {true, false}) {
      if (of_the_program && !options_.same_program_only) continue;
      for (const schema::RunRecord& run : *runs) {
        if (run.machine_id != machine || !run_.id.empty()) continue;
        auto ours = may_go_on_with(run, of_the_program);
        if (!ours) return std::move(ours).error();
        if (!*ours) continue;
        if (auto s = adopt(run); !s) return s;
      }
    }
    if (run_.id.empty()) {
      context_.progress.message(
          fmt::format("no earlier run of this {} on this machine in the store; starting one",
                      options_.shard.is_whole() ? "suite" : "suite's shard " + suite::to_string(options_.shard)));
    }
  }
  if (run_.id.empty()) {
    run_.suite_id = suite_id;
    run_.machine_id = machine;
    run_.seed = options_.seed.value_or(context_.suite.protocol.seed);
    run_.started_at = observe::utc_now();
    run_.harness_version = std::string(kVersion);
    run_.id = schema::run_id(run_);
  }
  if (auto s = lay_out(blocks_ > 0 ? std::optional(blocks_) : std::nullopt); !s) return s;
  return save_run_state("running");
}

// A shard goes on with a run that holds nothing of another shard, and a whole run with any; and, if so asked, only with
// one of the same programs. `of_the_program`: one that has a trial of them.
Result<bool> Run::may_go_on_with(const schema::RunRecord& run, bool of_the_program) {
  if (options_.shard.is_whole() && !options_.same_program_only) return true;
  auto trials = context_.journal.trials(run.id);
  if (!trials) return std::move(trials).error();
  if (options_.same_program_only && has_another_program(*trials)) return false;
  const auto knows_program = [](const schema::TrialView& view) { return !view.executable_sha256.empty(); };
  if (of_the_program && std::none_of(trials->begin(), trials->end(), knows_program)) return false;
  if (options_.shard.is_whole()) return true;
  std::vector<suite::PlannedTrial> plan = suite::make_plan(context_.suite, run.seed).trials;
  suite::keep_shard(context_.suite, options_.shard, plan);
  std::set<std::pair<std::string, std::int64_t>> ours;
  for (const suite::PlannedTrial& planned : plan) {
    ours.emplace(suite::trial_key(context_.suite, planned), planned.block);
  }
  return std::all_of(trials->begin(), trials->end(), [&](const schema::TrialView& view) {
    const schema::TrialRecord& trial = view.trial;
    return ours.contains({trial.model + "/" + trial.workload + "/" + trial.arm, trial.block});
  });
}

bool Run::has_another_program(const std::vector<schema::TrialView>& trials) const {
  const auto& arms = context_.suite.arms;
  return std::any_of(trials.begin(), trials.end(), [&](const schema::TrialView& view) {
    const auto arm = std::find_if(arms.begin(), arms.end(), [&](const auto& a) { return a.name == view.trial.arm; });
    if (arm == arms.end() || view.executable_sha256.empty()) return false;
    return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
      const ArmInput* input = lane->arm_input(static_cast<std::size_t>(arm - arms.begin()));
      return input != nullptr && input->executable_artifact.sha256 != view.executable_sha256;
    });
  });
}

Status Run::adopt(const schema::RunRecord& run) {
  if (options_.seed && *options_.seed != run.seed) {
    return Error{ErrorKind::kUsage, fmt::format("--seed {}", *options_.seed),
                 fmt::format("the run to resume has seed {}", run.seed), "leave --seed out, or --resume"};
  }
  run_ = run;
  auto trials = context_.journal.adopt(run.id);
  if (!trials) return std::move(trials).error();
  // An adaptive run may have gone beyond the suite's own number of blocks.
  for (const schema::TrialView& view : *trials) blocks_ = std::max(blocks_, view.trial.block + 1);
  return check_same_inputs(*trials);
}

// Half a run with one program and half with another would be a comparison of neither.
Status Run::check_same_inputs(const std::vector<schema::TrialView>& earlier) {
  std::set<std::string> seen_models;
  for (const schema::TrialView& view : earlier) {
    const auto& arms = context_.suite.arms;
    const auto arm = std::find_if(arms.begin(), arms.end(), [&](const auto& a) { return a.name == view.trial.arm; });
    if (arm == arms.end() || view.trial.closure_id.empty()) continue;
    for (const auto& lane : lanes_) {
      const ArmInput* input = lane->arm_input(static_cast<std::size_t>(arm - arms.begin()));
      if (input == nullptr || view.executable_sha256.empty()) continue;
      if (view.executable_sha256 != input->executable_artifact.sha256) {
        return Error{ErrorKind::kUsage, input->executable, "is not the program that this run began with",
                     "the same program again, or a new run (without --resume)"};
      }
    }
    const auto& models = context_.suite.models;
    const auto model =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == view.trial.model; });
    if (model == models.end() || !seen_models.insert(model->name).second) continue;  // each model once
    auto closure = context_.journal.closure(view.trial.closure_id);
    if (!closure) return std::move(closure).error();
    if (!closure->has_value()) continue;
    const ModelInput& input = context_.inputs.models[static_cast<std::size_t>(model - models.begin())];
    for (const schema::ClosureMember& member : (*closure)->members) {
      if (member.role == "model" && member.artifact.sha256 != input.artifact.sha256) {
        return Error{ErrorKind::kUsage, input.path.string(), "is not the model file that this run began with",
                     "the same file again, or a new run (without --resume)"};
      }
    }
  }
  return {};
}

Status Run::lay_out(std::optional<std::int64_t> blocks) {
  const suite::Suite& suite = context_.suite;
  blocks_ = std::max(blocks.value_or(0), first_blocks(suite));
  const std::uint64_t seed = run_.id.empty() ? options_.seed.value_or(suite.protocol.seed) : run_.seed;
  plan_ = suite::make_plan(suite, seed, blocks_).trials;
  suite::keep_shard(suite, options_.shard, plan_);
  if (!options_.only.empty()) {
    std::erase_if(plan_, [&](const auto& planned) {
      return !suite::matches_glob(options_.only, suite::trial_key(suite, planned));
    });
    if (plan_.empty()) {
      return Error{ErrorKind::kUsage, "--only " + options_.only, "matches no trial of the suite or shard",
                   "a pattern over MODEL/WORKLOAD/ARM; `capbench plan` lists them"};
    }
  }
  run_.planned_trials = std::max<std::size_t>(run_.planned_trials, plan_.size());
  return {};
}

void Run::tell_progress() {
  std::size_t done = 0;
  std::map<std::string, std::map<std::string, std::size_t>> missing;
  for (const suite::PlannedTrial& planned : plan_) {
    if (!context_.journal.is_missing(planned)) {
      ++done;
      continue;
    }
    const std::string machine = suite::machine_of(context_.suite, context_.suite.arms[planned.arm]);
    ++missing[machine][suite::trial_key(context_.suite, planned)];
  }
  const double pause = context_.suite.protocol.cooldown_s + context_.suite.protocol.preload_s;
  context_.progress.plan(done, plan_.size(), std::move(missing), nanoseconds(static_cast<std::int64_t>(pause * 1e9)));
}

Result<bool> Run::wants_more_blocks() {
  if (!context_.suite.protocol.until) return false;
  auto trials = context_.journal.trials(run_.id);
  if (!trials) return std::move(trials).error();
  const design::Decision decision = decide_blocks(context_.suite, *trials, blocks_);
  context_.progress.message(decision.text);
  return decision.next == design::Next::kGoOn;
}

Status Run::save_run_state(const char* state) {
  run_.state = state;
  return context_.journal.put_run(run_);
}

}  // namespace

Result<RunSummary> run_suite(const suite::Suite& suite, const std::filesystem::path& suite_dir, schema::Store& store,
                             const Install& install, const RunOptions& options, Progress& progress,
                             const StopSignal& stop) {
  if (auto status = check_targets(suite); !status) return std::move(status).error();
  if (auto status = suite::check_shard(suite, options.shard); !status) return std::move(status).error();
  SharedProgress shared_progress(progress);
  SharedDigests digests(schema::DigestCache(install.cache / "digests.db"));
  auto inputs = prepare_inputs(suite, suite_dir, install, digests,
                               [&](const std::string& line) { shared_progress.message(line); });
  if (!inputs) return std::move(inputs).error();
  Journal journal(suite, store);
  const auto tools = target::make_local_tools();
  MachineRegister machines;
  const LaneContext context{suite,
                            suite_dir,
                            install,
                            *inputs,
                            journal,
                            digests,
                            machines,
                            shared_progress,
                            *tools,
                            stop,
                            options.wait_for_machine};
  return Run(context, options).execute();
}

}  // namespace capbench::runner
