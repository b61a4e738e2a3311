#include "harness/import/evidence/document.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "harness/import/detect.h"
#include "harness/import/evidence/names.h"
#include "harness/import/import_file.h"
#include "harness/import/text.h"
#include "harness/observe/log_lines.h"
#include "harness/observe/published_shims.h"

namespace capbench::imports::evidence {
namespace {

constexpr std::size_t kMostWords = 300;

constexpr auto kLogMarks = std::to_array<std::string_view>(
    {"ggml_metal_", "ggml_vulkan:", "ggml_cuda_init", "load_backend:", "llama_model_load", "Traceback (most recent"});

// Lines that a program prints when it dies.
constexpr auto kDeath = std::to_array<std::string_view>(
    {"terminate called", "Segmentation fault", "Abort trap", "Killed", "GGML_ASSERT", "main: error", "error: failed"});

bool is_log(const std::string& name, std::string_view bytes) {
  if (is_log_name(name)) return true;
  if (is_markdown_name(name)) return false;
  if (!observe::published_banners(bytes).empty()) return true;
  return std::any_of(kLogMarks.begin(), kLogMarks.end(),
                     [&](auto mark) { return bytes.find(mark) != std::string_view::npos; });
}

// "RuntimeError: [metal::Device] Unable ...": a name that ends so, then a colon.
bool is_exception(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  return is_name && (name.ends_with("Error") || name.ends_with("Exception"));
}

// Markdown with headings: tables in it quote results, they are none.
bool is_prose(const Document& document) {
  if (!is_markdown_name(document.name)) return false;
  bool heading = false;
  observe::for_each_line(document.bytes, [&](std::string_view line) {
    heading |= line.starts_with("# ") || line.starts_with("## ") || line.starts_with("### ");
  });
  return heading;
}

void read_rows(Document& document) {
  const SourceKind kind = detect(std::string_view(document.bytes).substr(0, kDetectBytes));
  if (kind == SourceKind::kBinary || kind == SourceKind::kSqlite) {
    document.role = Role::kBinary;
    document.kind = "binary";
    return;
  }
  Result<Imported> imported = import_bytes(document.bytes, document.name);
  if (!imported) return;
  if (is_prose(document)) {
    document.notes.emplace_back("the tables in its text are not imported as results");
    return;
  }
  document.role = Role::kResults;
  document.kind = imported->file.kind;
  document.rows = std::move(imported->rows);
  document.quarantine = std::move(imported->quarantine);
  for (Note& note : imported->notes) document.notes.push_back(std::move(note.text));
}

}  // namespace

Document read_document(std::string name, std::string bytes) {
  Document document;
  document.name = std::move(name);
  document.bytes = std::move(bytes);
  document.sha256 = sha256(document.bytes);
  document.kind = "text";
  if (auto sums = parse_sums(document.bytes)) {
    document.role = Role::kSums;
    document.kind = "sha256-sums";
    document.sums = std::move(*sums);
    return document;
  }
  if (auto table = parse_table(document.bytes)) {
    document.role = Role::kTable;
    document.kind = "results-table";
    document.table = std::move(*table);
    return document;
  }
  read_rows(document);
  const bool has_no_row = document.role == Role::kText || (document.role == Role::kResults && document.rows.empty());
  if (has_no_row && is_log(document.name, document.bytes)) {
    document.role = Role::kLog;
    document.kind = "log";
    document.quarantine.clear();
  }
  return document;
}

std::string last_words(std::string_view log) {
  std::string said;
  std::string last;
  bool traceback = false;
  observe::for_each_line(log, [&](std::string_view line) {
    const std::string_view text = trim(line);
    if (text.empty()) return;
    traceback |= text.starts_with("Traceback (most recent call last)");
    last = text.substr(0, kMostWords);
    if (!said.empty()) return;
    const bool died =
        std::any_of(kDeath.begin(), kDeath.end(), [&](auto word) { return text.find(word) != std::string_view::npos; });
    if (is_exception(text) || died) said = last;
  });
  if (said.empty() && traceback) said = last;
  return said;
}

}  // namespace capbench::imports::evidence
