// `report compare`: any two builds, systems, machines or runs beside each other, cell by cell. What only one side has
// measured is listed, never left out.
#ifndef CAPBENCH_REPORTS_COMPARE_H_
#define CAPBENCH_REPORTS_COMPARE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reports/document.h"
#include "reports/history.h"
#include "schema/store.h"

namespace capbench::reports {

// What names a side: a build number ("4321", "b4321"), the beginning of a commit (4 digits or more) or of an
// environment's id (6 or more), a machine's label or id, or a run's minute. Both empty: the newest machine, system and
// build, and the newest before it.
struct CompareSides {
  std::string base;
  std::string other;
};

struct ComparedSide {
  std::string machine;
  std::string machine_id;
  std::string build;
  std::string environment_id;
  std::string measured;  // when its first trial started, UTC
  std::size_t n_trials = 0;
  double median_ts = 0;
  std::optional<Interval> ci95;
};

struct ComparedCell {
  SeriesKey key;  // of the side that has it; the base's where both do
  std::optional<ComparedSide> base;
  std::optional<ComparedSide> other;
  std::optional<double> ratio;   // other over base
  std::optional<Interval> ci95;  // simultaneous over all cells with three trials or more on both sides
  std::string interval;          // what the interval is; why there is none
  bool holds_together = false;   // the interval is one of the simultaneous ones
};

struct CompareReport {
  CompareSides sides;                  // as asked for, or the labels of those that were chosen
  std::vector<std::string> different;  // of what ran and where, between the two, over all cells; each once
  std::vector<ComparedCell> cells;     // by key; those that both sides have, and the others
  std::size_t compared = 0;            // in the family of simultaneous intervals
  bool same_machine = true;            // every cell that both sides have
};

// A side that names nothing in the store is an error that names some that there are (kUsage).
Result<CompareReport> read_compare(schema::Store& store, const std::string& suite, const CompareSides& sides);

Document compare_document(const CompareReport& report);
std::string compare_csv(const CompareReport& report);
// See json/compare.schema.json.
std::string compare_json(const CompareReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_COMPARE_H_
