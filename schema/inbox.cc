#include "schema/inbox.h"

#include "schema/store_state.h"

namespace capbench::schema {
namespace {

InboxState state_of(std::string_view word) {
  if (word == "pending") return InboxState::kPending;
  return word == "refused" ? InboxState::kRefused : InboxState::kWithdrawn;
}

constexpr std::string_view kColumns = "SELECT id, state, received_at, receipt_sha256, outcome, size FROM inbox";

InboxEntry read_entry(const Statement& row) {
  return {row.text(0), state_of(row.bytes(1)),
          row.text(2), row.text(3),
          row.text(4), static_cast<std::uint64_t>(row.integer(5))};
}

Result<bool> changed(Database& database, Statement& statement) {
  if (Status status = statement.run(); !status) return std::move(status).error();
  return database.changes() > 0;
}

// What is no longer pending keeps its row and loses its bytes.
Result<bool> settle(Database& database, std::string_view id, std::string_view state, std::string_view outcome) {
  Result<Statement> update =
      database.prepare("UPDATE inbox SET state = ?, outcome = ?, archive = ? WHERE id = ? AND state = 'pending'");
  if (!update) return update.error();
  update->bind(state).bind(outcome).bind_blob({}).bind(id);
  return changed(database, *update);
}

}  // namespace

Result<bool> Inbox::put(std::string_view id, std::string_view receipt_sha256, std::string_view archive) {
  // One statement, which needs nobody's lock: what is acknowledged does not wait for what is taken in.
  Result<Transaction> transaction = store_.state_->connection.begin_write(Transaction::Kind::kAtomic);
  if (!transaction) return transaction.error();
  Database& database = store_.state_->connection.database();
  Result<Statement> insert = database.prepare(
      "INSERT INTO inbox (id, state, received_at, receipt_sha256, outcome, size, archive) "
      "SELECT ?1, 'pending', " +
      std::string(database.now()) +
      ", ?2, '{}', ?3, ?4 "
      "WHERE NOT EXISTS (SELECT 1 FROM bundle WHERE id = ?1) "
      "ON CONFLICT (id) DO UPDATE SET state = 'pending', received_at = excluded.received_at, "
      "receipt_sha256 = excluded.receipt_sha256, outcome = '{}', size = excluded.size, archive = excluded.archive "
      "WHERE inbox.state = 'refused'");
  if (!insert) return insert.error();
  insert->bind(id).bind(receipt_sha256).bind(static_cast<std::int64_t>(archive.size())).bind_blob(archive);
  const Result<bool> is_new = changed(database, *insert);
  if (!is_new) return is_new.error();
  if (*is_new && database.backend() == Backend::kPostgres) {
    // It may have waited for the row of somebody who was just taking the same bundle in, and who is done now.
    Result<Statement> taken = database.prepare("SELECT 1 FROM bundle WHERE id = ?");
    if (!taken) return taken.error();
    const Result<bool> is_taken = taken->bind(id).step();
    if (!is_taken) return is_taken.error();
    if (*is_taken) return false;
  }
  if (Status status = transaction->commit(); !status) return std::move(status).error();
  return *is_new;
}

Result<std::optional<InboxEntry>> Inbox::find(std::string_view id) {
  return store_.state_->connection.reading([&](Database& database) -> Result<std::optional<InboxEntry>> {
    Result<Statement> row = database.prepare(std::string(kColumns) + " WHERE id = ?");
    if (!row) return row.error();
    const Result<bool> found = row->bind(id).step();
    if (!found) return found.error();
    if (!*found) return std::optional<InboxEntry>();
    return std::optional(read_entry(*row));
  });
}

Result<std::optional<std::string>> Inbox::archive(std::string_view id) {
  return store_.state_->connection.reading([&](Database& database) -> Result<std::optional<std::string>> {
    Result<Statement> row = database.prepare("SELECT archive FROM inbox WHERE id = ? AND state = 'pending'");
    if (!row) return row.error();
    const Result<bool> found = row->bind(id).step();
    if (!found) return found.error();
    return *found ? std::optional(row->text(0)) : std::optional<std::string>();
  });
}

Result<std::vector<InboxEntry>> Inbox::pending(std::size_t most, std::chrono::seconds age) {
  return store_.state_->connection.reading([&](Database& database) -> Result<std::vector<InboxEntry>> {
    // In words that both understand: seconds before now.
    const std::string_view before =
        database.either("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || CAST(? AS TEXT) || ' seconds')",
                        "to_char((clock_timestamp() - CAST(? AS BIGINT) * INTERVAL '1 second') AT TIME ZONE 'UTC', "
                        "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')");
    Result<Statement> rows =
        database.prepare(std::string(kColumns) + " WHERE state = 'pending' AND received_at <= " + std::string(before) +
                         " ORDER BY number LIMIT ?");
    if (!rows) return rows.error();
    rows->bind(static_cast<std::int64_t>(age.count())).bind(static_cast<std::int64_t>(most));
    std::vector<InboxEntry> entries;
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return entries;
      entries.push_back(read_entry(*rows));
    }
  });
}

Result<InboxCounts> Inbox::counts() {
  return store_.state_->connection.reading([&](Database& database) -> Result<InboxCounts> {
    Result<Statement> row =
        database.prepare("SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM inbox WHERE state = 'pending'");
    if (!row) return row.error();
    const Result<bool> found = row->step();
    if (!found) return found.error();
    return InboxCounts{static_cast<std::uint64_t>(row->integer(0)), static_cast<std::uint64_t>(row->integer(1))};
  });
}

Result<bool> Inbox::take_out(std::string_view id) {
  Result<Transaction> transaction = store_.state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = store_.state_->connection.database();
  Result<Statement> remove = database.prepare("DELETE FROM inbox WHERE id = ? AND state = 'pending'");
  if (!remove) return remove.error();
  remove->bind(id);
  const Result<bool> was_pending = changed(database, *remove);
  if (!was_pending) return was_pending.error();
  if (Status status = transaction->commit(); !status) return std::move(status).error();
  return *was_pending;
}

Result<bool> Inbox::refuse(std::string_view id, std::string_view outcome) {
  Result<Transaction> transaction = store_.state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = store_.state_->connection.database();
  const Result<bool> was_pending = settle(database, id, "refused", outcome);
  if (!was_pending) return was_pending.error();
  // Nobody is answered from a table without an end.
  Result<Statement> forget = database.prepare(
      "DELETE FROM inbox WHERE state = 'refused' AND number <= "
      "(SELECT number FROM inbox WHERE state = 'refused' ORDER BY number DESC LIMIT 1 OFFSET ?)");
  if (!forget) return forget.error();
  if (Status status = forget->bind(kMostRefused).run(); !status) return std::move(status).error();
  if (Status status = transaction->commit(); !status) return std::move(status).error();
  return *was_pending;
}

Result<bool> Inbox::withdraw(std::string_view id, std::string_view outcome) {
  Result<Transaction> transaction = store_.state_->connection.begin_write();
  if (!transaction) return transaction.error();
  const Result<bool> was_pending = settle(store_.state_->connection.database(), id, "withdrawn", outcome);
  if (!was_pending) return was_pending.error();
  if (Status status = transaction->commit(); !status) return std::move(status).error();
  return *was_pending;
}

}  // namespace capbench::schema
