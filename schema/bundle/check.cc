#include "schema/bundle/check.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/bundle/json_text.h"
#include "schema/bundle/refuse.h"
#include "schema/identity.h"

namespace capbench::bundle {
namespace {

using nlohmann::json;
using Ids = std::unordered_set<std::string_view>;

constexpr std::string_view kAltered = "do not change a bundle by hand; make it again with `capbench submit --out FILE`";

constexpr auto kStatuses = std::to_array<std::string_view>(
    {"ok", "failed", "timeout", "killed", "invalid_treatment", "no_device", "wrong_output", "excluded", "not_run"});
constexpr auto kTreatments = std::to_array<std::string_view>({"proven", "unproven", "invalid", ""});
constexpr auto kQualities = std::to_array<std::string_view>({"passed", "unchecked", "wrong", ""});
constexpr auto kStates = std::to_array<std::string_view>({"running", "complete", "interrupted"});
constexpr auto kCheckKinds = std::to_array<std::string_view>({"output", "operators"});
constexpr auto kCheckStatuses = std::to_array<std::string_view>({"passed", "wrong", "unchecked"});

template <class Words>
bool among(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Status wrong(const std::string& member, std::string cause) {
  return refuse(member, std::move(cause), kAltered);
}

Status check_id(const std::string& member, std::string_view id, std::string_view right) {
  if (id == right) return {};
  return wrong(member, "its content does not have this name but " + std::string(right.substr(0, 12)) +
                           "...: something in it was changed");
}

Status check_digest(const std::string& member, std::string_view key, std::string_view digest) {
  if (digest.empty() || is_sha256(digest)) return {};
  return wrong(member, "its " + std::string(key) + " is not a SHA-256");
}

template <class Words>
Status check_word(const std::string& member, std::string_view key, const Words& words, std::string_view word) {
  if (among(words, word)) return {};
  return wrong(member, "its " + std::string(key) + " is " + in_quotes(word) + ", which is no such word");
}

// A text that is empty or a JSON object.
Status check_object(const std::string& member, std::string_view key, std::string_view text, std::size_t depth) {
  if (text.empty()) return {};
  const std::string why = why_no_object(text, depth);
  return why.empty() ? Status() : wrong(member, "its " + std::string(key) + ": " + why);
}

Status check_no_negative(const std::string& member, std::string_view key, std::int64_t value) {
  if (value >= 0) return {};
  return wrong(member, "its " + std::string(key) + " is negative");
}

class Check {
 public:
  Check(const Bundle& bundle, std::size_t depth) : bundle_(bundle), depth_(depth) {}

  Status run() {
    if (bundle_.trials.empty()) {
      return refuse("the bundle", "it holds no trial",
                    "choose runs that have trials: `capbench report speedup` lists them");
    }
    for (const auto& suite : bundle_.suites) suites_.insert(suite.id);
    for (const auto& environment : bundle_.environments) environments_.insert(environment.id);
    for (const auto& closure : bundle_.closures) closures_.insert(closure.id);
    for (const auto& run : bundle_.runs) runs_.emplace(run.id, run.suite_id);
    for (const auto& source : bundle_.sources) sources_.insert(source.sha256);
    return all(bundle_.suites) && all(bundle_.environments) && all(bundle_.closures) && all(bundle_.runs) &&
                   all(bundle_.trials) && all(bundle_.quality) && all(bundle_.sources) && all(bundle_.quarantine) &&
                   no_orphans()
               ? Status()
               : std::move(status_);
  }

 private:
  template <class Record>
  bool all(const std::vector<Record>& records) {
    for (const Record& record : records) {
      if (status_ = one(record); !status_) return false;
    }
    return true;
  }

  Status one(const schema::SuiteRecord& suite) const {
    const std::string member = suite_member(suite);
    if (auto s = check_id(member, suite.id, schema::suite_id(suite)); !s) return s;
    if (suite.json.empty()) return wrong(member, "its json is empty");
    if (auto s = check_object(member, "json", suite.json, depth_); !s) return s;
    return check_told(member, suite.json, "name", suite.name);
  }

  Status one(const schema::EnvironmentRecord& environment) const {
    const std::string member = environment_member(environment);
    if (auto s = check_id(member, environment.id, schema::environment_id(environment)); !s) return s;
    if (environment.json.empty()) return wrong(member, "its json is empty");
    if (auto s = check_object(member, "json", environment.json, depth_); !s) return s;
    return check_told(member, environment.json, "machine_id", environment.machine_id);
  }

  // Where the named content tells `key` too, the record must not say otherwise beside it.
  static Status check_told(const std::string& member, const std::string& text, const char* key,
                           const std::string& value) {
    const json content = json::parse(text, nullptr, false);
    const auto found = content.find(key);
    if (found == content.end() || !found->is_string() || found->get_ref<const std::string&>() == value) return {};
    return wrong(member, "its " + std::string(key) + " is not the one in its json");
  }

  Status one(const schema::ClosureRecord& closure) const {
    const std::string member = closure_member(closure);
    if (auto s = check_id(member, closure.id, schema::closure_id(closure)); !s) return s;
    for (const schema::ClosureMember& file : closure.members) {
      if (!is_sha256(file.artifact.sha256)) return wrong(member, "the sha256 of a file is not a SHA-256");
    }
    return {};
  }

  Status one(const schema::RunRecord& run) {
    const std::string member = run_member(run);
    if (auto s = check_id(member, run.id, schema::run_id(run)); !s) return s;
    if (auto s = check_word(member, "state", kStates, run.state); !s) return s;
    return refer(member, "suite", run.suite_id, suites_, used_suites_);
  }

  Status one(const schema::TrialRecord& trial) {
    const std::string member = trial_member(trial);
    if (auto s = check_word(member, "status", kStatuses, trial.status); !s) return s;
    if (auto s = check_identity(member, trial); !s) return s;
    if (auto s = check_word(member, "treatment", kTreatments, trial.treatment); !s) return s;
    if (auto s = check_word(member, "quality", kQualities, trial.quality); !s) return s;
    const auto run = runs_.find(trial.run_id);
    if (run == runs_.end()) return missing(member, "run", trial.run_id);
    used_runs_.insert(trial.run_id);
    if (run->second != trial.suite_id) return wrong(member, "its suite is not that of its run");
    if (auto s = refer(member, "environment", trial.environment_id, environments_, used_environments_, true); !s) {
      return s;
    }
    if (auto s = refer(member, "closure", trial.closure_id, closures_, used_closures_, true); !s) return s;
    if (auto s = refer(member, "source", trial.source_sha256, sources_, used_sources_, true); !s) return s;
    for (const auto& [key, digest] :
         {std::pair<std::string_view, const std::string&>{"stdout_sha256", trial.stdout_sha256},
          {"stderr_sha256", trial.stderr_sha256},
          {"probe_sha256", trial.probe_sha256}}) {
      if (auto s = check_digest(member, key, digest); !s) return s;
      used_raw_.insert(digest);
    }
    for (const auto& [key, text] : {std::pair<std::string_view, const std::string&>{"image", trial.image},
                                    {"hygiene", trial.hygiene},
                                    {"measured", trial.measured}}) {
      if (auto s = check_object(member, key, text, depth_); !s) return s;
    }
    for (const auto& result : trial.results) {
      if (auto s = check_result(member, result); !s) return s;
      for (const std::int64_t ns : result.samples_ns) {
        if (auto s = check_no_negative(member, "samples_ns", ns); !s) return s;
      }
    }
    for (const auto& result : trial.stated) {
      if (auto s = check_result(member, result); !s) return s;
    }
    const auto place = std::tie(trial.run_id, trial.arm, trial.workload, trial.model, trial.block, trial.attempt);
    if (!places_.insert(place).second) {
      return wrong(member, "another trial of the bundle has its place (run, arm, workload, model, block, attempt)");
    }
    return {};
  }

  Status check_identity(const std::string& member, const schema::TrialRecord& trial) const {
    if (trial.status != "excluded") {
      if (!trial.status_before_exclusion.empty()) return wrong(member, "it is not excluded but was before");
      return check_id(member, trial.id, schema::trial_id(trial));
    }
    if (auto s = check_word(member, "status_before_exclusion", kStatuses, trial.status_before_exclusion); !s) return s;
    schema::TrialRecord before = trial;
    before.status = trial.status_before_exclusion;
    return check_id(member, trial.id, schema::trial_id(before));
  }

  template <class ResultLike>
  Status check_result(const std::string& member, const ResultLike& result) const {
    if (auto s = check_object(member, "fields", result.fields, depth_); !s) return s;
    if (auto s = check_no_negative(member, "n_prompt", result.n_prompt); !s) return s;
    if (auto s = check_no_negative(member, "n_gen", result.n_gen); !s) return s;
    return check_no_negative(member, "n_depth", result.n_depth);
  }

  Status one(const schema::QualityRecord& quality) {
    const std::string member = quality_member(quality);
    if (auto s = check_word(member, "kind", kCheckKinds, quality.kind); !s) return s;
    if (auto s = check_word(member, "status", kCheckStatuses, quality.status); !s) return s;
    if (quality.figures.empty()) return wrong(member, "its figures are empty");
    if (auto s = check_object(member, "figures", quality.figures, depth_); !s) return s;
    if (!runs_.contains(quality.run_id)) return missing(member, "run", quality.run_id);
    used_runs_.insert(quality.run_id);
    for (const auto& [key, digest] :
         {std::pair<std::string_view, const std::string&>{"stdout_sha256", quality.stdout_sha256},
          {"stderr_sha256", quality.stderr_sha256}}) {
      if (auto s = check_digest(member, key, digest); !s) return s;
      used_raw_.insert(digest);
    }
    return {};
  }

  Status one(const schema::SourceRecord& source) {
    if (!is_sha256(source.sha256)) return wrong(source_member(source), "its sha256 is not a SHA-256");
    used_raw_.insert(source.sha256);
    return {};
  }

  Status one(const schema::QuarantineRecord& row) const {
    if (sources_.contains(row.source_sha256)) return {};
    return missing("a quarantined row", "source", row.source_sha256);
  }

  static Status missing(const std::string& member, std::string_view what, std::string_view id) {
    return wrong(member, "its " + std::string(what) + " " + in_quotes(id.substr(0, 12)) + " is not in the bundle");
  }

  static Status refer(const std::string& member, std::string_view what, std::string_view id, const Ids& all, Ids& used,
                      bool optional = false) {
    if (id.empty() && optional) return {};
    if (!all.contains(id)) return missing(member, what, id);
    used.insert(id);
    return {};
  }

  bool no_orphans() {
    const auto orphan = [this](std::string member) {
      status_ = wrong(member, "nothing in the bundle refers to it");
      return false;
    };
    for (const auto& suite : bundle_.suites) {
      if (!used_suites_.contains(suite.id)) return orphan(suite_member(suite));
    }
    for (const auto& environment : bundle_.environments) {
      if (!used_environments_.contains(environment.id)) return orphan(environment_member(environment));
    }
    for (const auto& closure : bundle_.closures) {
      if (!used_closures_.contains(closure.id)) return orphan(closure_member(closure));
    }
    for (const auto& run : bundle_.runs) {
      if (!used_runs_.contains(run.id)) return orphan(run_member(run));
    }
    for (const auto& source : bundle_.sources) {
      if (!used_sources_.contains(source.sha256)) return orphan(source_member(source));
    }
    for (const auto& [digest, bytes] : bundle_.raw) {
      if (!used_raw_.contains(digest)) return orphan(raw_member(digest));
    }
    return true;
  }

  using Place = std::tuple<const std::string&, const std::string&, const std::string&, const std::string&,
                           const std::int64_t&, const std::int64_t&>;

  const Bundle& bundle_;
  std::size_t depth_;
  Ids suites_;
  Ids environments_;
  Ids closures_;
  std::unordered_map<std::string_view, std::string_view> runs_;  // id -> suite
  Ids sources_;
  Ids used_suites_;
  Ids used_environments_;
  Ids used_closures_;
  Ids used_runs_;
  Ids used_sources_;
  Ids used_raw_;
  std::set<Place> places_;
  Status status_;
};

}  // namespace

Status check(const Bundle& bundle, std::size_t json_depth) {
  return Check(bundle, json_depth).run();
}

}  // namespace capbench::bundle
