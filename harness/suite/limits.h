// The keys of a suite file and their bounds. schema/json/suite.schema.json says the same; a test compares the two.
#ifndef CAPBENCH_HARNESS_SUITE_LIMITS_H_
#define CAPBENCH_HARNESS_SUITE_LIMITS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/suite/members.h"

namespace capbench::suite {

inline constexpr auto kSuiteKeys = std::to_array<std::string_view>(
    {"capbench", "name", "description", "runtime", "models", "workloads", "arms", "protocol"});
inline constexpr auto kRuntimeKeys = std::to_array<std::string_view>({"kind", "executable"});
inline constexpr auto kModelKeys = std::to_array<std::string_view>({"name", "file", "like", "seed", "sha256", "kind"});
inline constexpr auto kWorkloadKeys =
    std::to_array<std::string_view>({"name", "p", "n", "d", "r", "t", "ngl", "fa", "args"});
inline constexpr auto kArmKeys =
    std::to_array<std::string_view>({"name", "mode", "target", "guest", "set", "env", "device", "shim"});
inline constexpr auto kProtocolKeys =
    std::to_array<std::string_view>({"trials", "order", "seed", "time_limit_s", "cooldown_s"});

inline constexpr auto kRuntimeKinds = std::to_array<std::string_view>({"llama-bench"});
inline constexpr auto kModelKinds = std::to_array<std::string_view>({"real", "twin"});
inline constexpr auto kFlashAttention = std::to_array<std::string_view>({"on", "off", "auto"});
inline constexpr auto kOrders = std::to_array<std::string_view>({"random-blocks", "as-written"});

inline constexpr std::size_t kFileBytes = 1U << 20U;
inline constexpr std::size_t kItems = 1000;  // models, workloads and arms, each
inline constexpr std::int64_t kTotalTrials = 1000000;
inline constexpr std::size_t kNameBytes = 100;
inline constexpr std::size_t kTextBytes = 10000;  // descriptions
inline constexpr std::size_t kPathBytes = 4000;
inline constexpr std::size_t kValueBytes = 200;  // of a capability, a device
inline constexpr std::size_t kEnvBytes = 4000;   // of one value
inline constexpr std::size_t kPairs = 100;       // capabilities or environment variables of an arm
inline constexpr std::size_t kTests = 100;       // values of one of p, n, d
inline constexpr std::size_t kArgs = 100;

inline constexpr IntegerRange kVersionRange{1, 1};
// Tokens: three of them together stay far below llama.cpp's 32-bit context size.
inline constexpr IntegerRange kTokenRange{0, 10000000};
inline constexpr IntegerRange kRepetitionRange{1, 10000};
inline constexpr IntegerRange kThreadRange{1, 512};
inline constexpr IntegerRange kLayerRange{-1, 10000};
inline constexpr IntegerRange kTrialRange{1, 10000};
// What every JSON reader keeps exactly.
inline constexpr IntegerRange kSeedRange{0, 9007199254740991};
inline constexpr double kLongestLimit = 604800;    // seconds: a week
inline constexpr double kLongestCooldown = 86400;  // seconds: a day

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_LIMITS_H_
