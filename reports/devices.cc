#include "reports/devices.h"

#include <algorithm>
#include <array>

#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr double kGb = 1e9;     // bytes per second
constexpr double kTera = 1e12;  // operations per second
constexpr std::int64_t kMib = 1048576;

constexpr std::string_view kApple =
    "bandwidth: Apple's technical specifications; rate: 128 multiply-adds a GPU core and cycle, times the clock";
constexpr std::string_view kAppleM5 =
    "bandwidth: Apple's technical specifications; rate: matrix units of 512 multiply-adds a GPU core and cycle";
constexpr std::string_view kHopper = "NVIDIA H100 and H200 data sheets, H100 architecture white paper";
constexpr std::string_view kAmpereServer = "NVIDIA A100 data sheet and architecture white paper";
constexpr std::string_view kServer = "NVIDIA data sheet of the card";
constexpr std::string_view kAmpere = "NVIDIA Ampere GA102 white paper; tensor cores, float16 accumulation";
constexpr std::string_view kAda = "NVIDIA Ada white paper; tensor cores, float16 accumulation";
constexpr std::string_view kBlackwell = "NVIDIA RTX Blackwell white paper; tensor cores, float16 accumulation";
constexpr std::string_view kRdna = "AMD's product page of the card, peak half precision";
constexpr std::string_view kCdna = "AMD Instinct data sheet of the card, peak FP16 matrix";

constexpr DeviceLimits device(std::string_view name, std::int64_t cores, double gb, double tera, double cache_mib,
                              std::string_view source) {
  return {name, cores, gb * kGb, tera * kTera, static_cast<std::int64_t>(cache_mib * kMib), source};
}

// Two operations for each of a core's multiply-adds in a cycle.
constexpr DeviceLimits apple(std::string_view name, std::int64_t variant, std::int64_t cores, double gb, double ghz,
                             double cache_mib) {
  return device(name, variant, gb, static_cast<double>(cores) * 2 * 128 * ghz / 1000, cache_mib, kApple);
}

constexpr DeviceLimits apple_m5(std::string_view name, std::int64_t variant, std::int64_t cores, double gb,
                                double cache_mib) {
  constexpr double kGhz = 1.62;
  return device(name, variant, gb, static_cast<double>(cores) * 2 * 512 * kGhz / 1000, cache_mib, kAppleM5);
}

constexpr std::array kDevices = {
    apple("apple m1", 0, 8, 68.3, 1.278, 8),
    apple("apple m1", 7, 7, 68.3, 1.278, 8),
    apple("apple m1 pro", 0, 16, 204.8, 1.296, 24),
    apple("apple m1 pro", 14, 14, 204.8, 1.296, 24),
    apple("apple m1 max", 0, 32, 409.6, 1.296, 48),
    apple("apple m1 max", 24, 24, 409.6, 1.296, 48),
    apple("apple m1 ultra", 0, 64, 819.2, 1.296, 96),
    apple("apple m1 ultra", 48, 48, 819.2, 1.296, 96),
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

    device("h200", 0, 4800, 989.4, 50, kHopper),
    device("h200 nvl", 0, 4800, 835.5, 50, kHopper),
    device("h100 80gb hbm3", 0, 3350, 989.4, 50, kHopper),
    device("h100 sxm5", 0, 3350, 989.4, 50, kHopper),
    device("h100 pcie", 0, 2039, 756, 50, kHopper),
    device("h100 nvl", 0, 3938, 835.5, 50, kHopper),
    device("gh200 480gb", 0, 4000, 989.4, 50, kHopper),
    device("b200", 0, 8000, 2250, 126, kServer),
    device("a100-sxm4-80gb", 0, 2039, 312, 40, kAmpereServer),
    device("a100-sxm4-40gb", 0, 1555, 312, 40, kAmpereServer),
    device("a100 80gb pcie", 0, 1935, 312, 40, kAmpereServer),
    device("a100-pcie-40gb", 0, 1555, 312, 40, kAmpereServer),
    device("a10", 0, 600, 125, 6, kServer),
    device("a10g", 0, 600, 140, 6, kServer),
    device("a40", 0, 696, 149.7, 6, kServer),
    device("rtx a6000", 0, 768, 154.8, 6, kServer),
    device("l4", 0, 300, 121, 48, kServer),
    device("l40", 0, 864, 181, 96, kServer),
    device("l40s", 0, 864, 362, 96, kServer),
    device("rtx 6000 ada generation", 0, 960, 364.2, 96, kServer),
    device("t4", 0, 320, 65, 4, kServer),
    device("v100-sxm2-16gb", 0, 900, 125, 6, kServer),
    device("v100-sxm2-32gb", 0, 900, 125, 6, kServer),
    device("v100-pcie-16gb", 0, 900, 112, 6, kServer),
    device("v100-pcie-32gb", 0, 900, 112, 6, kServer),

    device("rtx 3050", 0, 224, 36.4, 2, kAmpere),
    device("rtx 3060", 0, 360, 51.2, 3, kAmpere),
    device("rtx 3060 ti", 0, 608.3, 64.8, 4, kAmpere),
    device("rtx 3070", 0, 448, 81.3, 4, kAmpere),
    device("rtx 3070 ti", 0, 608.3, 87, 4, kAmpere),
    device("rtx 3080", 0, 912, 122.6, 6, kAmpere),
    device("rtx 3080 ti", 0, 912, 136, 6, kAmpere),
    device("rtx 3090", 0, 936.2, 142, 6, kAmpere),
    device("rtx 3090 ti", 0, 1008, 160, 6, kAmpere),
    device("rtx 4060", 0, 272, 60.5, 24, kAda),
    device("rtx 4060 ti", 0, 288, 88.2, 32, kAda),
    device("rtx 4070", 0, 504, 116.6, 36, kAda),
    device("rtx 4070 super", 0, 504, 141.9, 48, kAda),
    device("rtx 4070 ti", 0, 504, 160.4, 48, kAda),
    device("rtx 4070 ti super", 0, 672.3, 176.4, 48, kAda),
    device("rtx 4080", 0, 716.8, 194.9, 64, kAda),
    device("rtx 4080 super", 0, 736.3, 208.9, 64, kAda),
    device("rtx 4090", 0, 1008, 330.3, 72, kAda),
    device("rtx 5060", 0, 448, 76.8, 32, kBlackwell),
    device("rtx 5060 ti", 0, 448, 94.9, 32, kBlackwell),
    device("rtx 5070", 0, 672, 123.5, 48, kBlackwell),
    device("rtx 5070 ti", 0, 896, 175.8, 48, kBlackwell),
    device("rtx 5080", 0, 960, 225.1, 64, kBlackwell),
    device("rtx 5090", 0, 1792, 419, 96, kBlackwell),

    device("rx 6600", 0, 224, 17.9, 32, kRdna),
    device("rx 6600 xt", 0, 256, 21.2, 32, kRdna),
    device("rx 6700 xt", 0, 384, 26.4, 96, kRdna),
    device("rx 6800", 0, 512, 32.3, 128, kRdna),
    device("rx 6800 xt", 0, 512, 41.5, 128, kRdna),
    device("rx 6900 xt", 0, 512, 46.1, 128, kRdna),
    device("rx 6950 xt", 0, 576, 47.3, 128, kRdna),
    device("rx 7600", 0, 288, 43.5, 32, kRdna),
    device("rx 7600 xt", 0, 288, 45.1, 32, kRdna),
    device("rx 7700 xt", 0, 432, 70.3, 48, kRdna),
    device("rx 7800 xt", 0, 624, 74.7, 64, kRdna),
    device("rx 7900 gre", 0, 576, 91.9, 64, kRdna),
    device("rx 7900 xt", 0, 800, 103, 80, kRdna),
    device("rx 7900 xtx", 0, 960, 122.8, 96, kRdna),
    device("rx 9060 xt", 0, 320, 103, 32, kRdna),
    device("rx 9070", 0, 640, 145, 64, kRdna),
    device("rx 9070 xt", 0, 640, 195, 64, kRdna),
    device("mi50", 0, 1024, 26.5, 4, kCdna),
    device("mi100", 0, 1229, 184.6, 8, kCdna),
    device("mi210", 0, 1638, 181, 8, kCdna),
    device("mi250x", 0, 3277, 383, 16, kCdna),
    device("mi300x", 0, 5300, 1307.4, 256, kCdna),
    device("mi325x", 0, 6000, 1307.4, 256, kCdna),
    device("mi350x", 0, 8000, 2309.6, 256, kCdna),
    device("mi355x", 0, 8000, 2516.6, 256, kCdna),
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
