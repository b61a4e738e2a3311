#include "reports/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "reports/ablation_data.h"
#include "reports/ablation_document.h"
#include "reports/capabilities_formats.h"
#include "reports/compare.h"
#include "reports/noise_formats.h"
#include "reports/read_ablation.h"
#include "reports/read_speedup.h"
#include "reports/render_csv.h"
#include "reports/render_html.h"
#include "reports/render_json.h"
#include "reports/render_markdown.h"
#include "reports/speedup_latex.h"

namespace capbench::reports {
namespace {

constexpr std::array<ReportKind, 5> kKinds = {{
    {"speedup", "unlocked against stock, and against bare-metal"},
    {"ablation", "which capability each speed depends on, and what each is worth"},
    {"capabilities", "what each arm asked for, what was observed, and what the application made of it"},
    {"compare", "any two builds, systems or machines, with what only one of them has measured"},
    {"noise", "how far apart the same arm comes, and how many trials an answer takes"},
}};

constexpr std::array<std::string_view, 5> kFormats = {"md", "csv", "json", "html", "latex"};

std::string write(const Document& document, std::string_view format) {
  if (format == "html") return document_html(document);
  if (format == "latex") return document_latex(document);
  return document_markdown(document);
}

std::string write_speedup(const SpeedupReport& report, std::string_view format) {
  if (format == "csv") return render_csv(report);
  if (format == "json") return render_json(report);
  if (format == "html") return render_html(report);
  if (format == "latex") return speedup_latex(report);
  return render_markdown(report);
}

std::string write_ablation(const AblationReport& report, std::string_view format) {
  if (format == "csv") return ablation_csv(report);
  if (format == "json") return ablation_json(report);
  return write(ablation_document(report), format);
}

std::string write_noise(const AblationReport& report, std::string_view format) {
  if (format == "csv") return noise_csv(report);
  if (format == "json") return noise_json(report);
  return write(noise_document(report), format);
}

std::string write_compare(const CompareReport& report, std::string_view format) {
  if (format == "csv") return compare_csv(report);
  if (format == "json") return compare_json(report);
  return write(compare_document(report), format);
}

std::string write_capabilities(const CapabilityReport& report, std::string_view format) {
  if (format == "csv") return capabilities_csv(report);
  if (format == "json") return capabilities_json(report);
  return write(capabilities_document(report), format);
}

}  // namespace

std::span<const ReportKind> report_kinds() {
  return kKinds;
}

std::span<const std::string_view> report_formats() {
  return kFormats;
}

Result<Rendered> render(schema::Store& store, const schema::TrialFilter& filter, std::string_view kind,
                        std::string_view format, const RenderSides& sides) {
  if (std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end()) {
    return Error{ErrorKind::kUsage, fmt::format("format \"{}\"", format), "is not known",
                 fmt::format("one of {}", fmt::join(kFormats, ", "))};
  }
  if (kind == "speedup") {
    auto report = read_speedup(store, filter);
    if (!report) return std::move(report).error();
    return Rendered{write_speedup(*report, format), report->rows.empty()};
  }
  if (kind == "ablation" || kind == "noise") {
    auto report = read_ablation(store, filter);
    if (!report) return std::move(report).error();
    return Rendered{kind == "noise" ? write_noise(*report, format) : write_ablation(*report, format),
                    report->rows.empty()};
  }
  if (kind == "capabilities") {
    auto trials = store.trials(filter);
    if (!trials) return std::move(trials).error();
    const CapabilityReport report = build_capabilities(*trials);
    return Rendered{write_capabilities(report, format), report.rows.empty()};
  }
  if (kind == "compare") {
    auto report = read_compare(store, filter.suite, {sides.base, sides.other});
    if (!report) return std::move(report).error();
    return Rendered{write_compare(*report, format), report->cells.empty()};
  }
  std::vector<std::string_view> names;
  for (const ReportKind& known : kKinds) names.push_back(known.name);
  return Error{ErrorKind::kUsage, fmt::format("report \"{}\"", kind), "is not known",
               fmt::format("one of {}", fmt::join(names, ", "))};
}

}  // namespace capbench::reports
