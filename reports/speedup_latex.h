// The speedup report for a paper.
#ifndef CAPBENCH_REPORTS_SPEEDUP_LATEX_H_
#define CAPBENCH_REPORTS_SPEEDUP_LATEX_H_

#include <string>

#include "reports/speedup.h"

namespace capbench::reports {

// Tables in the manner of booktabs, see document_latex().
std::string speedup_latex(const SpeedupReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_SPEEDUP_LATEX_H_
