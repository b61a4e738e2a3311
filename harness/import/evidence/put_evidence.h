// Puts what an evidence folder gave into a store.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_PUT_EVIDENCE_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_PUT_EVIDENCE_H_

#include "base/result.h"
#include "harness/import/evidence/evidence.h"
#include "schema/import_writer.h"

namespace capbench::imports {

// In the writer's transaction; what is there already stays as it is. The writer counts the trials.
Status put_evidence(const EvidenceImport& evidence, schema::ImportWriter& writer);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_PUT_EVIDENCE_H_
