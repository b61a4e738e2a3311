// A speed over time: one series for each model, test, arm, workload and machine, over builds of llama.cpp, versions of
// the system, or runs, with the points where its level changes.
//
// Points are compared only within one setting: everything that ran and everything known of the machine is the same but
// what the axis varies. What differs between settings, and from each point to the one before, is named.
//
//   axis     a point is                               varies                                           order
//   builds   every trial of one build (the files      the executable and the libraries that it         build number if
//            that the application brings; where       brings (beside it, or libllama*, libggml*,       every point has
//            they are unknown, the build that it      libmtmd*)                                        one over 1, else
//            printed)                                                                                  time
//   systems  every trial under one system             the system: its version, kernel, drivers and     time
//                                                     libraries of its own
//   runs     every trial of one run                   nothing                                          time
//
// Everything here but the reading is a pure function of Measurements.
#ifndef CAPBENCH_REPORTS_HISTORY_H_
#define CAPBENCH_REPORTS_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "harness/stats/summary.h"
#include "reports/estimates.h"
#include "reports/measurements.h"
#include "schema/store.h"

namespace capbench::reports {

enum class Axis { kBuilds, kSystems, kRuns };

// "builds", "systems", "runs".
std::string_view axis_name(Axis axis);
std::optional<Axis> axis_of(std::string_view name);

struct HistoryFilter : MeasurementFilter {
  Axis axis = Axis::kBuilds;
  // Without them points have neither an interval nor `different`, which take longer than all the rest.
  bool details = true;
};

struct SeriesPoint {
  std::string label;      // "0ad4a86 (4321)"; "macOS 15.5 (24F74)"; "2026-11-30 04:25"
  std::string date;       // when its first trial started, UTC
  std::string last_date;  // and its last
  std::string build;      // as the application names it; empty if unknown
  std::optional<std::int64_t> build_number;
  std::string commit;    // of the build, as printed; empty if unknown
  std::string identity;  // what makes it a point: digest of the build's files, of the system's facts, or the run's id
  std::string environment_id;
  std::string closure_id;
  std::vector<std::string> trial_ids;  // in order of time
  std::vector<std::uint32_t> places;   // the same in Measurements::all
  std::vector<stats::Trial> trials;    // one sample each, the trial's median; of a single trial, its samples
  std::size_t n_trials = 0;
  std::size_t n_samples = 0;
  double median_ts = 0;  // median of trial medians; of a single trial, of its samples
  std::optional<Interval> ci95;
  std::string interval;                // what the interval is
  std::vector<std::string> different;  // from the point before: "executable llama-bench", "kernel 6.1 -> 6.8"
};

struct SeriesChange {
  std::size_t index = 0;  // of the first point after it
  std::size_t first = 0;  // the first point after it is one of these, with 95 %
  std::size_t last = 0;
  double ratio = 1;  // after over before
  Interval ci95;
  // "change point": the level of the series, by harness/stats/change_points.h. "trials": the trials of two
  // neighbouring points, 3 or more each, for short series and for the newest points; its interval is simultaneous over
  // the series.
  std::string method;
  std::optional<double> p;  // of a change point
  std::string id;           // of the regression or the gain: 64 digits, see regression_subject()
  std::string state;        // what people decided of it: "open", "acknowledged", "fixed", "noise"
  std::string why;          // and why; may be empty
};

struct Series {
  Axis axis = Axis::kBuilds;
  SeriesKey key;
  std::string setting;                     // what is the same in all its points, by digest
  std::vector<std::string> setting_apart;  // how it differs from the newest setting of this key; empty: it is that one
  std::vector<SeriesPoint> points;
  std::vector<SeriesChange> changes;  // in order
  // What people decided of changes here, by id: state and reason. A change that is no longer seen keeps its own.
  std::map<std::string, std::pair<std::string, std::string>> decisions;
  double margin = 0.02;    // least change that counts: the larger of 2 % and the A/A floor of its trials
  std::string margin_why;  // "95 % of 120 A/A pairs ... differ by at most 1.3 %"; empty: there was no pair
};

// What people decided of changes, by id.
class Decisions {
 public:
  void add(const std::vector<schema::TriageRecord>& decisions);  // the latest first
  const schema::TriageRecord* find(const std::string& id) const;
  // Whether any is about a series of that setting.
  bool knows(const std::string& setting) const { return settings_.contains(setting); }

 private:
  std::map<std::string, schema::TriageRecord> by_id_;
  std::set<std::string> settings_;
};
// Of several stores the latest.
Result<Decisions> read_decisions(std::span<schema::Store* const> stores);

// What of a series is worked out: points have `trial_ids`, an interval and `different` only with `details`.
struct Wanted {
  bool details = true;
  bool changes = true;
};
// The settings of one key, the newest first.
std::vector<Series> series_of(const Measurements& measurements, std::size_t key, Axis axis, const Wanted& wanted,
                              const Decisions& decisions);

// By key, newest setting first. Errors are the store's.
Result<std::vector<Series>> read_history(schema::Store& store, const HistoryFilter& filter = {});
// Of measurements that are there already, on as many threads as there are cores.
std::vector<Series> history_of(const Measurements& measurements, Axis axis, bool details, const Decisions& decisions);

// Canonical JSON of what a change is about; its digest is the change's id. The points before and after go into it by
// their identity, so the id stays while other builds are measured, and changes if one is measured between the two.
std::string regression_subject(const Series& series, std::size_t index);

// Whether a revision names the point: a build number ("4321", "b4321"), the beginning of its commit (4 digits or more)
// or its label.
bool names_point(const SeriesPoint& point, const std::string& revision);

// "0ad4a86 (4321)" and such: what llama.cpp's tools print of themselves.
struct BuildName {
  std::string commit;
  std::optional<std::int64_t> number;
};
BuildName parse_build(std::string_view build);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HISTORY_H_
