// A bar chart of speeds as inline SVG.
#ifndef CAPBENCH_REPORTS_HTML_CHART_H_
#define CAPBENCH_REPORTS_HTML_CHART_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/estimates.h"

namespace capbench::reports {

struct Bar {
  std::string name;            // not escaped
  std::string_view css_class;  // "bare", "stock", "unlocked" or "other"
  double value = 0;
  std::optional<Interval> ci95;
};

// The class of a mode's bars.
std::string_view bar_class(std::string_view mode);

// One bar each, from zero, with a whisker for the interval where there is one. Lengths are percentages of the picture's
// width, so that text keeps its size on a phone. `title` is for those who do not see it and not escaped; `id` makes the
// ids of title and description unique in the page and must be letters, digits and hyphens. Empty if there are no bars.
std::string bar_chart(const std::vector<Bar>& bars, std::string_view title, std::string_view id);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HTML_CHART_H_
