// Parts of paths as texts, for paths of other machines too. Pure.
#ifndef CAPBENCH_BASE_PATH_H_
#define CAPBENCH_BASE_PATH_H_

#include <string_view>

namespace capbench {

// The last part of a path, or the whole.
constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The same for a path that may have been written on Windows.
constexpr std::string_view foreign_base_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

}  // namespace capbench

#endif  // CAPBENCH_BASE_PATH_H_
