// What a row that capbench exported says of its trial, beside llama-bench's own fields. llama-bench's readers ignore
// them; an import takes arm, mode and the rest from them. Markdown has no place for them.
#ifndef CAPBENCH_HARNESS_IMPORT_ORIGIN_FIELDS_H_
#define CAPBENCH_HARNESS_IMPORT_ORIGIN_FIELDS_H_

#include <string_view>

#include "schema/restated.h"

namespace capbench::imports {

inline constexpr std::string_view kOriginPrefix = "capbench_";

// Alike for all rows of an arm. They stand among the settings, before n_prompt.
inline constexpr std::string_view kOriginArm = "capbench_arm";
inline constexpr std::string_view kOriginMode = "capbench_mode";
inline constexpr std::string_view kOriginGuest = "capbench_guest";
inline constexpr std::string_view kOriginWorkload = "capbench_workload";
inline constexpr std::string_view kOriginModel = "capbench_model";
inline constexpr std::string_view kOriginModelKind = "capbench_model_kind";
// The store's name of the physical machine, a digest that says nothing else. A host and its guests share one, however
// differently they name its devices.
inline constexpr std::string_view kOriginMachine = "capbench_machine";
inline constexpr std::string_view kOriginMachineLabel = "capbench_machine_label";
// The suite's name, and its id and the run's: digests too.
inline constexpr std::string_view kOriginSuite = "capbench_suite";
inline constexpr std::string_view kOriginSuiteId = "capbench_suite_id";
inline constexpr std::string_view kOriginRun = "capbench_run";

// Of one trial. They stand at the end of a row.
inline constexpr std::string_view kOriginTrial = schema::kRestatedTrial;
inline constexpr std::string_view kOriginBlock = "capbench_block";

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_ORIGIN_FIELDS_H_
