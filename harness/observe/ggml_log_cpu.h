// Which of its CPU libraries ggml loaded. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_OBSERVE_GGML_LOG_CPU_H_
#define CAPBENCH_HARNESS_OBSERVE_GGML_LOG_CPU_H_

#include <string>
#include <string_view>

namespace capbench::observe {

// "haswell" from "load_backend: loaded CPU backend from .../libggml-cpu-haswell.so"; empty if no such line names a
// variant (a build with its backends linked in prints none).
std::string cpu_variant_loaded(std::string_view log);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_GGML_LOG_CPU_H_
