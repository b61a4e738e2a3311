// The arms of one row of the ablation report, before any statistics. Pure.
#ifndef CAPBENCH_REPORTS_ABLATION_ARMS_H_
#define CAPBENCH_REPORTS_ABLATION_ARMS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/ablation.h"
#include "reports/row_rules.h"
#include "reports/select.h"

namespace capbench::reports {

// An arm with its trials in this row.
struct RowArm {
  AblationArm arm;
  ArmTrials trials;
  std::optional<suite::Arm> suite_arm;
};

// `seen_elsewhere`: arms that have trials of this suite, workload and model in other rows (of other machines, guests,
// devices): they are not missing here.
std::vector<RowArm> arms_of_row(const RowTrials& row, const AblationBackground& background,
                                const std::set<std::string>& seen_elsewhere);

// For the comparison of levels.
ArmFacts facts_of(const RowArm& arm);

// Roofline shares from each arm's median. A guest's GPU that is not known is the host's, if all of the host's arms in
// the row ran on one.
void add_rooflines(const RowTrials& row, const AblationBackground& background, std::vector<RowArm>& arms);

// Sentences that name arms whose files differ in more than the treatment.
std::vector<std::string> closure_notes(const std::vector<RowArm>& arms, const AblationBackground& background);

// "4 minutes"; nothing if a time does not read as one. Times are "2026-11-30T04:25:07.123Z".
std::optional<double> minutes_between(const std::string& earlier, const std::string& later);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ABLATION_ARMS_H_
