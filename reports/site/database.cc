#include "reports/site/database.h"

#include <chrono>
#include <utility>

#include "schema/address.h"
#include "schema/store.h"

namespace capbench::site {

Result<schema::Database> open_database(const std::filesystem::path& path) {
  using schema::Database;
  constexpr std::chrono::seconds kPatience{5};
  // The store knows what is none of ours and what is too new, and says it well.
  if (auto store = schema::Store::open(path, schema::OpenMode::kReadOnly, kPatience); !store) {
    return std::move(store).error();
  }
  Result<Database> database = Database::open(path, Database::Access::kRead, kPatience);
  if (schema::is_address(path.native())) return database;
  if (database && database->integer("SELECT count(*) FROM trial").ok()) return database;
  // Where no side file can be made, nobody writes either.
  return Database::open(path, Database::Access::kImmutable, kPatience);
}

}  // namespace capbench::site
