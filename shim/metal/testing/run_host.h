// What tests that run the application, or the probe, under the test build of the shim have in common.
#ifndef CAPBENCH_SHIM_METAL_TESTING_RUN_HOST_H_
#define CAPBENCH_SHIM_METAL_TESTING_RUN_HOST_H_

#include <map>
#include <string>

#include "shim/common/testing/run.h"

namespace capbench::shim::metal {

using Environment = std::map<std::string, std::string>;

// The absolute path of a file in shim/metal/testing.
inline std::string testing_file(const std::string& name) {
  return runfile("shim/metal/testing/" + name);
}

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_TESTING_RUN_HOST_H_
