// The bar chart of one row as inline SVG.
#ifndef CAPBENCH_REPORTS_HTML_CHART_H_
#define CAPBENCH_REPORTS_HTML_CHART_H_

#include <string>
#include <string_view>

#include "reports/speedup.h"

namespace capbench::reports {

// One bar per mode that has a median, from zero, with a whisker for the median's 95 % interval where there is one.
// Lengths are percentages of the picture's width, so that text keeps its size on a phone. `id` makes the ids of title
// and description unique in the page and must be letters, digits and hyphens. Empty if no mode has a median.
std::string bar_chart(const SpeedupRow& row, std::string_view id);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HTML_CHART_H_
