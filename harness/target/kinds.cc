#include <algorithm>
#include <array>

#include "harness/target/local.h"
#include "harness/target/target.h"

namespace capbench::target {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Target> (*make)();
};

// A new kind is one line here and a file of its own.
constexpr std::array kKinds{Kind{"local", &make_local_target}};

}  // namespace

std::vector<std::string_view> target_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<Target>> make_target(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind.make();
  }
  std::string known;
  for (const std::string_view kind : target_kinds()) known += (known.empty() ? "" : ", ") + std::string(kind);
  return Error{ErrorKind::kUsage, "target \"" + std::string(name) + "\"", "no such kind of target", "one of: " + known};
}

}  // namespace capbench::target
