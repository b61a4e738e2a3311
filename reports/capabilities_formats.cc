#include "reports/capabilities_formats.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "reports/csv_text.h"
#include "reports/json_text.h"
#include "reports/subject.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string joined(const std::vector<std::string>& list) {
  return fmt::format("{}", fmt::join(list, ", "));
}

Cell agreement_cell(const CapabilityLine& line) {
  if (line.requested.empty()) return soft("");
  if (line.observed.empty()) return soft("not seen");
  return {line.agrees ? "yes" : "NO", "", "", line.agrees ? "good" : "bad"};
}

Table table_of(const CapabilityArm& arm) {
  Table table;
  table.caption =
      fmt::format("{}{}: {}, treatment {}", arm.arm, arm.guest.empty() ? "" : fmt::format(" (guest {})", arm.guest),
                  count_of(arm.n_trials, "trial"), arm.treatment);
  table.columns = {{"capability", false, false}, {"requested", false, false}, {"observed", false, false},
                   {"agrees", false, true},      {"source", false, true},     {"trials", true, true}};
  for (const CapabilityLine& line : arm.lines) {
    table.rows.push_back({{line.name, "", "", ""},
                          line.requested.empty() ? soft("") : Cell{line.requested, "", "", ""},
                          line.observed.empty() ? soft("") : Cell{line.observed, "", "", ""},
                          agreement_cell(line),
                          soft(joined(line.sources)),
                          {fmt::format("{}", line.n_trials), "", "", ""}});
  }
  return table;
}

}  // namespace

Document capabilities_document(const CapabilityReport& report) {
  Document document;
  document.title = "Capabilities";
  document.lead = "What each arm asked of the device, what was observed, and what the application made of it.";
  document.if_empty = "No trials to report.";
  Names suites;
  Names machines;
  for (const CapabilityRow& row : report.rows) {
    suites.add(row.suite, row.suite_id);
    machines.add(row.machine, row.machine_id);
  }
  for (const CapabilityRow& row : report.rows) {
    Section section;
    section.title = suites.label(row.suite, row.suite_id);
    section.details = {{"machine", machines.label(row.machine, row.machine_id)}};
    for (const CapabilityArm& arm : row.arms) {
      if (arm.lines.empty()) {
        section.notes.push_back(fmt::format("{}: {}, nothing was observed", arm.arm, count_of(arm.n_trials, "trial")));
        continue;
      }
      section.tables.push_back(table_of(arm));
      for (const CapabilityLine& line : arm.lines) {
        if (line.agrees || line.requested.empty() || line.observed.empty()) continue;
        section.findings.push_back(fmt::format("{}: {} was asked to be {} and seen as {} ({}, {})", arm.arm, line.name,
                                               line.requested, line.observed, joined(line.sources),
                                               count_of(line.n_trials, "trial")));
      }
    }
    document.sections.push_back(std::move(section));
  }
  if (!report.rows.empty()) {
    document.explanations = {
        "requested: what the arm has the process told; empty where it asks nothing. observed: what was seen in the "
        "trials.",
        "Sources: probe (a program that asks the device under the same injection), ggml log (the application's own "
        "lines), "
        "shim banner (the shim's word, which proves nothing by itself).",
        "Names that begin with ggml. are conclusions of the application, not answers of the device."};
  }
  return document;
}

std::string capabilities_json(const CapabilityReport& report) {
  OrderedJson rows = OrderedJson::array();
  for (const CapabilityRow& row : report.rows) {
    OrderedJson arms = OrderedJson::array();
    for (const CapabilityArm& arm : row.arms) {
      OrderedJson lines = OrderedJson::array();
      for (const CapabilityLine& line : arm.lines) {
        lines.push_back({{"name", valid_utf8(line.name)},
                         {"derived", line.derived},
                         {"requested", text_or_null(line.requested)},
                         {"observed", text_or_null(line.observed)},
                         {"sources", texts(line.sources)},
                         {"agrees", line.agrees},
                         {"n_trials", line.n_trials}});
      }
      arms.push_back({{"arm", valid_utf8(arm.arm)},
                      {"mode", valid_utf8(arm.mode)},
                      {"guest", text_or_null(arm.guest)},
                      {"treatment", valid_utf8(arm.treatment)},
                      {"n_trials", arm.n_trials},
                      {"capabilities", std::move(lines)}});
    }
    rows.push_back({{"suite", valid_utf8(row.suite)},
                    {"suite_id", valid_utf8(row.suite_id)},
                    {"machine", valid_utf8(row.machine)},
                    {"machine_id", valid_utf8(row.machine_id)},
                    {"arms", std::move(arms)}});
  }
  const OrderedJson document = {{"report", "capabilities"}, {"rows", std::move(rows)}};
  return document.dump(2) + "\n";
}

std::string capabilities_csv(const CapabilityReport& report) {
  std::string out;
  write_csv_line({"suite", "suite_id", "machine", "machine_id", "arm", "mode", "guest", "treatment", "capability",
                  "derived", "requested", "observed", "agrees", "sources", "n_trials"},
                 out);
  for (const CapabilityRow& row : report.rows) {
    for (const CapabilityArm& arm : row.arms) {
      for (const CapabilityLine& line : arm.lines) {
        write_csv_line(
            {row.suite, row.suite_id, row.machine, row.machine_id, arm.arm, arm.mode, arm.guest, arm.treatment,
             line.name, line.derived ? "1" : "0", line.requested, line.observed, line.agrees ? "1" : "0",
             fmt::format("{}", fmt::join(line.sources, "; ")), fmt::format("{}", line.n_trials)},
            out);
      }
    }
  }
  return out;
}

}  // namespace capbench::reports
