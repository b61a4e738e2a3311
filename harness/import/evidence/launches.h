// Which rows one process printed, and what they say of it. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_LAUNCHES_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_LAUNCHES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/evidence/document.h"
#include "harness/suite/structs.h"
#include "schema/records.h"

namespace capbench::imports::evidence {

inline constexpr std::string_view kLlamaBench = "llama-bench";
inline constexpr std::string_view kMlxLm = "mlx-lm";

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// One process launch. Indices are of the folder's documents.
struct Launch {
  std::size_t results = kNone;  // kNone: it printed none
  std::size_t log = kNone;      // kNone: there is none
  std::string log_text;         // of its own file, if log and rows stand in one
  std::string runtime;          // "llama-bench", "mlx-lm"; empty: unknown
  std::vector<ImportedRow> rows;

  // As the rows say.
  std::string cpu;
  std::string gpu;
  std::string model_file;  // path, or an MLX repository's name
  std::string model_revision;
  std::string model_type;
  std::int64_t model_size = 0;
  std::int64_t repetitions = 0;  // 0: unknown
  std::string device;            // -dev; empty: left to the application
  std::string started_at;
  std::string platform;  // MLX-LM's
  suite::Workload workload;
  std::vector<std::string> odd_settings;  // that no suite can say: "ts=3,1"

  // As judged.
  std::string mode;
  std::string guest;
  std::string arm;
  std::string arm_suffix;  // tells arms of one mode apart: "familyMax=5001 featureProfile=10"
  std::map<std::string, std::string> set;
  std::string machine;
  std::string model;
  std::string workload_name;
  std::string status = "ok";
  std::string reason;                 // why it is not ok
  std::vector<std::string> excluded;  // why it is kept out of claims
  std::string treatment = "unproven";
  std::string doubt;  // why it is not proven
  std::vector<schema::CapabilityRecord> capabilities;
  std::vector<std::string> flags;
  std::int64_t block = 0;
};

// The rows of one file, in its order. A new process begins where a test comes again or the rows say another build,
// machine, model or setting. Takes the rows out of the document.
std::vector<Launch> split_launches(Document& document, std::size_t index);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_LAUNCHES_H_
