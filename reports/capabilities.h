// The capabilities report: what each arm asked for, what was observed, and what the application made of it.
// Pure: trials in, rows out; nothing is read, written or kept. Safe to call from several threads.
#ifndef CAPBENCH_REPORTS_CAPABILITIES_H_
#define CAPBENCH_REPORTS_CAPABILITIES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "schema/store.h"

namespace capbench::reports {

// One capability of one arm as one set of sources saw it.
struct CapabilityLine {
  std::string name;
  std::string requested;             // empty: the arm asked nothing of it
  std::string observed;              // empty: not seen
  std::vector<std::string> sources;  // that say so: "probe", "ggml log", "shim banner"; sorted
  bool derived = false;              // the application's conclusion ("ggml."), not an answer of the device
  bool agrees = true;                // with what the arm requires, in every trial
  std::size_t n_trials = 0;          // in which it was so seen
};

struct CapabilityArm {
  std::string arm;
  std::string mode;
  std::string guest;
  std::string treatment;              // the worst of its trials': "invalid", "unproven", "proven"
  std::size_t n_trials = 0;           // the latest attempts, whatever became of them
  std::vector<CapabilityLine> lines;  // the device's answers by name, then what is derived
};

// One suite on one machine.
struct CapabilityRow {
  std::string suite;
  std::string suite_id;
  std::string machine;
  std::string machine_id;
  std::vector<CapabilityArm> arms;  // by name
};

struct CapabilityReport {
  std::vector<CapabilityRow> rows;
};

// Of each place in a suite only the latest attempt is looked at; a trial that never ran has seen nothing. Trials in
// which a capability was seen differently give lines of their own.
CapabilityReport build_capabilities(const std::vector<schema::TrialView>& trials);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_CAPABILITIES_H_
