// What a record that comes from elsewhere is to a store: new, known, or something else under a name that is taken. For
// this room only.
#ifndef CAPBENCH_SCHEMA_COMPARE_H_
#define CAPBENCH_SCHEMA_COMPARE_H_

#include <string_view>

#include "base/result.h"
#include "schema/database.h"
#include "schema/import_writer.h"
#include "schema/records.h"

namespace capbench::schema {

// Of a trial only what is never redacted is compared; see schema/bundle.md.
Result<Standing> standing_of(Database& database, const TrialRecord& trial);
Result<Standing> standing_of(Database& database, const EnvironmentRecord& environment);
Result<Standing> standing_of(Database& database, const ClosureRecord& closure);
Result<Standing> standing_of(Database& database, const QualityRecord& check);
// Whether the trial came in a bundle.
Result<bool> was_received(Database& database, std::string_view trial_id);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_COMPARE_H_
