// The ablation report for programs.
#ifndef CAPBENCH_REPORTS_ABLATION_DATA_H_
#define CAPBENCH_REPORTS_ABLATION_DATA_H_

#include <string>

#include "reports/ablation.h"

namespace capbench::reports {

// In the shape of reports/json/ablation.schema.json: indented by two spaces, numbers not rounded, null for what is not
// known.
std::string ablation_json(const AblationReport& report);

// A header, then one line for each arm of each test (view "arm") and for each factor of each test (view "factor");
// columns of the other view are empty. Later versions add columns at the end.
std::string ablation_csv(const AblationReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ABLATION_DATA_H_
