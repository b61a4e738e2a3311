// Was the arm what it claims? Capabilities requested against capabilities observed. Pure.
//
// Evidence, strongest first: what ggml says it loaded; which files the process mapped; the shim's own banner (its
// word).
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
  std::string_view log;                     // the process's stderr
  std::vector<std::string> mapped_files;    // files it had mapped as code
  std::vector<std::string> cpu_variants;    // the CPU libraries it could choose from: "x64", "haswell"; none: linked in
  shim::cpu::FeatureSet hardware_features;  // what this machine executes
};

struct TreatmentVerdict {
  std::string treatment;  // "proven", "unproven" or "invalid"
  std::string reason;     // why it is not proven
  std::vector<schema::CapabilityRecord> capabilities;
};

TreatmentVerdict check_treatment(const suite::Arm& arm, const TreatmentEvidence& evidence);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_TREATMENT_H_
