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
inline constexpr std::size_t kSpeedupRows = 60;
inline constexpr std::size_t kSeriesRows = 200;
inline constexpr std::size_t kMachineRows = 100;
inline constexpr std::size_t kSubmissionRows = 200;
// Builds of one environment that can be compared: the newest.
inline constexpr std::size_t kMostBuilds = 200;

std::string overview_page(const Site& site);
// What became slower or faster, newest first: a section of the first page.
std::string changes_section(const Site& site, std::size_t most);
std::string speedup_page(const Site& site, std::size_t part);
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
// Nothing if it does not count any more.
Result<std::optional<std::string>> trial_page(const Site& site, Connections& connections, std::uint32_t trial);

std::size_t parts_of(std::size_t rows, std::size_t rows_of_a_part);
inline std::size_t speedup_parts(const Site& site) {
  return parts_of(site.model.speedup.rows.size(), kSpeedupRows);
}
inline std::size_t history_parts(const Site& site) {
  return parts_of(site.model.series.size(), kSeriesRows);
}
inline std::size_t machine_parts(const Site& site) {
  return parts_of(site.model.machines.size(), kMachineRows);
}
inline std::size_t submission_parts(const Site& site) {
  return parts_of(site.model.submissions.size(), kSubmissionRows);
}

// The frame of a page of this site.
Frame frame_of(const Site& site, std::string title, std::string active, std::string lead, std::string root = "");

// "TinyLlama (twin)"
std::string model_text(const std::string& model, const std::string& kind);
// A link to the trial's page, or its short id where this copy has none. HTML.
std::string trial_link(const Site& site, std::uint32_t trial, const std::string& root, std::string_view text = "");
std::string series_link(const Series& series, const std::string& root, const std::string& html);
// "TinyLlama (twin), pp512, unlocked": not escaped.
std::string series_text(const Site& site, const Series& series);
// The trial of a cell whose median is nearest to the cell's.
std::uint32_t median_trial(const Cell& cell);
// HTML: what differs between the facts of two environments, as a table; a sentence if nothing does or one is unknown.
std::string environment_difference(const Site& site, const std::string& before, const std::string& after);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_PAGES_H_
