#include "harness/import/evidence/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "harness/import/evidence/judge.h"
#include "harness/import/evidence/names.h"
#include "harness/import/text.h"
#include "harness/observe/redact.h"
#include "harness/suite/suite.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::imports::evidence {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void clean_texts(ordered_json& node) {
  if (node.is_string()) {
    node = clean(node.get_ref<const std::string&>());
  } else if (node.is_structured()) {
    for (ordered_json& member : node) clean_texts(member);
  }
}

std::string suite_name(const std::string& folder, std::string_view runtime, bool several) {
  const std::string name = safe_name(folder, "evidence");
  return several && runtime != kLlamaBench ? fmt::format("{} ({})", name, runtime) : name;
}

std::string description(std::string_view runtime) {
  return fmt::format(
      "Results of {} that were measured without capbench and imported from a folder of evidence. Arms were found from "
      "logs, rows and names, not run from here. Which files: table source.",
      runtime);
}

void or_zero(std::vector<std::int64_t>& values) {
  if (values.empty()) values.push_back(0);
}

// In the order of the three modes, then by name.
bool arm_before(const suite::Arm& a, const suite::Arm& b) {
  const auto rank = [](const suite::Arm& arm) {
    return arm.mode == "bare-metal" ? 0 : arm.mode == "stock" ? 1 : arm.mode == "unlocked" ? 2 : 3;
  };
  return std::pair(rank(a), a.name) < std::pair(rank(b), b.name);
}

Result<schema::SuiteRecord> make_suite(const std::string& name, const std::string& runtime, const Models& models,
                                       const Workloads& workloads, const std::vector<Launch*>& launches) {
  suite::Suite suite;
  suite.name = name;
  suite.description = description(runtime);
  suite.runtime.kind = runtime;
  suite.protocol.trials = 1;
  suite.protocol.order = suite::Order::kAsWritten;
  std::set<std::string> arms;
  for (const Launch* launch : launches) {
    suite.protocol.trials = std::max(suite.protocol.trials, launch->block + 1);
    if (arms.insert(launch->arm).second) suite.arms.push_back(arm_of(*launch));
  }
  std::sort(suite.arms.begin(), suite.arms.end(), arm_before);
  for (const auto& [key, named] : models) {
    if (key.first == runtime) suite.models.push_back(named.model);
  }
  for (const auto& [key, workload] : workloads) {
    if (key.first != runtime) continue;
    suite.workloads.push_back(workload);
    or_zero(suite.workloads.back().n_prompt);
    or_zero(suite.workloads.back().n_gen);
    or_zero(suite.workloads.back().n_depth);
  }
  schema::SuiteRecord record;
  record.name = suite.name;
  record.json = suite::canonical_json(suite);
  record.id = schema::suite_id(record);
  if (auto read = suite::parse_suite(record.json); !read) {
    Error error = std::move(read).error();
    error.what = name + ": the suite made of it: " + error.what;
    error.remedy = "import its result files one by one";
    return error;
  }
  return record;
}

schema::EnvironmentRecord make_environment(const Launch& launch) {
  json facts = {{"imported", true},
                {"machine", launch.machine},
                {"cpu", clean(launch.cpu)},
                {"gpu", clean(launch.gpu)},
                {"guest", launch.guest}};
  if (!launch.platform.empty()) facts["platform"] = clean(launch.platform);
  schema::EnvironmentRecord record;
  record.json = schema::canonical(facts);
  record.id = schema::environment_id(record);
  // Host and guests are one machine, and so are folders that were measured on it.
  record.machine_id = sha256(schema::canonical({{"imported", true}, {"machine", launch.machine}}));
  record.machine_label = launch.machine;
  return record;
}

// Of what the trials are made of, whatever the files are called.
std::uint64_t content_seed(const std::vector<Document>& documents, const std::vector<Launch*>& launches) {
  std::set<std::string> digests;
  for (const Launch* launch : launches) {
    if (launch->results != kNone) digests.insert(documents[launch->results].sha256);
    if (launch->log != kNone) digests.insert(documents[launch->log].sha256);
  }
  std::string all;
  for (const std::string& digest : digests) all += digest + '\n';
  return std::stoull(sha256(all).substr(0, 15), nullptr, 16);
}

std::string reason_of(const Launch& launch) {
  if (launch.excluded.empty()) return launch.reason;
  std::string why;
  for (const std::string& reason : launch.excluded) why += (why.empty() ? "" : "; ") + reason;
  // A failed run is no claim anyway; what else is to be said of it stands behind its last words.
  if (launch.status != "ok") return launch.reason + " (" + why + ")";
  return "was ok: " + why;
}

schema::TrialRecord make_trial(const Launch& launch, const std::vector<Document>& documents) {
  schema::TrialRecord trial;
  trial.arm = launch.arm;
  trial.mode = launch.mode;
  trial.target = "imported";
  trial.guest = launch.guest;
  trial.workload = launch.workload_name;
  trial.model = launch.model;
  trial.model_kind = "real";
  trial.block = launch.block;
  trial.status = launch.status;
  trial.reason = clean(reason_of(launch));
  trial.treatment = launch.treatment;
  trial.quality = "unchecked";
  trial.flags = launch.flags;
  trial.started_at = launch.started_at;
  trial.source_sha256 = documents[launch.results != kNone ? launch.results : launch.log].sha256;
  trial.capabilities = launch.capabilities;
  for (schema::CapabilityRecord& capability : trial.capabilities) capability.observed = clean(capability.observed);
  for (const ImportedRow& row : launch.rows) {
    ImportedRow cleaned = row;
    cleaned.result.fields = clean_json(row.result.fields);
    cleaned.result.model_type = clean(row.result.model_type);
    cleaned.result.cpu_info = clean(row.result.cpu_info);
    cleaned.result.gpu_info = clean(row.result.gpu_info);
    if (row.mean_only()) {
      trial.stated.push_back(stated(cleaned));
    } else {
      trial.results.push_back(std::move(cleaned.result));
    }
  }
  return trial;
}

void number_blocks(const std::vector<Launch*>& launches) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::int64_t> next;
  for (Launch* launch : launches) {
    launch->block = next[{launch->machine, launch->arm, launch->model, launch->workload_name}]++;
  }
}

// By time, then as they were found: they lie in one list.
bool launched_before(const Launch* a, const Launch* b) {
  return std::tie(a->started_at, a) < std::tie(b->started_at, b);
}

void add_environment(const schema::EnvironmentRecord& environment, EvidenceImport& import) {
  const bool known = std::any_of(import.environments.begin(), import.environments.end(),
                                 [&](const auto& other) { return other.id == environment.id; });
  if (!known) import.environments.push_back(environment);
}

schema::RunRecord make_run(const std::string& suite_id, const std::string& machine_id, std::uint64_t seed,
                           const EvidenceOptions& options, const std::vector<Launch*>& launches) {
  schema::RunRecord run;
  run.suite_id = suite_id;
  run.machine_id = machine_id;
  run.seed = seed;
  for (const Launch* launch : launches) {
    if (launch->started_at.empty()) continue;
    if (run.started_at.empty() || launch->started_at < run.started_at) run.started_at = launch->started_at;
  }
  run.harness_version = options.harness_version;
  run.state = "complete";
  run.planned_trials = launches.size();
  run.id = schema::run_id(run);
  return run;
}

}  // namespace

std::string clean(std::string_view text) {
  return to_utf8(observe::redact(text, {}).text);
}

std::string clean_json(const std::string& text) {
  std::string redacted = clean(text);
  if (redacted == text || text.empty()) return text;
  // Kept as printed where it can be; a number that was replaced leaves no JSON behind.
  if (ordered_json::accept(redacted)) return redacted;
  ordered_json document = ordered_json::parse(text, nullptr, false);
  if (document.is_discarded()) return "{}";
  clean_texts(document);
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Status assemble(const std::string& folder, const std::vector<Document>& documents, const Models& models,
                const Workloads& workloads, const EvidenceOptions& options, std::vector<Launch>& launches,
                EvidenceImport& import) {
  std::map<std::string, std::vector<Launch*>> by_runtime;
  for (Launch& launch : launches) {
    if (!launch.model.empty() && !launch.workload_name.empty()) by_runtime[launch.runtime].push_back(&launch);
  }
  for (auto& [runtime, members] : by_runtime) {
    std::sort(members.begin(), members.end(), launched_before);
    number_blocks(members);
    auto suite = make_suite(suite_name(folder, runtime, by_runtime.size() > 1), runtime, models, workloads, members);
    if (!suite) return std::move(suite).error();
    std::map<std::string, std::vector<Launch*>> by_machine;
    for (Launch* launch : members) by_machine[launch->machine].push_back(launch);
    for (auto& [machine, here] : by_machine) {
      const std::string machine_id = make_environment(*here.front()).machine_id;
      const schema::RunRecord run = make_run(suite->id, machine_id, content_seed(documents, here), options, here);
      std::int64_t position = 0;
      for (const Launch* launch : here) {
        const schema::EnvironmentRecord environment = make_environment(*launch);
        add_environment(environment, import);
        schema::TrialRecord trial = make_trial(*launch, documents);
        trial.run_id = run.id;
        trial.suite_id = suite->id;
        trial.environment_id = environment.id;
        trial.position = position++;
        // A trial has the name that it had before it was excluded.
        trial.id = schema::trial_id(trial);
        if (trial.status == "ok" && !launch->excluded.empty()) trial.status = "excluded";
        import.trials.push_back(std::move(trial));
      }
      import.runs.push_back(run);
    }
    import.suites.push_back(std::move(*suite));
  }
  return {};
}

}  // namespace capbench::imports::evidence
