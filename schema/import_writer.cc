#include "schema/import_writer.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "schema/blob.h"
#include "schema/compare.h"
#include "schema/insert.h"
#include "schema/restated.h"
#include "schema/store_state.h"

namespace capbench::schema {
namespace {

// While it lives, an SQLite store takes rows without a look at whether what they refer to is there and whether their
// JSON is JSON. A transaction begins and ends within its life.
class UncheckedRows {
 public:
  explicit UncheckedRows(Database& database) : database_(database) { set(false); }
  UncheckedRows(const UncheckedRows&) = delete;
  UncheckedRows& operator=(const UncheckedRows&) = delete;
  ~UncheckedRows() { set(true); }

 private:
  // Does not fail: SQLite knows both names.
  void set(bool checked) {
    if (database_.backend() != Backend::kSqlite) return;
    static_cast<void>(database_.exec(checked ? "PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF"
                                             : "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON"));
  }

  Database& database_;
};

}  // namespace

struct ImportWriter::State {
  Database& database;
  std::unique_ptr<UncheckedRows> unchecked;  // null: rows are checked. Goes after the transaction
  Transaction transaction;
  Counts counts;
  std::map<std::string, std::int64_t, std::less<>> parts;       // by source: how many so far
  std::map<std::string, std::int64_t, std::less<>> quarantine;  // by source
  std::string read_again;                                       // the source that is; empty: none
  std::map<std::string, std::string> restated_suites;           // by the suite that they restate; empty: not here

  Result<bool> holds_restated(const TrialRecord& trial) const;
  Result<bool> forget(const TrialRecord& trial);
  Status take_back(const TrialRecord& trial);
  Result<std::string> restatement_of(const std::string& suite_id);
  Status make_way(const TrialRecord& trial);
};

ImportWriter::ImportWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ImportWriter::ImportWriter(ImportWriter&&) noexcept = default;
ImportWriter& ImportWriter::operator=(ImportWriter&&) noexcept = default;
ImportWriter::~ImportWriter() = default;

Result<ImportWriter> ImportWriter::begin(Store& store, Rows rows) {
  Connection& connection = store.state_->connection;
  std::unique_ptr<UncheckedRows> unchecked;
  if (rows == Rows::kMadeHere) unchecked = std::make_unique<UncheckedRows>(connection.database());
  Result<Transaction> transaction = connection.begin_import();
  if (!transaction) return std::move(transaction).error();
  return ImportWriter(std::make_unique<State>(
      State{connection.database(), std::move(unchecked), std::move(*transaction), {}, {}, {}, {}, {}}));
}

Status ImportWriter::put_suite(const SuiteRecord& suite) {
  return insert_suite(state_->database, suite);
}

Status ImportWriter::put_environment(const EnvironmentRecord& environment) {
  return insert_environment(state_->database, environment);
}

Status ImportWriter::put_closure(const ClosureRecord& closure) {
  return insert_closure(state_->database, closure);
}

Status ImportWriter::put_run(const RunRecord& run) {
  return insert_run(state_->database, run);
}

Result<bool> ImportWriter::put_source(const SourceRecord& source) {
  return insert_source(state_->database, source);
}

Status ImportWriter::describe_source(const SourceRecord& source) {
  return update_source(state_->database, source);
}

Status ImportWriter::put_part(std::string_view source_sha256, std::string_view bytes) {
  Result<std::string> frame = compress(bytes);
  if (!frame) return std::move(frame).error();
  return put_part(source_sha256, PackedRaw{"", std::move(*frame), bytes.size()});
}

Status ImportWriter::put_part(std::string_view source_sha256, const PackedRaw& part) {
  Result<Statement> insert =
      state_->database.prepare("INSERT INTO source_part (source_sha256, ordinal, raw_size, zstd) VALUES (?, ?, ?, ?)");
  if (!insert) return insert.error();
  std::int64_t& next = state_->parts[std::string(source_sha256)];
  insert->bind(source_sha256).bind(next++).bind(static_cast<std::int64_t>(part.size));
  return insert->bind_blob(part.frame).run_later();
}

Status ImportWriter::put_quarantine(const QuarantineRecord& row) {
  Result<Statement> insert = state_->database.prepare(
      "INSERT INTO quarantine (source_sha256, ordinal, line, reason, text) VALUES (?, ?, ?, ?, ?)");
  if (!insert) return insert.error();
  std::int64_t& next = state_->quarantine[row.source_sha256];
  insert->bind(row.source_sha256).bind(next++).bind(row.line);
  return insert->bind(free_text(state_->database, to_utf8(row.reason)))
      .bind(free_text(state_->database, to_utf8(row.text)))
      .run();
}

Status ImportWriter::put_raw(const PackedRaw& raw) {
  return insert_raw(state_->database, raw);
}

Result<std::int64_t> ImportWriter::read_again(std::string_view source_sha256) {
  Database& database = state_->database;
  state_->read_again = source_sha256;
  Result<Statement> forget = database.prepare("DELETE FROM quarantine WHERE source_sha256 = ?");
  if (!forget) return forget.error();
  if (Status status = forget->bind(source_sha256).run(); !status) return std::move(status).error();
  Result<Statement> set_aside = database.prepare(
      "UPDATE trial SET reason = 'was ' || status || ': ' || ?1, status_before_exclusion = status, status = 'excluded' "
      "WHERE source_sha256 = ?2 AND status <> 'excluded'");
  if (!set_aside) return set_aside.error();
  set_aside->bind(kReadAnotherWay).bind(source_sha256);
  if (Status status = set_aside->run(); !status) return std::move(status).error();
  return database.changes();
}

Result<bool> ImportWriter::has_trials_of(std::string_view source_sha256) {
  Result<Statement> query = state_->database.prepare("SELECT 1 FROM trial WHERE source_sha256 = ? LIMIT 1");
  if (!query) return query.error();
  return query->bind(source_sha256).step();
}

Result<bool> ImportWriter::knows(const TrialRecord& trial) {
  const Result<bool> held = holds_trial(state_->database, trial.id);
  return !held || *held ? held : state_->holds_restated(trial);
}

// Whether the trial restates one that is there.
Result<bool> ImportWriter::State::holds_restated(const TrialRecord& trial) const {
  const std::string restated = restated_trial(trial);
  return restated.empty() ? Result<bool>(false) : holds_trial(database, restated);
}

// One that was set aside is put again: what the first reading made of it goes, since a name is made of samples and says
// nothing of means, builds or devices. Not if a bundle holds it. Whether it went.
Result<bool> ImportWriter::State::forget(const TrialRecord& trial) {
  if (read_again.empty() || trial.source_sha256 != read_again) return false;
  Result<Statement> query = database.prepare(
      "SELECT 1 FROM trial AS t WHERE t.id = ?1 AND t.status = 'excluded' AND t.reason = 'was ' || "
      "t.status_before_exclusion || ': ' || ?2 AND NOT EXISTS (SELECT 1 FROM bundle_trial AS b WHERE b.trial_id = "
      "t.id)");
  if (!query) return query.error();
  const Result<bool> goes = query->bind(trial.id).bind(kReadAnotherWay).step();
  if (!goes || !*goes) return goes;
  for (const char* statement : {"DELETE FROM result WHERE trial_id = ?", "DELETE FROM stated_result WHERE trial_id = ?",
                                "DELETE FROM capability WHERE trial_id = ?", "DELETE FROM flag WHERE trial_id = ?",
                                "DELETE FROM trial WHERE id = ?"}) {
    Result<Statement> gone = database.prepare(statement);
    if (!gone) return gone.error();
    if (Status status = gone->bind(trial.id).run(); !status) return std::move(status).error();
  }
  return true;
}

// One that was set aside and could not be made anew counts again.
Status ImportWriter::State::take_back(const TrialRecord& trial) {
  if (read_again.empty() || trial.source_sha256 != read_again) return {};
  Result<Statement> update = database.prepare(
      "UPDATE trial SET status = status_before_exclusion, status_before_exclusion = NULL, reason = '' WHERE id = ?1 "
      "AND "
      "status = 'excluded' AND reason = 'was ' || status_before_exclusion || ': ' || ?2");
  if (!update) return update.error();
  return update->bind(trial.id).bind(kReadAnotherWay).run();
}

// The id of the suite's restatement, if the store has that; else empty.
Result<std::string> ImportWriter::State::restatement_of(const std::string& suite_id) {
  const auto [place, is_new] = restated_suites.try_emplace(suite_id);
  if (!is_new) return place->second;
  Result<Statement> name = database.prepare("SELECT name FROM suite WHERE id = ?");
  if (!name) return name.error();
  const Result<bool> found = name->bind(suite_id).step();
  if (!found) return found.error();
  if (!*found) return std::string();
  const std::string id = restated_suite(name->text(0), suite_id).id;
  Result<Statement> query = database.prepare("SELECT 1 FROM suite WHERE id = ?");
  if (!query) return query.error();
  const Result<bool> held = query->bind(id).step();
  if (!held) return held.error();
  if (*held) place->second = id;
  return place->second;
}

// The trial is in the store now: what was restated of it gives way.
Status ImportWriter::State::make_way(const TrialRecord& trial) {
  const Result<std::string> suite = restatement_of(trial.suite_id);
  if (!suite) return suite.error();
  if (suite->empty()) return {};
  Result<Statement> machine = database.prepare(
      "SELECT coalesce((SELECT machine_id FROM environment WHERE id = ?1), (SELECT machine_id FROM run WHERE id = "
      "?2))");
  if (!machine) return machine.error();
  const Result<bool> row = machine->bind(trial.environment_id).bind(trial.run_id).step();
  if (!row) return row.error();
  const std::string id = restated_id(trial, restated_run(trial.run_id, *suite, machine->text(0)).id);
  if (id == trial.id) return {};
  Result<Statement> update = database.prepare(
      "UPDATE trial SET reason = 'was ' || status || ': ' || ?1, status_before_exclusion = "
      "status, status = 'excluded' WHERE id = ?2 AND status <> 'excluded'");
  if (!update) return update.error();
  constexpr std::size_t kShown = 12;
  return update->bind(std::string(kItselfCameIn) + trial.id.substr(0, kShown)).bind(id).run();
}

Status ImportWriter::put_trial(const TrialRecord& trial, std::string_view raw_stdout, std::string_view raw_stderr,
                               std::string_view raw_probe) {
  const Result<bool> held = knows(trial);
  if (!held) return held.error();
  const Result<bool> anew = *held ? state_->forget(trial) : Result<bool>(false);
  if (!anew) return anew.error();
  if (*held && !*anew) {
    ++state_->counts.known;
    if (trial.status == "excluded") {
      const Status status =
          exclude_as_elsewhere(state_->database, trial.id, trial.status_before_exclusion, to_utf8(trial.reason));
      if (!status) return status;
    }
    return state_->take_back(trial);
  }
  const Result<PreparedTrial> prepared = prepare_trial(state_->database, trial, raw_stdout, raw_stderr, raw_probe);
  if (!prepared) return prepared.error();
  if (Status status = insert_trial(state_->database, trial, *prepared); !status) return status;
  ++(*anew ? state_->counts.known : state_->counts.added);
  return state_->make_way(trial);
}

Status ImportWriter::put_quality(const QualityRecord& check, std::string_view raw_stdout, std::string_view raw_stderr) {
  const Result<PreparedQuality> prepared = prepare_quality(state_->database, check, raw_stdout, raw_stderr);
  if (!prepared) return prepared.error();
  return insert_quality(state_->database, check, *prepared);
}

Status ImportWriter::put_new(const TrialRecord& trial) {
  if (Status status = check_trial(trial); !status) return status;
  const auto named = [](const std::string& sha256) { return Raw{sha256, "", 0}; };
  const PreparedTrial put{named(trial.stdout_sha256), named(trial.stderr_sha256), named(trial.probe_sha256)};
  if (Status status = insert_new_trial(state_->database, trial, put); !status) return status;
  ++state_->counts.added;
  return state_->make_way(trial);
}

Status ImportWriter::put_new(const QualityRecord& check) {
  return insert_new_quality(state_->database, check,
                            {Raw{check.stdout_sha256, "", 0}, Raw{check.stderr_sha256, "", 0}});
}

Status ImportWriter::put_triage(const TriageRecord& decision) {
  return insert_triage(state_->database, decision);
}

Result<Standing> ImportWriter::standing(const TrialRecord& trial) {
  const Result<bool> restated = state_->holds_restated(trial);
  if (!restated) return restated.error();
  if (*restated) return Standing{true, ""};
  return standing_of(state_->database, trial);
}

Result<Standing> ImportWriter::standing(const EnvironmentRecord& environment) {
  return standing_of(state_->database, environment);
}

Result<Standing> ImportWriter::standing(const ClosureRecord& closure) {
  return standing_of(state_->database, closure);
}

Result<Standing> ImportWriter::standing(const QualityRecord& check) {
  return standing_of(state_->database, check);
}

Result<bool> ImportWriter::holds_run(std::string_view id) {
  return schema::holds_run(state_->database, id);
}

Result<bool> ImportWriter::was_received(std::string_view trial_id) {
  return schema::was_received(state_->database, trial_id);
}

Result<std::optional<BundleRecord>> ImportWriter::bundle(std::string_view id) {
  return find_bundle(state_->database, id);
}

Status ImportWriter::put_bundle(const BundleRecord& bundle, std::string_view archive) {
  return insert_bundle(state_->database, bundle, archive);
}

Status ImportWriter::put_bundle_trial(std::string_view bundle_id, std::string_view trial_id) {
  return insert_bundle_trial(state_->database, bundle_id, trial_id);
}

Status ImportWriter::withdraw_bundle(const BundleRecord& bundle) {
  return withdraw_as_elsewhere(state_->database, bundle);
}

ImportWriter::Counts ImportWriter::trials() const {
  return state_->counts;
}

Status ImportWriter::finish() {
  return state_->transaction.commit();
}

}  // namespace capbench::schema
