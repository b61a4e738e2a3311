// The values of one exported row under llama-bench's names. Pure.
#ifndef CAPBENCH_HARNESS_EXPORT_VALUES_H_
#define CAPBENCH_HARNESS_EXPORT_VALUES_H_

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/export/render.h"
#include "harness/import/fields.h"

namespace capbench::exports {

struct Values {
  // By field, as llama-bench prints it: truths as 0 and 1. Nothing: unknown.
  std::array<std::optional<std::string>, imports::kCurrentFields> current;
  // Everything else in the row's fields: name and JSON.
  std::vector<std::pair<std::string, std::string>> others;
  std::string samples_ns;  // "[1, 2]"; empty without samples
  std::string samples_ts;

  const std::optional<std::string>& at(imports::Field field) const {
    return current.at(static_cast<std::size_t>(field));
  }
};

Values values_of(const ExportRow& row);

}  // namespace capbench::exports

#endif  // CAPBENCH_HARNESS_EXPORT_VALUES_H_
