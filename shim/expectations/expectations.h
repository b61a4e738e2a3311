// The map of expectations: what an application concludes from a device's answers, which kernels that opens, and the log
// line that shows it. Data files, one for each backend and version of the application, are part of the program.
//
// It is read from the application's sources, not measured: a prediction, to stand beside what is measured.
#ifndef CAPBENCH_SHIM_EXPECTATIONS_EXPECTATIONS_H_
#define CAPBENCH_SHIM_EXPECTATIONS_EXPECTATIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::shim {

// One answer: a capability that is exactly a level, or a number that is at least so large.
struct Need {
  std::string capability;  // a name of toggles.h
  std::string is;          // a level; empty if `at_least` is given
  std::optional<std::int64_t> at_least;
};

// One conclusion.
struct Expectation {
  std::string flag;                      // as the application calls it: "has_simdgroup_mm"
  std::vector<std::vector<Need>> needs;  // any one of these groups, each with all of its answers; none: no capability
  std::vector<std::string> also_needs;   // conditions that no capability of ours stands for
  std::vector<std::string> opens;        // kernels and operators
  std::string without;                   // what happens instead
  std::string log;                       // the words in the log that show it; empty: nothing does
  std::string off_switch;                // the application's own variable that turns it off; empty: none
  std::string source;                    // where in its sources

  bool mentions(std::string_view capability) const;
};

struct ExpectationMap {
  std::string application;  // "llama.cpp"
  std::string version;      // "v0.5.0"
  std::string backend;      // "vulkan"
  std::vector<Expectation> flags;
};

// Reads one data file. Errors name the place: a key that is missing, unknown or of the wrong type, a capability or a
// level that does not exist, a condition that nothing fulfils. Takes any bytes.
Result<ExpectationMap> parse_expectations(std::string_view text);

struct EmbeddedExpectations {
  std::string_view name;  // "vulkan-v0.5.0"
  std::string_view json;
};

// The files as they were when the program was built.
std::span<const EmbeddedExpectations> embedded_expectations();

// All of them, read. An error is one of the build: the tests read every file.
Result<std::vector<ExpectationMap>> load_expectations();

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_EXPECTATIONS_EXPECTATIONS_H_
