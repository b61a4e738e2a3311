// The speedup report of a store, with what the store alone knows: suites' descriptions and capbench's versions.
#ifndef CAPBENCH_REPORTS_READ_SPEEDUP_H_
#define CAPBENCH_REPORTS_READ_SPEEDUP_H_

#include <string>

#include "base/result.h"
#include "reports/speedup.h"
#include "schema/store.h"

namespace capbench::reports {

// build_speedup over the trials that the filter lets through; no rows if there are none. Errors are the store's.
Result<SpeedupReport> read_speedup(schema::Store& store, const schema::TrialFilter& filter);

// The member `description` of a suite; empty if there is none or the text is no suite.
std::string suite_description(const std::string& suite_json);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_READ_SPEEDUP_H_
