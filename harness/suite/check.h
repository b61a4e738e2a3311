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

// Extra arguments of the application, taken together. llama-bench: none that another member already says, none that
// changes what is printed, none that makes more than one row of a test. Those of an arm may be `t`, `ngl` and `fa`,
// which arms can differ in. google-benchmark: none that chooses benchmarks, repetitions or the output. mlx-lm: none.
// `index` is the argument complained about.
struct ArgumentComplaint {
  std::size_t index = 0;
  Complaint complaint;
};
enum class ArgumentsOf { kWorkload, kArm };
std::optional<ArgumentComplaint> check_arguments(const std::vector<std::string>& arguments, std::string_view runtime,
                                                 ArgumentsOf whose);

// The option that both lists give, by any of its names; empty if none. llama-bench would run every combination.
std::string common_option(const std::vector<std::string>& a, const std::vector<std::string>& b);

// Whether the arguments hold that option of llama-bench, by any of its names.
bool has_option(const std::vector<std::string>& arguments, std::string_view short_name);

// An argument that a factor varies: "-fa", "--benchmark_min_time".
std::optional<Complaint> check_argument_name(std::string_view name);

// "kind", "work_dir", "require.os": a member of a target, lower case, digits, '_' and '-', at most one dot.
std::optional<Complaint> check_option_name(std::string_view name);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_CHECK_H_
