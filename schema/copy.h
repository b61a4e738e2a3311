// One store into another, whole: every row of every table, whatever engine keeps either.
#ifndef CAPBENCH_SCHEMA_COPY_H_
#define CAPBENCH_SCHEMA_COPY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/store.h"

namespace capbench::schema {

struct CopiedTable {
  std::string name;
  std::int64_t rows = 0;   // of the first store
  std::int64_t added = 0;  // to the second
  std::string digest;      // SHA-256 of those rows, in order of their keys: both stores give it
};

// The tables, those before that others refer to. A test compares them with the store's.
std::span<const std::string_view> copied_tables();

// Copies what `from` holds at this moment, then reads both again and compares row by row. `tell` is told the table and
// how many of its rows are done.
//
// What `to` has already stays: nothing is deleted, and copying twice changes nothing, so one that was cut short is run
// again. An exclusion, a withdrawal and a finished run are taken over; an exclusion or a withdrawal of `to` stays. Each
// trial comes with its results or not at all. Errors: something else under the same name, which nothing of that part is
// copied for; a difference afterwards (kFinding).
Result<std::vector<CopiedTable>> copy_store(Store& from, Store& to,
                                            const std::function<void(std::string_view, std::int64_t)>& tell);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_COPY_H_
