#include "schema/copy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/digest.h"
#include "schema/insert.h"
#include "schema/store_state.h"

namespace capbench::schema {
namespace {

constexpr std::int64_t kTrialsTogether = 500;       // in one transaction
constexpr std::size_t kBytesTogether = 32U << 20U;  // likewise
constexpr std::int64_t kRowsTogether = 20'000;      // likewise

enum class Kind : std::uint8_t { kInteger, kReal, kText, kBytes };

struct Column {
  std::string name;
  Kind kind = Kind::kText;
};

struct Table {
  std::string_view name;
  std::vector<std::string_view> key;
  // What may have changed since a row came; compared only if the second store was empty.
  std::vector<std::string_view> may_change;
  // For people: the other engine may not keep every byte.
  std::vector<std::string_view> free;
};

const std::vector<Table>& tables() {
  static const std::vector<Table> all = {
      {"suite", {"id"}, {}, {}},
      {"environment", {"id"}, {}, {}},
      {"artifact", {"sha256"}, {"name"}, {}},
      {"closure", {"id"}, {}, {}},
      {"closure_member", {"closure_id", "ordinal"}, {"path"}, {}},
      {"run", {"id"}, {"state", "planned_trials", "harness_version"}, {}},
      {"source", {"sha256"}, {"kind", "notes", "name"}, {"name"}},
      {"source_part", {"source_sha256", "ordinal"}, {}, {}},
      {"quarantine", {"source_sha256", "ordinal"}, {}, {"reason", "text"}},
      {"printed_settings", {"fields"}, {"id"}, {}},
      {"blob", {"sha256"}, {"zstd"}, {}},
      {"bundle", {"id"}, {"tier", "verdict", "withdrawn_at", "why", "received_at", "receipt_sha256"}, {"why"}},
      {"trial", {"id"}, {"status", "status_before_exclusion", "reason"}, {"reason"}},
      {"flag", {"trial_id", "ordinal"}, {}, {}},
      {"result", {"trial_id", "ordinal"}, {}, {}},
      {"stated_result", {"trial_id", "ordinal"}, {}, {}},
      {"capability", {"trial_id", "ordinal"}, {}, {}},
      {"bundle_trial", {"bundle_id", "trial_id"}, {}, {}},
      {"quality_check", {"run_id", "arm", "model", "kind", "attempt"}, {}, {"reason"}},
      {"triage", {"regression_id", "set_at", "state"}, {"why"}, {"why"}},
      {"inbox", {"id"}, {"number"}, {}},
  };
  return all;
}

const Table& table(std::string_view name) {
  return *std::find_if(tables().begin(), tables().end(), [&](const Table& t) { return t.name == name; });
}

bool holds(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const std::vector<std::string_view>& names, std::string_view prefix = "") {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text.append(prefix).append(name);
  }
  return text;
}

Result<std::vector<Column>> columns_of(Database& database, std::string_view name) {
  Result<Statement> rows = database.prepare(database.either(
      "SELECT name, type FROM pragma_table_info(?) ORDER BY name",
      "SELECT CAST(a.attname AS TEXT), CASE format_type(a.atttypid, NULL) WHEN 'bigint' THEN 'INTEGER' "
      "WHEN 'double precision' THEN 'REAL' WHEN 'bytea' THEN 'BLOB' ELSE 'TEXT' END FROM pg_attribute AS a "
      "JOIN pg_class AS t ON t.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace "
      "WHERE CAST(t.relname AS TEXT) = ? AND n.nspname = current_schema() AND a.attnum > 0 AND NOT a.attisdropped "
      "AND a.attname <> 'rowid' ORDER BY CAST(a.attname AS TEXT) COLLATE \"C\""));
  if (!rows) return rows.error();
  rows->bind(name);
  std::vector<Column> columns;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return columns;
    const std::string_view type = rows->bytes(1);
    columns.push_back({rows->text(0), type == "INTEGER" ? Kind::kInteger
                                      : type == "REAL"  ? Kind::kReal
                                      : type == "BLOB"  ? Kind::kBytes
                                                        : Kind::kText});
  }
}

std::string names_of(const std::vector<Column>& columns, std::string_view prefix = "") {
  std::string text;
  for (const Column& column : columns) {
    if (!text.empty()) text += ", ";
    text.append(prefix).append(column.name);
  }
  return text;
}

// Column `from` of a row as the next value of another statement.
void pass_on(const Statement& row, int from, const Column& column, bool is_free, const Database& to, Statement& into) {
  if (row.is_null(from)) {
    into.bind_null();
    return;
  }
  switch (column.kind) {
    case Kind::kInteger:
      into.bind(row.integer(from));
      break;
    case Kind::kReal:
      into.bind(row.real(from));
      break;
    case Kind::kText:
      if (is_free) {
        into.bind(std::string_view(free_text(to, row.bytes(from))));
      } else {
        into.bind_in_place(row.bytes(from));
      }
      break;
    case Kind::kBytes:
      into.bind_blob(row.bytes(from));
      break;
  }
}

// The same for the same row, whichever engine it comes from.
void append_value(std::string& text, const Statement& row, int place, Kind kind, bool is_free, const Database& to) {
  const auto sized = [&text](char what, std::string_view bytes) {
    text += what;
    text += std::to_string(bytes.size());
    text += ':';
    text += bytes;
  };
  if (row.is_null(place)) {
    text += 'n';
    return;
  }
  switch (kind) {
    case Kind::kInteger:
      sized('i', std::to_string(row.integer(place)));
      break;
    case Kind::kReal:
      sized('r', std::to_string(std::bit_cast<std::uint64_t>(row.real(place))));
      break;
    case Kind::kText:
      if (is_free) {
        sized('t', free_text(to, row.bytes(place)));
      } else {
        sized('t', row.bytes(place));
      }
      break;
    case Kind::kBytes:
      sized('b', row.bytes(place));
      break;
  }
}

class Copy {
 public:
  Copy(Database& from, Connection& to, const std::function<void(std::string_view, std::int64_t)>& tell)
      : from_(from), connection_(to), to_(to.database()), tell_(tell) {}

  Result<std::vector<CopiedTable>> run() {
    const Result<Transaction> view = Transaction::begin(from_, Transaction::Kind::kRead);
    if (!view) return view.error();
    std::vector<CopiedTable> copied;
    for (const Table& t : tables()) {
      Result<std::vector<Column>> columns = columns_of(from_, t.name);
      if (!columns) return std::move(columns).error();
      columns_[t.name] = std::move(*columns);
      const Result<std::int64_t> before = count(to_, t.name);
      if (!before) return before.error();
      copied.push_back({std::string(t.name), 0, -*before, ""});
      was_empty_ = was_empty_ && *before == 0;
    }
    if (Status status = copy_all(); !status) return explained(std::move(status).error());
    // So that the first queries are planned with what is there now.
    if (to_.backend() == Backend::kPostgres) static_cast<void>(to_.exec("ANALYZE"));
    const Result<Transaction> result = Transaction::begin(to_, Transaction::Kind::kRead);
    if (!result) return result.error();
    for (CopiedTable& done : copied) {
      const Result<std::int64_t> after = count(to_, done.name);
      if (!after) return after.error();
      done.added += *after;
      if (Status status = compare(table(done.name), done); !status) return std::move(status).error();
    }
    return copied;
  }

 private:
  static Result<std::int64_t> count(Database& database, std::string_view name) {
    return database.integer("SELECT count(*) FROM " + std::string(name));
  }

  Status copy_all() {
    // What trials refer to first, each part whole.
    if (Status status = together({"suite", "environment", "artifact", "closure", "closure_member", "run"}); !status)
      return status;
    if (Status status = finish_runs(); !status) return status;
    if (Status status = together({"source", "source_part", "quarantine"}); !status) return status;
    if (Status status = copy_settings(); !status) return status;
    if (Status status = in_portions("blob"); !status) return status;
    if (Status status = in_portions("bundle"); !status) return status;
    if (Status status = copy_trials(); !status) return status;
    if (Status status = withdraw(); !status) return status;
    if (Status status = together({"quality_check", "triage"}); !status) return status;
    return copy_inbox();
  }

  std::string insert_into(const Table& t) const {
    const std::vector<Column>& columns = columns_.at(t.name);
    std::string values;
    for (std::size_t i = 0; i < columns.size(); ++i) values += i == 0 ? "?" : ", ?";
    // Only what has the same name is there already; two things in one place are an error.
    return "INSERT INTO " + std::string(t.name) + " (" + names_of(columns) + ") VALUES (" + values + ") ON CONFLICT (" +
           listed(t.key) + ") DO NOTHING";
  }

  Error explained(Error error) const {
    if (!to_.refused_row()) return error;
    error.remedy =
        "the two stores hold different things in one place: find out which was altered, or copy into an empty one";
    return error;
  }

  // One row of `rows`, whose columns are the table's.
  Status put(const Table& t, const Statement& rows, Statement& insert) {
    const std::vector<Column>& columns = columns_.at(t.name);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      pass_on(rows, static_cast<int>(i), columns[i], holds(t.free, columns[i].name), to_, insert);
    }
    return insert.run_later();
  }

  // Rows of one table within the transaction that is open.
  Status copy_rows(const Table& t, Statement& rows) {
    Result<Statement> insert = to_.prepare(insert_into(t));
    if (!insert) return std::move(insert).error();
    for (;;) {
      const Result<bool> row = rows.step();
      if (!row) return row.error();
      if (!*row) return {};
      if (Status status = put(t, rows, *insert); !status) return explained(std::move(status).error());
      tell_(t.name, ++done_[t.name]);
    }
  }

  Status together(const std::vector<std::string_view>& names) {
    Result<Transaction> transaction = connection_.begin_write();
    if (!transaction) return std::move(transaction).error();
    for (const std::string_view name : names) {
      const Table& t = table(name);
      // In the order in which they came, where that is known.
      const std::string order = name == "suite" ? "rowid" : listed(t.key);
      Result<Statement> rows =
          from_.prepare("SELECT " + names_of(columns_.at(name)) + " FROM " + std::string(name) + " ORDER BY " + order);
      if (!rows) return std::move(rows).error();
      rows->expect_many();
      if (Status status = copy_rows(t, *rows); !status) return status;
    }
    if (Status status = transaction->commit(); !status) return explained(std::move(status).error());
    return {};
  }

  // A table of large rows, some at a time.
  Status in_portions(std::string_view name) {
    const Table& t = table(name);
    Result<Statement> rows = from_.prepare("SELECT " + names_of(columns_.at(name)) + " FROM " + std::string(name) +
                                           " ORDER BY " + listed(t.key));
    if (!rows) return std::move(rows).error();
    rows->expect_many();
    bool more = true;
    while (more) {
      Result<Transaction> transaction = connection_.begin_write();
      if (!transaction) return std::move(transaction).error();
      Result<Statement> insert = to_.prepare(insert_into(t));
      if (!insert) return std::move(insert).error();
      std::size_t bytes = 0;
      for (std::int64_t n = 0; n < kRowsTogether && bytes < kBytesTogether; ++n) {
        const Result<bool> row = rows->step();
        if (!row) return row.error();
        more = *row;
        if (!more) break;
        if (Status status = put(t, *rows, *insert); !status) return explained(std::move(status).error());
        for (int c = 0; c < static_cast<int>(columns_.at(name).size()); ++c) bytes += rows->bytes(c).size();
        tell_(name, ++done_[name]);
      }
      if (Status status = transaction->commit(); !status) return explained(std::move(status).error());
    }
    return {};
  }

  // Their numbers are each store's own.
  Status copy_settings() {
    Result<Transaction> transaction = connection_.begin_write();
    if (!transaction) return std::move(transaction).error();
    Result<Statement> rows = from_.prepare("SELECT id, fields FROM printed_settings ORDER BY id");
    if (!rows) return std::move(rows).error();
    rows->expect_many();
    Result<Statement> find =
        to_.prepare(to_.either("SELECT id FROM printed_settings WHERE fields = ?1",
                               "SELECT id FROM printed_settings WHERE md5(fields) = md5(?1) AND fields = ?1"));
    if (!find) return std::move(find).error();
    Result<Statement> insert = to_.prepare("INSERT INTO printed_settings (fields) VALUES (?) RETURNING id");
    if (!insert) return std::move(insert).error();
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) break;
      Statement* answer = &*find;
      Result<bool> found = find->bind_in_place(rows->bytes(1)).step();
      if (found && !*found) {
        answer = &*insert;
        found = insert->bind_in_place(rows->bytes(1)).step();
      }
      if (!found) return explained(std::move(found).error());
      settings_[rows->integer(0)] = answer->integer(0);
      if (Status status = answer->run(); !status) return status;  // ends the query
      tell_("printed_settings", ++done_["printed_settings"]);
    }
    return transaction->commit();
  }

  // Trials with all that belongs to them.
  Status copy_trials() {
    const Table& t = table("trial");
    std::int64_t after = from_.backend() == Backend::kSqlite ? std::numeric_limits<std::int64_t>::min() : -1;
    for (;;) {
      Result<Statement> last = from_.prepare(
          "SELECT max(rowid), count(*) FROM (SELECT rowid FROM trial WHERE rowid > ? ORDER BY rowid LIMIT ?) AS next");
      if (!last) return std::move(last).error();
      const Result<bool> row = last->bind(after).bind(kTrialsTogether).step();
      if (!row) return row.error();
      if (last->integer(1) == 0) return {};
      const std::int64_t until = last->integer(0);
      if (Status status = last->run(); !status) return status;  // ends the query
      Result<Transaction> transaction = connection_.begin_write();
      if (!transaction) return std::move(transaction).error();
      Result<Statement> trials = from_.prepare("SELECT " + names_of(columns_.at("trial")) +
                                               " FROM trial WHERE rowid > ? AND rowid <= ? ORDER BY rowid");
      if (!trials) return std::move(trials).error();
      trials->bind(after).bind(until);
      if (Status status = copy_rows(t, *trials); !status) return status;
      for (const std::string_view name : {"flag", "result", "stated_result", "capability", "bundle_trial"}) {
        if (Status status = copy_children(table(name), after, until); !status) return status;
      }
      if (Status status = exclude(after, until); !status) return status;
      if (Status status = transaction->commit(); !status) return explained(std::move(status).error());
      after = until;
    }
  }

  Status copy_children(const Table& t, std::int64_t after, std::int64_t until) {
    Result<Statement> rows =
        from_.prepare("SELECT " + names_of(columns_.at(t.name), "x.") + " FROM trial AS t " +
                      std::string(from_.either("CROSS JOIN ", "JOIN ")) + std::string(t.name) +
                      " AS x ON x.trial_id = t.id WHERE t.rowid > ? AND t.rowid <= ? ORDER BY t.rowid" +
                      (t.name == "bundle_trial" ? ", x.bundle_id" : ", x.ordinal"));
    if (!rows) return std::move(rows).error();
    rows->bind(after).bind(until);
    if (t.name != "result") return copy_rows(t, *rows);
    Result<Statement> insert = to_.prepare(insert_into(t));
    if (!insert) return std::move(insert).error();
    const std::vector<Column>& columns = columns_.at(t.name);
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return {};
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const int place = static_cast<int>(i);
        if (columns[i].name == "settings_id" && !rows->is_null(place)) {
          insert->bind(settings_.at(rows->integer(place)));
        } else {
          pass_on(*rows, place, columns[i], false, to_, *insert);
        }
      }
      if (Status status = insert->run_later(); !status) return explained(std::move(status).error());
      tell_(t.name, ++done_[t.name]);
    }
  }

  // Of trials that the second store had already.
  Status exclude(std::int64_t after, std::int64_t until) {
    if (was_empty_) return {};
    Result<Statement> rows = from_.prepare(
        "SELECT status_before_exclusion, reason, id FROM trial WHERE rowid > ? AND rowid <= ? AND status = 'excluded'");
    if (!rows) return std::move(rows).error();
    rows->bind(after).bind(until);
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return {};
      if (Status status = exclude_as_elsewhere(to_, rows->bytes(2), rows->bytes(0), rows->bytes(1)); !status) {
        return status;
      }
    }
  }

  // Calls `update` for each row of `select`, whose columns it takes, all of them texts.
  Status update_each(const std::string& select, int columns, const std::string& update) {
    if (was_empty_) return {};
    Result<Transaction> transaction = connection_.begin_write();
    if (!transaction) return std::move(transaction).error();
    Result<Statement> rows = from_.prepare(select);
    if (!rows) return std::move(rows).error();
    Result<Statement> change = to_.prepare(update);
    if (!change) return std::move(change).error();
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) break;
      for (int c = 0; c < columns; ++c) change->bind(std::string_view(free_text(to_, rows->bytes(c))));
      if (Status status = change->run_later(); !status) return status;
    }
    return transaction->commit();
  }

  Status finish_runs() {
    return update_each(
        "SELECT CAST(planned_trials AS TEXT), id FROM run WHERE state = 'complete'", 2,
        "UPDATE run SET state = 'complete', planned_trials = CAST(CAST(? AS TEXT) AS BIGINT) WHERE id = ? "
        "AND state <> 'complete'");
  }

  Status withdraw() {
    return update_each("SELECT withdrawn_at, why, id FROM bundle WHERE withdrawn_at IS NOT NULL", 3,
                       "UPDATE bundle SET withdrawn_at = ?, why = ? WHERE id = ? AND withdrawn_at IS NULL");
  }

  // In the order in which they came; what the second store has taken in is no longer pending there.
  Status copy_inbox() {
    const Table& t = table("inbox");
    std::vector<Column> columns;
    for (const Column& column : columns_.at(t.name)) {
      if (column.name != "number") columns.push_back(column);
    }
    Result<Transaction> transaction = connection_.begin_write();
    if (!transaction) return std::move(transaction).error();
    Result<Statement> rows = from_.prepare("SELECT " + names_of(columns) + ", id FROM inbox ORDER BY number");
    if (!rows) return std::move(rows).error();
    rows->expect_many();
    std::string values;
    for (std::size_t i = 0; i < columns.size(); ++i) values += i == 0 ? "?" : ", ?";
    Result<Statement> insert = to_.prepare("INSERT INTO inbox (" + names_of(columns) + ") VALUES (" + values +
                                           ") ON CONFLICT (id) DO NOTHING");
    if (!insert) return std::move(insert).error();
    Result<Statement> taken = to_.prepare("SELECT 1 FROM bundle WHERE id = ?");
    if (!taken) return std::move(taken).error();
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return transaction->commit();
      const Result<bool> is_taken = taken->bind(rows->bytes(static_cast<int>(columns.size()))).step();
      if (!is_taken) return is_taken.error();
      if (*is_taken) {
        if (Status status = taken->run(); !status) return status;
        continue;
      }
      for (std::size_t i = 0; i < columns.size(); ++i) {
        pass_on(*rows, static_cast<int>(i), columns[i], false, to_, *insert);
      }
      if (Status status = insert->run_later(); !status) return explained(std::move(status).error());
      tell_(t.name, ++done_[t.name]);
    }
  }

  // --- afterwards

  struct Rows {
    Result<Statement> statement;
    std::string key;
    std::string text;
    bool is_there = false;
  };

  Status next(Rows& rows, const Table& t, const std::vector<Column>& columns) {
    const Result<bool> row = rows.statement->step();
    if (!row) return row.error();
    rows.is_there = *row;
    rows.key.clear();
    rows.text.clear();
    if (!*row) return {};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool is_key = holds(t.key, columns[i].name);
      append_value(is_key ? rows.key : rows.text, *rows.statement, static_cast<int>(i), columns[i].kind,
                   holds(t.free, columns[i].name), to_);
    }
    return {};
  }

  // What waited in the first store waits in the second, or was looked at there.
  Status compare_inbox(CopiedTable& copied) {
    Result<Statement> rows = from_.prepare("SELECT id FROM inbox ORDER BY id");
    if (!rows) return rows.error();
    Result<Statement> find =
        to_.prepare("SELECT 1 FROM inbox WHERE id = ?1 UNION ALL SELECT 1 FROM bundle WHERE id = ?1 LIMIT 1");
    if (!find) return find.error();
    Sha256 digest;
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) break;
      const Result<bool> found = find->bind(rows->bytes(0)).step();
      if (!found) return found.error();
      if (!*found) return different(table("inbox"), "does not hold", rows->text(0));
      if (Status status = find->run(); !status) return status;  // ends the query
      digest.update(rows->bytes(0));
      ++copied.rows;
    }
    copied.digest = digest.finish();
    return {};
  }

  // Each row of the first store, in order of its key, against that of the second.
  Status compare(const Table& t, CopiedTable& copied) {
    if (t.name == "inbox" && !was_empty_) return compare_inbox(copied);
    std::vector<Column> columns;
    for (const Column& column : columns_.at(t.name)) {
      // Numbers that each store gives by itself.
      if (column.name == "settings_id" || (t.name == "printed_settings" && column.name == "id") ||
          (t.name == "inbox" && column.name == "number")) {
        continue;
      }
      if (was_empty_ || !holds(t.may_change, column.name)) columns.push_back(column);
    }
    const std::string select = "SELECT " + names_of(columns) + " FROM " +
                               std::string(t.name == "result" ? "printed_result" : t.name) + " ORDER BY " +
                               listed(t.key);
    Rows a{from_.prepare(select), "", "", false};
    Rows b{to_.prepare(select), "", "", false};
    if (!a.statement) return a.statement.error();
    if (!b.statement) return b.statement.error();
    a.statement->expect_many();
    b.statement->expect_many();
    if (Status status = next(b, t, columns); !status) return status;
    Sha256 digest;
    for (;;) {
      if (Status status = next(a, t, columns); !status) return status;
      if (!a.is_there) break;
      // Of what both hold in the same order, the second may hold more in between.
      while (b.is_there && b.key != a.key && !was_empty_) {
        if (Status status = next(b, t, columns); !status) return status;
      }
      if (!b.is_there || b.key != a.key) return different(t, "does not hold", a.key);
      if (b.text != a.text) return different(t, "holds something else under", a.key);
      digest.update(a.key);
      digest.update(a.text);
      ++copied.rows;
      if (Status status = next(b, t, columns); !status) return status;
    }
    if (was_empty_ && b.is_there) return different(t, "holds a row that was not copied:", b.key);
    copied.digest = digest.finish();
    return {};
  }

  Status different(const Table& t, const std::string& how, const std::string& key) const {
    return Error{ErrorKind::kFinding, to_.path().string() + ", table " + std::string(t.name),
                 how + " " + key.substr(0, 100) + " of " + from_.path().string(),
                 "find out which of the two was altered; a new store (--to) takes this one"};
  }

  Database& from_;
  Connection& connection_;
  Database& to_;
  const std::function<void(std::string_view, std::int64_t)>& tell_;
  std::map<std::string_view, std::vector<Column>> columns_;
  std::map<std::string_view, std::int64_t> done_;
  std::map<std::int64_t, std::int64_t> settings_;  // numbers of the first store -> of the second
  bool was_empty_ = true;                          // the second one
};

}  // namespace

std::span<const std::string_view> copied_tables() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Table& t : tables()) all.push_back(t.name);
    return all;
  }();
  return names;
}

Result<std::vector<CopiedTable>> copy_store(Store& from, Store& to,
                                            const std::function<void(std::string_view, std::int64_t)>& tell) {
  return Copy(from.state_->connection.database(), to.state_->connection, tell).run();
}

}  // namespace capbench::schema
