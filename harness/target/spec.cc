#include "harness/target/spec.h"

namespace capbench::target {

std::string option(const TargetSpec& spec, std::string_view key, std::string_view otherwise) {
  const auto found = spec.options.find(std::string(key));
  return found == spec.options.end() ? std::string(otherwise) : found->second;
}

}  // namespace capbench::target
