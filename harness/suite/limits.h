// The keys of a suite file and their bounds. schema/json/suite.schema.json says the same; a test compares the two.
#ifndef CAPBENCH_HARNESS_SUITE_LIMITS_H_
#define CAPBENCH_HARNESS_SUITE_LIMITS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/suite/members.h"

namespace capbench::suite {

inline constexpr auto kSuiteKeys =
    std::to_array<std::string_view>({"capbench", "name", "description", "runtime", "targets", "models", "workloads",
                                     "arms", "design", "protocol", "quality"});
inline constexpr auto kRuntimeKeys = std::to_array<std::string_view>({"kind", "executable"});
inline constexpr auto kModelKeys =
    std::to_array<std::string_view>({"name", "file", "like", "catalog", "seed", "sha256", "kind"});
inline constexpr auto kWorkloadKeys =
    std::to_array<std::string_view>({"name", "p", "n", "d", "r", "t", "ngl", "fa", "filter", "args"});
inline constexpr auto kArmKeys = std::to_array<std::string_view>(
    {"name", "mode", "target", "guest", "set", "env", "device", "shim", "executable", "args", "expect"});
inline constexpr auto kDesignKeys =
    std::to_array<std::string_view>({"kind", "resolution", "base", "factors", "controls"});
inline constexpr auto kBaseKeys =
    std::to_array<std::string_view>({"mode", "target", "guest", "set", "env", "device", "shim", "executable", "args"});
inline constexpr auto kFactorKeys = std::to_array<std::string_view>({"name", "env", "arg", "label", "levels"});
inline constexpr auto kProtocolKeys =
    std::to_array<std::string_view>({"trials", "order", "seed", "time_limit_s", "cooldown_s", "warmup_trials",
                                     "verbose_trial", "preload_s", "hygiene", "until"});
inline constexpr auto kHygieneKeys =
    std::to_array<std::string_view>({"gate", "wait_s", "max_load", "max_gpu_use_percent", "min_memory_free_percent",
                                     "max_temperature_c", "require_ac", "vms"});
inline constexpr auto kUntilKeys = std::to_array<std::string_view>({"ci_half_width", "max_trials"});
inline constexpr auto kQualityKeys =
    std::to_array<std::string_view>({"text", "max_mean_kl", "max_kl", "chunks", "ctx", "ops"});

inline constexpr std::string_view kLlamaBench = "llama-bench";
inline constexpr std::string_view kGoogleBenchmark = "google-benchmark";
inline constexpr std::string_view kMlxLm = "mlx-lm";
inline constexpr auto kRuntimeKinds = std::to_array<std::string_view>({kLlamaBench, kGoogleBenchmark, kMlxLm});
inline constexpr auto kModelKinds = std::to_array<std::string_view>({"real", "twin"});
inline constexpr auto kFlashAttention = std::to_array<std::string_view>({"on", "off", "auto"});
inline constexpr auto kOrders = std::to_array<std::string_view>({"random-blocks", "as-written"});
inline constexpr auto kExpectations = std::to_array<std::string_view>({"fails"});
inline constexpr auto kGates = std::to_array<std::string_view>({"wait", "warn", "refuse", "off"});
inline constexpr auto kVms = std::to_array<std::string_view>({"any", "stopped"});
// In the order of DesignKind.
inline constexpr auto kDesignKinds =
    std::to_array<std::string_view>({"one-at-a-time", "leave-one-out", "full-factorial", "fractional"});
inline constexpr auto kControls =
    std::to_array<std::string_view>({"placebo", "bare-metal", "bare-metal-with-shim", "cpu-only", "expected-failure"});

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
inline constexpr std::size_t kTargets = 100;
inline constexpr std::size_t kOptions = 100;       // of a target
inline constexpr std::size_t kOptionBytes = 4000;  // of one value, and of one text of a list
inline constexpr std::size_t kOptionTexts = 100;   // of a list
inline constexpr std::size_t kFactors = 20;
inline constexpr std::size_t kLevels = 32;  // of a factor
inline constexpr std::size_t kLabelBytes = 40;
inline constexpr std::size_t kFilterBytes = 1000;
inline constexpr std::size_t kOps = 200;
inline constexpr std::size_t kOpBytes = 60;

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
inline constexpr double kLongestPreload = 3600;    // seconds
inline constexpr double kLongestWait = 86400;      // seconds
inline constexpr IntegerRange kWarmupRange{0, 100};
// Deciding after fewer than 8 blocks costs coverage (design/until.h).
inline constexpr IntegerRange kMaxTrialsRange{8, 10000};
inline constexpr double kWidestHalfWidth = 1;
inline constexpr IntegerRange kResolutionRange{4, 5};
inline constexpr double kMostLoad = 10000;
inline constexpr double kHottest = 150;  // degrees Celsius
inline constexpr double kMostKl = 100;   // nats
inline constexpr IntegerRange kChunkRange{1, 10000};
inline constexpr IntegerRange kContextRange{8, 1048576};

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_LIMITS_H_
