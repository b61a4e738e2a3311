#include "schema/compare.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "schema/canonical.h"
#include "schema/text_array.h"

namespace capbench::schema {
namespace {

// Values of one row, spelled alike for the store's and for the bundle's.
using Row = std::vector<std::string>;

std::string spelled(double value) {
  return canonical(value);
}

// `names` are those of the columns, for the error.
std::string row_difference(std::string_view what, const std::vector<std::string_view>& names, const Row& held,
                           const Row& given) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (held[i] == given[i]) continue;
    return std::string(what) + std::string(names[i]) + " is " + in_quotes(given[i]) + ", in the store " +
           in_quotes(held[i]);
  }
  return {};
}

// The rows of one trial against `given`, in order.
Result<std::string> rows_difference(Database& database, const std::string& sql, std::string_view trial_id,
                                    const std::string& what, const std::vector<std::string_view>& names,
                                    const std::vector<Row>& given) {
  Result<Statement> rows = database.prepare(sql);
  if (!rows) return rows.error();
  rows->bind(trial_id);
  std::string difference;
  std::size_t count = 0;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    if (difference.empty() && count < given.size()) {
      Row held;
      for (std::size_t i = 0; i < names.size(); ++i) held.push_back(to_utf8(rows->bytes(static_cast<int>(i))));
      difference = row_difference(what + " " + std::to_string(count + 1) + ": ", names, held, given[count]);
    }
    ++count;
  }
  if (difference.empty() && count != given.size()) {
    difference = "it has " + std::to_string(given.size()) + " " + what + " rows, in the store " + std::to_string(count);
  }
  return difference;
}

Result<std::string> trial_difference(Database& database, const TrialRecord& trial) {
  static const std::vector<std::string_view> kTrial = {"arm",   "mode",    "guest",  "workload",  "model", "model_kind",
                                                       "block", "attempt", "status", "treatment", "suite", "closure"};
  const std::string status = trial.status_before_exclusion.empty() ? trial.status : trial.status_before_exclusion;
  Result<std::string> difference = rows_difference(
      database,
      "SELECT arm, mode, guest, workload, model, model_kind, block, attempt, "
      "coalesce(status_before_exclusion, status), treatment, suite_id, closure_id FROM trial WHERE id = ?",
      trial.id, "trial", kTrial,
      {{trial.arm, trial.mode, trial.guest, trial.workload, trial.model, trial.model_kind, std::to_string(trial.block),
        std::to_string(trial.attempt), status, trial.treatment, trial.suite_id, trial.closure_id}});
  if (!difference || !difference->empty()) return difference;

  std::vector<Row> results;
  for (const ResultRecord& r : trial.results) {
    results.push_back({r.test, r.build, std::to_string(r.n_prompt), std::to_string(r.n_gen), std::to_string(r.n_depth),
                       canonical(r.samples_ns)});
  }
  difference = rows_difference(
      database,
      "SELECT test, build, n_prompt, n_gen, n_depth, samples_ns FROM result WHERE trial_id = ? ORDER BY ordinal",
      trial.id, "result", {"test", "build", "n_prompt", "n_gen", "n_depth", "samples_ns"}, results);
  if (!difference || !difference->empty()) return difference;

  std::vector<Row> capabilities;
  for (const CapabilityRecord& c : trial.capabilities) {
    capabilities.push_back({c.name, c.requested, c.observed, c.agrees ? "1" : "0"});
  }
  difference = rows_difference(
      database, "SELECT name, requested, observed, agrees FROM capability WHERE trial_id = ? ORDER BY ordinal",
      trial.id, "capability", {"name", "requested", "observed", "agrees"}, capabilities);
  if (!difference || !difference->empty()) return difference;

  Result<Statement> stated =
      database.prepare("SELECT test, build, mean_ts FROM stated_result WHERE trial_id = ? ORDER BY ordinal");
  if (!stated) return stated.error();
  stated->bind(trial.id);
  std::size_t count = 0;
  for (;;) {
    const Result<bool> row = stated->step();
    if (!row) return row.error();
    if (!*row) break;
    if (difference->empty() && count < trial.stated.size()) {
      const StatedResultRecord& given = trial.stated[count];
      difference = row_difference("stated result " + std::to_string(count + 1) + ": ", {"test", "build", "mean_ts"},
                                  {to_utf8(stated->bytes(0)), to_utf8(stated->bytes(1)), spelled(stated->real(2))},
                                  {given.test, given.build, spelled(given.mean_ts)});
    }
    ++count;
  }
  if (difference->empty() && count != trial.stated.size()) {
    difference =
        "it has " + std::to_string(trial.stated.size()) + " stated results, in the store " + std::to_string(count);
  }
  return difference;
}

// The figures without their texts, in which details of a machine may have been replaced.
std::string numbers_of(std::string_view figures) {
  nlohmann::json numbers = nlohmann::json::parse(figures, nullptr, false).flatten();
  for (auto& [place, value] : numbers.items()) {
    if (value.is_string()) value = "";
  }
  return numbers.dump();
}

struct Place {
  bool is_known = false;  // the trial is in the store
  std::string taken_by;   // the trial that is in its place in its run, itself or another; empty: none is
};

Result<Place> place_of(Database& database, const TrialRecord& trial) {
  Result<Statement> place = database.prepare(
      "SELECT (SELECT 1 FROM trial WHERE id = ?1), (SELECT id FROM trial WHERE run_id = ?2 AND arm = ?3 AND "
      "workload = ?4 AND model = ?5 AND block = ?6 AND attempt = ?7)");
  if (!place) return place.error();
  place->bind(trial.id).bind(trial.run_id).bind(trial.arm).bind(trial.workload).bind(trial.model);
  const Result<bool> row = place->bind(trial.block).bind(trial.attempt).step();
  if (!row) return row.error();
  return Place{!place->is_null(0), place->text(1)};
}

// Of those artifacts of the closure that are in the store: their sizes, by digest.
Result<std::map<std::string, std::uint64_t>> sizes_of(Database& database, const ClosureRecord& closure) {
  const bool one_by_one = database.backend() == Backend::kSqlite;
  Result<Statement> query = database.prepare(
      database.either("SELECT sha256, size FROM artifact WHERE sha256 = ?1",
                      "SELECT sha256, size FROM artifact WHERE sha256 = ANY (CAST(CAST(?1 AS text) AS text[]))"));
  if (!query) return query.error();
  std::map<std::string, std::uint64_t> sizes;
  const auto take_rows = [&]() -> Status {
    for (;;) {
      const Result<bool> row = query->step();
      if (!row) return row.error();
      if (!*row) return {};
      sizes.emplace(query->text(0), static_cast<std::uint64_t>(query->integer(1)));
    }
  };
  TextArray digests;
  for (const ClosureMember& member : closure.members) {
    digests.add(member.artifact.sha256);
    if (!one_by_one) continue;
    query->bind(member.artifact.sha256);
    if (Status status = take_rows(); !status) return std::move(status).error();
  }
  if (!one_by_one) {
    query->bind(std::move(digests).finish());
    if (Status status = take_rows(); !status) return std::move(status).error();
  }
  return sizes;
}

}  // namespace

Result<Standing> standing_of(Database& database, const TrialRecord& trial) {
  const Result<Place> place = place_of(database, trial);
  if (!place) return place.error();
  Standing standing;
  standing.known = place->is_known;
  if (standing.known) {
    Result<std::string> difference = trial_difference(database, trial);
    if (!difference) return std::move(difference).error();
    standing.conflict = std::move(*difference);
    return standing;
  }
  if (!place->taken_by.empty()) {
    standing.conflict = "its place (" + in_quotes(trial.arm) + ", " + in_quotes(trial.workload) + ", " +
                        in_quotes(trial.model) + ", block " + std::to_string(trial.block) + ", attempt " +
                        std::to_string(trial.attempt) + ") holds another trial, " + place->taken_by.substr(0, 12);
  }
  return standing;
}

Result<Standing> standing_of(Database& database, const EnvironmentRecord& environment) {
  Result<Statement> held = database.prepare("SELECT machine_id, is_virtual, json FROM environment WHERE id = ?");
  if (!held) return held.error();
  const Result<bool> known = held->bind(environment.id).step();
  if (!known) return known.error();
  Standing standing;
  standing.known = *known;
  if (standing.known) {
    standing.conflict =
        row_difference("its ", {"machine", "is_virtual", "facts"}, {held->text(0), held->text(1), held->text(2)},
                       {environment.machine_id, environment.is_virtual ? "1" : "0", environment.json});
  }
  return standing;
}

Result<Standing> standing_of(Database& database, const ClosureRecord& closure) {
  Result<Statement> held = database.prepare("SELECT 1 FROM closure WHERE id = ?");
  if (!held) return held.error();
  const Result<bool> known = held->bind(closure.id).step();
  if (!known) return known.error();
  Standing standing;
  standing.known = *known;
  const auto sizes = sizes_of(database, closure);
  if (!sizes) return sizes.error();
  for (const ClosureMember& member : closure.members) {
    const auto held_size = sizes->find(member.artifact.sha256);
    if (held_size == sizes->end() || held_size->second == member.artifact.size) continue;
    standing.conflict = "its " + in_quotes(member.artifact.name) + " (" + member.artifact.sha256.substr(0, 12) +
                        ") has " + std::to_string(member.artifact.size) + " bytes, in the store " +
                        std::to_string(held_size->second);
    break;
  }
  return standing;
}

Result<Standing> standing_of(Database& database, const QualityRecord& check) {
  Result<Statement> held = database.prepare(
      "SELECT status, figures FROM quality_check WHERE run_id = ? AND arm = ? AND model = ? AND kind = ? AND attempt = "
      "?");
  if (!held) return held.error();
  held->bind(check.run_id).bind(check.arm).bind(check.model).bind(check.kind).bind(check.attempt);
  const Result<bool> known = held->step();
  if (!known) return known.error();
  Standing standing;
  standing.known = *known;
  if (standing.known) {
    standing.conflict = row_difference("its ", {"status", "figures"}, {held->text(0), numbers_of(held->bytes(1))},
                                       {check.status, numbers_of(check.figures)});
  }
  return standing;
}

Result<bool> was_received(Database& database, std::string_view trial_id) {
  Result<Statement> row = database.prepare("SELECT 1 FROM bundle_trial WHERE trial_id = ? LIMIT 1");
  if (!row) return row.error();
  return row->bind(trial_id).step();
}

}  // namespace capbench::schema
