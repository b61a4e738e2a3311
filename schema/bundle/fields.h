// The form of every record in a bundle, once for both directions: `fields(io, record)` names each key with the member
// that it stands for, in the order of canonical JSON. For this room only.
//
// `io` has field(key, value) for texts, integers, numbers, booleans, optional ones (null), lists, and records that have
// fields of their own; decimal(key, value) for integers that JSON readers would round, which are written as text.
#ifndef CAPBENCH_SCHEMA_BUNDLE_FIELDS_H_
#define CAPBENCH_SCHEMA_BUNDLE_FIELDS_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "schema/bundle/bundle.h"
#include "schema/records.h"

namespace capbench::bundle {

// A row of QuarantineRecord without its source, which is the member that it lies in.
struct QuarantineRow {
  std::int64_t line = 0;
  std::string reason;
  std::string text;
};

struct SourceMember {
  schema::SourceRecord source;
  std::vector<QuarantineRow> quarantine;
};

struct ManifestMember {
  std::string path;
  std::string sha256;
  std::uint64_t size = 0;
};

inline constexpr std::int64_t kFormat = 1;

struct Manifest {
  std::int64_t bundle = kFormat;
  std::string created_by;
  std::vector<ManifestMember> members;  // sorted by path
  std::vector<Replaced> replaced;       // sorted by member, kind
};

// T itself, or const T.
template <class Given, class T>
concept Is = std::same_as<std::remove_const_t<Given>, T>;

template <class Io>
void fields(Io& io, Is<schema::SuiteRecord> auto& suite) {
  io.field("id", suite.id);
  io.field("json", suite.json);
  io.field("name", suite.name);
}

template <class Io>
void fields(Io& io, Is<schema::EnvironmentRecord> auto& environment) {
  io.field("id", environment.id);
  io.field("is_virtual", environment.is_virtual);
  io.field("json", environment.json);
  io.field("machine_id", environment.machine_id);
  io.field("machine_label", environment.machine_label);
}

template <class Io>
void fields(Io& io, Is<schema::ClosureMember> auto& member) {
  io.field("name", member.artifact.name);
  io.field("path", member.path);
  io.field("role", member.role);
  io.field("sha256", member.artifact.sha256);
  io.field("size", member.artifact.size);
}

template <class Io>
void fields(Io& io, Is<schema::ClosureRecord> auto& closure) {
  io.field("id", closure.id);
  io.field("members", closure.members);
}

template <class Io>
void fields(Io& io, Is<schema::RunRecord> auto& run) {
  io.field("harness_version", run.harness_version);
  io.field("id", run.id);
  io.field("machine_id", run.machine_id);
  io.field("planned_trials", run.planned_trials);
  io.decimal("seed", run.seed);
  io.field("started_at", run.started_at);
  io.field("state", run.state);
  io.field("suite_id", run.suite_id);
}

template <class Io>
void fields(Io& io, Is<schema::ResultRecord> auto& result) {
  io.field("backends", result.backends);
  io.field("build", result.build);
  io.field("cpu_info", result.cpu_info);
  io.field("fields", result.fields);
  io.field("gpu_info", result.gpu_info);
  io.field("median_ts", result.median_ts);
  io.field("model_n_params", result.model_n_params);
  io.field("model_size", result.model_size);
  io.field("model_type", result.model_type);
  io.field("n_depth", result.n_depth);
  io.field("n_gen", result.n_gen);
  io.field("n_prompt", result.n_prompt);
  io.field("samples_ns", result.samples_ns);
  io.field("test", result.test);
}

template <class Io>
void fields(Io& io, Is<schema::StatedResultRecord> auto& result) {
  io.field("backends", result.backends);
  io.field("build", result.build);
  io.field("cpu_info", result.cpu_info);
  io.field("fields", result.fields);
  io.field("gpu_info", result.gpu_info);
  io.field("mean_ts", result.mean_ts);
  io.field("model_n_params", result.model_n_params);
  io.field("model_size", result.model_size);
  io.field("model_type", result.model_type);
  io.field("n_depth", result.n_depth);
  io.field("n_gen", result.n_gen);
  io.field("n_prompt", result.n_prompt);
  io.field("repetitions", result.repetitions);
  io.field("stddev_ts", result.stddev_ts);
  io.field("test", result.test);
}

template <class Io>
void fields(Io& io, Is<schema::CapabilityRecord> auto& capability) {
  io.field("agrees", capability.agrees);
  io.field("name", capability.name);
  io.field("observed", capability.observed);
  io.field("requested", capability.requested);
  io.field("source", capability.source);
}

template <class Io>
void fields(Io& io, Is<schema::TrialRecord> auto& trial) {
  io.field("argv", trial.argv);
  io.field("arm", trial.arm);
  io.field("attempt", trial.attempt);
  io.field("block", trial.block);
  io.field("capabilities", trial.capabilities);
  io.field("closure_id", trial.closure_id);
  io.field("environment_id", trial.environment_id);
  io.field("environment_set", trial.environment_set);
  io.field("exit_status", trial.exit_status);
  io.field("flags", trial.flags);
  io.field("guest", trial.guest);
  io.field("hygiene", trial.hygiene);
  io.field("id", trial.id);
  io.field("image", trial.image);
  io.field("max_rss_bytes", trial.max_rss_bytes);
  io.field("measured", trial.measured);
  io.field("mode", trial.mode);
  io.field("model", trial.model);
  io.field("model_kind", trial.model_kind);
  io.field("position", trial.position);
  io.field("probe_sha256", trial.probe_sha256);
  io.field("quality", trial.quality);
  io.field("reason", trial.reason);
  io.field("results", trial.results);
  io.field("run_id", trial.run_id);
  io.field("signal", trial.signal);
  io.field("source_sha256", trial.source_sha256);
  io.field("started_at", trial.started_at);
  io.field("stated", trial.stated);
  io.field("status", trial.status);
  io.field("status_before_exclusion", trial.status_before_exclusion);
  io.field("stderr_sha256", trial.stderr_sha256);
  io.field("stdout_sha256", trial.stdout_sha256);
  io.field("suite_id", trial.suite_id);
  io.field("system_ns", trial.system_ns);
  io.field("target", trial.target);
  io.field("treatment", trial.treatment);
  io.field("user_ns", trial.user_ns);
  io.field("wall_ns", trial.wall_ns);
  io.field("workload", trial.workload);
}

template <class Io>
void fields(Io& io, Is<schema::QualityRecord> auto& check) {
  io.field("argv", check.argv);
  io.field("arm", check.arm);
  io.field("attempt", check.attempt);
  io.field("checked_at", check.checked_at);
  io.field("figures", check.figures);
  io.field("kind", check.kind);
  io.field("model", check.model);
  io.field("reason", check.reason);
  io.field("run_id", check.run_id);
  io.field("status", check.status);
  io.field("stderr_sha256", check.stderr_sha256);
  io.field("stdout_sha256", check.stdout_sha256);
}

template <class Io>
void fields(Io& io, Is<QuarantineRow> auto& row) {
  io.field("line", row.line);
  io.field("reason", row.reason);
  io.field("text", row.text);
}

template <class Io>
void fields(Io& io, Is<SourceMember> auto& member) {
  io.field("kind", member.source.kind);
  io.field("name", member.source.name);
  io.field("notes", member.source.notes);
  io.field("quarantine", member.quarantine);
  io.field("sha256", member.source.sha256);
  io.field("size", member.source.size);
}

template <class Io>
void fields(Io& io, Is<ManifestMember> auto& member) {
  io.field("path", member.path);
  io.field("sha256", member.sha256);
  io.field("size", member.size);
}

template <class Io>
void fields(Io& io, Is<Replaced> auto& replaced) {
  io.field("count", replaced.count);
  io.field("kind", replaced.kind);
  io.field("member", replaced.member);
}

template <class Io>
void fields(Io& io, Is<Manifest> auto& manifest) {
  io.field("bundle", manifest.bundle);
  io.field("created_by", manifest.created_by);
  io.field("members", manifest.members);
  io.field("replaced", manifest.replaced);
}

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_FIELDS_H_
