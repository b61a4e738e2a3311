// The speedup report as CSV (RFC 4180).
#ifndef CAPBENCH_REPORTS_RENDER_CSV_H_
#define CAPBENCH_REPORTS_RENDER_CSV_H_

#include <string>

#include "reports/speedup.h"

namespace capbench::reports {

// A header, then one line per row; lines end with CR LF. Numbers are not rounded; what is not known is an empty field.
// The suite's own modes are in column other_modes, "MODE=MEDIAN" separated by "; ", as are flags, notes and versions.
// Later versions add columns at the end.
std::string render_csv(const SpeedupReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_RENDER_CSV_H_
