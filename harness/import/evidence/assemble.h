// From judged launches to the store's records. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_ASSEMBLE_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_ASSEMBLE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "harness/import/evidence/document.h"
#include "harness/import/evidence/evidence.h"
#include "harness/import/evidence/launches.h"
#include "harness/import/evidence/model_names.h"
#include "harness/import/evidence/workload_names.h"

namespace capbench::imports::evidence {

// Adds suites, environments, runs and trials. A suite holds one runtime, so a folder with results of two gives two.
// Errors: a suite that its own reader refuses.
Status assemble(const std::string& folder, const std::vector<Document>& documents, const Models& models,
                const Workloads& workloads, const EvidenceOptions& options, std::vector<Launch>& launches,
                EvidenceImport& import);

// A text without personal details, valid UTF-8.
std::string clean(std::string_view text);
// The same for a JSON object: it stays one.
std::string clean_json(const std::string& json);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_ASSEMBLE_H_
