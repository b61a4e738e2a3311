// A bundle's records with what they refer to, and raw output read again: what every check looks at. Internal to this
// room.
#ifndef CAPBENCH_HARNESS_VERIFY_INDEX_H_
#define CAPBENCH_HARNESS_VERIFY_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/runtime/llama_bench.h"
#include "harness/suite/suite.h"
#include "schema/bundle/bundle.h"
#include "schema/records.h"
#include "shim/cpu/levels.h"

namespace capbench::verify {

struct SuiteEntry {
  const schema::SuiteRecord* record = nullptr;
  std::string member;
  std::optional<suite::Suite> suite;
  bool imported = false;  // it stands for results that no suite planned
  std::string problem;    // why there is no `suite`
};

// What checks ask of an environment's facts.
struct MachineFacts {
  bool is_macos = false;
  std::optional<shim::cpu::FeatureSet> cpu_features;  // what it executes; nothing: the facts do not say
};

// What is not there is a nullptr or nothing.
struct TrialEntry {
  const schema::TrialRecord* record = nullptr;
  std::string member;     // "trials/ID.json"
  std::string status;     // before it was excluded
  bool imported = false;  // from a file that capbench did not write
  const SuiteEntry* suite = nullptr;
  const suite::Arm* arm = nullptr;
  const suite::Workload* workload = nullptr;  // of a verbose trial: what it ran in the workload's place
  const suite::Model* model = nullptr;
  const schema::RunRecord* run = nullptr;
  const schema::EnvironmentRecord* environment = nullptr;
  const MachineFacts* facts = nullptr;  // of the environment
  const schema::ClosureRecord* closure = nullptr;
  // Nothing: withheld, or (`too_much`) more than is read.
  std::optional<std::string_view> out;
  std::optional<std::string_view> err;
  std::optional<std::string_view> probe;        // empty: none ran
  std::optional<runtime::ParsedOutput> parsed;  // of `out`, where the suite says of what runtime it is
  bool too_much = false;
  // Of each recorded result its `fields`, read; with Reading::kAll.
  std::shared_ptr<const std::vector<nlohmann::json>> fields;

  // A result that reports use.
  bool counts() const { return record->status == "ok"; }
};

// Raw bytes that are read for all trials and checks together. Every trial has its own output, so no honest bundle comes
// near it; many trials of one large output would take forever.
inline constexpr std::uint64_t kMostRawBytes = 512U << 20U;

// Whether raw output is read again, or only records are wanted.
enum class Reading : std::uint8_t { kAll, kRecords };

// Points into the bundle, which must outlive it.
class Index {
 public:
  explicit Index(const bundle::Bundle& bundle, Reading reading = Reading::kAll);

  const bundle::Bundle& bundle() const { return bundle_; }
  const std::vector<TrialEntry>& trials() const { return trials_; }
  const std::map<std::string, SuiteEntry>& suites() const { return suites_; }
  const schema::RunRecord* run(const std::string& id) const;
  // Any trial of that run, arm and model whose suite has the arm; nullptr if there is none.
  const TrialEntry* trial_of(const std::string& run, const std::string& arm, const std::string& model) const;
  // The CPU libraries that trials with that program loaded: "haswell", "x64".
  std::set<std::string> cpu_variants(const std::string& program_sha256) const;
  // Bytes by digest; nothing if they are withheld. Those of an empty text are always known.
  std::optional<std::string_view> raw(const std::string& sha256) const;

 private:
  const bundle::Bundle& bundle_;
  std::map<std::string, SuiteEntry> suites_;  // by id
  std::map<std::string, const schema::RunRecord*> runs_;
  std::map<std::string, MachineFacts> facts_;  // by environment
  std::vector<TrialEntry> trials_;
  std::deque<suite::Workload> verbose_;                                              // of verbose trials
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> by_arm_;  // by run, arm and model
  std::map<std::string, std::set<std::string>> cpu_variants_;                        // by digest of the program
};

// Roles of a closure's members.
inline constexpr std::string_view kExecutableRole = "executable";
inline constexpr std::string_view kModelRole = "model";
inline constexpr std::string_view kShimRole = "shim";

// The first of that role; nullptr if there is none.
const schema::ClosureMember* member_of(const schema::ClosureRecord* closure, std::string_view role);

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_INDEX_H_
