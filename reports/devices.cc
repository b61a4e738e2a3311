#include "reports/devices.h"

#include <algorithm>
#include <array>

#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr double kGb = 1e9;     // bytes per second
constexpr double kTera = 1e12;  // operations per second
constexpr std::int64_t kMib = 1048576;

// Sources of bandwidths.
constexpr std::string_view kAppleMemory =
    "Apple's announcements and technical specifications, unrounded by the width and rate of the memory interface";
constexpr std::string_view kHopper = "NVIDIA H100 and H200 data sheets";
constexpr std::string_view kBlackwellServer = "NVIDIA HGX B200 data sheet";
constexpr std::string_view kServer = "NVIDIA data sheet of the card";
constexpr std::string_view kGeforce = "NVIDIA specifications of the GeForce card";
constexpr std::string_view kRadeon = "AMD specifications of the Radeon card";
constexpr std::string_view kInstinct = "AMD Instinct data sheet of the accelerator";

// Sources of rates.
constexpr std::string_view kAppleStated =
    "Apple's announcements of the M1 family, in teraflops, of which 128 multiply-adds a GPU core and cycle at the top "
    "clock are up to 2.1 % more; float16 goes at that rate";
constexpr std::string_view kAppleClock =
    "not published by Apple: 128 multiply-adds a GPU core and cycle at the top clock read from machines";
constexpr std::string_view kAppleMatrix =
    "not published by Apple: 512 float16 multiply-adds a GPU core and cycle measured on its matrix units, and a clock "
    "read from machines";
constexpr std::string_view kTensorSparse = "NVIDIA data sheet: tensor cores, float16, half of the figure with sparsity";
constexpr std::string_view kTensorDense = "NVIDIA data sheet: tensor cores, float16, dense";
constexpr std::string_view kTensorAccumulate16 =
    "NVIDIA architecture white paper: tensor cores, float16 with float16 accumulation, dense, at the boost clock";
constexpr std::string_view kRadeonRate =
    "AMD specifications of the card: peak half precision, dense, at the boost clock";
constexpr std::string_view kInstinctRate = "AMD Instinct data sheet: matrix cores, float16, dense";
constexpr std::string_view kInstinctVector = "AMD Radeon Instinct data sheet: half precision, no matrix cores";

constexpr Limit compared(double value, std::string_view source) {
  return {value, source, true};
}

constexpr std::int64_t mib(double count) {
  return static_cast<std::int64_t>(count * kMib);
}

constexpr DeviceLimits device(std::string_view name, double gb, std::string_view gb_source, double tera,
                              std::string_view tera_source, double cache_mib) {
  return {name, 0, compared(gb * kGb, gb_source), compared(tera * kTera, tera_source), mib(cache_mib)};
}

// The M1 family, of which Apple states the rate of the largest of each name. `variant`: 0, or the number of cores.
constexpr DeviceLimits apple_m1(std::string_view name, std::int64_t variant, std::int64_t cores, double gb, double ghz,
                                double cache_mib) {
  const double rate = static_cast<double>(cores) * 2 * 128 * ghz * kGb;
  return {name, variant, compared(gb * kGb, kAppleMemory), compared(rate, kAppleStated), mib(cache_mib)};
}

constexpr DeviceLimits apple(std::string_view name, std::int64_t variant, std::int64_t cores, double gb, double ghz,
                             double cache_mib) {
  const double rate = static_cast<double>(cores) * 2 * 128 * ghz * kGb;
  return {name, variant, compared(gb * kGb, kAppleMemory), {rate, kAppleClock, false}, mib(cache_mib)};
}

constexpr DeviceLimits apple_m5(std::string_view name, std::int64_t variant, std::int64_t cores, double gb,
                                double cache_mib) {
  constexpr double kGhz = 1.62;
  const double rate = static_cast<double>(cores) * 2 * 512 * kGhz * kGb;
  return {name, variant, compared(gb * kGb, kAppleMemory), {rate, kAppleMatrix, false}, mib(cache_mib)};
}

// NVIDIA's cards for graphics since Ampere: 128 multiply-adds a tensor core and cycle.
constexpr DeviceLimits geforce(std::string_view name, std::int64_t tensor_cores, double ghz, double gb,
                               double cache_mib) {
  const double rate = static_cast<double>(tensor_cores) * 2 * 128 * ghz * kGb;
  return {name, 0, compared(gb * kGb, kGeforce), compared(rate, kTensorAccumulate16), mib(cache_mib)};
}

// `per_cycle`: operations of a compute unit, which are 256 on RDNA 2, 512 on RDNA 3 and 1024 on RDNA 4.
constexpr DeviceLimits radeon(std::string_view name, std::int64_t compute_units, double per_cycle, double ghz,
                              double gb, double cache_mib) {
  const double rate = static_cast<double>(compute_units) * per_cycle * ghz * kGb;
  return {name, 0, compared(gb * kGb, kRadeon), compared(rate, kRadeonRate), mib(cache_mib)};
}

constexpr std::array kDevices = {
    apple_m1("apple m1", 0, 8, 68.3, 1.278, 8),
    apple_m1("apple m1", 7, 7, 68.3, 1.278, 8),
    apple_m1("apple m1 pro", 0, 16, 204.8, 1.296, 24),
    apple_m1("apple m1 pro", 14, 14, 204.8, 1.296, 24),
    apple_m1("apple m1 max", 0, 32, 409.6, 1.296, 48),
    apple_m1("apple m1 max", 24, 24, 409.6, 1.296, 48),
    apple_m1("apple m1 ultra", 0, 64, 819.2, 1.296, 96),
    apple_m1("apple m1 ultra", 48, 48, 819.2, 1.296, 96),
    apple("apple m2", 0, 10, 102.4, 1.398, 8),
    apple("apple m2", 8, 8, 102.4, 1.398, 8),
    apple("apple m2 pro", 0, 19, 204.8, 1.398, 24),
    apple("apple m2 pro", 16, 16, 204.8, 1.398, 24),
    apple("apple m2 max", 0, 38, 409.6, 1.398, 48),
    apple("apple m2 max", 30, 30, 409.6, 1.398, 48),
    apple("apple m2 ultra", 0, 76, 819.2, 1.398, 96),
    apple("apple m2 ultra", 60, 60, 819.2, 1.398, 96),
    apple("apple m3", 0, 10, 102.4, 1.398, 8),
    apple("apple m3", 8, 8, 102.4, 1.398, 8),
    apple("apple m3 pro", 0, 18, 153.6, 1.398, 12),
    apple("apple m3 pro", 14, 14, 153.6, 1.398, 12),
    apple("apple m3 max", 0, 40, 409.6, 1.398, 48),
    apple("apple m3 max", 30, 30, 307.2, 1.398, 48),
    apple("apple m3 ultra", 0, 80, 819.2, 1.398, 96),
    apple("apple m3 ultra", 60, 60, 819.2, 1.398, 96),
    apple("apple m4", 0, 10, 120, 1.578, 8),
    apple("apple m4", 8, 8, 120, 1.578, 8),
    apple("apple m4 pro", 0, 20, 273, 1.578, 24),
    apple("apple m4 pro", 16, 16, 273, 1.578, 24),
    apple("apple m4 max", 0, 40, 546, 1.578, 48),
    apple("apple m4 max", 32, 32, 410, 1.578, 48),
    apple_m5("apple m5", 0, 10, 153.6, 8),
    apple_m5("apple m5", 8, 8, 153.6, 8),
    apple_m5("apple m5 pro", 0, 20, 307, 24),
    apple_m5("apple m5 pro", 16, 16, 307, 24),
    apple_m5("apple m5 max", 0, 40, 614, 48),
    apple_m5("apple m5 max", 32, 32, 460, 48),

    device("h200", 4800, kHopper, 989.4, kTensorSparse, 50),
    device("h100 80gb hbm3", 3350, kHopper, 989.4, kTensorSparse, 50),
    device("h100 sxm5", 3350, kHopper, 989.4, kTensorSparse, 50),
    device("h100 pcie", 2039, kHopper, 756.4, kTensorSparse, 50),
    device("h100 nvl", 3938, kHopper, 835.5, kTensorSparse, 50),
    device("b200", 8000, kBlackwellServer, 2250, kTensorSparse, 126),
    device("a100-sxm4-80gb", 2039, kServer, 312, kTensorDense, 40),
    device("a100-sxm4-40gb", 1555, kServer, 312, kTensorDense, 40),
    device("a100 80gb pcie", 1935, kServer, 312, kTensorDense, 40),
    device("a100-pcie-40gb", 1555, kServer, 312, kTensorDense, 40),
    device("a10", 600, kServer, 125, kTensorDense, 6),
    device("a10g", 600, kServer, 70, kTensorDense, 6),
    device("a40", 696, kServer, 149.7, kTensorDense, 6),
    device("rtx a6000", 768, kServer, 154.8, kTensorAccumulate16, 6),
    device("l4", 300, kServer, 121, kTensorSparse, 48),
    device("l40", 864, kServer, 181, kTensorDense, 96),
    device("l40s", 864, kServer, 366.4, kTensorSparse, 96),
    device("rtx 6000 ada generation", 960, kServer, 364.2, kTensorAccumulate16, 96),
    device("t4", 320, kServer, 65.1, kTensorDense, 4),
    device("v100-sxm2-16gb", 900, kServer, 125.3, kTensorDense, 6),
    device("v100-sxm2-32gb", 900, kServer, 125.3, kTensorDense, 6),
    device("v100-pcie-16gb", 900, kServer, 112.2, kTensorDense, 6),
    device("v100-pcie-32gb", 900, kServer, 112.2, kTensorDense, 6),

    geforce("rtx 3050", 80, 1.777, 224, 2),
    geforce("rtx 3060", 112, 1.777, 360, 3),
    geforce("rtx 3060 ti", 152, 1.665, 608.3, 4),
    geforce("rtx 3070", 184, 1.725, 448, 4),
    geforce("rtx 3070 ti", 192, 1.77, 608.3, 4),
    geforce("rtx 3080", 280, 1.71, 912.4, 6),
    geforce("rtx 3080 ti", 320, 1.665, 912.4, 6),
    geforce("rtx 3090", 328, 1.695, 936.2, 6),
    geforce("rtx 3090 ti", 336, 1.86, 1008, 6),
    geforce("rtx 4060", 96, 2.46, 272, 24),
    geforce("rtx 4060 ti", 136, 2.535, 288, 32),
    geforce("rtx 4070", 184, 2.475, 504.2, 36),
    geforce("rtx 4070 super", 224, 2.475, 504.2, 48),
    geforce("rtx 4070 ti", 240, 2.61, 504.2, 48),
    geforce("rtx 4070 ti super", 264, 2.61, 672.3, 48),
    geforce("rtx 4080", 304, 2.505, 716.8, 64),
    geforce("rtx 4080 super", 320, 2.55, 736.3, 64),
    geforce("rtx 4090", 512, 2.52, 1008, 72),
    geforce("rtx 5060 ti", 144, 2.572, 448, 32),
    geforce("rtx 5070", 192, 2.512, 672, 48),
    geforce("rtx 5070 ti", 280, 2.452, 896, 64),
    geforce("rtx 5080", 336, 2.617, 960, 64),
    geforce("rtx 5090", 680, 2.407, 1792, 96),

    radeon("rx 6700 xt", 40, 256, 2.581, 384, 96),
    radeon("rx 6800", 60, 256, 2.105, 512, 128),
    radeon("rx 6800 xt", 72, 256, 2.25, 512, 128),
    radeon("rx 6900 xt", 80, 256, 2.25, 512, 128),
    radeon("rx 6950 xt", 80, 256, 2.31, 576, 128),
    radeon("rx 7700 xt", 54, 512, 2.544, 432, 48),
    radeon("rx 7800 xt", 60, 512, 2.43, 624, 64),
    radeon("rx 7900 xt", 84, 512, 2.4, 800, 80),
    radeon("rx 7900 xtx", 96, 512, 2.5, 960, 96),
    radeon("rx 9070", 56, 1024, 2.52, 640, 64),
    radeon("rx 9070 xt", 64, 1024, 2.97, 640, 64),
    device("mi50", 1024, kInstinct, 26.5, kInstinctVector, 4),
    device("mi250x", 3277, kInstinct, 383, kInstinctRate, 16),
    device("mi300x", 5300, kInstinct, 1307.4, kInstinctRate, 256),
    device("mi325x", 6000, kInstinct, 1307.4, kInstinctRate, 256),
    device("mi355x", 8000, kInstinct, 2516.6, kInstinctRate, 256),
};

// What stands before the model in the names that drivers print.
constexpr std::array<std::string_view, 7> kPrefixes = {"nvidia ", "geforce ",  "tesla ",   "amd ",
                                                       "radeon ", "instinct ", "graphics "};

}  // namespace

std::span<const DeviceLimits> known_devices() {
  return kDevices;
}

std::string device_key(std::string_view device) {
  std::string key = one_line(device);
  std::transform(key.begin(), key.end(), key.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view mark : {"(tm)", "(r)"}) {
    for (std::size_t at = key.find(mark); at != std::string::npos; at = key.find(mark)) key.erase(at, mark.size());
  }
  if (const std::size_t bracket = key.find(" ("); bracket != std::string::npos && bracket > 0) key.resize(bracket);
  for (const std::string_view prefix : kPrefixes) {
    if (key.starts_with(prefix)) key.erase(0, prefix.size());
  }
  const std::size_t end = key.find_last_not_of(' ');
  key.resize(end == std::string::npos ? 0 : end + 1);
  return key;
}

std::optional<DeviceLimits> find_device(std::string_view device, std::optional<std::int64_t> gpu_cores) {
  const std::string key = device_key(device);
  std::optional<DeviceLimits> found;
  for (const DeviceLimits& entry : kDevices) {
    if (entry.name != key) continue;
    if (gpu_cores && entry.gpu_cores == *gpu_cores) return entry;
    if (entry.gpu_cores == 0) found = entry;
  }
  return found;
}

}  // namespace capbench::reports
