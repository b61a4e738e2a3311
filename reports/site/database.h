// A store, opened for queries of this room.
#ifndef CAPBENCH_REPORTS_SITE_DATABASE_H_
#define CAPBENCH_REPORTS_SITE_DATABASE_H_

#include <filesystem>

#include "base/result.h"
#include "schema/database.h"

namespace capbench::site {

// Also of a store of an older version and on a medium that cannot be written. Errors name the file and a remedy.
Result<schema::Database> open_database(const std::filesystem::path& path);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_DATABASE_H_
