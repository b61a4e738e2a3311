// What llama.cpp prints with -v about the graph that it builds: which way it decided, and which kernels it compiled.
// Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_OBSERVE_GGML_LOG_LLAMA_H_
#define CAPBENCH_HARNESS_OBSERVE_GGML_LOG_LLAMA_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

// What `-fa auto` came to: "on", "off", or "mixed" if contexts of one process differ. With -fa 0 or 1 what was asked
// for. Nothing: the log does not say.
std::optional<std::string> resolved_flash_attention(std::string_view log);

// Names of the kernels that ggml's Metal backend compiled, sorted, each once: "kernel_mul_mm_q4_0_f32". A kernel is
// compiled when it is first used, so these are the ones that ran. At most kMaxKernels.
std::vector<std::string> metal_kernels(std::string_view log);

inline constexpr std::size_t kMaxKernels = 500;

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_GGML_LOG_LLAMA_H_
