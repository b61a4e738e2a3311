// One file of an evidence folder, and what it is. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_DOCUMENT_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_DOCUMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/import/evidence/sums.h"
#include "harness/import/evidence/table.h"
#include "harness/import/row.h"

namespace capbench::imports::evidence {

enum class Role {
  kResults,  // rows of a benchmark, good or bad
  kLog,      // what a program printed beside them
  kSums,
  kTable,
  kText,    // anything else that is text
  kBinary,  // or not
};

struct Document {
  std::string name;  // path within the folder
  std::string bytes;
  std::string sha256;
  Role role = Role::kText;
  std::string kind;  // as the store's sources have it
  std::vector<ImportedRow> rows;
  std::vector<QuarantinedRow> quarantine;
  std::vector<SumLine> sums;
  std::vector<TableLine> table;
  std::vector<std::string> notes;  // about this file
  std::string fate;                // what became of it
  bool altered = false;            // a list of digests says other bytes
};

Document read_document(std::string name, std::string bytes);

// The first error that a log speaks of, in its own words: "RuntimeError: ..."; empty: none.
std::string last_words(std::string_view log);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_DOCUMENT_H_
