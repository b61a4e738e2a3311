// Vega-Lite specifications of a paper's figures. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_PAPER_FIGURES_H_
#define CAPBENCH_REPORTS_PAPER_FIGURES_H_

#include <string>

#include "reports/ablation.h"
#include "reports/speedup.h"

namespace capbench::reports::paper {

// Tokens per second of each mode with its interval, one panel a model and test, on a scale from zero. Empty if no row
// has results.
std::string speedup_figure(const SpeedupReport& report);

// What removing each factor costs, in percent, with its interval: a forest plot, one panel a model and test, with the
// margin marked. Empty if no factor's cost is known.
std::string ablation_figure(const AblationReport& report);

}  // namespace capbench::reports::paper

#endif  // CAPBENCH_REPORTS_PAPER_FIGURES_H_
