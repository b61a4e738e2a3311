#include "harness/target/mapped_files.h"

namespace capbench::target {

void collect_mapped_files(std::string_view maps, std::set<std::string>& files) {
  while (!maps.empty()) {
    const std::size_t end = maps.find('\n');
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(end == std::string_view::npos ? maps.size() : end + 1);
    // address perms offset dev inode, then the path, which may hold spaces.
    const std::size_t perms = line.find(' ');
    if (perms == std::string_view::npos || line.size() < perms + 5 || line[perms + 3] != 'x') continue;
    const std::size_t path = line.find('/', perms);
    if (path == std::string_view::npos) continue;
    line.remove_prefix(path);
    // A file replaced while it ran is no longer at that path; its digest would be another file's.
    if (line.ends_with(" (deleted)")) continue;
    files.emplace(line);
  }
}

}  // namespace capbench::target
