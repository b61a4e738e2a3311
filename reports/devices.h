// What devices could do at most: memory bandwidth and arithmetic rate, from their makers' figures.
//
// `source` says where a figure belongs; the figures have not been compared with those documents since they were
// entered. Bandwidths are the makers' own; of the rates, Apple's follow from a clock that Apple does not publish, and
// those of the M3 to M5 are the least certain.
#ifndef CAPBENCH_REPORTS_DEVICES_H_
#define CAPBENCH_REPORTS_DEVICES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace capbench::reports {

// Where several products answer to one name (a GPU with fewer cores, a card of another memory size), the entry without
// `gpu_cores` is the largest of them, so that a share of it is never too high.
struct DeviceLimits {
  std::string_view name;         // as normalised by device_key(): "h200", "apple m3 max", "rx 7900 xtx"
  std::int64_t gpu_cores = 0;    // 0: any number
  double bandwidth = 0;          // of its memory, bytes per second
  double arithmetic = 0;         // floating-point operations per second in float16, dense, a multiply-add being two
  std::int64_t cache_bytes = 0;  // the last cache before memory
  std::string_view source;       // where the figures are from
};

std::span<const DeviceLimits> known_devices();

// The name as the table has it: lower case, without the maker's and the series' words and what drivers put in brackets.
// "NVIDIA GeForce RTX 4090" -> "rtx 4090"; "AMD Radeon RX 7900 XTX (RADV NAVI31)" -> "rx 7900 xtx".
std::string device_key(std::string_view device);

// Nothing for a device that is not in the table, and for several devices in one text.
std::optional<DeviceLimits> find_device(std::string_view device, std::optional<std::int64_t> gpu_cores = {});

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_DEVICES_H_
