// The speedup report as Markdown that also reads well on a terminal of 80 columns.
#ifndef CAPBENCH_REPORTS_RENDER_MARKDOWN_H_
#define CAPBENCH_REPORTS_RENDER_MARKDOWN_H_

#include <string>

#include "reports/speedup.h"

namespace capbench::reports {

// GitHub-flavoured Markdown, ending with a line break. Names are escaped: they cannot make markup.
std::string render_markdown(const SpeedupReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_RENDER_MARKDOWN_H_
