// What the ablation report is made from, out of a store.
#ifndef CAPBENCH_REPORTS_READ_ABLATION_H_
#define CAPBENCH_REPORTS_READ_ABLATION_H_

#include <vector>

#include "base/result.h"
#include "reports/ablation.h"
#include "schema/store.h"

namespace capbench::reports {

// Suites, closures, environments and models behind the trials. A suite that this version cannot read is left out, and
// so is a model's file that is not there any more, or is not the one that ran by its size.
Result<AblationBackground> read_background(schema::Store& store, const std::vector<schema::TrialView>& trials);

// The errors are the store's.
Result<AblationReport> read_ablation(schema::Store& store, const schema::TrialFilter& filter);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_READ_ABLATION_H_
