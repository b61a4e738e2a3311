#include "harness/suite/variables.h"

#include <algorithm>

namespace capbench::suite {

std::vector<std::string> varied_variables(const Suite& suite, const Arm& arm) {
  std::vector<std::string> names;
  for (const auto& [name, value] : arm.env) {
    const bool varied = std::any_of(suite.arms.begin(), suite.arms.end(), [&](const Arm& other) {
      if (other.target != arm.target) return false;
      const auto found = other.env.find(name);
      return found == other.env.end() || found->second != value;
    });
    if (varied) names.push_back(name);
  }
  return names;
}

}  // namespace capbench::suite
