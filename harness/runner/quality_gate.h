// Whether each arm's output is right, asked once per run, arm and model before anything is timed.
#ifndef CAPBENCH_HARNESS_RUNNER_QUALITY_GATE_H_
#define CAPBENCH_HARNESS_RUNNER_QUALITY_GATE_H_

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "harness/quality/plan.h"
#include "harness/quality/verdict.h"
#include "harness/runner/inputs.h"
#include "harness/runner/lane_context.h"
#include "harness/runner/place.h"
#include "schema/records.h"

namespace capbench::runner {

struct ArmQuality {
  std::string status;  // "passed", "wrong", "unchecked"
  std::string why;     // if it is not passed
};
using QualityByArm = std::map<std::pair<std::string, std::string>, ArmQuality>;  // by names of arm and model

// For the arms of one lane. One thread at a time.
class QualityGate {
 public:
  using Places = std::map<std::string, std::unique_ptr<Place>>;
  using PlacesInputs = std::map<std::string, PlaceInputs>;

  // `lock_fd` stays open in every job, as for trials.
  QualityGate(const LaneContext& context, const schema::RunRecord& run, int lock_fd)
      : context_(context), run_(run), lock_fd_(lock_fd) {}

  // Only what the plan runs is checked. The reference is the lane's first bare-metal arm, else its first stock arm,
  // else its first. What the run has already is taken from the store; what is new is stored. A check that could not be
  // made is no error: its arm is `unchecked`, with the reason.
  Status check(const Places& places, const PlacesInputs& inputs, const std::vector<suite::PlannedTrial>& plan,
               QualityByArm& quality);

 private:
  // How one job went.
  struct Done {
    quality::Step step = quality::Step::kBase;
    std::string ended;
    int exit_status = 0;
    std::string out;
    std::string err;

    // Its texts live as long as this does.
    quality::Output seen() const { return {step, ended, exit_status, out, err}; }
  };
  Status check_model(std::size_t model, const std::set<std::size_t>& planned_arms, const Places& places,
                     const PlacesInputs& inputs, QualityByArm& quality);
  Done run(Place& place, const ArmInput& arm, const quality::Job& job, const std::string& doing);
  quality::Places paths(const ArmInput& arm, const std::string& model, const std::string& folder) const;
  Status keep(const suite::Arm& arm, const suite::Model& model, const ArmQuality& found, const std::string& figures,
              const std::vector<quality::Job>& jobs, const std::vector<Done>& done, QualityByArm& quality);

  const LaneContext& context_;
  const schema::RunRecord& run_;
  int lock_fd_;
};

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_QUALITY_GATE_H_
