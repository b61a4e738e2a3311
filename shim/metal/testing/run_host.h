// Runs the tests' application, or the probe, under the test build of the shim.
#ifndef CAPBENCH_SHIM_METAL_TESTING_RUN_HOST_H_
#define CAPBENCH_SHIM_METAL_TESTING_RUN_HOST_H_

#include <map>
#include <string>
#include <vector>

namespace capbench::shim::metal {

using Environment = std::map<std::string, std::string>;

struct Outcome {
  int status = -1;  // exit status; 128 + the signal that ended it; -1 if it did not start
  std::string out;
  std::string err;
};

// argv[0] is a path. The environment is `environment` and nothing else.
Outcome run(const std::vector<std::string>& argv, const Environment& environment);

// The absolute path of a file in shim/metal/testing.
std::string testing_file(const std::string& name);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_TESTING_RUN_HOST_H_
