// What a file of this name is, told from its first bytes.
#ifndef CAPBENCH_SCHEMA_STORE_FILE_H_
#define CAPBENCH_SCHEMA_STORE_FILE_H_

#include <array>
#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace capbench::schema {

// What SQLite puts behind a store's name for the files that it keeps beside it.
inline constexpr std::array<std::string_view, 3> kBesideStore = {"-wal", "-shm", "-journal"};

// Whether the file is a capbench store, whatever its version.
bool is_store_file(const std::filesystem::path& path);

// Whether output may take the place of `path`, which need not be there. Never that of a store, nor of the journal that
// belongs to one: measured results are not replaced by what was printed of them.
Status may_replace(const std::filesystem::path& path);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_STORE_FILE_H_
