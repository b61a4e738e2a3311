#include "harness/import/detect.h"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr std::string_view kSqliteHeader{"SQLite format 3\0", 16};

constexpr auto kNames = std::to_array<std::pair<SourceKind, std::string_view>>({
    {SourceKind::kLlamaBench, "llama-bench"},
    {SourceKind::kGoogleBenchmark, "google-benchmark"},
    {SourceKind::kMlxLm, "mlx-lm"},
    {SourceKind::kSqlite, "sqlite"},
    {SourceKind::kBinary, "binary"},
});

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

SourceKind detect(std::string_view head) {
  head = head.substr(0, kDetectBytes);
  if (head.starts_with(kSqliteHeader)) return SourceKind::kSqlite;
  // UTF-16 with its mark is text; any other NUL is not.
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return SourceKind::kLlamaBench;
  if (std::find(head.begin(), head.end(), '\0') != head.end()) return SourceKind::kBinary;
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::string_view text = trim(head);
  if (text.starts_with('{')) {
    const bool is_row = has(text, "\"n_prompt\"") || has(text, "\"build_commit\"");
    if (!is_row && has(text, "\"context\"") && has(text, "\"benchmarks\"")) return SourceKind::kGoogleBenchmark;
    if (!is_row && has(text, "\"configuration\"") && has(text, "\"prompt_tps\"")) return SourceKind::kMlxLm;
  }
  if (has(text, "Timing with prompt_tokens=") && has(text, "generation_tps=")) return SourceKind::kMlxLm;
  return SourceKind::kLlamaBench;
}

std::optional<SourceKind> source_kind(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name && kind != SourceKind::kBinary) return kind;
  }
  return std::nullopt;
}

std::string_view to_string(SourceKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "";
}

}  // namespace capbench::imports
