// Store, the reading half.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/digest.h"
#include "schema/blob.h"
#include "schema/store_state.h"
#include "schema/text_array.h"

namespace capbench::schema {
namespace {

using nlohmann::json;
using Index = std::unordered_map<std::string, std::size_t>;  // a trial's id -> its place in the answer

// The part of a query that a filter adds, and what to bind to it in order.
struct Where {
  std::string sql;
  std::vector<std::string> values;
};

Where where(const TrialFilter& filter) {
  Where w;
  w.sql = " WHERE TRUE";
  if (!filter.suite.empty()) {
    w.sql += " AND t.suite_id IN (SELECT id FROM suite WHERE id = ? UNION ALL SELECT id FROM suite WHERE name = ?)";
    w.values.push_back(filter.suite);
    w.values.push_back(filter.suite);
  }
  if (!filter.run_id.empty()) {
    w.sql += " AND t.run_id = ?";
    w.values.push_back(filter.run_id);
  }
  return w;
}

Result<Statement> prepare(Database& database, const std::string& select, const Where& where, const std::string& order) {
  Result<Statement> statement = database.prepare(select + where.sql + order);
  if (!statement) return statement;
  for (const std::string& value : where.values) statement->bind(value);
  return statement;
}

// A JSON array of texts, or of integers; nothing if it is anything else.
template <typename Element>
std::optional<std::vector<Element>> list_of(std::string_view text) {
  const json list = json::parse(text, nullptr, false);
  if (!list.is_array()) return std::nullopt;
  std::vector<Element> elements;
  elements.reserve(list.size());
  for (const json& element : list) {
    const bool fits = std::is_same_v<Element, std::string> ? element.is_string() : element.is_number_integer();
    if (!fits) return std::nullopt;
    elements.push_back(element.get<Element>());
  }
  return elements;
}

// An exit status or a signal; NULL is none.
std::optional<int> small_integer(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  const std::int64_t value = row.integer(column);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(value);
}

Result<TrialView> read_trial(const Database& database, const Statement& row) {
  TrialView view;
  TrialRecord& trial = view.trial;
  int c = 0;
  const auto text = [&] { return row.text(c++); };
  const auto integer = [&] { return row.integer(c++); };
  trial.id = text();
  trial.run_id = text();
  trial.suite_id = text();
  trial.environment_id = text();
  trial.closure_id = text();
  trial.arm = text();
  trial.mode = text();
  trial.target = text();
  trial.guest = text();
  trial.workload = text();
  trial.model = text();
  trial.model_kind = text();
  trial.block = integer();
  trial.position = integer();
  trial.attempt = integer();
  trial.status = text();
  trial.reason = text();
  trial.treatment = text();
  trial.quality = text();
  trial.started_at = text();
  trial.wall_ns = integer();
  trial.user_ns = integer();
  trial.system_ns = integer();
  trial.max_rss_bytes = integer();
  trial.exit_status = small_integer(row, c++);
  trial.signal = small_integer(row, c++);
  std::optional<std::vector<std::string>> argv = list_of<std::string>(row.bytes(c++));
  std::optional<std::vector<std::string>> environment_set = list_of<std::string>(row.bytes(c++));
  if (!argv || !environment_set)
    return damaged(database, "the command line of trial " + trial.id + " is not a list of texts");
  trial.argv = std::move(*argv);
  trial.environment_set = std::move(*environment_set);
  trial.stdout_sha256 = text();
  trial.stderr_sha256 = text();
  trial.probe_sha256 = text();
  trial.source_sha256 = text();
  trial.image = text();
  trial.hygiene = text();
  trial.measured = text();
  trial.status_before_exclusion = text();
  view.suite_name = text();
  view.machine_id = text();
  view.machine_label = text();
  view.machine_is_virtual = integer() != 0;
  view.executable_sha256 = text();
  return view;
}

// The tables of a query of trials. Where not all are asked for, SQLite has to be told to begin with the trials, which
// its CROSS JOIN does: it takes a list of suites for most of the store, and walks all runs.
std::string trials_and_names(const Database& database, const Where& where) {
  const bool tell = database.backend() == Backend::kSqlite && !where.values.empty();
  const std::string join = tell ? " CROSS JOIN " : " JOIN ";
  return "trial AS t" + join + "suite AS s ON s.id = t.suite_id" + join + "run AS u ON u.id = t.run_id " +
         "LEFT JOIN environment AS e ON e.id = t.environment_id";
}

// Calls take(row, trial) for every row of `table` (x) that belongs to a trial of the answer. The columns asked for
// begin behind the trial's id, at 1.
template <class Take>
Status each_row(Database& database, const std::string& table, const std::string& columns, const Where& where,
                const Index& index, std::vector<TrialView>& views, const Take& take) {
  const std::string select = "SELECT x.trial_id, " + columns + " FROM ";
  const auto take_rows = [&](Statement& rows) -> Status {
    for (;;) {
      const Result<bool> row = rows.step();
      if (!row) return row.error();
      if (!*row) return {};
      const auto found = index.find(rows.text(0));
      if (found == index.end()) continue;
      if (Status status = take(rows, views[found->second].trial); !status) return status;
    }
  };
  if (where.values.empty()) {
    Result<Statement> rows = prepare(database, select + "trial AS t JOIN " + table + " AS x ON x.trial_id = t.id",
                                     where, " ORDER BY x.trial_id, x.ordinal");
    return rows ? take_rows(*rows) : std::move(rows).error();
  }
  // Either engine would look at every row of the table, or at every trial: SQLite always, PostgreSQL while it has not
  // counted its rows yet. So they are asked for by trial, over a wire many at once.
  const bool one_by_one = database.backend() == Backend::kSqlite;
  Result<Statement> rows = database.prepare(select + table + " AS x WHERE x.trial_id " +
                                            (one_by_one ? "= ?1" : "= ANY (CAST(CAST(?1 AS text) AS text[]))") +
                                            " ORDER BY " + (one_by_one ? "x.ordinal" : "x.trial_id, x.ordinal"));
  if (!rows) return rows.error();
  const std::size_t at_once = one_by_one ? 1 : 500;
  for (std::size_t begin = 0; begin < views.size(); begin += at_once) {
    const std::size_t end = std::min(begin + at_once, views.size());
    if (one_by_one) {
      rows->bind(std::string_view(views[begin].trial.id));
    } else {
      TextArray ids;
      for (std::size_t i = begin; i < end; ++i) ids.add(views[i].trial.id);
      rows->bind(std::move(ids).finish());
    }
    if (Status status = take_rows(*rows); !status) return status;
  }
  return {};
}

// What a measured and a stated result have in common, and where the rest of each begins.
constexpr const char* kResultColumns =
    "x.test, x.build, x.n_prompt, x.n_gen, x.n_depth, x.model_type, x.model_size, x.model_n_params, x.backends, "
    "x.cpu_info, x.gpu_info, x.fields, ";
constexpr int kRest = 13;

template <class Record>
Record read_result(const Statement& row) {
  Record result;
  result.test = row.text(1);
  result.build = row.text(2);
  result.n_prompt = row.integer(3);
  result.n_gen = row.integer(4);
  result.n_depth = row.integer(5);
  result.model_type = row.text(6);
  result.model_size = row.integer(7);
  result.model_n_params = row.integer(8);
  result.backends = row.text(9);
  result.cpu_info = row.text(10);
  result.gpu_info = row.text(11);
  result.fields = row.text(12);
  return result;
}

Status read_results(Database& database, const Where& where, const Index& index, std::vector<TrialView>& views) {
  const auto take = [&](const Statement& row, TrialRecord& trial) -> Status {
    auto result = read_result<ResultRecord>(row);
    std::optional<std::vector<std::int64_t>> samples = list_of<std::int64_t>(row.bytes(kRest));
    if (!samples) return damaged(database, "the samples of trial " + trial.id + " are not a list of integers");
    result.samples_ns = std::move(*samples);
    result.median_ts = row.real(kRest + 1);
    trial.results.push_back(std::move(result));
    return {};
  };
  return each_row(database, "printed_result", std::string(kResultColumns) + "x.samples_ns, x.median_ts", where, index,
                  views, take);
}

Status read_stated_results(Database& database, const Where& where, const Index& index, std::vector<TrialView>& views) {
  const auto take = [](const Statement& row, TrialRecord& trial) -> Status {
    auto result = read_result<StatedResultRecord>(row);
    result.mean_ts = row.real(kRest);
    if (!row.is_null(kRest + 1)) result.stddev_ts = row.real(kRest + 1);
    if (!row.is_null(kRest + 2)) result.repetitions = row.integer(kRest + 2);
    trial.stated.push_back(std::move(result));
    return {};
  };
  return each_row(database, "stated_result", std::string(kResultColumns) + "x.mean_ts, x.stddev_ts, x.repetitions",
                  where, index, views, take);
}

Status read_capabilities(Database& database, const Where& where, const Index& index, std::vector<TrialView>& views) {
  const auto take = [](const Statement& row, TrialRecord& trial) -> Status {
    trial.capabilities.push_back({row.text(1), row.text(2), row.text(3), row.text(4), row.integer(5) != 0});
    return {};
  };
  return each_row(database, "capability", "x.name, x.requested, x.observed, x.source, x.agrees", where, index, views,
                  take);
}

Status read_flags(Database& database, const Where& where, const Index& index, std::vector<TrialView>& views) {
  const auto take = [](const Statement& row, TrialRecord& trial) -> Status {
    trial.flags.push_back(row.text(1));
    return {};
  };
  return each_row(database, "flag", "x.flag", where, index, views, take);
}

Result<std::vector<TrialView>> read_trials(Database& database, const TrialFilter& filter) {
  const Where w = where(filter);
  Result<Statement> rows =
      prepare(database,
              "SELECT t.id, t.run_id, t.suite_id, t.environment_id, t.closure_id, t.arm, t.mode, t.target, t.guest, "
              "t.workload, "
              "t.model, t.model_kind, t.block, t.position, t.attempt, t.status, t.reason, t.treatment, t.quality, "
              "t.started_at, "
              "t.wall_ns, t.user_ns, t.system_ns, t.max_rss_bytes, t.exit_status, t.signal, t.argv, t.environment_set, "
              "t.stdout_sha256, t.stderr_sha256, t.probe_sha256, t.source_sha256, t.image, t.hygiene, t.measured, "
              "t.status_before_exclusion, "
              "s.name, coalesce(e.machine_id, u.machine_id), "
              "e.machine_label, e.is_virtual, "
              "(SELECT m.sha256 FROM closure_member AS m WHERE m.closure_id = t.closure_id AND m.role = 'executable' "
              "ORDER BY m.ordinal LIMIT 1) "
              "FROM " +
                  trials_and_names(database, w),
              w, " ORDER BY u.started_at, t.run_id, t.position, t.attempt, t.id");
  if (!rows) return rows.error();
  std::vector<TrialView> views;
  Index index;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    Result<TrialView> view = read_trial(database, *rows);
    if (!view) return view.error();
    index.emplace(view->trial.id, views.size());
    views.push_back(std::move(*view));
  }
  if (Status status = read_flags(database, w, index, views); !status) return std::move(status).error();
  if (!filter.with_results) return views;
  if (Status status = read_results(database, w, index, views); !status) return std::move(status).error();
  if (Status status = read_stated_results(database, w, index, views); !status) return std::move(status).error();
  if (Status status = read_capabilities(database, w, index, views); !status) return std::move(status).error();
  return views;
}

Result<std::vector<RunRecord>> read_runs(Database& database, std::string_view suite_id) {
  Result<Statement> rows = database.prepare(
      "SELECT id, suite_id, machine_id, seed, started_at, harness_version, state, planned_trials FROM run "
      "WHERE ?1 = '' OR suite_id = ?1 ORDER BY started_at DESC, id");
  if (!rows) return rows.error();
  rows->bind(suite_id);
  std::vector<RunRecord> runs;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return runs;
    RunRecord run;
    run.id = rows->text(0);
    run.suite_id = rows->text(1);
    run.machine_id = rows->text(2);
    const json seed = json::parse(rows->bytes(3), nullptr, false);
    if (!seed.is_number_unsigned()) return damaged(database, "the seed of run " + run.id + " is not a number");
    run.seed = seed.get<std::uint64_t>();
    run.started_at = rows->text(4);
    run.harness_version = rows->text(5);
    run.state = rows->text(6);
    run.planned_trials = static_cast<std::uint64_t>(rows->integer(7));
    runs.push_back(std::move(run));
  }
}

Result<std::vector<QualityRecord>> read_quality(Database& database, std::string_view run_id) {
  Result<Statement> rows = database.prepare(
      "SELECT run_id, arm, model, kind, attempt, status, reason, figures, argv, stdout_sha256, stderr_sha256, "
      "checked_at FROM quality_check WHERE ?1 = '' OR run_id = ?1 ORDER BY run_id, arm, model, kind, attempt");
  if (!rows) return rows.error();
  rows->bind(run_id);
  std::vector<QualityRecord> checks;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return checks;
    QualityRecord check;
    check.run_id = rows->text(0);
    check.arm = rows->text(1);
    check.model = rows->text(2);
    check.kind = rows->text(3);
    check.attempt = rows->integer(4);
    check.status = rows->text(5);
    check.reason = rows->text(6);
    check.figures = rows->text(7);
    std::optional<std::vector<std::string>> argv = list_of<std::string>(rows->bytes(8));
    if (!argv) return damaged(database, "the command line of the quality check of " + check.arm);
    check.argv = std::move(*argv);
    check.stdout_sha256 = rows->text(9);
    check.stderr_sha256 = rows->text(10);
    check.checked_at = rows->text(11);
    checks.push_back(std::move(check));
  }
}

Result<std::vector<SourceRecord>> read_sources(Database& database) {
  Result<Statement> rows = database.prepare("SELECT sha256, kind, name, size, notes FROM source ORDER BY name, sha256");
  if (!rows) return rows.error();
  std::vector<SourceRecord> sources;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return sources;
    SourceRecord source{rows->text(0), rows->text(1), rows->text(2), static_cast<std::uint64_t>(rows->integer(3)), {}};
    std::optional<std::vector<std::string>> notes = list_of<std::string>(rows->bytes(4));
    if (!notes) return damaged(database, "the notes of source " + source.name + " are not a list of texts");
    source.notes = std::move(*notes);
    sources.push_back(std::move(source));
  }
}

Result<std::vector<QuarantineRecord>> read_quarantine(Database& database, std::string_view source) {
  Result<Statement> rows = database.prepare(
      "SELECT source_sha256, line, reason, text FROM quarantine WHERE ?1 = '' OR source_sha256 = ?1 "
      "ORDER BY source_sha256, ordinal");
  if (!rows) return rows.error();
  rows->bind(source);
  std::vector<QuarantineRecord> found;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return found;
    found.push_back({rows->text(0), rows->integer(1), rows->text(2), rows->text(3)});
  }
}

Status read_source_bytes(Database& database, std::string_view source,
                         const std::function<void(std::string_view)>& take) {
  const std::string what = database.path().string() + ", source " + std::string(source);
  Result<Statement> rows =
      database.prepare("SELECT raw_size, zstd FROM source_part WHERE source_sha256 = ? ORDER BY ordinal");
  if (!rows) return rows.error();
  rows->bind(source);
  Sha256 digest;
  bool any = false;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    Result<std::string> raw = decompress(rows->bytes(1), static_cast<std::uint64_t>(rows->integer(0)));
    if (!raw) {
      Error error = raw.error();
      error.what = what;
      return error;
    }
    any = true;
    digest.update(*raw);
    take(*raw);
  }
  if (any && digest.finish() != source) {
    return Error{ErrorKind::kUsage, what, "damaged: its bytes have another digest",
                 "restore the store from a copy, or import the file again"};
  }
  return {};
}

Result<std::optional<std::string>> read_suite_json(Database& database, std::string_view id) {
  Result<Statement> row = database.prepare("SELECT json FROM suite WHERE id = ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<std::string>();
  return std::optional<std::string>(row->text(0));
}

Result<std::string> read_suite_name(Database& database, std::string_view id) {
  Result<Statement> row = database.prepare("SELECT name FROM suite WHERE id = ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(id).step();
  if (!found) return found.error();
  return *found ? row->text(0) : std::string();
}

Result<std::optional<ClosureRecord>> read_closure(Database& database, std::string_view id) {
  Result<Statement> closure = database.prepare("SELECT id FROM closure WHERE id = ?");
  if (!closure) return closure.error();
  const Result<bool> found = closure->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<ClosureRecord>();
  ClosureRecord record;
  record.id = closure->text(0);
  Result<Statement> rows = database.prepare(
      "SELECT m.role, m.sha256, a.size, m.name, m.path FROM closure_member AS m JOIN artifact AS a ON a.sha256 = "
      "m.sha256 "
      "WHERE m.closure_id = ? ORDER BY m.ordinal");
  if (!rows) return rows.error();
  rows->bind(id);
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return std::optional<ClosureRecord>(std::move(record));
    ArtifactRecord artifact{rows->text(1), static_cast<std::uint64_t>(rows->integer(2)), rows->text(3)};
    record.members.push_back({rows->text(0), std::move(artifact), rows->text(4)});
  }
}

Result<std::optional<EnvironmentRecord>> read_environment(Database& database, std::string_view id) {
  Result<Statement> row =
      database.prepare("SELECT id, machine_id, machine_label, is_virtual, json FROM environment WHERE id = ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<EnvironmentRecord>();
  return std::optional<EnvironmentRecord>(
      EnvironmentRecord{row->text(0), row->text(1), row->text(2), row->integer(3) != 0, row->text(4)});
}

Result<std::string> read_blob(Database& database, std::string_view digest) {
  const std::string what = database.path().string() + ", raw output " + std::string(digest);
  Result<Statement> row = database.prepare("SELECT raw_size, zstd FROM blob WHERE sha256 = ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(digest).step();
  if (!found) return found.error();
  if (!*found)
    return Error{ErrorKind::kUsage, what, "not in this store", "check the digest, or name another store with --db"};
  // A negative size becomes a huge one, which is refused.
  Result<std::string> raw = decompress(row->bytes(1), static_cast<std::uint64_t>(row->integer(0)));
  if (!raw) {
    Error error = raw.error();
    error.what = what;
    return error;
  }
  if (sha256(*raw) != digest) {
    return Error{ErrorKind::kUsage, what, "damaged: its bytes have another digest",
                 "restore the store from a copy, or measure again"};
  }
  return raw;
}

// PostgreSQL keeps references by itself; what it reads it checks, if the server has checksums.
template <class Found>
Status find_damage_on_server(Database& database, const Found& found) {
  Result<Statement> tables = database.prepare(
      "SELECT CAST(c.relname AS TEXT), EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conrelid = c.oid AND NOT "
      "k.convalidated) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
      "WHERE n.nspname = current_schema() AND c.relkind = 'r' ORDER BY 1");
  if (!tables) return tables.error();
  std::vector<std::string> names;
  for (;;) {
    const Result<bool> row = tables->step();
    if (!row) return row.error();
    if (!*row) break;
    names.push_back(tables->text(0));
    if (tables->integer(1) != 0) return found("a rule of table " + names.back() + " was never checked");
  }
  for (const std::string& name : names) {
    // Every row whole, its bytes outside the table too.
    const Result<std::int64_t> rows =
        database.integer("SELECT count(hashtextextended(CAST(t AS TEXT), 0)) FROM " + name + " AS t");
    if (!rows) return found("table " + name + " cannot be read (" + rows.error().cause + ")");
  }
  return {};
}

Status find_damage(Database& database) {
  const auto found = [&](const std::string& what) {
    Error error = damaged(database, what);
    error.kind = ErrorKind::kFinding;
    error.cause = "damaged: " + what;
    return error;
  };
  if (database.backend() == Backend::kPostgres) return find_damage_on_server(database, found);
  Result<Statement> integrity = database.prepare("PRAGMA integrity_check(1)");
  if (!integrity) return integrity.error();
  const Result<bool> line = integrity->step();
  if (!line) return line.error();
  if (!*line) return found("the check gave no answer");
  if (integrity->bytes(0) != "ok") return found(integrity->text(0));
  Result<Statement> references = database.prepare("PRAGMA foreign_key_check");
  if (!references) return references.error();
  const Result<bool> dangling = references->step();
  if (!dangling) return dangling.error();
  if (*dangling) {
    return found("row " + std::to_string(references->integer(1)) + " of table " + references->text(0) +
                 " refers to a missing row of " + references->text(2));
  }
  return {};
}

// One consistent view for everything that `read` asks.
template <class Read>
auto reading(Connection& connection, Read read) -> decltype(read(connection.database())) {
  Result<Transaction> transaction = connection.begin_read();
  if (!transaction) return transaction.error();
  auto answer = read(connection.database());
  if (Status status = connection.end_read(); !status) return std::move(status).error();
  return answer;
}

}  // namespace

Result<std::vector<RunRecord>> Store::runs(std::string_view suite_id) {
  return reading(state_->connection, [&](Database& database) { return read_runs(database, suite_id); });
}

Result<std::vector<TrialView>> Store::trials(const TrialFilter& filter) {
  return reading(state_->connection, [&](Database& database) { return read_trials(database, filter); });
}

Result<std::vector<QualityRecord>> Store::quality(std::string_view run_id) {
  return reading(state_->connection, [&](Database& database) { return read_quality(database, run_id); });
}

Result<std::vector<SourceRecord>> Store::sources() {
  return reading(state_->connection, [&](Database& database) { return read_sources(database); });
}

Result<std::vector<QuarantineRecord>> Store::quarantine(std::string_view source_sha256) {
  return reading(state_->connection, [&](Database& database) { return read_quarantine(database, source_sha256); });
}

Status Store::source_bytes(std::string_view sha256, const std::function<void(std::string_view)>& take) {
  return reading(state_->connection, [&](Database& database) { return read_source_bytes(database, sha256, take); });
}

Result<std::optional<std::string>> Store::suite_json(std::string_view suite_id) {
  return reading(state_->connection, [&](Database& database) { return read_suite_json(database, suite_id); });
}

Result<std::string> Store::suite_name(std::string_view suite_id) {
  return reading(state_->connection, [&](Database& database) { return read_suite_name(database, suite_id); });
}

Result<std::optional<ClosureRecord>> Store::closure(std::string_view id) {
  return reading(state_->connection, [&](Database& database) { return read_closure(database, id); });
}

Result<std::optional<EnvironmentRecord>> Store::environment(std::string_view id) {
  return reading(state_->connection, [&](Database& database) { return read_environment(database, id); });
}

Result<std::string> Store::blob(std::string_view sha256) {
  return reading(state_->connection, [&](Database& database) { return read_blob(database, sha256); });
}

Status Store::check_integrity() {
  return reading(state_->connection, [&](Database& database) { return find_damage(database); });
}

}  // namespace capbench::schema
