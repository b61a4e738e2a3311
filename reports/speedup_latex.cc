#include "reports/speedup_latex.h"

#include <fmt/format.h>

#include <utility>

#include "reports/document.h"
#include "reports/group.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

Cell estimate_cell(const std::optional<Estimate>& estimate, std::string_view unit) {
  if (!estimate) return soft("");
  Cell cell = {fmt::format("{}{}", format_number(estimate->value), unit), "", "", ""};
  if (estimate->ci95) {
    cell.beside = fmt::format("[{}, {}]", format_number(estimate->ci95->low), format_number(estimate->ci95->high));
  }
  return cell;
}

Cell speed_cell(const std::optional<ModeStats>& stats) {
  return stats ? Cell{format_number(stats->median.value), "", "", ""} : soft("");
}

Table main_table(const Group& group) {
  Table table;
  table.caption = "median tokens per second, and the ratio with its interval";
  table.columns = {{"test", false},   {"bare-metal", true}, {"stock", true},      {"unlocked", true},
                   {"speedup", true}, {"% of bare", true},  {"treatment", false}, {"quality", false}};
  for (const SpeedupRow* row : group.rows) {
    table.rows.push_back({{test_name(*row), "", "", ""},
                          speed_cell(row->modes[0].stats),
                          speed_cell(row->modes[1].stats),
                          speed_cell(row->modes[2].stats),
                          estimate_cell(row->speedup, "\xC3\x97"),
                          estimate_cell(row->percent_of_bare_metal, ""),
                          {row->treatment, "", "", ""},
                          {row->quality, "", "", ""}});
  }
  return table;
}

Table arms_table(const Group& group, const std::vector<OwnArm>& arms, std::size_t test) {
  Table table;
  table.caption = fmt::format("{}: the suite's own arms", test_name(*group.rows[test]));
  table.columns = {{"arm", false}, {"tokens/s", true}, {"over bare-metal", true}, {"treatment", false}};
  for (const OwnArm& arm : arms) {
    const ModeSummary* mode = arm.rows[test];
    table.rows.push_back({{arm.name, "", "", ""},
                          mode != nullptr ? speed_cell(mode->stats) : soft(""),
                          mode != nullptr ? estimate_cell(mode->over_bare_metal, "\xC3\x97") : soft(""),
                          {arm.treatment, "", "", ""}});
  }
  return table;
}

}  // namespace

std::string speedup_latex(const SpeedupReport& report) {
  Document document;
  document.title = "Speedup";
  document.if_empty = "No trials to report.";
  for (const Group& group : group_rows(report)) {
    Section section;
    section.title = group.title;
    section.about = group.about;
    section.details = group.details;
    if (group.has_results) {
      section.tables.push_back(main_table(group));
      const std::vector<OwnArm> arms = own_arms(group);
      for (std::size_t test = 0; test < group.rows.size() && !arms.empty(); ++test) {
        section.tables.push_back(arms_table(group, arms, test));
      }
    } else {
      section.findings = reasons_for_no_result(group);
    }
    section.notes = group_notes(group);
    document.sections.push_back(std::move(section));
  }
  document.explanations = explanations(report);
  return document_latex(document);
}

}  // namespace capbench::reports
