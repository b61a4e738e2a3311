#include "harness/verify/index.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "harness/runtime/runtime.h"
#include "shim/cpu/cpuinfo.h"

namespace capbench::verify {
namespace {

// By name, within one suite.
template <class Named>
const Named* find_named(const std::vector<Named>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Named& one) { return one.name == name; });
  return found == list.end() ? nullptr : &*found;
}

template <class Record>
std::map<std::string, const Record*> by_id(const std::vector<Record>& records) {
  std::map<std::string, const Record*> found;
  for (const Record& record : records) found.emplace(record.id, &record);
  return found;
}

template <class Record>
const Record* find(const std::map<std::string, const Record*>& records, const std::string& id) {
  const auto found = records.find(id);
  return found == records.end() ? nullptr : found->second;
}

SuiteEntry read_suite(const schema::SuiteRecord& record) {
  SuiteEntry entry;
  entry.record = &record;
  entry.member = bundle::suite_member(record);
  auto parsed = suite::parse_suite(record.json);
  if (parsed) {
    entry.suite = std::move(*parsed);
    return entry;
  }
  entry.problem = to_string(parsed.error());
  const nlohmann::json document = nlohmann::json::parse(record.json, nullptr, false);
  if (document.is_object()) {
    const auto imported = document.find("imported");
    entry.imported = imported != document.end() && *imported == true;
  }
  return entry;
}

MachineFacts facts_of(const schema::EnvironmentRecord& environment) {
  MachineFacts found;
  const auto facts = nlohmann::json::parse(environment.json, nullptr, false);
  if (!facts.is_object()) return found;
  if (const auto os = facts.find("os"); os != facts.end()) found.is_macos = *os == "Darwin";
  if (const auto flags = facts.find("cpu_flags"); flags != facts.end() && flags->is_string()) {
    found.cpu_features = shim::cpu::features_of_cpuinfo("flags\t\t: " + flags->get<std::string>() + "\n");
  }
  return found;
}

std::shared_ptr<const std::vector<nlohmann::json>> fields_of(const schema::TrialRecord& trial) {
  auto fields = std::make_shared<std::vector<nlohmann::json>>();
  fields->reserve(trial.results.size());
  for (const schema::ResultRecord& result : trial.results) {
    fields->push_back(nlohmann::json::parse(result.fields, nullptr, false));
  }
  return fields;
}

}  // namespace

const schema::ClosureMember* member_of(const schema::ClosureRecord* closure, std::string_view role) {
  if (closure == nullptr) return nullptr;
  const auto found = std::find_if(closure->members.begin(), closure->members.end(),
                                  [&](const schema::ClosureMember& member) { return member.role == role; });
  return found == closure->members.end() ? nullptr : &*found;
}

std::optional<std::string_view> Index::raw(const std::string& digest) const {
  static const std::string kOfNothing = sha256("");
  if (digest == kOfNothing) return std::string_view();
  const auto found = bundle_.raw.find(digest);
  if (found == bundle_.raw.end()) return std::nullopt;
  return found->second;
}

const schema::RunRecord* Index::run(const std::string& id) const {
  return find(runs_, id);
}

const TrialEntry* Index::trial_of(const std::string& run, const std::string& arm, const std::string& model) const {
  const auto found = by_arm_.find({run, arm, model});
  return found == by_arm_.end() ? nullptr : &trials_[found->second];
}

std::set<std::string> Index::cpu_variants(const std::string& program_sha256) const {
  const auto found = cpu_variants_.find(program_sha256);
  return found == cpu_variants_.end() ? std::set<std::string>() : found->second;
}

Index::Index(const bundle::Bundle& bundle, Reading reading) : bundle_(bundle), runs_(by_id(bundle.runs)) {
  const auto environments = by_id(bundle.environments);
  const auto closures = by_id(bundle.closures);
  for (const schema::ClosureRecord& closure : bundle.closures) {
    const schema::ClosureMember* program = member_of(&closure, kExecutableRole);
    if (program == nullptr) continue;
    for (const schema::ClosureMember& member : closure.members) {
      const std::string variant(shim::cpu::variant_in_path(member.artifact.name));
      if (!variant.empty()) cpu_variants_[program->artifact.sha256].insert(variant);
    }
  }
  for (const schema::EnvironmentRecord& record : bundle.environments) facts_.emplace(record.id, facts_of(record));
  for (const schema::SuiteRecord& record : bundle.suites) suites_.emplace(record.id, read_suite(record));
  std::uint64_t read = 0;
  trials_.reserve(bundle.trials.size());
  for (const schema::TrialRecord& record : bundle.trials) {
    TrialEntry entry;
    entry.record = &record;
    entry.member = bundle::trial_member(record);
    entry.status = record.status_before_exclusion.empty() ? record.status : record.status_before_exclusion;
    entry.imported = !record.source_sha256.empty();
    entry.run = find(runs_, record.run_id);
    entry.environment = find(environments, record.environment_id);
    entry.closure = find(closures, record.closure_id);
    if (const auto facts = facts_.find(record.environment_id); facts != facts_.end()) entry.facts = &facts->second;
    if (reading == Reading::kAll) {
      entry.fields = fields_of(record);
      entry.out = raw(record.stdout_sha256);
      entry.err = raw(record.stderr_sha256);
      entry.probe = record.probe_sha256.empty() ? std::string_view() : raw(record.probe_sha256);
      for (const auto& bytes : {entry.out, entry.err, entry.probe}) read += bytes ? bytes->size() : 0;
      entry.too_much = read > kMostRawBytes;
      if (entry.too_much) entry.out = entry.err = entry.probe = std::nullopt;
    }
    if (const auto found = suites_.find(record.suite_id); found != suites_.end()) {
      entry.suite = &found->second;
      if (found->second.suite) {
        const suite::Suite& suite = *found->second.suite;
        entry.arm = find_named(suite.arms, record.arm);
        entry.workload = find_named(suite.workloads, record.workload);
        if (entry.workload != nullptr && suite.protocol.verbose_trial &&
            record.block == suite::verbose_block(suite.protocol)) {
          entry.workload = &verbose_.emplace_back(suite::verbose_workload(*entry.workload));
        }
        entry.model = find_named(suite.models, record.model);
        if (entry.out) entry.parsed = runtime::parse_output(suite.runtime.kind, *entry.out);
      }
    }
    if (entry.arm != nullptr) by_arm_.try_emplace({record.run_id, record.arm, record.model}, trials_.size());
    trials_.push_back(std::move(entry));
  }
}

}  // namespace capbench::verify
