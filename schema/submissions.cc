// Store, the part about bundles that others sent.
#include <limits>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/insert.h"
#include "schema/store_state.h"

namespace capbench::schema {
namespace {

constexpr std::string_view kColumns =
    "SELECT id, archive_sha256, size, signer, tier, verdict, received_at, receipt_sha256, withdrawn_at, why FROM "
    "bundle";

BundleRecord read_bundle(const Statement& row) {
  return {row.text(0), row.text(1), static_cast<std::uint64_t>(row.integer(2)),
          row.text(3), row.text(4), row.text(5),
          row.text(6), row.text(7), row.text(8),
          row.text(9)};
}

Error unknown_bundle(std::string_view id) {
  return refuse("bundle", id, "the store has none of this id", "look it up: the submission's answer has it");
}

Result<std::vector<BundleRecord>> read_bundles(Database& database, const BundleFilter& filter) {
  std::string sql(kColumns);
  sql +=
      " WHERE (?1 = '' OR signer = ?1) AND (?2 = '' OR tier = ?2) AND (?3 = 0 OR withdrawn_at IS NULL)"
      " AND (?4 = '' OR (received_at, id) < (?4, ?5)) ORDER BY received_at DESC, id DESC LIMIT ?6";
  Result<Statement> rows = database.prepare(sql);
  if (!rows) return rows.error();
  rows->bind(filter.signer).bind(filter.tier).bind(std::int64_t{filter.standing});
  rows->bind(filter.older_than).bind(filter.older_id);
  rows->bind(filter.limit == 0 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(filter.limit));
  std::vector<BundleRecord> bundles;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return bundles;
    bundles.push_back(read_bundle(*rows));
  }
}

Result<std::optional<std::string>> read_archive(Database& database, std::string_view id) {
  Result<Statement> row = database.prepare("SELECT archive, archive_sha256 FROM bundle WHERE id = ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<std::string>();
  std::string archive = row->text(0);
  if (sha256(archive) != row->bytes(1)) {
    return Error{ErrorKind::kUsage, database.path().string() + ", bundle " + std::string(id),
                 "damaged: its bytes have another digest", "restore the store from a copy, or ask its author again"};
  }
  return std::optional<std::string>(std::move(archive));
}

Result<std::vector<BundleTrialRecord>> read_bundle_trials(Database& database, const BundleTrialFilter& filter) {
  std::string sql =
      "SELECT bt.trial_id, bt.bundle_id, b.signer, b.tier, b.withdrawn_at IS NOT NULL FROM bundle_trial AS bt "
      "JOIN bundle AS b ON b.id = bt.bundle_id";
  std::vector<std::string_view> values;
  // Only what restricts is in the query, so that each has the index that it needs.
  const auto restrict = [&](std::string_view condition, const std::string& value) {
    if (value.empty()) return;
    sql += values.empty() ? " WHERE " : " AND ";
    sql += condition;
    values.emplace_back(value);
  };
  if (!filter.run_id.empty()) sql += " JOIN trial AS t ON t.id = bt.trial_id";
  restrict("bt.bundle_id = ?", filter.bundle_id);
  restrict("bt.trial_id = ?", filter.trial_id);
  restrict("t.run_id = ?", filter.run_id);
  Result<Statement> rows = database.prepare(sql + " ORDER BY bt.trial_id, bt.bundle_id");
  if (!rows) return rows.error();
  for (const std::string_view value : values) rows->bind(value);
  std::vector<BundleTrialRecord> found;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return found;
    found.push_back({rows->text(0), rows->text(1), rows->text(2), rows->text(3), rows->integer(4) != 0});
  }
}

Result<std::vector<std::string>> read_bundles_like(Database& database, std::string_view id, std::size_t most) {
  constexpr std::string_view kModelsOf =
      "SELECT m.sha256 FROM bundle_trial AS bt JOIN trial AS t ON t.id = bt.trial_id JOIN closure_member AS m "
      "ON m.closure_id = t.closure_id AND m.role = 'model' WHERE bt.bundle_id = ";
  Result<Statement> rows = database.prepare(
      "SELECT b.id FROM bundle AS b WHERE b.withdrawn_at IS NULL AND b.signer <> '' AND b.tier <> 'self-reported' "
      "AND b.signer <> (SELECT signer FROM bundle WHERE id = ?1) AND EXISTS (" +
      std::string(kModelsOf) + "b.id AND m.sha256 IN (" + std::string(kModelsOf) +
      "?1)) ORDER BY b.received_at DESC, b.id LIMIT ?2");
  if (!rows) return rows.error();
  rows->bind(id).bind(static_cast<std::int64_t>(most));
  std::vector<std::string> ids;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return ids;
    ids.push_back(rows->text(0));
  }
}

}  // namespace

Result<std::optional<BundleRecord>> find_bundle(Database& database, std::string_view id) {
  Result<Statement> row = database.prepare(std::string(kColumns) + " WHERE id = ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<BundleRecord>();
  return std::optional<BundleRecord>(read_bundle(*row));
}

Status insert_bundle(Database& database, const BundleRecord& bundle, std::string_view archive) {
  Result<Statement> insert = database.prepare(
      "INSERT INTO bundle (id, archive_sha256, size, signer, tier, verdict, received_at, receipt_sha256, why, archive) "
      "VALUES (?, ?, ?, ?, ?, ?, coalesce(?, " +
      std::string(database.now()) + "), ?, '', ?)");
  if (!insert) return insert.error();
  insert->bind(bundle.id).bind(bundle.archive_sha256).bind(static_cast<std::int64_t>(archive.size()));
  insert->bind(bundle.signer).bind(bundle.tier).bind(bundle.verdict).bind_or_null(bundle.received_at);
  return insert->bind(bundle.receipt_sha256).bind_blob(archive).run_later();
}

Status insert_bundle_trial(Database& database, std::string_view bundle_id, std::string_view trial_id) {
  Result<Statement> insert = database.prepare("INSERT INTO bundle_trial (bundle_id, trial_id) VALUES (?, ?)");
  if (!insert) return insert.error();
  return insert->bind(bundle_id).bind(trial_id).run_later();
}

Status exclude_trials_of(Database& database, std::string_view id, const std::string& reason) {
  // The words are those of exclude_trial().
  Result<Statement> exclude = database.prepare(
      "UPDATE trial SET status_before_exclusion = coalesce(status_before_exclusion, status), status = 'excluded', "
      "reason = CASE WHEN status = 'excluded' THEN reason || '; ' "
      "ELSE 'was ' || status || CASE reason WHEN '' THEN '' ELSE ' (' || reason || ')' END || ': ' END || ?2 "
      "WHERE id IN (SELECT trial_id FROM bundle_trial WHERE bundle_id = ?1) AND NOT EXISTS ("
      "SELECT 1 FROM bundle_trial AS other JOIN bundle AS b ON b.id = other.bundle_id "
      "WHERE other.trial_id = trial.id AND b.withdrawn_at IS NULL) AND replace(reason, ?3, '') = reason");
  if (!exclude) return exclude.error();
  // A trial that was merged from where the bundle was withdrawn has the words already.
  const std::string words = "withdrawn (bundle " + std::string(id.substr(0, 12)) + "): ";
  return exclude->bind(id).bind(words + reason).bind(words).run();
}

Status exclude_as_elsewhere(Database& database, std::string_view id, std::string_view before, std::string_view reason) {
  Result<Statement> update = database.prepare(
      "UPDATE trial SET status = 'excluded', status_before_exclusion = ?, reason = ? WHERE id = ? AND status <> "
      "'excluded'");
  if (!update) return update.error();
  return update->bind_or_null(before).bind(std::string_view(free_text(database, reason))).bind(id).run_later();
}

Status withdraw_as_elsewhere(Database& database, const BundleRecord& bundle) {
  Result<Statement> mark =
      database.prepare("UPDATE bundle SET withdrawn_at = ?, why = ? WHERE id = ? AND withdrawn_at IS NULL");
  if (!mark) return mark.error();
  mark->bind(bundle.withdrawn_at).bind(bundle.why).bind(bundle.id);
  if (Status status = mark->run(); !status) return status;
  return database.changes() == 0 ? Status() : exclude_trials_of(database, bundle.id, bundle.why);
}

Result<std::vector<BundleRecord>> Store::bundles(const BundleFilter& filter) {
  return state_->connection.reading([&](Database& database) { return read_bundles(database, filter); });
}

Result<std::optional<BundleRecord>> Store::bundle(std::string_view id) {
  return state_->connection.reading([&](Database& database) { return find_bundle(database, id); });
}

Result<std::optional<std::string>> Store::bundle_archive(std::string_view id) {
  return state_->connection.reading([&](Database& database) { return read_archive(database, id); });
}

Result<std::vector<std::string>> Store::bundles_like(std::string_view id, std::size_t most) {
  return state_->connection.reading([&](Database& database) { return read_bundles_like(database, id, most); });
}

Result<std::vector<BundleTrialRecord>> Store::bundle_trials(const BundleTrialFilter& filter) {
  return state_->connection.reading([&](Database& database) { return read_bundle_trials(database, filter); });
}

Result<std::int64_t> Store::withdraw_bundle(std::string_view id, std::string_view why) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  const auto held = find_bundle(database, id);
  if (!held) return held.error();
  if (!held->has_value()) return unknown_bundle(id);
  if (!(*held)->withdrawn_at.empty()) return std::int64_t{0};
  const std::string reason = free_text(database, to_utf8(why));
  Result<Statement> mark =
      database.prepare("UPDATE bundle SET withdrawn_at = " + std::string(database.now()) + ", why = ? WHERE id = ?");
  if (!mark) return mark.error();
  if (Status status = mark->bind(reason).bind(id).run(); !status) return std::move(status).error();
  if (Status status = exclude_trials_of(database, id, reason); !status) return std::move(status).error();
  const std::int64_t excluded = database.changes();
  if (Status status = transaction->commit(); !status) return std::move(status).error();
  return excluded;
}

Status Store::set_tier(std::string_view id, std::string_view tier, std::string_view verdict) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  Result<Statement> update = database.prepare("UPDATE bundle SET tier = ?, verdict = ? WHERE id = ?");
  if (!update) return update.error();
  if (Status status = update->bind(tier).bind(verdict).bind(id).run(); !status) return status;
  if (database.changes() == 0) return unknown_bundle(id);
  return transaction->commit();
}

}  // namespace capbench::schema
