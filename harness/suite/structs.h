// What a suite holds: plain structs, no functions that look at them. suite.h reads and writes them.
#ifndef CAPBENCH_HARNESS_SUITE_STRUCTS_H_
#define CAPBENCH_HARNESS_SUITE_STRUCTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/target_spec.h"  // IWYU pragma: export

namespace capbench::suite {

// Exactly one of file, like and catalog is set, except for a runtime without models (kind "none").
struct Model {
  std::string name;
  std::string file;           // as written in the suite; relative to the suite file's folder. A folder for mlx-lm
  std::string like;           // a structural twin of this catalog entry, written on first use
  std::string catalog;        // the pinned file (or folder) of this catalog entry, in the folder of fetched models
  std::uint64_t seed = 1;     // of the twin's weights
  std::string sha256;         // optional pin; a catalog entry has its own
  std::string kind = "real";  // "real", "twin", or "none": the one nameless model of a runtime that loads none

  friend bool operator==(const Model&, const Model&) = default;
};

// The name of the model of kind "none", so that trial keys keep three parts.
inline constexpr std::string_view kNoModel = "-";

// Which members mean something depends on the runtime: llama-bench takes all but `filter`; mlx-lm one n_prompt, one
// n_gen and repetitions; google-benchmark `filter`, repetitions and extra_args. The others keep their defaults there.
struct Workload {
  std::string name;
  std::vector<std::int64_t> n_prompt;      // -p; 0 leaves the prompt test out
  std::vector<std::int64_t> n_gen;         // -n
  std::vector<std::int64_t> n_depth;       // -d
  std::int64_t repetitions = 5;            // -r
  std::optional<std::int64_t> threads;     // -t
  std::optional<std::int64_t> gpu_layers;  // -ngl
  std::string flash_attention;             // -fa: "", "on", "off", "auto"
  std::string filter;                      // --benchmark_filter: a regular expression; empty: every benchmark
  std::vector<std::string> extra_args;     // passed on as they are

  friend bool operator==(const Workload&, const Workload&) = default;
};

// One treatment. Capabilities by name, a level each: {"cpu.isa": "x64"}.
struct Arm {
  std::string name;
  std::string mode;                          // "bare-metal", "stock", "unlocked", or a name of the suite's own
  std::string target = "local";              // "local" or a name in Suite::targets
  std::map<std::string, std::string> guest;  // what a stand-in guest answers (CAPSHIM_GUEST); empty: none
  std::map<std::string, std::string> set;    // what the shim tells the process (CAPSHIM_SET); empty: no shim
  std::map<std::string, std::string> env;    // further environment of the process
  std::string device;                        // -dev; empty: the application chooses
  std::string shim;                          // path of the shim library; empty: the one that came with capbench
  std::string executable;                    // another build than the runtime's, found as that is; empty: the runtime's
  std::vector<std::string> args;             // further arguments of the application, behind the workload's
  bool expected_to_fail = false;             // "expect": "fails". A trial that succeeds is then the finding

  // Of an arm that a design made (see Suite::design); empty for arms written by hand that no design made as well.
  std::map<std::string, std::string> factors;  // level of each factor by Factor::name; kUnset for a null level
  std::vector<std::string> roles;              // kRole...: what it is to the design besides a cell; sorted

  friend bool operator==(const Arm&, const Arm&) = default;
};

// What a null level is called in Arm::factors. No written level may read so.
inline constexpr std::string_view kUnset = "unset";

// Arm::roles. The two references: every factor at its first level, every factor at its last.
inline constexpr std::string_view kRoleStock = "stock";
inline constexpr std::string_view kRoleUnlocked = "unlocked";
// The controls a design can ask for.
inline constexpr std::string_view kRolePlacebo = "placebo";       // shim loaded, answers what is answered anyway
inline constexpr std::string_view kRoleBareMetal = "bare-metal";  // the host, no guest, no shim
inline constexpr std::string_view kRoleBareMetalWithShim = "bare-metal-with-shim";  // the host, the unlocked answers
inline constexpr std::string_view kRoleCpuOnly = "cpu-only";                        // -dev none, in the guest
inline constexpr std::string_view kRoleExpectedFailure = "expected-failure";        // a device that cannot exist

// One thing that a design varies.
struct Factor {
  enum class Kind { kCapability, kEnvironment, kArgument };
  Kind kind = Kind::kCapability;
  std::string name;   // "vulkan.cooperative_matrix", "GGML_VK_DISABLE_COOPMAT", "-fa"
  std::string label;  // short, for arm names; empty: made from the name (design::factor_label)
  // First: as the stock device answers; last: unlocked. Nothing: the capability is not set, the variable is unset, the
  // argument is not given. At least two, all different.
  std::vector<std::optional<std::string>> levels;

  friend bool operator==(const Factor&, const Factor&) = default;
};

enum class DesignKind { kOneAtATime, kLeaveOneOut, kFullFactorial, kFractional };

// What every arm of a design starts from; the factors' levels are laid over it.
struct DesignBase {
  std::string mode = "ablation";  // of the arms that are neither stock nor unlocked
  std::string target = "local";
  std::map<std::string, std::string> guest;
  std::map<std::string, std::string> set;  // capabilities that are no factor
  std::map<std::string, std::string> env;
  std::string device;
  std::string shim;
  std::string executable;
  std::vector<std::string> args;

  friend bool operator==(const DesignBase&, const DesignBase&) = default;
};

struct Design {
  std::vector<DesignKind> kinds;  // at least one; arms that several of them make are made once
  std::int64_t resolution = 4;    // at least, of the fraction: 4 or 5
  DesignBase base;
  std::vector<Factor> factors;
  std::vector<std::string> controls;  // roles: placebo, bare-metal, bare-metal-with-shim, cpu-only, expected-failure

  friend bool operator==(const Design&, const Design&) = default;
};

enum class Order { kRandomBlocks, kAsWritten };

// What must hold before a trial begins. Limits that are absent are not looked at.
struct Hygiene {
  std::string gate = "warn";                  // "wait" (up to wait_s, then as refuse), "warn" (flag), "refuse", "off"
  double wait_s = 600;                        // seconds
  std::optional<double> max_load;             // 1-minute load average, whole machine
  std::optional<double> max_gpu_use_percent;  // by others, before the trial
  std::optional<double> min_memory_free_percent;
  std::optional<double> max_temperature_c;
  bool require_ac = false;  // not on battery
  std::string vms = "any";  // "stopped": no VM runs on the machine during a bare-metal trial

  friend bool operator==(const Hygiene&, const Hygiene&) = default;
};

// Adaptive trials: blocks are added until every comparison is narrow enough. `trials` blocks, and at least
// design::kFirstLook, run in any case.
struct Until {
  double ci_half_width = 0.01;  // of a ratio, relative: 0.01 is 1 %
  std::int64_t max_trials = 20;

  friend bool operator==(const Until&, const Until&) = default;
};

struct Protocol {
  std::int64_t trials = 5;  // blocks; each holds one trial of every arm of every cell
  Order order = Order::kRandomBlocks;
  std::uint64_t seed = 1;          // of the order
  double time_limit_s = 600;       // per trial
  double cooldown_s = 0;           // sleep before each trial
  std::int64_t warmup_trials = 0;  // on each machine, before the first block: kept, flagged "warm-up", never analysed
  bool verbose_trial = false;  // one more of every cell before all others, with -v and one repetition: what llama.cpp
                               // decided by itself and which kernels it used. Kept, flagged "verbose", never analysed
  double preload_s = 0;        // busy load before each trial, to steady clocks
  std::optional<Hygiene> hygiene;
  std::optional<Until> until;

  friend bool operator==(const Protocol&, const Protocol&) = default;
};

struct Runtime {
  std::string kind = "llama-bench";  // "llama-bench", "google-benchmark", "mlx-lm"
  std::string executable;  // empty: looked for (see harness/runtime); else a path relative to the suite file, or a name
                           // on PATH. google-benchmark has no default

  friend bool operator==(const Runtime&, const Runtime&) = default;
};

// How the output of each arm is compared with the reference's. Absent from a suite: unchecked.
struct Quality {
  std::string text = "builtin";  // or a file, relative to the suite file's folder
  double max_mean_kl = 0.02;     // nats per token
  double max_kl = 0.1;           // nats, of any token
  std::int64_t chunks = 4;
  std::int64_t ctx = 128;        // tokens of a chunk
  std::vector<std::string> ops;  // of test-backend-ops: "MUL_MAT", ...; empty: not run

  friend bool operator==(const Quality&, const Quality&) = default;
};

struct Suite {
  std::string name;
  std::string description;
  Runtime runtime;
  std::map<std::string, TargetSpec> targets;  // by name; "local" needs no entry
  std::vector<Model> models;
  std::vector<Workload> workloads;
  std::vector<Arm> arms;          // those written, then those that the design makes
  std::optional<Design> design;   // kept, since the arms it makes are derived from it again
  std::size_t designed_arms = 0;  // how many at the end of `arms` the design made
  Protocol protocol;
  std::optional<Quality> quality;

  friend bool operator==(const Suite&, const Suite&) = default;
};

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_STRUCTS_H_
