// A suite: models x workloads x arms and the protocol. Pure: knows nothing of files, clocks or processes.
#ifndef CAPBENCH_HARNESS_SUITE_SUITE_H_
#define CAPBENCH_HARNESS_SUITE_SUITE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::suite {

struct Model {
  std::string name;
  std::string file;           // as written in the suite; relative to the suite file's folder. Empty if `like` is set
  std::string like;           // a structural twin of this catalog entry, written on first use
  std::uint64_t seed = 1;     // of the twin's weights
  std::string sha256;         // optional pin
  std::string kind = "real";  // "real" or "twin"

  friend bool operator==(const Model&, const Model&) = default;
};

struct Workload {
  std::string name;
  std::vector<std::int64_t> n_prompt;      // -p; 0 leaves the prompt test out
  std::vector<std::int64_t> n_gen;         // -n
  std::vector<std::int64_t> n_depth;       // -d
  std::int64_t repetitions = 5;            // -r
  std::optional<std::int64_t> threads;     // -t
  std::optional<std::int64_t> gpu_layers;  // -ngl
  std::string flash_attention;             // -fa: "", "on", "off", "auto"
  std::vector<std::string> extra_args;     // passed on as they are

  friend bool operator==(const Workload&, const Workload&) = default;
};

// One treatment. Capabilities by name, a level each: {"cpu.isa": "x64"}.
struct Arm {
  std::string name;
  std::string mode;  // "bare-metal", "stock", "unlocked", or a name of the suite's own
  std::string target = "local";
  std::map<std::string, std::string> guest;  // what a stand-in guest answers (CAPSHIM_GUEST); empty: none
  std::map<std::string, std::string> set;    // what the shim tells the process (CAPSHIM_SET); empty: no shim
  std::map<std::string, std::string> env;    // further environment of the process
  std::string device;                        // -dev; empty: the application chooses
  std::string shim;                          // path of the shim library; empty: the one that came with capbench

  friend bool operator==(const Arm&, const Arm&) = default;
};

enum class Order { kRandomBlocks, kAsWritten };

struct Protocol {
  std::int64_t trials = 5;  // blocks; each holds one trial of every arm of every cell
  Order order = Order::kRandomBlocks;
  std::uint64_t seed = 1;     // of the order
  double time_limit_s = 600;  // per trial
  double cooldown_s = 0;      // sleep before each trial

  friend bool operator==(const Protocol&, const Protocol&) = default;
};

struct Runtime {
  std::string kind = "llama-bench";
  std::string
      executable;  // empty: looked for (see harness/runtime); else a path relative to the suite file, or a name on PATH

  friend bool operator==(const Runtime&, const Runtime&) = default;
};

struct Suite {
  std::string name;
  std::string description;
  Runtime runtime;
  std::vector<Model> models;
  std::vector<Workload> workloads;
  std::vector<Arm> arms;
  Protocol protocol;

  friend bool operator==(const Suite&, const Suite&) = default;
};

// Reads suite.json. Every error names the JSON path and what was expected there: "$.workloads[0].r: -3; expected an
// integer from 1 to 10000". Unknown keys are errors, with the nearest known key as the remedy. Byte-order marks are
// skipped.
Result<Suite> parse_suite(std::string_view json);

// The canonical bytes: sorted keys, no spaces, defaults written out. Parsing them gives the same suite back.
std::string canonical_json(const Suite& suite);

// SHA-256 of the canonical bytes.
std::string suite_id(const Suite& suite);

// One trial to run. Indices point into the suite.
struct PlannedTrial {
  std::size_t position = 0;
  std::int64_t block = 0;
  std::size_t model = 0;
  std::size_t workload = 0;
  std::size_t arm = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  std::vector<PlannedTrial> trials;  // in the order to run them
};

// Blocks in order; within one block the trials are shuffled (seeded, the same on every platform). `seed` overrides the
// suite's.
Plan make_plan(const Suite& suite, std::optional<std::uint64_t> seed);

// "MODEL/WORKLOAD/ARM", what --only globs match against.
std::string trial_key(const Suite& suite, const PlannedTrial& trial);

// Shell-style glob over the whole key: * ? [..]; `*` crosses slashes.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_SUITE_H_
