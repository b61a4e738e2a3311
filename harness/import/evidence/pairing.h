// Which log belongs to which result. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_PAIRING_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_PAIRING_H_

#include <string>
#include <vector>

#include "harness/import/evidence/document.h"
#include "harness/import/evidence/launches.h"

namespace capbench::imports::evidence {

struct Pairing {
  std::vector<std::size_t> unpaired;  // logs that belong to no result
  std::vector<std::string> notes;
  std::vector<std::string> findings;
};

// Gives every launch its log. By the same path without endings; else by the same name in another folder; else by being
// the only two in a folder; else by the GPU that both name, the time of both and the words of their names, if that
// leaves one. A log that names another GPU than the result is not its log, whatever it is called: a finding. A file
// that holds rows and the log's lines is its own log.
Pairing pair_logs(const std::vector<Document>& documents, std::vector<Launch>& launches);

// What the launch's process printed beside its rows; empty: nothing is known.
std::string_view log_of(const std::vector<Document>& documents, const Launch& launch);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_PAIRING_H_
