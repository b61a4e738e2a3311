#include "harness/import/column_mapping.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/import/fields.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

Error wrong(std::string_view part, std::string cause) {
  return {ErrorKind::kUsage, fmt::format("column mapping \"{}\"", to_utf8(part.substr(0, 100))), std::move(cause),
          "write FIELD=COLUMN;FIELD:=VALUE, for example \"test=Test;t/s=Speed\""};
}

bool is_field(std::string_view name) {
  return name == "test" || name == "t/s" || field_named(name).has_value();
}

bool has_field(const ColumnMapping& mapping, std::string_view name) {
  return mapping.constants.contains(std::string(name)) ||
         std::any_of(mapping.fields.begin(), mapping.fields.end(),
                     [&](const auto& item) { return item.second == name; });
}

}  // namespace

Result<ColumnMapping> parse_column_mapping(std::string_view text) {
  ColumnMapping mapping;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find(';');
    const std::string_view part = trim(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return wrong(part, "it has no field before an equals sign");
    const bool is_constant = part[equals - 1] == ':';
    const std::string field(trim(part.substr(0, is_constant ? equals - 1 : equals)));
    const std::string value(trim(part.substr(equals + 1)));
    if (!is_field(field)) return wrong(part, fmt::format("llama-bench prints no field \"{}\"", to_utf8(field)));
    if (value.empty()) return wrong(part, is_constant ? "it has no value" : "it names no column");
    if (has_field(mapping, field)) return wrong(part, fmt::format("\"{}\" is given twice", field));
    if (is_constant) {
      if (!field_named(field)) return wrong(part, "a constant must be a field of its own, such as n_prompt or avg_ts");
      mapping.constants.emplace(field, value);
    } else if (!mapping.fields.emplace(value, field).second) {
      return wrong(part, fmt::format("the column \"{}\" is used twice", to_utf8(value)));
    }
  }
  const auto has = [&](std::string_view name) { return has_field(mapping, name); };
  if (!has("test") && !(has("n_prompt") && has("n_gen")))
    return wrong(text, "no test, and not both n_prompt and n_gen");
  if (!has("t/s") && !has("avg_ts") && !has("avg_ns") && !has("samples_ns") && !has("samples_ts")) {
    return wrong(text, "nothing is measured: no t/s, avg_ts, avg_ns, samples_ns or samples_ts");
  }
  return mapping;
}

}  // namespace capbench::imports
