// What the folder's workloads are called. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_WORKLOAD_NAMES_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_WORKLOAD_NAMES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/import/evidence/launches.h"
#include "harness/suite/structs.h"

namespace capbench::imports::evidence {

// By runtime and name.
using Workloads = std::map<std::pair<std::string, std::string>, suite::Workload>;

// Names the workload of every launch after its tests, "pp512+tg128"; of several of one name in a runtime, the one that
// most launches have keeps it, the others get their settings behind it: "pp512+tg128 r=1 t=8". A launch without rows
// has its runtime's most frequent one.
Workloads name_workloads(std::vector<Launch>& launches);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_WORKLOAD_NAMES_H_
