// The values of one exported row under llama-bench's names. Pure.
#ifndef CAPBENCH_HARNESS_EXPORT_VALUES_H_
#define CAPBENCH_HARNESS_EXPORT_VALUES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/export/render.h"
#include "harness/import/fields.h"
#include "harness/import/origin_fields.h"

namespace capbench::exports {

struct Values {
  // By field, as llama-bench prints it: truths as 0 and 1. Nothing: unknown.
  std::array<std::optional<std::string>, imports::kCurrentFields> current;
  // Of origin_fields.h, in the order of kArmNames and kTrialNames. Nothing: the row is of no trial.
  std::array<std::optional<std::string>, 11> arm;
  std::array<std::optional<std::string>, 2> trial;
  // Everything else in the row's fields: name and JSON.
  std::vector<std::pair<std::string, std::string>> others;
  std::string samples_ns;  // "[1, 2]"; empty without samples
  std::string samples_ts;

  const std::optional<std::string>& at(imports::Field field) const {
    return current.at(static_cast<std::size_t>(field));
  }
};

inline constexpr std::array kArmNames{imports::kOriginArm,      imports::kOriginMode,         imports::kOriginGuest,
                                      imports::kOriginWorkload, imports::kOriginModel,        imports::kOriginModelKind,
                                      imports::kOriginMachine,  imports::kOriginMachineLabel, imports::kOriginSuite,
                                      imports::kOriginSuiteId,  imports::kOriginRun};
inline constexpr std::array kTrialNames{imports::kOriginTrial, imports::kOriginBlock};

// Every column of a table of rows, in order: the arm's before n_prompt, the trial's and `samples_ns` at the end.
struct Column {
  std::string_view name;
  imports::FieldType type = imports::FieldType::kText;
  std::optional<imports::Field> field;  // nothing: ours
};
std::vector<Column> table_columns();
// A row's values in that order.
std::vector<std::optional<std::string>> table_values(const Values& values);

// The text with U+FFFD in the place of every character that is_printable() refuses.
std::string printable(std::string_view text);

Values values_of(const ExportRow& row);

}  // namespace capbench::exports

#endif  // CAPBENCH_HARNESS_EXPORT_VALUES_H_
