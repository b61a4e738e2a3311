// Where this program and what came with it lie.
#ifndef CAPBENCH_HARNESS_RUNNER_INSTALL_H_
#define CAPBENCH_HARNESS_RUNNER_INSTALL_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::runner {

struct Install {
  std::filesystem::path program;                   // the real file of this program
  std::filesystem::path invoked_dir;               // the folder of the name it was called by (bin/), links not followed
  std::vector<std::filesystem::path> linked_dirs;  // where that name's chain of links leads, one after the other
  std::filesystem::path cache;                     // $XDG_CACHE_HOME/capbench or ~/.cache/capbench
  std::filesystem::path llama_bench;               // for suites that name none; empty: looked for
};

Install find_install(std::string_view argv0);

// Where fetched models and written twins lie.
std::filesystem::path models_folder(const Install& install);

// The first program of that name on the PATH, or nothing.
std::optional<std::filesystem::path> find_on_path(std::string_view name);

// llama-bench for a suite. `wanted`: empty, a name, or a path relative to `suite_dir`. Empty means, in this order:
// install.llama_bench, $CAPBENCH_LLAMA_BENCH, llama-bench on the PATH, the one that scripts/setup built.
Result<std::filesystem::path> find_llama_bench(const Install& install, const std::string& wanted,
                                               const std::filesystem::path& suite_dir);

// The program of a runtime ("llama-bench", "google-benchmark", "mlx-lm"). Only llama-bench is looked for where scripts
// put it; mlx-lm is `mlx_lm.benchmark` on the PATH unless the suite names another; google-benchmark must be named.
Result<std::filesystem::path> find_runtime_program(const Install& install, std::string_view kind,
                                                   const std::string& wanted, const std::filesystem::path& suite_dir);

// The probe for macOS guests, beside the Metal shim.
Result<std::filesystem::path> find_metal_probe(const Install& install);

// The shim library for a domain ("cpu"), with its manifests beside it if it is a Vulkan layer. In $CAPBENCH_SHIM_DIR
// and nowhere else if that is set; else beside the build of this program, then in ../lib/capbench.
Result<std::filesystem::path> find_shim(const Install& install, std::string_view domain);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_INSTALL_H_
