// What names, capabilities, environment variables and llama-bench arguments in a suite may look like. Each function
// returns what is wrong with the value (and a remedy), or nothing. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_SUITE_CHECK_H_
#define CAPBENCH_HARNESS_SUITE_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::suite {

struct Complaint {
  std::string cause;
  std::string remedy;
};

// Names of suites, models, workloads, arms, modes and targets: 1 to 100 bytes of printable UTF-8 without '/', no space
// at either end, not "." or "..": they become parts of keys, tables and paths.
std::optional<Complaint> check_name(std::string_view name);

// "domain.name" in lower case, digits and underscores. Which capabilities exist is the shim's knowledge.
std::optional<Complaint> check_capability(std::string_view name);

// A level: it must survive CAPSHIM_SET's list "name=value,name=value".
std::optional<Complaint> check_level(std::string_view value);

// A portable variable name, and none that capbench sets itself to inject the shim.
std::optional<Complaint> check_environment_name(std::string_view name);

// Extra llama-bench arguments, taken together: none that a workload or arm member already says, none that changes what
// is printed, none that makes more than one row of a test. `index` is the argument complained about.
struct ArgumentComplaint {
  std::size_t index = 0;
  Complaint complaint;
};
std::optional<ArgumentComplaint> check_arguments(const std::vector<std::string>& arguments);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_CHECK_H_
