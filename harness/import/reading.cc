#include "harness/import/reading.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace capbench::imports {
namespace {

constexpr std::string_view kAs = "read as ";
constexpr std::string_view kColumns = "read with --columns '";

}  // namespace

std::string reading_of(const ImportOptions& options) {
  if (!options.columns.empty() && options.as.value_or(SourceKind::kLlamaBench) == SourceKind::kLlamaBench) {
    std::map<std::string, std::string> parts;  // by field: the order on the command line is of no account
    for (const auto& [column, field] : options.columns.fields) parts[field] = "=" + column;
    for (const auto& [field, value] : options.columns.constants) parts[field] = ":=" + value;
    std::string text;
    for (const auto& [field, rest] : parts) text += (text.empty() ? "" : ";") + field + rest;
    return std::string(kColumns) + text + "'";
  }
  return options.as ? std::string(kAs) + std::string(to_string(*options.as)) : "";
}

std::string reading_among(const std::vector<std::string>& notes) {
  const auto found = std::find_if(notes.begin(), notes.end(), [](const std::string& note) {
    return note.starts_with(kAs) || note.starts_with(kColumns);
  });
  return found == notes.end() ? "" : *found;
}

std::optional<ImportOptions> parse_reading(const std::string& sentence) {
  ImportOptions options;
  if (sentence.empty()) return options;
  std::string_view rest = sentence;
  if (rest.starts_with(kAs)) {
    options.as = source_kind(rest.substr(kAs.size()));
    if (!options.as) return std::nullopt;
    return options;
  }
  if (!rest.starts_with(kColumns) || !rest.ends_with('\'') || rest.size() <= kColumns.size()) return std::nullopt;
  rest.remove_prefix(kColumns.size());
  rest.remove_suffix(1);
  auto columns = parse_column_mapping(rest);
  if (!columns) return std::nullopt;
  options.columns = std::move(*columns);
  return options;
}

}  // namespace capbench::imports
