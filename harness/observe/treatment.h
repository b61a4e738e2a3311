// Was the arm what it claims? Capabilities requested against capabilities observed. Pure.
//
// Evidence, strongest first: what ggml says of its device; a probe under the same injection; the shim's own banner,
// which is its word. Whose library the process mapped tells of shims that nobody asked for.
#ifndef CAPBENCH_HARNESS_OBSERVE_TREATMENT_H_
#define CAPBENCH_HARNESS_OBSERVE_TREATMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/suite.h"
#include "schema/records.h"
#include "shim/cpu/levels.h"

namespace capbench::observe {

struct TreatmentEvidence {
  std::string_view log;                         // the process's stderr
  std::vector<std::string> mapped_files;        // files it had mapped as code
  std::vector<std::string> cpu_variants;        // the CPU libraries it could choose from: "x64"; none: linked in
  shim::cpu::FeatureSet hardware_features = 0;  // what this machine executes
  std::string_view probe;              // what `capbench probe` printed in the arm's environment; empty: not run
  std::string_view injection_problem;  // why the shim could not be put in place; empty: it could
  // Of the arm's environment variables those that are its treatment (suite::varied_variables). One that nothing shows
  // to have been read leaves the arm unproven.
  std::vector<std::string> varied_variables;
};

struct TreatmentVerdict {
  std::string treatment;      // "proven", "unproven" or "invalid"
  std::string reason;         // why it is not proven
  bool contradicted = false;  // invalid because the evidence says otherwise, not because there is none
  std::vector<schema::CapabilityRecord> capabilities;  // those asked for first
};

TreatmentVerdict check_treatment(const suite::Arm& arm, const TreatmentEvidence& given);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_TREATMENT_H_
