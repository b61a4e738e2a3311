#include "schema/older_copy.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/file.h"
#include "schema/address.h"
#include "schema/database.h"
#include "schema/migrations.h"
#include "schema/store.h"
#include "schema/store_file.h"

namespace capbench::schema {

namespace fs = std::filesystem;

OlderCopy::~OlderCopy() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<std::optional<OlderCopy>> copy_if_older(const fs::path& path) {
  std::optional<OlderCopy> none;
  if (is_address(path.native()) || !is_store_file(path)) return none;
  // Where nobody writes, no lock files are left beside what is not to be changed.
  std::error_code ignored;
  const bool in_use = fs::exists(path.string() + "-wal", ignored) || fs::exists(path.string() + "-journal", ignored);
  auto database =
      Database::open(path, in_use ? Database::Access::kRead : Database::Access::kImmutable, std::chrono::seconds(5));
  if (!database) return none;
  const auto content = examine(*database, migrations(Backend::kSqlite));
  if (!content || *content != Content::kOlder) return none;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return file_error("the temporary folder", error.value());
  std::string name = (temporary / "capbench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return file_error(temporary, errno);
  OlderCopy copy{fs::path(name)};
  auto into = database->prepare("VACUUM INTO ?");
  if (!into) return std::move(into).error();
  if (Status status = into->bind(copy.path().string()).run(); !status) return std::move(status).error();
  // Opened for writing once, it is brought up to date.
  if (auto store = Store::open(copy.path(), OpenMode::kCreate); !store) return std::move(store).error();
  return std::optional<OlderCopy>(std::move(copy));
}

}  // namespace capbench::schema
