// Runs a program to its end, for tests.
#ifndef CAPBENCH_SHIM_COMMON_TESTING_RUN_H_
#define CAPBENCH_SHIM_COMMON_TESTING_RUN_H_

#include <map>
#include <string>
#include <vector>

namespace capbench::shim {

struct Outcome {
  int status = -1;  // exit status; 128 + the signal that ended it; -1 if it did not start
  std::string out;
  std::string err;
};

// argv[0] is a path. The environment is PATH, HOME and `environment`, nothing else.
Outcome run(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment);

// The absolute path of a file of this workspace that the test depends on.
std::string runfile(const std::string& path);

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_TESTING_RUN_H_
