#include "schema/import_writer.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "schema/blob.h"
#include "schema/compare.h"
#include "schema/insert.h"
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
  return ImportWriter(
      std::make_unique<State>(State{connection.database(), std::move(unchecked), std::move(*transaction), {}, {}, {}}));
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

Status ImportWriter::put_trial(const TrialRecord& trial, std::string_view raw_stdout, std::string_view raw_stderr,
                               std::string_view raw_probe) {
  const Result<bool> held = holds_trial(state_->database, trial.id);
  if (!held) return held.error();
  if (*held) {
    ++state_->counts.known;
    return {};
  }
  const Result<PreparedTrial> prepared = prepare_trial(state_->database, trial, raw_stdout, raw_stderr, raw_probe);
  if (!prepared) return prepared.error();
  if (Status status = insert_trial(state_->database, trial, *prepared); !status) return status;
  ++state_->counts.added;
  return {};
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
  return {};
}

Status ImportWriter::put_new(const QualityRecord& check) {
  return insert_new_quality(state_->database, check,
                            {Raw{check.stdout_sha256, "", 0}, Raw{check.stderr_sha256, "", 0}});
}

Status ImportWriter::put_triage(const TriageRecord& decision) {
  return insert_triage(state_->database, decision);
}

Result<Standing> ImportWriter::standing(const TrialRecord& trial) {
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
