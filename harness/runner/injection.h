// How the shims get into a process: the files, and the variables for the last exec. They must not reach a shell, env or
// time before it.
#ifndef CAPBENCH_HARNESS_RUNNER_INJECTION_H_
#define CAPBENCH_HARNESS_RUNNER_INJECTION_H_

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/suite/suite.h"
#include "shim/common/toggles.h"

namespace capbench::runner {

// The system that this program was built for: "linux", "macos".
std::string_view this_os();

// What one arm injects.
struct Injection {
  std::map<std::string, std::string> env;    // CAPSHIM_* and what puts the libraries in place
  std::vector<std::filesystem::path> files;  // libraries and layer manifests
  std::set<std::string> domains;             // of the capabilities that the arm touches: "cpu", "vulkan"
  std::string problem;                       // why a shim cannot be put in place; the arm will not be what it claims
};

// Where the shim of a domain is, and a harmless name for a path: what the process's environment can carry.
struct InjectionPlaces {
  std::function<Result<std::filesystem::path>(std::string_view domain)> find_shim;
  std::function<Result<std::string>(const std::filesystem::path& target, std::string_view forbidden)> harmless_path;
  std::string os = std::string(this_os());  // of the place: "linux", "macos"
};

// Whether the domain's shim can act on such a system.
bool shim_acts_on(shim::Domain domain, std::string_view os);

// Errors are of the suite (an unknown capability, a level out of range) or of this machine (no shim answers here for a
// domain). A shim file that is not there is no error: it is the arm's problem, told in `problem`.
Result<Injection> make_injection(const suite::Arm& arm, const std::filesystem::path& suite_dir,
                                 const InjectionPlaces& places);

// The variables that a published Metal shim reads for the arm's metal.* levels ("LUME_METAL_APPLE_FAMILY_MAX"), or
// nothing if the file is none of theirs. Capabilities that it does not know are left out. Pure.
std::map<std::string, std::string> published_shim_variables(const std::filesystem::path& shim,
                                                            const std::map<std::string, std::string>& set);

// Variables that must not reach a trial from the harness's own environment: they would treat every arm alike.
const std::vector<std::string>& foreign_injection_variables();

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_INJECTION_H_
