// What kind of source a file is, by its first bytes. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_DETECT_H_
#define CAPBENCH_HARNESS_IMPORT_DETECT_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace capbench::imports {

enum class SourceKind {
  kLlamaBench,       // any of its text formats, or CSV with a column mapping
  kGoogleBenchmark,  // its JSON
  kMlxLm,            // what mlx_lm.benchmark prints, or the JSON of published evidence
  kSqlite,           // LocalScore's, or one that holds llama-bench's table
  kBinary,           // nothing that is imported
};

// How many bytes of a file it wants to see; fewer will do for a shorter file.
inline constexpr std::size_t kDetectBytes = 64U << 10U;

SourceKind detect(std::string_view head);

// The kind under the name that a command line gives it: "llama-bench", "google-benchmark", "mlx-lm", "sqlite".
std::optional<SourceKind> source_kind(std::string_view name);
std::string_view to_string(SourceKind kind);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_DETECT_H_
