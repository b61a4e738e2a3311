#include "harness/observe/ggml_log_cpu.h"

#include "harness/observe/ggml_log.h"
#include "shim/cpu/levels.h"

namespace capbench::observe {

std::string cpu_variant_loaded(std::string_view log) {
  std::string variant;
  for (const LoadedBackend& backend : loaded_backends(log)) {
    if (backend.name == "CPU") variant = shim::cpu::variant_in_path(backend.path);
  }
  return variant;
}

}  // namespace capbench::observe
