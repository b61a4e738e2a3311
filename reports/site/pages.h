// One function for each kind of page. For this room only. Pure but for trials and
// submissions, which ask their store.
#ifndef CAPBENCH_REPORTS_SITE_PAGES_H_
#define CAPBENCH_REPORTS_SITE_PAGES_H_

#include <cstddef>
#include <optional>
#include <string>

#include "reports/site/html.h"
#include "reports/site/site.h"

namespace capbench::site {

// Rows of a list on one page.
inline constexpr std::size_t kSpeedupRows = 24;  // at least, then the part ends with its machine
inline constexpr std::size_t kFailureRows = 200;
inline constexpr std::size_t kMostFailures = 2000;  // the newest
inline constexpr std::size_t kSeriesRows = 200;
inline constexpr std::size_t kMachineRows = 100;
inline constexpr std::size_t kSubmissionRows = 200;
// Builds of one environment that can be compared: the newest.
inline constexpr std::size_t kMostBuilds = 200;

std::string overview_page(const Site& site);
// What became slower or faster, newest first: a section of the first page.
std::string changes_section(const Site& site, std::size_t most);
Result<std::string> speedup_page(const Site& site, Connections& connections, std::size_t part);
std::string ablation_index(const Site& site);
std::string ablation_page(const Site& site, const Ablation& ablation);
std::string history_index(const Site& site, std::size_t part);
std::string history_page(const Site& site, const Series& series);
std::string compare_page(const Site& site);
// What one environment measured, as data for the comparison.
std::string compare_data(const Site& site, const std::string& environment);
std::string map_page(const Site& site);
std::string machines_page(const Site& site, std::size_t part);
std::string submissions_page(const Site& site, std::size_t part);
Result<std::string> submission_page(const Site& site, Connections& connections, const Submission& submission);
// Nothing if it is gone.
Result<std::optional<std::string>> trial_page(const Site& site, Connections& connections, std::uint32_t launch);
// Trials that do not count, and why.
std::string failures_page(const Site& site, std::size_t part);

std::size_t parts_of(std::size_t rows, std::size_t rows_of_a_part);
inline std::size_t speedup_parts(const Site& site) {
  return site.speedup_parts.size();
}
inline std::size_t failure_parts(const Site& site) {
  return parts_of(std::min(site.model.not_counted.size(), kMostFailures), kFailureRows);
}
inline std::size_t history_parts(const Site& site) {
  return parts_of(site.model.series.size(), kSeriesRows);
}
inline std::size_t machine_parts(const Site& site) {
  return parts_of(site.machines.size(), kMachineRows);
}
inline std::size_t submission_parts(const Site& site) {
  return parts_of(site.model.submissions.size(), kSubmissionRows);
}

// The frame of a page of this site.
Frame frame_of(const Site& site, std::string title, std::string active, std::string lead, std::string root = "");

// "TinyLlama (twin)"
std::string model_text(const std::string& model, const std::string& kind);
// A link to the trial's page, or its short id where this copy has none. HTML.
std::string trial_link(const Site& site, std::uint32_t launch, const std::string& root, std::string_view text = "");
std::string series_link(const Site& site, const Series& series, const std::string& root, const std::string& html);
// "unlocked", "layer (layer: no coopmat)": not escaped.
std::string arm_text(const std::string& mode, const std::string& arm);
// "TinyLlama (twin), pp512, unlocked": not escaped.
std::string series_text(const Site& site, const Series& series);
// An entry of <dl class="details">; nothing for empty HTML.
std::string detail(std::string_view name, const std::string& html);
// A list of HTML items.
std::string list_of(const std::vector<std::string>& items);
// A trial's status as a badge, its reason below it. HTML.
std::string status_html(std::string_view status, std::string_view reason);
// Of a launch that does not count: its status, and why.
std::string why_not_counted(const Model& model, const Launch& launch);
// HTML: what differs between the facts of two environments, as a table; a sentence if nothing does or one is unknown.
std::string environment_difference(const Site& site, const std::string& before, const std::string& after);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_PAGES_H_
