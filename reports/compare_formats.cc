// The formats of `report compare`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "reports/compare.h"
#include "reports/csv_text.h"
#include "reports/json_text.h"
#include "reports/subject.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string percent_range(const std::optional<Interval>& range) {
  return range ? fmt::format("[{:+.1f}, {:+.1f}]", 100 * (range->low - 1), 100 * (range->high - 1)) : "";
}

Cell speed_cell(const std::optional<ComparedSide>& side) {
  if (!side) return soft("not measured");
  return {format_number(side->median_ts), fmt::format("{}", count_of(side->n_trials, "trial")), "", ""};
}

Cell change_cell(const ComparedCell& cell) {
  if (!cell.ratio) return soft("");
  // Only an interval that holds together with the others may be called a difference.
  std::string tone;
  if (cell.holds_together && cell.ci95 && cell.ci95->high < 1) tone = "bad";
  if (cell.holds_together && cell.ci95 && cell.ci95->low > 1) tone = "good";
  return {fmt::format("{:+.1f} %", 100 * (*cell.ratio - 1)), percent_range(cell.ci95), "", tone};
}

OrderedJson side_json(const std::optional<ComparedSide>& side) {
  if (!side) return nullptr;
  return {{"machine", valid_utf8(side->machine)},
          {"machine_id", valid_utf8(side->machine_id)},
          {"build", text_or_null(side->build)},
          {"environment_id", text_or_null(side->environment_id)},
          {"measured", text_or_null(side->measured)},
          {"n_trials", side->n_trials},
          {"median_ts", side->median_ts},
          {"ci95", interval_json(side->ci95)}};
}

}  // namespace

Document compare_document(const CompareReport& report) {
  Document document;
  document.title = "Compare";
  document.lead = fmt::format("{} against {}.", one_line(report.sides.other), one_line(report.sides.base));
  document.if_empty = "No trials to report.";
  using Group = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Group, std::vector<const ComparedCell*>> groups;
  for (const ComparedCell& cell : report.cells) {
    groups[{cell.key.suite, cell.key.model, cell.key.model_kind, cell.key.workload}].push_back(&cell);
  }
  for (const auto& [group, cells] : groups) {
    const auto& [suite, model, kind, workload] = group;
    Section section;
    section.title =
        fmt::format("{}{}, workload {}", one_line(model), kind == "twin" ? " (twin)" : "", one_line(workload));
    section.details = {{"suite", one_line(suite)}};
    Table table;
    table.caption = "tokens/s";
    table.columns = {{"test", false, false}, {"arm", false, false},   {"base", true, false},
                     {"other", true, false}, {"change", true, false}, {"interval", false, true}};
    for (const ComparedCell* cell : cells) {
      const std::string arm =
          one_line(cell->key.arm) + (cell->key.guest.empty() ? "" : " in " + one_line(cell->key.guest));
      table.rows.push_back({{one_line(cell->key.test), "", "", "key"},
                            {arm, "", "", ""},
                            speed_cell(cell->base),
                            speed_cell(cell->other),
                            change_cell(*cell),
                            soft(cell->interval)});
      if (!cell->base || !cell->other) {
        section.notes.push_back(fmt::format("{}, {}: measured by {} only", one_line(cell->key.test), arm,
                                            cell->base ? "the base" : "the other"));
      }
    }
    section.tables.push_back(std::move(table));
    document.sections.push_back(std::move(section));
  }
  if (!report.cells.empty()) {
    if (!report.different.empty()) {
      document.explanations.push_back(
          fmt::format("What differs between the two: {}.", fmt::join(report.different, "; ")));
    }
    if (!report.same_machine) {
      document.explanations.emplace_back(
          "The two ran on different machines: a change is that of everything that differs, the hardware too.");
    }
    document.explanations.push_back(fmt::format(
        "change: other over base. The intervals of the {} with three trials or more on both sides hold together with "
        "95 %; what one of them leaves out is a difference.",
        count_of(report.compared, "cell")));
  }
  return document;
}

std::string compare_csv(const CompareReport& report) {
  std::string out;
  write_csv_line({"suite",
                  "model",
                  "model_kind",
                  "workload",
                  "arm",
                  "mode",
                  "guest",
                  "test",
                  "base_machine",
                  "base_build",
                  "base_environment_id",
                  "base_trials",
                  "base_ts",
                  "other_machine",
                  "other_build",
                  "other_environment_id",
                  "other_trials",
                  "other_ts",
                  "ratio",
                  "ratio_low",
                  "ratio_high",
                  "interval"},
                 out);
  const auto number = [](const std::optional<double>& value) { return value ? format_exact(*value) : std::string(); };
  for (const ComparedCell& cell : report.cells) {
    std::vector<std::string> line = {cell.key.suite, cell.key.model, cell.key.model_kind, cell.key.workload,
                                     cell.key.arm,   cell.key.mode,  cell.key.guest,      cell.key.test};
    for (const auto* side : {&cell.base, &cell.other}) {
      if (!*side) {
        line.insert(line.end(), 5, "");
        continue;
      }
      line.insert(line.end(), {(*side)->machine, (*side)->build, (*side)->environment_id,
                               fmt::format("{}", (*side)->n_trials), format_exact((*side)->median_ts)});
    }
    line.push_back(number(cell.ratio));
    line.push_back(cell.ci95 ? format_exact(cell.ci95->low) : "");
    line.push_back(cell.ci95 ? format_exact(cell.ci95->high) : "");
    line.push_back(cell.interval);
    write_csv_line(line, out);
  }
  return out;
}

std::string compare_json(const CompareReport& report) {
  OrderedJson rows = OrderedJson::array();
  for (const ComparedCell& cell : report.cells) {
    rows.push_back({{"suite", valid_utf8(cell.key.suite)},
                    {"model", valid_utf8(cell.key.model)},
                    {"model_kind", valid_utf8(cell.key.model_kind)},
                    {"workload", valid_utf8(cell.key.workload)},
                    {"arm", valid_utf8(cell.key.arm)},
                    {"mode", valid_utf8(cell.key.mode)},
                    {"guest", text_or_null(cell.key.guest)},
                    {"test", valid_utf8(cell.key.test)},
                    {"base", side_json(cell.base)},
                    {"other", side_json(cell.other)},
                    {"ratio", cell.ratio ? OrderedJson(*cell.ratio) : OrderedJson(nullptr)},
                    {"ci95", interval_json(cell.ci95)},
                    {"interval", text_or_null(cell.interval)},
                    {"simultaneous", cell.holds_together}});
  }
  const OrderedJson document = {{"report", "compare"},
                                {"base", valid_utf8(report.sides.base)},
                                {"other", valid_utf8(report.sides.other)},
                                {"same_machine", report.same_machine},
                                {"different", texts(report.different)},
                                {"rows", std::move(rows)}};
  return document.dump(2) + "\n";
}

}  // namespace capbench::reports
