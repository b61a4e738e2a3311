// The speedup report: how much faster `unlocked` is than `stock`, and how close it comes to `bare-metal`.
// Pure: trials in, rows out; nothing is read, written or kept. Safe to call from several threads.
#ifndef CAPBENCH_REPORTS_SPEEDUP_H_
#define CAPBENCH_REPORTS_SPEEDUP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/estimates.h"
#include "reports/subject.h"
#include "schema/store.h"

namespace capbench::reports {

// What the counted trials of one arm measured, in tokens per second.
struct ModeStats {
  Estimate median;    // median over trials of each trial's median, with its interval
  double min_ts = 0;  // slowest sample
  double max_ts = 0;  // fastest sample
  std::size_t n_samples = 0;
  std::size_t n_trials = 0;
};

// One mode of a row, as one arm gave it.
struct ModeSummary {
  std::string mode;
  std::string arm;                 // empty: the suite has no arm of this mode
  std::string treatment;           // of this arm alone: "proven", "unproven", "invalid"
  std::size_t n_tried = 0;         // trials that count or should have
  std::string device;              // of the counted trials' results; empty if unknown
  std::string target;              // where its commands ran: "local", or as the suite names it; empty if unknown
  std::optional<ModeStats> stats;  // none: no trial counts; never a zero
  std::optional<Estimate> over_bare_metal;  // this arm's speed over bare-metal's; the suite's own modes only
};

// The status of a trial whose source states means and no samples: nothing is wrong with it, and it has no median.
inline constexpr std::string_view kMeanOnly = "mean_only";

// Trials of one arm that do not count, and why.
struct NotOk {
  std::string mode;
  std::string arm;
  std::string status;  // as the trial has it; of an ok one: kMeanOnly, or "no_samples" without usable samples
  std::string reason;  // of the first such trial; may be empty. The means of the first ones that give no more
  std::size_t count = 0;
  std::vector<std::string> trials;  // their ids
};

// One trial of the row, for the reader who wants to see each.
struct TrialPoint {
  std::string id;
  std::string run_id;
  std::string mode;
  std::string arm;
  std::string status;
  std::string reason;
  std::int64_t block = 0;
  std::int64_t attempt = 1;
  std::size_t n_samples = 0;
  std::optional<double> median_ts;  // also of a trial that does not count, if it got that far
  bool counted = false;
};

// One suite, machine, build, workload, model, test and guest, and one arm of each mode.
struct SpeedupRow : Subject {
  std::vector<ModeSummary> modes;                 // bare-metal, stock, unlocked, always; then the suite's own, by name
  bool arms_shown = false;                        // a mode has several arms here, so the rows differ by arm
  std::optional<Estimate> speedup;                // unlocked over stock
  std::optional<Estimate> percent_of_bare_metal;  // 100 * unlocked over bare-metal
  std::string treatment;                          // "proven", "unproven", "invalid", over the three modes' arms
  std::string quality;                            // "passed", "unchecked", "wrong"
  std::vector<std::string> flags;                 // sorted, each once
  std::vector<std::string> notes;                 // sentences about this row
  std::vector<std::string> runs;                  // sorted
  std::vector<NotOk> not_ok;                      // by mode, arm, status
  std::vector<TrialPoint> trials;                 // by run, block, mode, arm
};

struct SpeedupReport {
  std::vector<SpeedupRow> rows;
};

// The rules, fixed beforehand:
// - Of each (run, arm, workload, model, block) only the latest attempt is looked at.
// - Only a trial of status `ok` whose treatment is not invalid counts to medians; every other is reported in `not_ok`.
// - Rows never pool suites, machines, builds, workloads, models, real models and twins, tests, guests or arms. Runs of
//   one suite on one machine with one build are pooled: a block is a block.
// - Nor do they pool devices: an arm that ran on two of them gives two rows. The arms of one row may differ in it, as a
//   guest's GPU has a name of its own; that is flagged `device-differs`.
// - A host's arms (no guest) stand in the row of every guest measured beside them, `stock` and `unlocked` excepted.
// - A trial that ended without results belongs to every row that it could have been part of.
// - treatment: "invalid" if any trial of the three arms is, "proven" if every counted one is, else "unproven".
// - quality: "wrong" if any trial of the three arms is, "passed" if every counted trial of stock and unlocked is, else
// "unchecked".
// - A test named twice in one trial gives two rows, "pp512" and "pp512 #2", flagged `repeated-test`.
// The order of `trials` does not matter. Rows come sorted.
SpeedupReport build_speedup(const std::vector<schema::TrialView>& trials, const Background& background = {});

bool is_core_mode(const std::string& mode);

// "unlocked"; of a mode of the suite's own that has several arms, the arm: "layer: no coopmat" as it is, since it
// begins with its mode, else "MODE (ARM)". Not escaped.
std::string arm_name(const SpeedupRow& row, const ModeSummary& mode);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_SPEEDUP_H_
