// Rows under one heading, and the words around them that the formats for people share.
#ifndef CAPBENCH_REPORTS_GROUP_H_
#define CAPBENCH_REPORTS_GROUP_H_

#include <string>
#include <utility>
#include <vector>

#include "reports/speedup.h"

namespace capbench::reports {

// Rows that differ only by test. The text is for people and not escaped, but it is valid UTF-8 on one line.
struct Group {
  std::string title;                                         // "tinyllama-1.1b (twin), workload chat"
  std::vector<std::pair<std::string, std::string>> details;  // {"suite", "quickstart"}, {"machine", ...}, ...
  std::vector<const SpeedupRow*> rows;
};

// In the report's order. Two things of one name get the start of their identity behind it, so that headings never look
// alike. The pointers live as long as the report.
std::vector<Group> group_rows(const SpeedupReport& report);

// What a reader has to know, one sentence or two each, plain text: estimators, intervals, guests, quality, flags. Only
// what this report has occasion for. Not escaped.
std::vector<std::string> explanations(const SpeedupReport& report);

// The notes and flags of a group's rows, "tg128: stock: 1 of 5 trials not ok: timeout"; what all rows say is said once,
// without the test.
std::vector<std::string> group_notes(const Group& group);

// The row's test, or "(no result)".
std::string test_name(const SpeedupRow& row);

// "unlocked", or "unlocked (ARM)" where the suite's modes are not enough to tell.
std::string mode_name(const SpeedupRow& row, const ModeSummary& mode);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_GROUP_H_
