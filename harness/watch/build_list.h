// The builds of llama.cpp that a command lists, for `capbench watch`. Pure.
#ifndef CAPBENCH_HARNESS_WATCH_BUILD_LIST_H_
#define CAPBENCH_HARNESS_WATCH_BUILD_LIST_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::watch {

struct ListedBuild {
  std::string name;               // for people and file names: letters, digits, . _ -
  std::filesystem::path program;  // llama-bench, or the folder that it lies in; as listed

  bool operator==(const ListedBuild&) const = default;
};

// One build a line, oldest first: "NAME<tab>PATH", or PATH alone, whose last folder is then the name. Empty lines and
// lines that begin with # are skipped, a path that was there already is too; "\r\n" ends a line as well. Errors
// (kUsage) name the line: no path, a name that is taken by another path, control characters, more than 10,000 builds.
Result<std::vector<ListedBuild>> parse_build_list(std::string_view text);

}  // namespace capbench::watch

#endif  // CAPBENCH_HARNESS_WATCH_BUILD_LIST_H_
