// Trials that a store knows only from an export of another store: restated, not measured. What an export says of a
// trial makes the names of its suite, its run and itself, so that every export of one trial restates the same trial,
// and whoever holds the trial itself can tell. Pure; safe to call from several threads.
#ifndef CAPBENCH_SCHEMA_RESTATED_H_
#define CAPBENCH_SCHEMA_RESTATED_H_

#include <string>
#include <string_view>

#include "schema/records.h"

namespace capbench::schema {

// The field of a result that names the trial which it restates.
inline constexpr std::string_view kRestatedTrial = "capbench_trial";

// The id in that field of a result's fields (JSON); empty if there is none.
std::string restated_trial(std::string_view fields);
// Of a trial's first row; empty if it restates none.
std::string restated_trial(const TrialRecord& trial);

// Why a trial from a file is excluded that something else in the store has taken the place of: the trial that it
// restated, whose id follows; another reading of its file.
inline constexpr std::string_view kItselfCameIn = "the trial itself came in: ";
inline constexpr std::string_view kReadAnotherWay = "its file was read again in another way";
// Whether that is so. Nothing is lost with it, so that reports need not name it.
bool is_superseded(const TrialRecord& trial);

// The suite, by the name and the id that the export gives it.
SuiteRecord restated_suite(std::string_view name, std::string_view id);

// The run, by its id in the export. `suite_id`: of the restated suite. An export does not say when a run began.
RunRecord restated_run(std::string_view id, std::string_view suite_id, std::string_view machine_id);

// What `trial` is called where it is restated. `run`: the restated run's id.
std::string restated_id(TrialRecord trial, std::string_view run);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_RESTATED_H_
