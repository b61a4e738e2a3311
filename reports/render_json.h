// The speedup report as JSON, in the shape of reports/json/speedup.schema.json.
#ifndef CAPBENCH_REPORTS_RENDER_JSON_H_
#define CAPBENCH_REPORTS_RENDER_JSON_H_

#include <string>

#include "reports/speedup.h"

namespace capbench::reports {

// Indented by two spaces, ending with a line break. Numbers are not rounded; what is not known is null, never a zero.
// Text that is not UTF-8 has its wrong bytes replaced by U+FFFD.
std::string render_json(const SpeedupReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_RENDER_JSON_H_
