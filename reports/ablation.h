// The ablation report: which factor each speed depends on, with every arm beside it.
// Pure: trials in, rows out; nothing is read, written or kept. Safe to call from several threads.
#ifndef CAPBENCH_REPORTS_ABLATION_H_
#define CAPBENCH_REPORTS_ABLATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/stats/noise.h"
#include "harness/stats/power.h"
#include "harness/stats/sufficiency.h"
#include "harness/stats/table.h"
#include "harness/suite/structs.h"
#include "reports/expected.h"
#include "reports/levels.h"
#include "reports/roofline.h"
#include "reports/speedup.h"
#include "schema/records.h"
#include "schema/store.h"

namespace capbench::reports {

// What trials do not say themselves. What is not there is left out of the report.
struct AblationBackground {
  Background names;
  std::map<std::string, suite::Suite> suites;                          // by suite_id
  std::map<std::string, std::vector<schema::ClosureMember>> closures;  // by closure_id
  std::map<std::string, std::int64_t> gpu_cores;                       // by environment_id
  std::map<std::pair<std::string, std::string>, ModelReads> reads;     // by suite_id and model
  Sources sources;
};

// A capability as an arm's trials saw it.
struct Observed {
  std::string name;
  std::string requested;  // empty: the arm asked nothing of it
  std::string value;      // "varies" if the trials disagree
  std::string source;     // of the value: "probe", "ggml log", ...
};

struct AblationArm {
  std::string name;
  std::string mode;
  std::string guest;
  bool is_reference = false;   // what `x stock` is over
  bool is_bare_metal = false;  // what `% bare metal` is of
  bool expected_to_fail = false;
  std::size_t n_planned = 0;        // trials that the suite asks for; 0: unknown
  std::size_t n_tried = 0;          // trials that count or should have
  std::size_t repetitions = 0;      // samples of each counted trial; the fewest
  std::optional<double> cv_within;  // of samples inside a trial: root mean square over trials of each one's
  stats::ArmRow numbers;            // median, ratios, gap, flags; `problem` of an arm without trials
  std::string device;
  std::string treatment;  // "proven", "unproven", "invalid"
  std::string quality;    // "passed", "unchecked", "wrong"
  std::string status;     // "ok", "failed", "not run", "4 of 5 ok: timeout", "failed, as expected", ...
  bool finding = false;   // the status is something to look at
  std::vector<NotOk> not_ok;
  std::vector<Observed> capabilities;  // answers of the device, by name
  std::vector<Observed> derived;       // ggml's conclusions, by name, without the "ggml."
  RooflineShare roofline;
  std::string closure_id;  // of its first counted trial
};

struct AblationFactor {
  VariedFactor factor;
  std::string depends;                 // "yes", "no", "cannot tell", "cannot tell which"
  std::string why;                     // one clause
  std::string condition;               // "only without coopmat and coopmat2"; empty: none is shown
  std::vector<std::string> stand_ins;  // factors any of which will do
  std::optional<stats::Effect> removing;
  std::optional<stats::Effect> adding;
  std::optional<stats::Effect> main;
  Expected expected;
  std::string agreement;  // "agrees", "surprise", "allowed", or empty
};

// The factors that vary together, and what they are worth.
struct AblationFamily {
  FactorFamily levels;
  std::vector<AblationFactor> factors;
  std::optional<stats::Dependence> dependence;  // nothing: `problem` says why
  std::vector<stats::Effect> interactions;
  std::vector<stats::Effect> simple;
  std::string problem;
};

// One test of one suite, machine, build, workload, model and guest, over all of its arms.
struct AblationRow : Subject {
  std::vector<AblationArm> arms;  // in the suite's order; then those that it does not have any more
  std::vector<AblationFamily> families;
  std::optional<stats::NoiseFloor> floor;  // the larger of `floors`
  std::vector<stats::NoiseFloor> floors;   // of arms that were told the same, and of random halves: what can be had
  std::optional<stats::PilotNoise> noise;  // between trials, pooled over arms; nothing if no arm has two
  double margin = 0;                       // share of speed
  std::size_t comparisons = 0;             // in the family of simultaneous intervals of x stock and % bare metal
  std::vector<std::string> flags;          // sorted, each once
  std::vector<std::string> notes;          // sentences about this row
};

struct AblationReport {
  std::vector<AblationRow> rows;
};

// The rules, fixed beforehand:
// - Which trials are looked at and which count: as in build_speedup. Warm-up trials never.
// - Arms of the suite without a trial are rows too, `not run`.
// - x stock is over the arm of role or mode `stock`, % bare metal over that of role or mode `bare-metal`; of several
// the
//   first in the suite's order.
// - Tests that differ in nothing but the test share one family of simultaneous intervals.
// - The floor is that of arms that were told the same, or that of random halves of each arm, whichever is larger; the
//   margin is the larger of 2 % and the floor.
// - An arm whose output is wrong is shown and takes part in no comparison of factors.
AblationReport build_ablation(const std::vector<schema::TrialView>& trials, const AblationBackground& background);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ABLATION_H_
