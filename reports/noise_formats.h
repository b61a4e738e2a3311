// The noise report: how far apart the same arm comes, and how many trials an answer takes. A view of what the ablation
// report computes. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_NOISE_FORMATS_H_
#define CAPBENCH_REPORTS_NOISE_FORMATS_H_

#include <string>

#include "reports/ablation.h"
#include "reports/document.h"

namespace capbench::reports {

Document noise_document(const AblationReport& report);

// In the shape of reports/json/noise.schema.json.
std::string noise_json(const AblationReport& report);

// A header, then one line for each arm of each test.
std::string noise_csv(const AblationReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_NOISE_FORMATS_H_
