// Rows under one heading, and the words around them that the formats for people share.
#ifndef CAPBENCH_REPORTS_GROUP_H_
#define CAPBENCH_REPORTS_GROUP_H_

#include <string>
#include <utility>
#include <vector>

#include "reports/speedup.h"
#include "reports/subject.h"

namespace capbench::reports {

// Rows that differ only by test. The text is for people and not escaped, but it is valid UTF-8 on one line.
struct Group {
  std::string title;                                         // "tinyllama-1.1b (twin), workload chat"
  std::string about;                                         // the suite's description; may be empty
  std::vector<std::pair<std::string, std::string>> details;  // {"suite", "quickstart"}, {"machine", ...}, ...
  std::vector<const SpeedupRow*> rows;
  bool has_results = false;  // a trial got as far as a result, so the rows have tests
};

// An arm of a mode of the suite's own, over all rows of a group.
struct OwnArm {
  std::string name;                      // as arm_name; for people, not escaped
  std::vector<const ModeSummary*> rows;  // one for each of the group's rows; null where it was not tried
  std::string treatment;                 // the worst of the rows' in which a trial counts or should have
};

// In the report's order. Two things of one name get the start of their identity behind it, so that headings never look
// alike. The pointers live as long as the report.
std::vector<Group> group_rows(const SpeedupReport& report);

// What a reader has to know, one sentence or two each, plain text: estimators, intervals, guests, quality, flags. Only
// what this report has occasion for. Not escaped.
std::vector<std::string> explanations(const SpeedupReport& report);

// The name of a mode in formats for programs: MODE, or MODE (ARM) for one of the suite's own that has several arms.
std::string mode_key(const SpeedupRow& row, const ModeSummary& mode);

// The notes and flags of a group's rows, "tg128: stock: 1 of 5 trials not ok: timeout"; what all rows say is said once,
// without the test.
std::vector<std::string> group_notes(const Group& group);

// In order of first use.
std::vector<OwnArm> own_arms(const Group& group);

// Why a group has no results, a sentence or more: "No trial got as far as a result. stock: 4 no device: ...".
std::vector<std::string> reasons_for_no_result(const Group& group);

// Which trials are not ok, by the beginnings of their ids: "not ok: stock, timeout: trial 3fa81c0e9b2d".
std::vector<std::string> not_ok_trials(const Group& group);

// The row's test, or "(no result)".
std::string test_name(const SpeedupRow& row);

// arm_name on one line.
std::string mode_name(const SpeedupRow& row, const ModeSummary& mode);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_GROUP_H_
