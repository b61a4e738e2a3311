#include "harness/runner/lane.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/observe/environment.h"
#include "harness/observe/hygiene.h"
#include "harness/observe/hygiene_flags.h"
#include "harness/observe/hygiene_gate.h"
#include "harness/runner/injection.h"
#include "harness/runner/judge.h"
#include "harness/runner/quality_gate.h"
#include "harness/runtime/runtime.h"
#include "harness/suite/variables.h"

namespace capbench::runner {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

nanoseconds seconds(double s) {
  return nanoseconds(static_cast<std::int64_t>(s * 1e9));
}

// False if the user stopped the run meanwhile.
bool sleep_unless_stopped(const StopSignal& stop, double s) {
  if (s <= 0) return !stop.raised();
  pollfd fd{stop.fd(), POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(s * 1000)) == 0;
}

constexpr double kGateLookS = 5;  // between two looks while waiting for the machine to become quiet

observe::HygieneLimits limits_of(const suite::Hygiene& hygiene) {
  observe::HygieneLimits limits;
  limits.max_load = hygiene.max_load;
  limits.max_gpu_use_percent = hygiene.max_gpu_use_percent;
  limits.min_memory_free_percent = hygiene.min_memory_free_percent;
  limits.max_temperature_c = hygiene.max_temperature_c;
  limits.require_ac = hygiene.require_ac;
  limits.vms_stopped = hygiene.vms == "stopped";
  return limits;
}

}  // namespace

// What was seen around one trial.
struct Lane::Hygienic {
  std::optional<observe::Hygiene> before;
  std::optional<observe::Hygiene> after;
  std::vector<observe::HygieneFinding> findings;
  double waited_s = 0;
  bool refused = false;
  // While it ran.
  std::optional<std::int64_t> max_gpu_memory_bytes;
  double power_sum_w = 0;
  int power_looks = 0;
};

Status Lane::prepare() {
  const int stop_fd = context_.stop.fd();
  auto host = Place::open(machine_, context_.suite, nullptr, context_.tools, stop_fd);
  if (!host) return std::move(host).error();
  Place& machine = *places_.emplace(machine_, std::move(*host)).first->second;

  if (const auto other = context_.machines.enter(machine.environment().machine_id, machine_)) {
    return Error{ErrorKind::kUsage, fmt::format("targets \"{}\" and \"{}\"", *other, machine_),
                 "are one machine, as its id says, and would disturb each other",
                 fmt::format("\"machine\": \"{}\" in the other one", *other)};
  }
  std::filesystem::path lock_path = machine_lock_path();
  if (!machine.is_local()) lock_path += "." + machine.environment().machine_id.substr(0, 16);
  auto lock = lock_machine({lock_path, context_.wait_for_machine, stop_fd, [&](const std::string& holder) {
                              context_.progress.message(fmt::format(
                                  "waiting: another capbench run is measuring on {} ({}); Ctrl-C stops waiting",
                                  machine.is_local() ? "this machine" : machine_, holder));
                            }});
  if (!lock) return std::move(lock).error();
  lock_.emplace(std::move(*lock));

  for (const std::string& name : names_) {
    if (name == machine_) continue;
    auto place = Place::open(name, context_.suite, &machine, context_.tools, stop_fd);
    if (!place) return std::move(place).error();
    places_.emplace(name, std::move(*place));
  }
  for (const std::string& name : names_) {
    Place& place = *places_.at(name);
    const target::PutCount before = place.target().put_count();
    auto inputs =
        prepare_place(context_.suite, context_.suite_dir, context_.install, context_.inputs, place, context_.digests);
    if (!inputs) return std::move(inputs).error();
    inputs_.emplace(name, std::move(*inputs));
    const target::PutCount after = place.target().put_count();
    if (after.files_sent > before.files_sent) {
      context_.progress.message(fmt::format("{}: sent {} files, {:.1f} MB", name, after.files_sent - before.files_sent,
                                            static_cast<double>(after.bytes_sent - before.bytes_sent) / 1e6));
    }
  }
  return {};
}

std::vector<schema::EnvironmentRecord> Lane::environments() const {
  std::vector<schema::EnvironmentRecord> all;
  for (const auto& [name, place] : places_) all.push_back(place->environment());
  return all;
}

const ArmInput* Lane::arm_input(std::size_t arm) const {
  const auto it = inputs_.find(context_.suite.arms[arm].target);
  return it == inputs_.end() ? nullptr : &it->second.arms[arm];
}

bool Lane::is_ours(const suite::PlannedTrial& planned) const {
  return inputs_.contains(context_.suite.arms[planned.arm].target);
}

// Once for each arm: a process of our own asks the same questions under the same injection.
const std::string& Lane::probe_of(std::size_t arm) {
  const auto [it, is_new] = probes_.try_emplace(arm);
  const suite::Arm& wanted = context_.suite.arms[arm];
  const ArmInput& input = inputs_.at(wanted.target).arms[arm];
  if (!is_new || input.probe.empty()) return it->second;
  target::Job job;
  job.argv = input.probe;
  job.set_env = input.set_env;
  job.unset_env = foreign_injection_variables();
  job.keep_fds = {lock_->fd()};
  job.time_limit = std::chrono::minutes(1);
  target::JobWatch watch;
  watch.stop_fd = context_.stop.fd();
  auto result = place_of(wanted).target().run(job, watch);
  // Without an answer the other evidence must do: the probe is not what is measured.
  const bool answered = result.ok() && result->ending == target::Ending::kExited && result->exit_status == 0;
  if (answered) it->second = std::move(result->out);
  return it->second;
}

// VMs run around the arms that need them, and are out of the way of bare metal where the suite says so.
Status Lane::raise(Place& place, const suite::Arm& arm) {
  const auto& hygiene = context_.suite.protocol.hygiene;
  if (&place == &place.host() && arm.mode == "bare-metal" && hygiene && hygiene->vms == "stopped") {
    for (const auto& [name, other] : places_) {
      const auto spec = context_.suite.targets.find(name);
      const bool has_hook = spec != context_.suite.targets.end() && spec->second.lists.contains("stop");
      if (other.get() == &place || !has_hook || down_[name]) continue;
      if (auto status = other->target().take_down(context_.stop.fd()); !status) return status;
      down_[name] = true;
    }
  }
  if (!down_[place.name()]) return {};
  if (auto status = place.target().bring_up(context_.stop.fd()); !status) return status;
  down_[place.name()] = false;
  return {};
}

bool Lane::cool_down() {
  if (ran_ == 0) return !context_.stop.raised();
  return sleep_unless_stopped(context_.stop, context_.suite.protocol.cooldown_s);
}

// The trial's own work, unmeasured, until the time is over: an idle GPU's clocks are as wrong as a hot one's.
bool Lane::preload(const target::Job& job, Place& place) {
  const Clock::time_point until = Clock::now() + seconds(context_.suite.protocol.preload_s);
  while (Clock::now() < until) {
    target::Job load = job;
    load.time_limit = until - Clock::now();
    target::JobWatch watch;
    watch.stop_fd = context_.stop.fd();
    auto result = place.target().run(load, watch);
    // What fails here will fail in the trial, where it is recorded.
    const bool worked = result.ok() && (result->ending == target::Ending::kTimedOut ||
                                        (result->ending == target::Ending::kExited && result->exit_status == 0));
    if (!worked) break;
  }
  return !context_.stop.raised();
}

// Looks at the machine before a trial, and waits or refuses as the suite says.
Status Lane::pass_gate(const suite::Arm& arm, Place& place, Hygienic& seen) {
  const auto& wanted = context_.suite.protocol.hygiene;
  if (wanted && wanted->gate == "off") return {};
  observe::HygieneLimits limits = wanted ? limits_of(*wanted) : observe::HygieneLimits{};
  limits.vms_stopped = limits.vms_stopped && arm.mode == "bare-metal";
  const Clock::time_point start = Clock::now();
  for (;;) {
    seen.before = place.host().look();
    if (!seen.before) return {};
    seen.findings = observe::evaluate(limits, *seen.before);
    seen.waited_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (seen.findings.empty() || !wanted || wanted->gate == "warn") return {};
    const double left_s = wanted->wait_s - seen.waited_s;
    if (wanted->gate == "refuse" || left_s <= 0) {
      seen.refused = true;
      return {};
    }
    context_.progress.show(machine_, "waiting for a quiet machine: " + seen.findings.front().why);
    // The last look is when the time is over.
    if (!sleep_unless_stopped(context_.stop, std::min(kGateLookS, left_s))) return {};
  }
}

target::JobResult Lane::run_job(Place& place, const target::Job& job, const std::string& running, Hygienic& seen) {
  target::JobWatch watch;
  watch.stop_fd = context_.stop.fd();
  // GPU memory and power exist only while it runs. Only machines that have a tool for them are asked.
  const bool has_gauges = place.is_local() && seen.before && !seen.before->gpus.empty();
  if (context_.progress.wants_ticks() || has_gauges) {
    watch.on_tick = [&] {
      if (context_.progress.wants_ticks()) context_.progress.show(machine_, running);
      if (!has_gauges) return;
      const auto now = place.look();
      if (!now) return;
      std::optional<double> power_w;  // of all GPUs that tell
      for (const observe::GpuState& gpu : now->gpus) {
        if (gpu.memory_used_bytes) {
          seen.max_gpu_memory_bytes = std::max(seen.max_gpu_memory_bytes.value_or(0), *gpu.memory_used_bytes);
        }
        if (gpu.power_w) power_w = power_w.value_or(0) + *gpu.power_w;
      }
      if (power_w) {
        seen.power_sum_w += *power_w;
        ++seen.power_looks;
      }
    };
    if (has_gauges) watch.tick = std::chrono::milliseconds(2000);
  }
  auto result = place.target().run(job, watch);
  if (result) return std::move(*result);
  target::JobResult lost;
  lost.ending = context_.stop.raised() ? target::Ending::kInterrupted : target::Ending::kLost;
  lost.reason = to_string(result.error());
  return lost;
}

Status Lane::run_trial(const schema::RunRecord& run, const suite::PlannedTrial& planned) {
  const suite::Suite& suite = context_.suite;
  const suite::Arm& arm = suite.arms[planned.arm];
  const bool is_verbose = planned.block == suite::verbose_block(suite.protocol);
  const suite::Workload& written = suite.workloads[planned.workload];
  const suite::Workload workload = is_verbose ? suite::verbose_workload(written) : written;
  const ModelInput& model = context_.inputs.models[planned.model];
  Place& place = place_of(arm);
  const PlaceInputs& inputs = inputs_.at(arm.target);
  const ArmInput& input = inputs.arms[planned.arm];
  const std::string cell = suite::trial_key(suite, planned);
  const std::string running = fmt::format("{}  {}  {}", arm.name, suite.models[planned.model].name, workload.name);

  target::Job job;
  job.argv =
      runtime::make_argv(suite.runtime.kind, input.executable, inputs.model_argument[planned.model], workload, arm);
  job.set_env = input.set_env;
  job.unset_env = foreign_injection_variables();
  job.keep_fds = {lock_->fd()};
  job.time_limit = seconds(suite.protocol.time_limit_s);

  Hygienic seen;
  target::JobResult result;
  std::string probe;
  schema::TrialRecord trial;
  trial.started_at = observe::utc_now();
  if (auto status = raise(place, arm); !status) {
    result.ending = context_.stop.raised() ? target::Ending::kInterrupted : target::Ending::kLost;
    result.reason = to_string(status.error());
  } else {
    probe = probe_of(planned.arm);
    if (suite.protocol.preload_s > 0 && !preload(job, place)) return {};
    if (auto passed = pass_gate(arm, place, seen); !passed) return passed;
    if (context_.stop.raised()) return {};
    context_.progress.show(machine_, running);
    trial.started_at = observe::utc_now();
    if (!seen.refused) result = run_job(place, job, running, seen);
    if (seen.before) seen.after = place.host().look();
  }

  trial.run_id = run.id;
  trial.suite_id = run.suite_id;
  trial.environment_id = place.environment().id;
  trial.arm = arm.name;
  trial.mode = arm.mode;
  trial.target = arm.target;
  trial.guest = input.guest;
  trial.image = place.image();
  trial.workload = workload.name;
  trial.model = suite.models[planned.model].name;
  trial.model_kind = model.kind;
  trial.block = planned.block;
  trial.position = static_cast<std::int64_t>(planned.position);
  trial.argv = job.argv;
  trial.environment_set = job.set_env;
  judge(result,
        {suite.runtime.kind, workload, arm, input.cpu_variants, place.cpu_features(), probe, input.injection_problem,
         suite::varied_variables(suite, arm)},
        suite.protocol.time_limit_s, trial);
  if (const auto quality = quality_.find({arm.name, trial.model}); quality != quality_.end()) {
    trial.quality = quality->second.status;
    if (trial.quality == "wrong" && trial.status == "ok") {
      trial.status = "wrong_output";
      trial.reason = quality->second.why;
    }
  }
  if (!planned.is_measured()) trial.flags.emplace_back(is_verbose ? "verbose" : "warm-up");
  if (arm.expected_to_fail) trial.flags.emplace_back(trial.status == "ok" ? "unexpected-success" : "expected-failure");
  if (seen.refused) {
    trial.status = "not_run";
    const std::string waited = seen.waited_s < 1 ? "" : fmt::format(" (waited {:.0f} s)", seen.waited_s);
    trial.reason = fmt::format("the machine was not as the suite wants it: {}{}; try: {}", seen.findings.front().why,
                               waited, seen.findings.front().remedy);
  }
  if (seen.before) {
    json around = {{"before", observe::to_json(*seen.before)}};
    if (seen.after) {
      around["after"] = observe::to_json(*seen.after);
      around["growth"] = observe::to_json(observe::growth(*seen.before, *seen.after));
      for (observe::HygieneFlag& flag : observe::flag_hygiene(*seen.before, *seen.after, place.host().cpus()))
        trial.flags.push_back(std::move(flag.name));
    }
    if (suite.protocol.hygiene) around["gate"] = suite.protocol.hygiene->gate;
    if (seen.waited_s >= 1) around["waited_s"] = seen.waited_s;
    for (const observe::HygieneFinding& finding : seen.findings) {
      around["findings"].push_back({{"name", finding.name}, {"why", finding.why}});
      trial.flags.push_back(finding.name);
    }
    std::sort(trial.flags.begin(), trial.flags.end());
    trial.flags.erase(std::unique(trial.flags.begin(), trial.flags.end()), trial.flags.end());
    trial.hygiene = around.dump();
  }
  json measured = json::object();
  if (seen.max_gpu_memory_bytes) measured["gpu_memory_used_bytes_max"] = *seen.max_gpu_memory_bytes;
  if (seen.power_looks > 0) {
    measured["gpu_power_w_mean"] = seen.power_sum_w / seen.power_looks;
    measured["gpu_power_looks"] = seen.power_looks;
  }
  if (!measured.empty()) trial.measured = measured.dump();

  schema::ClosureRecord closure;
  if (result.ending != target::Ending::kNotStarted && result.ending != target::Ending::kLost) {
    closure = make_closure(model, input, result.mapped_files, place, context_.digests);
  }
  const bool cut_short =
      result.ending == target::Ending::kInterrupted || result.ending == target::Ending::kLost || seen.refused;
  const TrialNotice notice{trial.status, trial.reason, trial.block, nanoseconds(result.wall_ns)};
  if (auto status = context_.journal.put(planned, std::move(trial), result, probe, closure, cut_short); !status) {
    return status;
  }
  ++ran_;
  if (result.ending == target::Ending::kInterrupted) {
    interrupted_ = true;
    context_.progress.trial_cut_short(machine_);
    return {};
  }
  context_.progress.trial_ended(machine_, cell, running, notice);
  if (result.ending == target::Ending::kLost) {
    // It may be back: a link that flaps costs a trial, one that is gone ends the lane.
    if (auto answer = place.target().script("exit 0"); !answer) {
      lost_ = fmt::format("target \"{}\" does not answer any more: {}", place.name(), answer.error().cause);
    }
  }
  return {};
}

Status Lane::run(const schema::RunRecord& run, const std::vector<suite::PlannedTrial>& plan) {
  for (const suite::PlannedTrial& planned : plan) {
    if (!is_ours(planned) || !context_.journal.is_missing(planned)) continue;
    if (context_.stop.raised() || !cool_down()) interrupted_ = true;
    if (interrupted_ || !lost_.empty()) return {};
    if (auto status = run_trial(run, planned); !status) return status;
  }
  return {};
}

Status Lane::check_quality(const schema::RunRecord& run, const std::vector<suite::PlannedTrial>& plan) {
  if (!context_.suite.quality) return {};
  QualityGate gate(context_, run, lock_->fd());
  return gate.check(places_, inputs_, plan, quality_);
}

}  // namespace capbench::runner
