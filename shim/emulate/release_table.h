// When the answers that matter changed: the maps of several releases side by side.
#ifndef CAPBENCH_SHIM_EMULATE_RELEASE_TABLE_H_
#define CAPBENCH_SHIM_EMULATE_RELEASE_TABLE_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace capbench::emulate {

// A table in Markdown, a row per release in the order given, of what map_json() wrote. An error names the map that is
// none.
Result<std::string> release_table(const std::vector<std::string>& maps);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_RELEASE_TABLE_H_
