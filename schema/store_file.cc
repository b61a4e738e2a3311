#include "schema/store_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace capbench::schema {

namespace fs = std::filesystem;

bool is_store_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // a look at a pipe would take its beginning away
  // The application id stands at byte 68 of an SQLite file's header (sqlite.org/fileformat2.html).
  std::array<char, 72> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const std::string_view bytes(head.data(), static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes.starts_with("SQLite format 3") && bytes.size() == head.size() && bytes.substr(68, 4) == "capb";
}

Status may_replace(const fs::path& path) {
  const Error refused{ErrorKind::kUsage, path.string(), "is a store of results, which output does not replace",
                      "name another file"};
  if (is_store_file(path)) return refused;
  const std::string name = path.string();
  for (const std::string_view suffix : kBesideStore) {
    if (!name.ends_with(suffix) || !is_store_file(name.substr(0, name.size() - suffix.size()))) continue;
    Error journal = refused;
    journal.cause = "belongs to a store of results, which output does not touch";
    return journal;
  }
  return {};
}

}  // namespace capbench::schema
