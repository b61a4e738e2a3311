// The speedup report as one HTML page.
#ifndef CAPBENCH_REPORTS_RENDER_HTML_H_
#define CAPBENCH_REPORTS_RENDER_HTML_H_

#include <string>

#include "reports/speedup.h"

namespace capbench::reports {

// A self-contained page: no script, nothing from the network (its content security policy forbids both). Readable on a
// phone, in the dark and on paper. Every name is escaped.
std::string render_html(const SpeedupReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_RENDER_HTML_H_
