#include "harness/verify/test_bundle.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "harness/runtime/llama_bench.h"
#include "harness/suite/suite.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::verify::testing {
namespace {

using nlohmann::json;

constexpr const char* kRun = "harness/verify/testdata/run.json";

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}

std::string keep(bundle::Bundle& bundle, const std::string& bytes) {
  std::string digest = sha256(bytes);
  bundle.raw[digest] = bytes;
  return digest;
}

void add_suite(const json& said, bundle::Bundle& bundle) {
  schema::SuiteRecord record;
  record.name = said["name"];
  record.json = suite::canonical_json(must(suite::parse_suite(said["json"].dump())));
  record.id = schema::suite_id(record);
  bundle.suites.push_back(std::move(record));
}

void add_environment(const json& said, bundle::Bundle& bundle) {
  schema::EnvironmentRecord record;
  record.machine_id = said["machine_id"];
  record.machine_label = said["machine_label"];
  record.is_virtual = said["is_virtual"];
  record.json = schema::canonical(said["json"]);
  record.id = schema::environment_id(record);
  bundle.environments.push_back(std::move(record));
}

void add_run(const json& said, bundle::Bundle& bundle) {
  schema::RunRecord record;
  record.suite_id = bundle.suites.front().id;
  record.machine_id = bundle.environments.front().machine_id;
  record.seed = std::stoull(said["seed"].get<std::string>());
  record.started_at = said["started_at"];
  record.harness_version = said["harness_version"];
  record.state = said["state"];
  record.planned_trials = said["planned_trials"];
  record.id = schema::run_id(record);
  bundle.runs.push_back(std::move(record));
}

// Ids by the names that the file has for them.
std::map<std::string, std::string> add_closures(const json& said, bundle::Bundle& bundle) {
  std::map<std::string, std::string> ids;
  for (const auto& [name, members] : said.items()) {
    schema::ClosureRecord record;
    for (const json& member : members) {
      record.members.push_back({member["role"], {member["sha256"], member["size"], member["name"]}, member["path"]});
    }
    record.id = schema::closure_id(record);
    ids[name] = record.id;
    bundle.closures.push_back(std::move(record));
  }
  return ids;
}

void add_trial(const json& said, const std::map<std::string, std::string>& closures, bundle::Bundle& bundle) {
  schema::TrialRecord record;
  record.run_id = bundle.runs.front().id;
  record.suite_id = bundle.suites.front().id;
  record.environment_id = bundle.environments.front().id;
  record.closure_id = closures.at(said["closure"]);
  record.arm = said["arm"];
  record.mode = said["mode"];
  record.target = said["target"];
  record.guest = said["guest"];
  record.workload = said["workload"];
  record.model = said["model"];
  record.model_kind = said["model_kind"];
  record.block = said["block"];
  record.position = said["position"];
  record.attempt = said["attempt"];
  record.status = said["status"];
  record.treatment = said["treatment"];
  record.quality = said["quality"];
  record.started_at = said["started_at"];
  record.wall_ns = said["wall_ns"];
  record.user_ns = said["user_ns"];
  record.system_ns = said["system_ns"];
  record.max_rss_bytes = said["max_rss_bytes"];
  record.exit_status = said["exit_status"].get<int>();
  record.argv = said["argv"].get<std::vector<std::string>>();
  record.environment_set = said["environment_set"].get<std::vector<std::string>>();
  record.stdout_sha256 = keep(bundle, said["stdout"]);
  record.stderr_sha256 = keep(bundle, said["stderr"]);
  record.results = runtime::parse_jsonl(said["stdout"].get<std::string>()).results;
  for (const json& seen : said["capabilities"]) {
    record.capabilities.push_back({seen[0], seen[1], seen[2], seen[3], seen[4]});
  }
  record.id = schema::trial_id(record);
  bundle.trials.push_back(std::move(record));
}

void add_quality(const json& said, bundle::Bundle& bundle) {
  schema::QualityRecord record;
  record.run_id = bundle.runs.front().id;
  record.arm = said["arm"];
  record.model = said["model"];
  record.kind = said["kind"];
  record.attempt = said["attempt"];
  record.status = said["status"];
  record.reason = said["reason"];
  record.figures = said["figures"].dump();
  record.argv = said["argv"].get<std::vector<std::string>>();
  record.stdout_sha256 = keep(bundle, said["stdout"]);
  record.stderr_sha256 = keep(bundle, said["stderr"]);
  record.checked_at = said["checked_at"];
  bundle.quality.push_back(std::move(record));
}

}  // namespace

bundle::Bundle real_bundle() {
  const json said = json::parse(must(read_file(kRun)));
  bundle::Bundle bundle;
  bundle.created_by = "capbench 0.1.0";
  add_suite(said["suite"], bundle);
  add_environment(said["environment"], bundle);
  add_run(said["run"], bundle);
  const auto closures = add_closures(said["closures"], bundle);
  for (const json& trial : said["trials"]) add_trial(trial, closures, bundle);
  for (const json& check : said["quality"]) add_quality(check, bundle);
  return bundle;
}

bundle::Bundle repeated_bundle(std::int64_t blocks, const std::string& machine_id, std::uint64_t seed, bool noisy) {
  bundle::Bundle bundle = real_bundle();
  suite::Suite suite = must(suite::parse_suite(bundle.suites.front().json));
  suite.protocol.trials = blocks;
  bundle.suites.front().json = suite::canonical_json(suite);
  // Facts name their machine, as those of real ones do.
  json facts = json::parse(bundle.environments.front().json);
  facts["machine_id"] = machine_id;
  bundle.environments.front().json = schema::canonical(facts);
  bundle.environments.front().machine_id = machine_id;
  bundle.runs.front().machine_id = machine_id;
  bundle.runs.front().seed = seed;
  std::vector<schema::TrialRecord> trials;
  for (const suite::PlannedTrial& planned : suite::make_plan(suite, seed, blocks).trials) {
    schema::TrialRecord trial = trial_of(bundle, suite.arms[planned.arm].name, noisy ? planned.block % 2 : 0);
    trial.block = planned.block;
    trial.position = static_cast<std::int64_t>(planned.position);
    const std::size_t second = 5 * trials.size();
    char text[40];
    std::snprintf(text, sizeof text, "2026-11-30T14:%02d:%02d.000Z", static_cast<int>(second / 60 % 60),
                  static_cast<int>(second % 60));
    trial.started_at = text;
    // llama-bench's own clock is of the day when it really ran.
    std::string out = bundle.raw.at(trial.stdout_sha256);
    for (std::size_t at = out.find("\"test_time\""); at != std::string::npos; at = out.find("\"test_time\"")) {
      out.erase(at, out.find(", ", at) + 2 - at);
    }
    set_raw(bundle, trial, Stream::kOut, out);
    trial.results = runtime::parse_jsonl(out).results;
    trials.push_back(std::move(trial));
  }
  bundle.runs.front().planned_trials = trials.size();
  bundle.trials = std::move(trials);
  rename(bundle);
  return bundle;
}

schema::TrialRecord& trial_of(bundle::Bundle& bundle, std::string_view arm, std::int64_t block) {
  const auto found = std::find_if(bundle.trials.begin(), bundle.trials.end(),
                                  [&](const auto& trial) { return trial.arm == arm && trial.block == block; });
  if (found == bundle.trials.end()) throw std::runtime_error("no such trial");
  return *found;
}

schema::QualityRecord& quality_of(bundle::Bundle& bundle, std::string_view arm) {
  const auto found =
      std::find_if(bundle.quality.begin(), bundle.quality.end(), [&](const auto& check) { return check.arm == arm; });
  if (found == bundle.quality.end()) throw std::runtime_error("no such check");
  return *found;
}

void set_raw(bundle::Bundle& bundle, schema::TrialRecord& trial, Stream stream, const std::string& bytes) {
  (stream == Stream::kOut ? trial.stdout_sha256 : trial.stderr_sha256) = keep(bundle, bytes);
}

void set_raw(bundle::Bundle& bundle, schema::QualityRecord& check, Stream stream, const std::string& bytes) {
  (stream == Stream::kOut ? check.stdout_sha256 : check.stderr_sha256) = keep(bundle, bytes);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void rename(bundle::Bundle& bundle) {
  std::map<std::string, std::string> now;  // by the name that was
  const auto give = [&](auto& records, const auto& id_of) {
    for (auto& record : records) {
      std::string id = id_of(record);
      now[record.id] = id;
      record.id = std::move(id);
    }
  };
  const auto follow = [&](std::string& id) {
    if (const auto found = now.find(id); found != now.end()) id = found->second;
  };
  give(bundle.suites, schema::suite_id);
  give(bundle.environments, schema::environment_id);
  give(bundle.closures, schema::closure_id);
  for (schema::RunRecord& run : bundle.runs) follow(run.suite_id);
  give(bundle.runs, schema::run_id);
  std::set<std::string> used;
  for (schema::TrialRecord& trial : bundle.trials) {
    for (std::string* id : {&trial.suite_id, &trial.environment_id, &trial.closure_id, &trial.run_id}) follow(*id);
    schema::TrialRecord before = trial;
    if (!trial.status_before_exclusion.empty()) before.status = trial.status_before_exclusion;
    trial.id = schema::trial_id(before);
    used.insert({trial.stdout_sha256, trial.stderr_sha256, trial.probe_sha256});
  }
  for (schema::QualityRecord& check : bundle.quality) {
    follow(check.run_id);
    used.insert({check.stdout_sha256, check.stderr_sha256});
  }
  for (const schema::SourceRecord& source : bundle.sources) used.insert(source.sha256);
  std::erase_if(bundle.raw, [&](const auto& entry) { return !used.contains(entry.first); });
}

Context context() {
  Context given;
  given.now = "2026-12-01T14:00:00.000Z";
  return given;
}

Verdict verdict_of(bundle::Bundle bundle) {
  rename(bundle);
  const bundle::Sealed sealed = must(bundle::seal(bundle));
  return verify(must(bundle::open_bundle(sealed.archive)), context());
}

std::string problems(const Verdict& verdict, std::string_view name) {
  std::string lines;
  for (const Check& check : verdict.checks) {
    if (check.name != name || check.outcome == Outcome::kPassed) continue;
    lines += std::string(outcome_name(check.outcome)) + " " + check.where + ": " + check.detail + "\n";
  }
  return lines;
}

std::string names(const Verdict& verdict, Outcome outcome) {
  std::string text;
  std::string_view last;
  for (const Check& check : verdict.checks) {
    if (check.outcome != outcome || check.name == last) continue;
    last = check.name;
    text += (text.empty() ? "" : " ") + check.name;
  }
  return text;
}

}  // namespace capbench::verify::testing
