#include "schema/store.h"

#include <utility>

#include "base/utf8.h"
#include "schema/canonical.h"
#include "schema/insert.h"
#include "schema/store_state.h"

namespace capbench::schema {

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::filesystem::path& path, OpenMode mode, std::chrono::milliseconds patience) {
  Result<Connection> connection = Connection::open(path, mode, patience);
  if (!connection) return std::move(connection).error();
  return Store(std::make_unique<State>(State{std::move(*connection)}));
}

struct Batch::State {
  Database& database;
  Transaction transaction;
};

Batch::Batch(std::unique_ptr<State> state) : state_(std::move(state)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch::~Batch() = default;

bool Batch::is_open() const {
  return state_->database.in_transaction();
}

Status Batch::commit() {
  return state_->transaction.commit();
}

Result<Batch> Store::begin_batch() {
  Result<Transaction> transaction = state_->connection.begin_write(Transaction::Kind::kBatch);
  if (!transaction) return std::move(transaction).error();
  return Batch(std::make_unique<Batch::State>(Batch::State{state_->connection.database(), std::move(*transaction)}));
}

Status Store::put_suite(const SuiteRecord& suite) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  if (Status status = insert_suite(state_->connection.database(), suite); !status) return status;
  return transaction->commit();
}

Status Store::put_environment(const EnvironmentRecord& environment) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  if (Status status = insert_environment(state_->connection.database(), environment); !status) return status;
  return transaction->commit();
}

Status Store::put_closure(const ClosureRecord& closure) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  if (Status status = insert_closure(state_->connection.database(), closure); !status) return status;
  return transaction->commit();
}

Status Store::put_run(const RunRecord& run) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  if (Status status = insert_run(state_->connection.database(), run); !status) return status;
  return transaction->commit();
}

Status Store::put_trial(const TrialRecord& trial, std::string_view raw_stdout, std::string_view raw_stderr,
                        std::string_view raw_probe) {
  Database& database = state_->connection.database();
  // Merging stores puts many trials that are there already: those cost no lock.
  const Result<bool> known = holds_trial(database, trial.id);
  if (!known) return known.error();
  if (*known) return {};
  // Everything slow happens before the write lock is taken.
  const Result<PreparedTrial> prepared = prepare_trial(database, trial, raw_stdout, raw_stderr, raw_probe);
  if (!prepared) return prepared.error();
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  const Result<bool> held = holds_trial(database, trial.id);  // another program may have been faster
  if (!held) return held.error();
  if (*held) return {};
  if (Status status = insert_trial(database, trial, *prepared); !status) return status;
  return transaction->commit();
}

Status Store::put_quality(const QualityRecord& check, std::string_view raw_stdout, std::string_view raw_stderr) {
  Database& database = state_->connection.database();
  const Result<PreparedQuality> prepared = prepare_quality(database, check, raw_stdout, raw_stderr);
  if (!prepared) return prepared.error();
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  if (Status status = insert_quality(database, check, *prepared); !status) return status;
  return transaction->commit();
}

Status Store::exclude_trial(std::string_view id_or_prefix, std::string_view why) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  const auto error = [&](std::string cause, std::string remedy) {
    return Error{ErrorKind::kUsage, "trial " + std::string(id_or_prefix), std::move(cause), std::move(remedy)};
  };
  if (id_or_prefix.empty()) return error("no id given", "give a trial's id or its first digits");
  // A whole id sorts before those that it begins.
  Result<Statement> find = database.prepare(
      "SELECT id, status, reason FROM trial WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2");
  if (!find) return find.error();
  const Result<bool> first = find->bind(id_or_prefix).step();
  if (!first) return first.error();
  if (!*first) return error("no such trial", "look its id up: `capbench exclude --help` shows how");
  const std::string id = find->text(0);
  const std::string status = find->text(1);
  const std::string former = find->text(2);
  if (id != id_or_prefix) {
    const Result<bool> second = find->step();
    if (!second) return second.error();
    if (*second) return error("several trials begin so", "give more digits of the id");
  }
  const std::string before = "was " + status + (former.empty() ? "" : " (" + former + ")") + ": ";
  const std::string reason = (status == "excluded" ? former + "; " : before) + free_text(database, to_utf8(why));
  Result<Statement> update = database.prepare(
      "UPDATE trial SET status_before_exclusion = coalesce(status_before_exclusion, status), status = 'excluded', "
      "reason = ? WHERE id = ?");
  if (!update) return update.error();
  if (Status done = update->bind(reason).bind(id).run(); !done) return done;
  return transaction->commit();
}

std::filesystem::path default_store_path(const char* xdg_data_home, const char* home) {
  // The XDG base directory specification says to ignore a relative path.
  if (xdg_data_home != nullptr && xdg_data_home[0] == '/') {
    return std::filesystem::path(xdg_data_home) / "capbench" / "results.db";
  }
  if (home != nullptr && home[0] != '\0') {
    return std::filesystem::path(home) / ".local" / "share" / "capbench" / "results.db";
  }
  return "capbench-results.db";
}

}  // namespace capbench::schema
