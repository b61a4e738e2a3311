// Sorts trials into what belongs together, before anything is computed.
#ifndef CAPBENCH_REPORTS_SELECT_H_
#define CAPBENCH_REPORTS_SELECT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/store.h"

namespace capbench::reports {

// Of each (run, arm, workload, model, block) the latest attempt: the highest number, then the later start, then the
// higher id. Sorted by run, block, mode, arm, model, workload. The pointers live as long as `trials`.
std::vector<const schema::TrialView*> latest_attempts(const std::vector<schema::TrialView>& trials);

// One trial as it appears in one row.
struct Point {
  const schema::TrialView* view = nullptr;
  std::vector<double> ts;  // samples of the row's test, in the order measured; empty: none usable
  std::string device;      // of the row's result; empty if unknown
  std::int64_t block = 0;  // the trial's block, numbered over all runs of the row
  bool counted = false;    // status ok, treatment not invalid, and there are samples
};

// What tells rows apart, arms aside.
struct RowKey {
  std::string suite_id;
  std::string machine_id;
  std::string workload;
  std::string model;
  std::string model_kind;
  std::string executable_sha256;
  std::string build;
  std::string test;         // empty: no result
  std::int64_t repeat = 0;  // how many results of that name the trial has before this one
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::int64_t n_depth = 0;
  std::string guest;

  // clang-tidy 14 takes the zero that is hidden here for a pointer.
  auto operator<=>(const RowKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

// All trials of one key, every arm. Two of these may have one key: then an arm's device tells them apart.
struct RowTrials {
  RowKey key;
  std::vector<Point> points;
};

// Of the latest attempts, without warm-up trials (blocks below 0).
std::vector<RowTrials> select_rows(const std::vector<schema::TrialView>& trials);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_SELECT_H_
