// What was seen of each capability, by the names of the shims' table, and who said so. Pure; takes any bytes.
//
// Names in the domain "ggml" are not answers of a device but what ggml concluded from them: "ggml.matrix_cores".
#ifndef CAPBENCH_HARNESS_OBSERVE_OBSERVATION_H_
#define CAPBENCH_HARNESS_OBSERVE_OBSERVATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::observe {

// Strongest first.
enum class Source : std::uint8_t {
  kGgmlLog,          // what the application itself found, in the process that was measured
  kProbe,            // another process, asked under the same injection
  kShimBanner,       // our shim's word
  kPublishedBanner,  // somebody else's shim's word
};

// "ggml log", "probe", "shim banner", "published shim's banner": as the store has it.
std::string_view source_name(Source source);

struct Observation {
  std::string name;   // "vulkan.shader_float16"
  std::string value;  // as a level is written: "on", "65536", "haswell"
  Source source = Source::kGgmlLog;
  std::int64_t tolerance = 0;  // of a number that was printed rounded
};

// From ggml's lines for Metal, Vulkan, CUDA and CPU. `device`: the arm's -dev; the devices it names are looked at, all
// of them if it names none.
std::vector<Observation> observe_ggml_log(std::string_view log, std::string_view device);

// From the banners of the published shims.
std::vector<Observation> observe_published_banners(std::string_view log);

// One device as `capbench probe DOMAIN --format json` describes it.
struct ProbedDevice {
  std::string name;
  std::map<std::string, std::string> capabilities;  // "vulkan.shader_float16" -> "on"
};

// Reads a probe's output: an object with "capabilities", or with "devices", each of which has them. Numbers and
// booleans become levels. Anything else is an error.
Result<std::vector<ProbedDevice>> parse_probe(std::string_view output);

// From a probe's output. Of several devices, those whose names ggml prints in `log` for the arm's -dev; all of them if
// it prints none. Output that is no probe's gives nothing.
std::vector<Observation> observe_probe(std::string_view output, std::string_view log, std::string_view device);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_OBSERVATION_H_
