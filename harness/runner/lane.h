// One physical machine during a run: its places and its trials, strictly one at a time.
#ifndef CAPBENCH_HARNESS_RUNNER_LANE_H_
#define CAPBENCH_HARNESS_RUNNER_LANE_H_

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/runner/inputs.h"
#include "harness/runner/install.h"
#include "harness/runner/journal.h"
#include "harness/runner/lane_context.h"
#include "harness/runner/machine_lock.h"
#include "harness/runner/place.h"
#include "harness/runner/quality_gate.h"
#include "harness/runner/shared_progress.h"
#include "harness/runner/stop_signal.h"
#include "harness/suite/suite.h"
#include "schema/records.h"

namespace capbench::runner {

// Used by one thread at a time, each its own.
class Lane {
 public:
  // `machine`: the place that is the physical host. `names`: the targets of the suite's arms that live on it.
  Lane(const LaneContext& context, std::string machine, std::vector<std::string> names)
      : context_(context), machine_(std::move(machine)), names_(std::move(names)) {}

  // Connects, takes the machine, checks what the suite requires of it and sends what is missing. An error means that
  // the run cannot begin.
  Status prepare();

  // The facts of every place, for the store.
  std::vector<schema::EnvironmentRecord> environments() const;
  const std::string& machine_id() const { return places_.at(machine_)->environment().machine_id; }
  bool is_virtual() const { return places_.at(machine_)->environment().is_virtual; }
  // By arm in the suite; nullptr for arms of other lanes.
  const ArmInput* arm_input(std::size_t arm) const;

  // Whether the output of each arm of the plan is right, once per arm and model; those the store has already are taken
  // from there.
  Status check_quality(const schema::RunRecord& run, const std::vector<suite::PlannedTrial>& plan);

  // The trials of this lane that are missing, in order. An error means that the store or this machine failed.
  Status run(const schema::RunRecord& run, const std::vector<suite::PlannedTrial>& plan);

  std::size_t ran() const { return ran_; }
  bool interrupted() const { return interrupted_; }
  // Why the lane ended before its plan did; empty if it did not.
  const std::string& lost() const { return lost_; }

 private:
  struct Hygienic;  // what was seen around one trial
  bool is_ours(const suite::PlannedTrial& planned) const;
  Place& place_of(const suite::Arm& arm) const { return *places_.at(arm.target); }
  Status run_trial(const schema::RunRecord& run, const suite::PlannedTrial& planned);
  const std::string& probe_of(std::size_t arm);
  Status raise(Place& place, const suite::Arm& arm);
  bool cool_down();
  bool preload(const target::Job& job, Place& place);
  Status pass_gate(const suite::Arm& arm, Place& place, Hygienic& seen);
  target::JobResult run_job(Place& place, const target::Job& job, const std::string& running, Hygienic& seen);

  LaneContext context_;
  std::string machine_;
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Place>> places_;
  std::map<std::string, PlaceInputs> inputs_;
  std::optional<MachineLock> lock_;
  std::map<std::size_t, std::string> probes_;  // by arm
  QualityByArm quality_;
  std::map<std::string, bool> down_;  // places that were taken down
  std::size_t ran_ = 0;
  bool interrupted_ = false;
  std::string lost_;
};

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_LANE_H_
