// What ggml itself says about the device it found, in the lines it prints while its backends register. Pure.
#ifndef CAPBENCH_HARNESS_OBSERVE_GGML_LOG_H_
#define CAPBENCH_HARNESS_OBSERVE_GGML_LOG_H_

#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

struct LoadedBackend {
  std::string name;  // "CPU", "Vulkan"
  std::string path;  // of its library
};

// "load_backend: loaded CPU backend from /path/libggml-cpu-haswell.so". A build with its backends linked in prints no
// such line.
std::vector<LoadedBackend> loaded_backends(std::string_view log);

// The last line that says something, for a reason: without control characters, at most 300 bytes.
std::string last_words(std::string_view log);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_GGML_LOG_H_
