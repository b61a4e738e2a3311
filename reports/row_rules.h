// What a row says about itself beyond its numbers: treatment, quality, flags and notes.
#ifndef CAPBENCH_REPORTS_ROW_RULES_H_
#define CAPBENCH_REPORTS_ROW_RULES_H_

#include <string>
#include <vector>

#include "reports/select.h"
#include "reports/speedup.h"

namespace capbench::reports {

// All trials of one arm in one row, with what was computed from them.
struct ArmTrials {
  std::string mode;
  std::string arm;
  std::vector<Point> points;
};

// As the statistics take them.
std::vector<stats::Trial> counted_trials(const ArmTrials& arm);

// Over the given arms. The rules are those of build_speedup.
std::string treatment_of(const std::vector<const ArmTrials*>& arms);
std::string quality_of(const std::vector<const ArmTrials*>& arms);

// Trials that do not count, by status.
std::vector<NotOk> not_ok_of(const ArmTrials& arm);

// Fills flags and notes from the arms and the rest of the row, which must be filled already.
void annotate(SpeedupRow& row, const std::vector<const ArmTrials*>& arms);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ROW_RULES_H_
