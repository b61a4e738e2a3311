// One bundle of a file into a store, as `ingest` and `import` take it.
#ifndef CAPBENCH_HARNESS_CLI_INGEST_FILE_H_
#define CAPBENCH_HARNESS_CLI_INGEST_FILE_H_

#include <string>

#include "base/result.h"
#include "schema/bundle/exchange.h"
#include "schema/store.h"

namespace capbench::cli {

// Reads, opens, verifies and stores it, and tells on stderr what came of it. `signers` is a file of ALLOWED SIGNERS, or
// empty. Errors (of kind kFinding unless the file or the store is the trouble): refused by open_bundle(), by a check
// that failed, or as a conflict; each names the file.
Result<bundle::IngestOutcome> ingest_file(schema::Store& store, const std::string& file, const std::string& signers);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_INGEST_FILE_H_
