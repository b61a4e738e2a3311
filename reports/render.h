// Every report in every format, from a store.
#ifndef CAPBENCH_REPORTS_RENDER_H_
#define CAPBENCH_REPORTS_RENDER_H_

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/store.h"

namespace capbench::reports {

struct ReportKind {
  std::string_view name;   // what the command line takes: "ablation"
  std::string_view about;  // one clause, for its help
};

std::span<const ReportKind> report_kinds();

// "md", "csv", "json", "html", "latex": each report has all of them.
std::span<const std::string_view> report_formats();

struct Rendered {
  std::string text;    // ends with a line break
  bool empty = false;  // the store holds no trials of the filter
};

// Of `compare`: what it sets beside each other, see compare.h. Both empty: the newest two.
struct RenderSides {
  std::string base;
  std::string other;
};

// An unknown kind or format is an error that lists what there is; the others are the store's.
Result<Rendered> render(schema::Store& store, const schema::TrialFilter& filter, std::string_view kind,
                        std::string_view format, const RenderSides& sides = {});

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_RENDER_H_
