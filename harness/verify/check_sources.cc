// Imported results, against the file they are from.
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/import/import_file.h"
#include "harness/import/reading.h"
#include "harness/verify/checks.h"
#include "schema/restated.h"

namespace capbench::verify {
namespace {

using Measurement = std::pair<std::string, std::vector<std::int64_t>>;  // test and samples

// What one source holds.
struct SourceEntry {
  std::string why;  // it cannot be looked at
  std::multiset<Measurement> results;
  std::multiset<std::pair<std::string, double>> stated;
};

SourceEntry read_source(const Index& index, const schema::SourceRecord& source) {
  SourceEntry entry;
  const auto bytes = index.raw(source.sha256);
  if (!bytes) {
    entry.why = "raw withheld: its figures are its source's word";
    return entry;
  }
  const auto options = imports::parse_reading(imports::reading_among(source.notes));
  auto imported = imports::import_bytes(*bytes, source.name, options.value_or(imports::ImportOptions()));
  if (!imported) {
    entry.why = "its source's bytes are there, and cannot be read alone: " + imported.error().cause;
    return entry;
  }
  for (const imports::ImportedRow& row : imported->rows) {
    if (row.mean_only()) {
      entry.stated.emplace(row.result.test, row.mean_ts.value_or(0));
    } else {
      entry.results.emplace(row.result.test, row.result.samples_ns);
    }
  }
  return entry;
}

template <class Set, class Value>
bool take(Set& set, const Value& value) {
  const auto found = set.find(value);
  if (found == set.end()) return false;
  set.erase(found);
  return true;
}

void check_trial(const TrialEntry& trial, SourceEntry& source, Rows& rows) {
  if (schema::is_superseded(*trial.record)) {
    rows.skipped(trial.member, "excluded, since something else took its place");
    return;
  }
  const auto& results = trial.record->results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (take(source.results, Measurement{results[i].test, results[i].samples_ns})) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, fmt::format("results[{}].samples_ns", i)),
                  fmt::format("{}: its source has no such samples", results[i].test));
    }
  }
  const auto& stated = trial.record->stated;
  for (std::size_t i = 0; i < stated.size(); ++i) {
    if (take(source.stated, std::pair(stated[i].test, stated[i].mean_ts))) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, fmt::format("stated[{}].mean_ts", i)),
                  fmt::format("{}: its source states no such mean", stated[i].test));
    }
  }
}

}  // namespace

void check_sources(const Index& index, Rows& rows) {
  std::map<std::string, SourceEntry> sources;
  for (const schema::SourceRecord& source : index.bundle().sources) {
    sources.emplace(source.sha256, read_source(index, source));
  }
  for (const TrialEntry& trial : index.trials()) {
    if (!trial.imported) continue;
    const auto found = sources.find(trial.record->source_sha256);
    if (found == sources.end()) {
      rows.failed(place(trial.member, "source_sha256"), "no such source in the bundle");
    } else if (!found->second.why.empty()) {
      rows.skipped(trial.member, found->second.why);
    } else {
      check_trial(trial, found->second, rows);
    }
  }
}

}  // namespace capbench::verify
