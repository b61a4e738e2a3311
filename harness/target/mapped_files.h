// Which files a process has mapped as code.
#ifndef CAPBENCH_HARNESS_TARGET_MAPPED_FILES_H_
#define CAPBENCH_HARNESS_TARGET_MAPPED_FILES_H_

#include <set>
#include <string>
#include <string_view>

namespace capbench::target {

// Adds the absolute paths of executable file mappings in the text of /proc/PID/maps. Pure; takes any bytes.
void collect_mapped_files(std::string_view maps, std::set<std::string>& files);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_MAPPED_FILES_H_
