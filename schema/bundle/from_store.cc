#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"
#include "schema/bundle/canonical_writer.h"
#include "schema/bundle/exchange.h"
#include "schema/bundle/fields.h"
#include "schema/identity.h"

namespace capbench::bundle {
namespace {

// A store may hold texts that JSON cannot: bytes that are not UTF-8, or NUL. Each becomes U+FFFD; ids do not change.
class CleanTexts {
 public:
  template <class T>
  void field(std::string_view /*name*/, T& content) {
    value(content);
  }
  void decimal(std::string_view /*name*/, std::uint64_t& /*content*/) {}

  template <class Record>
  void clean(std::vector<Record>& records) {
    value(records);
  }

 private:
  static void value(std::string& text) {
    if (is_clean_text(text)) return;
    std::string clean = to_utf8(text);
    for (std::size_t at = clean.find('\0'); at != std::string::npos; at = clean.find('\0', at)) {
      clean.replace(at, 1, "\xEF\xBF\xBD");
    }
    text = std::move(clean);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  static void value(T& /*number*/) {}
  template <class T>
  static void value(std::optional<T>& /*number*/) {}
  template <class T>
  void value(std::vector<T>& list) {
    for (T& entry : list) value(entry);
  }
  template <class Record>
  requires requires(CleanTexts& io, Record& record) { fields(io, record); }
  void value(Record& record) { fields(*this, record); }
};

// An exclusion that was merged from another store may have lost the status before it, which the id remembers.
void recall_status(schema::TrialRecord& trial) {
  if (trial.status != "excluded" || !trial.status_before_exclusion.empty()) return;
  schema::TrialRecord before = trial;
  for (const char* status :
       {"ok", "failed", "timeout", "killed", "invalid_treatment", "no_device", "wrong_output", "not_run", "excluded"}) {
    before.status = status;
    if (schema::trial_id(before) != trial.id) continue;
    trial.status_before_exclusion = status;
    return;
  }
}

class Collector {
 public:
  Collector(schema::Store& store, const Selection& selection) : store_(store), selection_(selection) {}

  Result<Bundle> collect() {
    if (Status status = trials(); !status) return std::move(status).error();
    if (bundle_.trials.empty()) return none();
    if (Status status = runs_and_suites(); !status) return std::move(status).error();
    if (Status status = environments(); !status) return std::move(status).error();
    if (Status status = closures(); !status) return std::move(status).error();
    if (Status status = quality(); !status) return std::move(status).error();
    if (Status status = sources(); !status) return std::move(status).error();
    if (Status status = raw(); !status) return std::move(status).error();
    CleanTexts texts;
    texts.clean(bundle_.trials);
    texts.clean(bundle_.quality);
    texts.clean(bundle_.runs);
    texts.clean(bundle_.closures);
    texts.clean(bundle_.environments);
    texts.clean(bundle_.suites);
    for (schema::SourceRecord& source : bundle_.sources) {
      SourceMember clean{std::move(source), {}};
      fields(texts, clean);
      source = std::move(clean.source);
    }
    for (schema::QuarantineRecord& row : bundle_.quarantine) {
      QuarantineRow clean{row.line, std::move(row.reason), std::move(row.text)};
      fields(texts, clean);
      row.reason = std::move(clean.reason);
      row.text = std::move(clean.text);
    }
    return std::move(bundle_);
  }

 private:
  Error none() const {
    return {ErrorKind::kUsage, "the bundle",
            skipped_ ? "all the chosen trials came in bundles of others" : "no such trial",
            skipped_ ? "bundle what was measured here, or ask for received trials too"
                     : "name a suite or a run that the store has: `capbench report speedup` lists them"};
  }

  Status trials() {
    std::vector<std::string> runs = selection_.runs;
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    if (runs.empty()) runs.emplace_back();  // all
    for (const std::string& run : runs) {
      std::unordered_set<std::string> received;
      if (!selection_.received) {
        const auto rows = store_.bundle_trials({{}, {}, run});
        if (!rows) return rows.error();
        for (const schema::BundleTrialRecord& row : *rows) received.insert(row.trial_id);
      }
      auto views = store_.trials({selection_.suite, run, true});
      if (!views) return std::move(views).error();
      for (schema::TrialView& view : *views) {
        if (received.contains(view.trial.id)) {
          skipped_ = true;
          continue;
        }
        recall_status(view.trial);
        bundle_.trials.push_back(std::move(view.trial));
      }
    }
    return {};
  }

  Status runs_and_suites() {
    std::set<std::string> wanted;
    std::set<std::string> suites;
    for (const schema::TrialRecord& trial : bundle_.trials) wanted.insert(trial.run_id);
    auto runs = store_.runs("");
    if (!runs) return std::move(runs).error();
    for (schema::RunRecord& run : *runs) {
      if (!wanted.contains(run.id)) continue;
      suites.insert(run.suite_id);
      bundle_.runs.push_back(std::move(run));
    }
    for (const std::string& id : suites) {
      auto json = store_.suite_json(id);
      if (!json) return std::move(json).error();
      auto name = store_.suite_name(id);
      if (!name) return std::move(name).error();
      if (json->has_value()) bundle_.suites.push_back({id, std::move(*name), std::move(**json)});
    }
    return {};
  }

  Status environments() {
    std::set<std::string> wanted;
    for (const schema::TrialRecord& trial : bundle_.trials) wanted.insert(trial.environment_id);
    for (const std::string& id : wanted) {
      auto environment = store_.environment(id);
      if (!environment) return std::move(environment).error();
      if (environment->has_value()) bundle_.environments.push_back(std::move(**environment));
    }
    return {};
  }

  Status closures() {
    std::set<std::string> wanted;
    for (const schema::TrialRecord& trial : bundle_.trials) wanted.insert(trial.closure_id);
    for (const std::string& id : wanted) {
      auto closure = store_.closure(id);
      if (!closure) return std::move(closure).error();
      if (closure->has_value()) bundle_.closures.push_back(std::move(**closure));
    }
    return {};
  }

  Status quality() {
    for (const schema::RunRecord& run : bundle_.runs) {
      auto checks = store_.quality(run.id);
      if (!checks) return std::move(checks).error();
      for (schema::QualityRecord& check : *checks) bundle_.quality.push_back(std::move(check));
    }
    return {};
  }

  Status sources() {
    std::set<std::string> wanted;
    for (const schema::TrialRecord& trial : bundle_.trials) wanted.insert(trial.source_sha256);
    auto sources = store_.sources();
    if (!sources) return std::move(sources).error();
    for (schema::SourceRecord& source : *sources) {
      if (!wanted.contains(source.sha256)) continue;
      auto rows = store_.quarantine(source.sha256);
      if (!rows) return std::move(rows).error();
      for (schema::QuarantineRecord& row : *rows) bundle_.quarantine.push_back(std::move(row));
      if (selection_.raw) {
        if (Status status = source_bytes(source.sha256); !status) return status;
      }
      bundle_.sources.push_back(std::move(source));
    }
    return {};
  }

  Status source_bytes(const std::string& digest) {
    std::string bytes;
    bool any = false;
    const auto take = [&](std::string_view part) {
      bytes += part;
      any = true;
    };
    if (Status status = store_.source_bytes(digest, take); !status) return status;
    if (any) bundle_.raw.emplace(digest, std::move(bytes));
    return {};
  }

  Status raw() {
    if (!selection_.raw) return {};
    std::set<std::string> digests;
    for (const schema::TrialRecord& trial : bundle_.trials) {
      digests.insert({trial.stdout_sha256, trial.stderr_sha256, trial.probe_sha256});
    }
    for (const schema::QualityRecord& check : bundle_.quality) {
      digests.insert({check.stdout_sha256, check.stderr_sha256});
    }
    for (const std::string& digest : digests) {
      if (digest.empty()) continue;
      auto bytes = store_.blob(digest);
      if (!bytes) return std::move(bytes).error();
      bundle_.raw.emplace(digest, std::move(*bytes));
    }
    return {};
  }

  schema::Store& store_;
  const Selection& selection_;
  Bundle bundle_;
  bool skipped_ = false;
};

}  // namespace

Result<Bundle> bundle_from(schema::Store& store, const Selection& selection, std::string_view created_by) {
  Result<Bundle> bundle = Collector(store, selection).collect();
  if (bundle) bundle->created_by = created_by;
  return bundle;
}

}  // namespace capbench::bundle
