// What the store keeps, as plain values. Column by column these are the tables of schema/schema.md.
// Times of day are UTC "2026-11-30T04:25:07.123Z"; durations are integer nanoseconds; digests are 64 hex digits.
#ifndef CAPBENCH_SCHEMA_RECORDS_H_
#define CAPBENCH_SCHEMA_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::schema {

// A suite as it was run. `id` is the SHA-256 of `json`, the suite's canonical bytes.
struct SuiteRecord {
  std::string id;
  std::string name;
  std::string json;
};

// Where trials ran. `id` is the SHA-256 of `json` (canonical: sorted keys, no spaces).
struct EnvironmentRecord {
  std::string id;
  std::string machine_id;     // names the physical host; a host and its guests share it
  std::string machine_label;  // for people: "AMD EPYC, 2 cores, 24 GiB"
  bool is_virtual = false;    // the machine itself is a virtual one
  std::string json;           // every fact
};

// One file that took part, named by its content.
struct ArtifactRecord {
  std::string sha256;
  std::uint64_t size = 0;
  std::string name;  // file name without its folder
};

// One member of a closure: what the file was for. Roles: "executable", "library", "shim", "model", "driver", "script",
// "image".
struct ClosureMember {
  std::string role;
  ArtifactRecord artifact;
  std::string path;  // where it lay; not part of the closure's identity
};

// Everything that ran. `id` is the SHA-256 of the sorted (role, name, sha256) list.
struct ClosureRecord {
  std::string id;
  std::vector<ClosureMember> members;
};

// One `capbench run` of a suite, possibly resumed several times.
struct RunRecord {
  std::string id;
  std::string suite_id;
  std::string machine_id;
  std::uint64_t seed = 0;
  std::string started_at;
  std::string harness_version;
  std::string state;  // "running", "complete", "interrupted"
  std::uint64_t planned_trials = 0;
};

// One row that llama-bench (or another runtime) printed.
struct ResultRecord {
  std::string test;   // as llama-bench names it: "pp512", "tg128", "pp512 @ d4096"
  std::string build;  // "0ad4a86 (1)"; empty if unknown
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::int64_t n_depth = 0;
  std::string model_type;       // "llama 1B Q4_K - Medium"
  std::int64_t model_size = 0;  // bytes
  std::int64_t model_n_params = 0;
  std::string backends;
  std::string cpu_info;
  std::string gpu_info;
  std::vector<std::int64_t> samples_ns;  // in the order measured
  double median_ts = 0;                  // tokens per second at the median sample, see stats
  std::string fields;                    // every field as printed, a JSON object
};

// A row whose source states a mean and keeps no samples. It never poses as a median.
struct StatedResultRecord {
  std::string test;
  std::string build;
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::int64_t n_depth = 0;
  std::string model_type;
  std::int64_t model_size = 0;  // bytes; 0: not stated
  std::int64_t model_n_params = 0;
  std::string backends;
  std::string cpu_info;
  std::string gpu_info;
  double mean_ts = 0;                       // tokens per second
  std::optional<double> stddev_ts;          // nothing: not stated, or of a single repetition
  std::optional<std::int64_t> repetitions;  // nothing: not stated
  std::string fields;                       // as of a result
};

// What one capability was asked to be and was seen to be.
struct CapabilityRecord {
  std::string name;       // "cpu.isa"
  std::string requested;  // empty: the arm asked nothing of it
  std::string observed;   // empty: not seen
  std::string source;     // "ggml log", "shim banner", "probe"
  bool agrees = false;    // observed is what the arm requires
};

// One process launch.
struct TrialRecord {
  std::string
      id;  // SHA-256 over what is never redacted: run, arm, workload, model, block, attempt, status, samples, closure
  std::string run_id;
  std::string suite_id;
  std::string environment_id;
  std::string closure_id;  // empty if it never started
  std::string arm;
  std::string mode;    // "bare-metal", "stock", "unlocked", or another
  std::string target;  // "local", ...
  std::string guest;   // "stand-in", "vm", or empty for the host itself
  std::string workload;
  std::string model;
  std::string model_kind;     // "real" or "twin"; the two are never pooled
  std::int64_t block = 0;     // from 0; warm-up trials: -1, -2, ...
  std::int64_t position = 0;  // place in the plan's order, from 0
  std::int64_t attempt = 1;   // 2 and up: an earlier attempt was cut short
  std::string status;         // ok failed timeout killed invalid_treatment no_device wrong_output excluded not_run
  std::string reason;         // why it is not ok; empty if it is
  std::string treatment;      // "proven", "unproven", "invalid"
  std::string quality;        // "passed", "unchecked", "wrong"
  std::vector<std::string> flags;
  std::string started_at;
  std::int64_t wall_ns = 0;
  std::int64_t user_ns = 0;
  std::int64_t system_ns = 0;
  std::int64_t max_rss_bytes = 0;
  std::optional<int> exit_status;
  std::optional<int> signal;
  std::vector<std::string> argv;
  std::vector<std::string> environment_set;  // NAME=VALUE, what the arm added
  std::string stdout_sha256;                 // of the raw bytes; the store holds them
  std::string stderr_sha256;
  std::string probe_sha256;   // of what a probe printed under the same injection; empty: none ran
  std::string source_sha256;  // the file it was imported from; empty: measured by capbench itself
  std::string image;          // JSON: what the guest was made from; empty: not a guest, or unknown
  std::string hygiene;   // JSON: the machine before and after, and what the suite's gate found; empty: not looked at
  std::string measured;  // JSON: GPU memory, power and the like; empty: nothing
  std::vector<ResultRecord> results;
  std::vector<StatedResultRecord> stated;  // rows without samples
  std::vector<CapabilityRecord> capabilities;
  std::string status_before_exclusion;  // of an excluded trial, whose id it went into; else empty
};

// A file that results were imported from.
struct SourceRecord {
  std::string sha256;  // of the whole file
  std::string kind;    // "llama-bench-json", ...
  std::string name;    // file name without its folder
  std::uint64_t size = 0;
  std::vector<std::string> notes;  // sentences
};

// A row of a source that could not be trusted.
struct QuarantineRecord {
  std::string source_sha256;
  std::int64_t line = 0;  // from 1
  std::string reason;
  std::string text;  // the row, cut if it is long
};

// Whether one arm's output was right.
struct QualityRecord {
  std::string run_id;
  std::string arm;
  std::string model;
  std::string kind;  // "output": against the reference arm; "operators": the device against the CPU
  std::int64_t attempt = 1;
  std::string status;   // "passed", "wrong", "unchecked"
  std::string reason;   // why it is not passed
  std::string figures;  // JSON: mean_kl, max_kl, perplexity, ...
  std::vector<std::string> argv;
  std::string stdout_sha256;
  std::string stderr_sha256;
  std::string checked_at;
};

// A bundle that came to this store, and what became of it.
struct BundleRecord {
  std::string id;              // SHA-256 of its manifest
  std::string archive_sha256;  // of the file as it was received
  std::uint64_t size = 0;      // of that file
  std::string signer;          // fingerprint of the key whose signature was checked; empty: none
  std::string tier;            // "self-reported", "consistent", "reproduced"
  std::string verdict;         // JSON: the checks that led to the tier
  std::string received_at;
  std::string receipt_sha256;  // of the secret that may withdraw it; empty: none was given
  std::string withdrawn_at;    // empty while it stands
  std::string why;             // why it was withdrawn
};

// One trial of a bundle; a trial may be in several.
struct BundleTrialRecord {
  std::string trial_id;
  std::string bundle_id;
  std::string signer;
  std::string tier;
  bool withdrawn = false;
};

// What somebody decided about a regression. The latest decision holds.
struct TriageRecord {
  std::string regression_id;  // SHA-256 of `subject`
  std::string set_at;
  std::string state;  // "open", "acknowledged", "fixed", "noise"
  std::string why;
  std::string subject;  // JSON, canonical: what the regression is about
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_RECORDS_H_
