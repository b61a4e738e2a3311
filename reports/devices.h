// What devices could do at most: memory bandwidth and arithmetic rate.
//
// Each figure names the document it belongs to and says whether it was compared: with that document, or with published
// lists and copies that quote it. Figures that could not be compared are Apple's rates since the M2, which Apple does
// not publish: they follow from clocks that others read from the machines, and reports mark shares of them. Rates are
// of dense float16 arithmetic, on matrix units where the device has any.
//
// Cache sizes were compared for some of the devices only; all they decide is which models are not held against
// bandwidth.
#ifndef CAPBENCH_REPORTS_DEVICES_H_
#define CAPBENCH_REPORTS_DEVICES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace capbench::reports {

struct Limit {
  double value = 0;
  std::string_view source;  // the document, and of a rate also what it is a rate of
  bool compared = false;    // with it, or with what quotes it
};

// Where several products answer to one name (a GPU with fewer cores, a card of another memory size), the entry without
// `gpu_cores` is the largest of them, so that a share of it is never too high.
struct DeviceLimits {
  std::string_view name;         // as normalised by device_key(): "h200", "apple m3 max", "rx 7900 xtx"
  std::int64_t gpu_cores = 0;    // 0: any number
  Limit bandwidth;               // of its memory, bytes per second
  Limit arithmetic;              // floating-point operations per second, a multiply-add being two
  std::int64_t cache_bytes = 0;  // the last cache before memory: a model that fits it is not held against bandwidth
};

std::span<const DeviceLimits> known_devices();

// The name as the table has it: lower case, without the maker's and the series' words and what drivers put in brackets.
// "NVIDIA GeForce RTX 4090" -> "rtx 4090"; "AMD Radeon RX 7900 XTX (RADV NAVI31)" -> "rx 7900 xtx".
std::string device_key(std::string_view device);

// Nothing for a device that is not in the table, and for several devices in one text.
std::optional<DeviceLimits> find_device(std::string_view device, std::optional<std::int64_t> gpu_cores = {});

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_DEVICES_H_
