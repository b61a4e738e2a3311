#include "reports/server/queries.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reports/server/cursor.h"
#include "reports/server/http/problem.h"
#include "schema/database.h"
#include "schema/inbox.h"

namespace capbench::server {
namespace {

using nlohmann::json;
using schema::Database;
using schema::Statement;
using schema::Transaction;

Error bad_cursor() {
  return {ErrorKind::kUsage, "cursor", "not one that this list gave", "take it from \"next\" of the page before"};
}

// One consistent view of several queries.
template <class Read>
auto reading(Reader& reader, Read read) -> decltype(read(std::declval<Database&>())) {
  Result<Transaction> transaction = Transaction::begin(reader.database, Transaction::Kind::kRead);
  if (!transaction) return std::move(transaction).error();
  return read(reader.database);
}

// Calls `take` for each row.
template <class Take>
Status each_row(Result<Statement>& rows, Take take) {
  if (!rows) return rows.error();
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    take(*rows);
  }
}

// The store holds nothing that is not JSON in these columns; should it, it is text.
json embedded(std::string text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(std::move(text)) : value;
}

json text_or_null(const Statement& row, int column) {
  return row.is_null(column) ? json() : json(row.text(column));
}

// The last row asked for is one too many: it says that there is more. `behind`: where to go on if there is not; empty:
// nowhere.
std::string page_text(json items, std::string_view list, std::size_t limit, const std::vector<std::string>& places,
                      const std::string& behind = "") {
  json next = behind.empty() ? json() : json(encode_cursor(list, behind));
  if (items.size() > limit) {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(limit), items.end());
    next = encode_cursor(list, places.at(limit - 1));
  }
  return http::safe_json({{"items", std::move(items)}, {"next", std::move(next)}});
}

// A row number; nothing: from the beginning.
Result<std::int64_t> row_cursor(std::string_view list, const std::string& cursor) {
  if (cursor.empty()) return INT64_MAX;
  const std::optional<std::string> place = decode_cursor(list, cursor);
  std::int64_t row = 0;
  if (!place) return bad_cursor();
  const auto [end, failure] = std::from_chars(place->data(), place->data() + place->size(), row);
  if (failure != std::errc() || end != place->data() + place->size()) return bad_cursor();
  return row;
}

struct Where {
  std::string sql;
  std::vector<std::string> values;
  void add(std::string_view condition, const std::string& value) {
    if (value.empty()) return;
    sql += " AND ";
    sql += condition;
    values.push_back(value);
  }
};

// The ids that stand for what a query names: of suites by id or name, or of a machine's environments.
constexpr std::string_view kSuites = "SELECT id FROM suite WHERE id = ? UNION ALL SELECT id FROM suite WHERE name = ?";
constexpr std::string_view kEnvironments = "SELECT id FROM environment WHERE machine_id = ?";

// `with_groups`: suite and machine too.
Where where(const TrialQuery& query, bool with_groups) {
  Where w;
  if (with_groups && !query.suite.empty()) {
    w.sql += " AND t.suite_id IN (" + std::string(kSuites) + ")";
    w.values.insert(w.values.end(), {query.suite, query.suite});
  }
  w.add("t.run_id = ?", query.run);
  w.add("t.environment_id = ?", query.environment);
  if (with_groups) w.add("t.environment_id IN (" + std::string(kEnvironments) + ")", query.machine);
  w.add("t.id IN (SELECT trial_id FROM bundle_trial WHERE bundle_id = ?)", query.bundle);
  w.add("t.mode = ?", query.mode);
  w.add("t.model = ?", query.model);
  w.add("t.status = ?", query.status);
  return w;
}

Result<json> results_of(Database& database, const std::string& trial, bool whole) {
  json list = json::array();
  Result<Statement> rows = database.prepare(
      "SELECT test, build, n_prompt, n_gen, n_depth, model_type, model_size, model_n_params, backends, cpu_info, "
      "gpu_info, samples_ns, median_ts, fields FROM printed_result WHERE trial_id = ? ORDER BY ordinal");
  if (rows) rows->bind(trial);
  Status status = each_row(rows, [&](const Statement& row) {
    json result{{"test", row.text(0)}, {"build", row.text(1)}, {"median_ts", row.real(12)}};
    if (whole) {
      result.update({{"n_prompt", row.integer(2)},
                     {"n_gen", row.integer(3)},
                     {"n_depth", row.integer(4)},
                     {"model_type", row.text(5)},
                     {"model_size", row.integer(6)},
                     {"model_n_params", row.integer(7)},
                     {"backends", row.text(8)},
                     {"cpu_info", row.text(9)},
                     {"gpu_info", row.text(10)},
                     {"samples_ns", embedded(row.text(11))},
                     {"fields", row.is_null(13) ? json() : embedded(row.text(13))}});
    }
    list.push_back(std::move(result));
  });
  if (!status) return std::move(status).error();
  Result<Statement> stated = database.prepare(
      "SELECT test, build, mean_ts, stddev_ts, repetitions FROM stated_result WHERE trial_id = ? ORDER BY ordinal");
  if (stated) stated->bind(trial);
  status = each_row(stated, [&](const Statement& row) {
    list.push_back({{"test", row.text(0)},
                    {"build", row.text(1)},
                    {"mean_ts", row.real(2)},
                    {"stddev_ts", row.is_null(3) ? json() : json(row.real(3))},
                    {"repetitions", row.is_null(4) ? json() : json(row.integer(4))}});
  });
  if (!status) return std::move(status).error();
  return list;
}

constexpr std::string_view kTrialColumns =
    "SELECT t.rowid, t.id, t.run_id, t.suite_id, s.name, t.environment_id, e.machine_id, e.machine_label, t.arm, "
    "t.mode, "
    "t.target, t.guest, t.workload, t.model, t.model_kind, t.block, t.attempt, t.status, t.reason, t.treatment, "
    "t.quality, t.started_at, t.wall_ns FROM trial AS t JOIN suite AS s ON s.id = t.suite_id "
    "LEFT JOIN environment AS e ON e.id = t.environment_id";

json trial_summary(const Statement& row) {
  return {{"id", row.text(1)},
          {"run", row.text(2)},
          {"suite", row.text(3)},
          {"suite_name", row.text(4)},
          {"environment", text_or_null(row, 5)},
          {"machine", text_or_null(row, 6)},
          {"machine_label", text_or_null(row, 7)},
          {"arm", row.text(8)},
          {"mode", row.text(9)},
          {"target", row.text(10)},
          {"guest", row.text(11)},
          {"workload", row.text(12)},
          {"model", row.text(13)},
          {"model_kind", row.text(14)},
          {"block", row.integer(15)},
          {"attempt", row.integer(16)},
          {"status", row.text(17)},
          {"reason", row.text(18)},
          {"treatment", row.text(19)},
          {"quality", row.text(20)},
          {"started_at", row.text(21)},
          {"wall_ns", row.integer(22)}};
}

// A page of trials stands between two row numbers.
struct Window {
  std::int64_t after = 0;  // 0: no matter
  std::int64_t before = INT64_MAX;

  // With two bounds PostgreSQL takes it for few rows, and reads those before it looks at anything else. That is right
  // for a walk and wrong where an index knows the rows.
  std::string sql() const { return after > 0 ? "t.rowid < ? AND t.rowid > ?" : "t.rowid < ?"; }
  void bind(Statement& statement) const {
    statement.bind(before);
    if (after > 0) statement.bind(after);
  }
};

// Most rows that are looked at for one page. The newest of a rare model or status may be a million rows back, and no
// request walks that far: its page has fewer trials, even none, and says where to go on.
constexpr std::int64_t kMostWalked = 20'000;

// Of what a suite, a run, an environment or a bundle holds the rows are known; a value of a column is looked for.
bool walks(const TrialQuery& query) {
  const bool looked_for = !query.mode.empty() || !query.model.empty() || !query.status.empty();
  return looked_for && query.run.empty() && query.environment.empty() && query.bundle.empty();
}

Result<std::int64_t> end_of_walk(Database& database, std::int64_t before) {
  Result<Statement> row = database.prepare("SELECT coalesce(max(rowid), 0) FROM trial WHERE rowid < ?");
  if (!row) return row.error();
  const Result<bool> found = row->bind(before).step();
  if (!found) return found.error();
  return std::max<std::int64_t>(0, row->integer(0) - kMostWalked);
}

// SQLite walks along all trials for the newest of several suites, unless each is asked for its own.
Result<std::string> newest_rows_of_suites(Database& database, const std::string& suite, const Where& w, Window window,
                                          std::int64_t most) {
  std::vector<std::string> suites;
  Result<Statement> ids = database.prepare(kSuites);
  if (ids) ids->bind(suite).bind(suite);
  if (Status status = each_row(ids, [&](const Statement& row) { suites.push_back(row.text(0)); }); !status) {
    return std::move(status).error();
  }
  std::vector<std::int64_t> found;
  for (const std::string& id : suites) {
    Result<Statement> rows = database.prepare("SELECT t.rowid FROM trial AS t WHERE t.suite_id = ? AND " +
                                              window.sql() + w.sql + " ORDER BY t.rowid DESC LIMIT ?");
    if (rows) {
      rows->bind(id);
      window.bind(*rows);
      for (const std::string& value : w.values) rows->bind(value);
      rows->bind(most);
    }
    Status status = each_row(rows, [&](const Statement& row) { found.push_back(row.integer(0)); });
    if (!status) return std::move(status).error();
  }
  std::sort(found.rbegin(), found.rend());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > static_cast<std::size_t>(most)) found.resize(static_cast<std::size_t>(most));
  return json(found).dump();
}

Result<std::string> read_trials(Database& database, const Page& page, const TrialQuery& query) {
  const Result<std::int64_t> before = row_cursor("trials", page.cursor);
  if (!before) return before.error();
  Window window{0, *before};
  if (walks(query)) {
    const Result<std::int64_t> end = end_of_walk(database, *before);
    if (!end) return end.error();
    window.after = *end;
  }
  const auto most = static_cast<std::int64_t>(page.limit + 1);
  const bool by_suite = !query.suite.empty();
  const bool is_sqlite = database.backend() == schema::Backend::kSqlite;
  // PostgreSQL walks along all trials for the newest of several suites or environments, unless each is asked for its
  // own.
  const bool in_groups = !is_sqlite && (by_suite || !query.machine.empty()) && !(by_suite && !query.machine.empty());
  const bool by_rows = is_sqlite && by_suite;
  TrialQuery rest = query;
  if (by_rows) rest.suite.clear();
  const Where w = where(rest, !in_groups);
  std::string sql(kTrialColumns);
  std::string rows_of_suites;
  if (by_rows) {
    Result<std::string> rows = newest_rows_of_suites(database, query.suite, w, window, most);
    if (!rows) return rows;
    rows_of_suites = std::move(*rows);
    sql += " WHERE t.rowid IN (SELECT value FROM json_each(?)) ORDER BY t.rowid DESC";
  } else if (in_groups) {
    const std::string column = by_suite ? "t.suite_id" : "t.environment_id";
    // Between and in order of the column, which says the same as equal, so that the index of both is what is read.
    const std::string groups = "FROM (SELECT x.* FROM (" + std::string(by_suite ? kSuites : kEnvironments) +
                               ") AS k CROSS JOIN LATERAL (SELECT * FROM trial AS t WHERE " + window.sql() + " AND " +
                               column + " >= k.id AND " + column + " <= k.id" + w.sql + " ORDER BY " + column +
                               " DESC, t.rowid DESC LIMIT ?) AS x) AS t";
    constexpr std::string_view kAll = "FROM trial AS t";
    sql.replace(sql.find(kAll), kAll.size(), groups);
    sql += " ORDER BY t.rowid DESC LIMIT ?";
  } else {
    sql += " WHERE " + window.sql() + w.sql + " ORDER BY t.rowid DESC LIMIT ?";
  }
  Result<Statement> rows = database.prepare(sql);
  if (!rows) return rows.error();
  if (by_rows) {
    rows->bind(rows_of_suites);
  } else {
    if (in_groups && by_suite) rows->bind(query.suite).bind(query.suite);
    if (in_groups && !by_suite) rows->bind(query.machine);
    window.bind(*rows);
    for (const std::string& value : w.values) rows->bind(value);
    rows->bind(most);
    if (in_groups) rows->bind(most);
  }
  json items = json::array();
  std::vector<std::string> places;
  Status status = each_row(rows, [&](const Statement& row) {
    places.push_back(std::to_string(row.integer(0)));
    items.push_back(trial_summary(row));
  });
  if (!status) return std::move(status).error();
  for (json& item : items) {
    Result<json> results = results_of(database, item["id"].get<std::string>(), false);
    if (!results) return std::move(results).error();
    item["results"] = std::move(*results);
  }
  const std::string behind = window.after > 0 ? std::to_string(window.after + 1) : "";
  return page_text(std::move(items), "trials", page.limit, places, behind);
}

Result<bool> exists(Database& database, std::string_view sql, const std::string& value) {
  Result<Statement> row = database.prepare(sql);
  if (!row) return row.error();
  return row->bind(value).step();
}

// Came in bundles, and every one of them was withdrawn.
constexpr std::string_view kWithdrawn =
    "EXISTS (SELECT 1 FROM bundle_trial AS bt WHERE bt.trial_id = t.id) AND NOT EXISTS (SELECT 1 FROM bundle_trial AS "
    "bt "
    "JOIN bundle AS b ON b.id = bt.bundle_id WHERE bt.trial_id = t.id AND b.withdrawn_at IS NULL)";

Status add_capabilities(Database& database, json& trial) {
  const auto id = trial["id"].get<std::string>();
  json& capabilities = trial["capabilities"] = json::array();
  Result<Statement> rows = database.prepare(
      "SELECT name, requested, observed, source, agrees FROM capability WHERE trial_id = ? ORDER BY ordinal");
  if (rows) rows->bind(id);
  Status status = each_row(rows, [&](const Statement& row) {
    capabilities.push_back({{"name", row.text(0)},
                            {"requested", row.text(1)},
                            {"observed", row.text(2)},
                            {"source", row.text(3)},
                            {"agrees", row.integer(4) != 0}});
  });
  if (!status) return status;
  json& flags = trial["flags"] = json::array();
  Result<Statement> flag_rows = database.prepare("SELECT flag FROM flag WHERE trial_id = ? ORDER BY ordinal");
  if (flag_rows) flag_rows->bind(id);
  status = each_row(flag_rows, [&](const Statement& row) { flags.push_back(row.text(0)); });
  if (!status) return status;
  json& bundles = trial["bundles"] = json::array();
  Result<Statement> bundle_rows = database.prepare(
      "SELECT b.id, b.tier, b.withdrawn_at FROM bundle_trial AS bt JOIN bundle AS b ON b.id = bt.bundle_id "
      "WHERE bt.trial_id = ? ORDER BY b.received_at, b.id");
  if (bundle_rows) bundle_rows->bind(id);
  return each_row(bundle_rows, [&](const Statement& row) {
    bundles.push_back({{"id", row.text(0)}, {"tier", row.text(1)}, {"withdrawn_at", text_or_null(row, 2)}});
  });
}

Status add_closure(Database& database, json& trial, const std::string& closure) {
  json& members = trial["closure"] = json::array();
  Result<Statement> rows = database.prepare(
      "SELECT m.role, m.name, m.sha256, a.size FROM closure_member AS m JOIN artifact AS a ON a.sha256 = m.sha256 "
      "WHERE m.closure_id = ? ORDER BY m.ordinal");
  if (rows) rows->bind(closure);
  return each_row(rows, [&](const Statement& row) {
    members.push_back(
        {{"role", row.text(0)}, {"name", row.text(1)}, {"sha256", row.text(2)}, {"size", row.integer(3)}});
  });
}

Found read_trial(Database& database, const std::string& id) {
  Result<Statement> head = database.prepare(std::string(kTrialColumns) + " WHERE t.id = ?");
  if (!head) return head.error();
  const Result<bool> found = head->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<std::string>();
  json trial = trial_summary(*head);
  Result<Statement> more = database.prepare(
      "SELECT t.argv, t.environment_set, t.user_ns, t.system_ns, t.max_rss_bytes, t.exit_status, t.signal, "
      "t.stdout_sha256, t.stderr_sha256, t.probe_sha256, t.image, t.hygiene, t.measured, t.closure_id, " +
      std::string(kWithdrawn) + " FROM trial AS t WHERE t.id = ?");
  if (!more) return more.error();
  const Result<bool> there = more->bind(id).step();
  if (!there) return there.error();
  if (!*there) return std::optional<std::string>();
  const bool withdrawn = more->integer(14) != 0;
  const auto integer_or_null = [&](int column) { return more->is_null(column) ? json() : json(more->integer(column)); };
  const auto json_or_null = [&](int column) { return more->is_null(column) ? json() : embedded(more->text(column)); };
  const auto raw = [&](int column) { return withdrawn ? json() : text_or_null(*more, column); };
  trial.update({{"argv", embedded(more->text(0))},
                {"environment_set", embedded(more->text(1))},
                {"user_ns", more->integer(2)},
                {"system_ns", more->integer(3)},
                {"max_rss_bytes", more->integer(4)},
                {"exit_status", integer_or_null(5)},
                {"signal", integer_or_null(6)},
                {"stdout_sha256", raw(7)},
                {"stderr_sha256", raw(8)},
                {"probe_sha256", raw(9)},
                {"image", json_or_null(10)},
                {"hygiene", json_or_null(11)},
                {"measured", json_or_null(12)},
                {"withdrawn", withdrawn}});
  const std::string closure = more->text(13);
  Result<json> results = results_of(database, id, true);
  if (!results) return std::move(results).error();
  trial["results"] = std::move(*results);
  if (Status status = add_capabilities(database, trial); !status) return std::move(status).error();
  if (Status status = add_closure(database, trial, closure); !status) return std::move(status).error();
  return std::optional<std::string>(http::safe_json(trial));
}

json bundle_summary(const schema::BundleRecord& bundle) {
  const auto or_null = [](const std::string& text) { return text.empty() ? json() : json(text); };
  return {{"id", bundle.id},
          {"size", bundle.size},
          {"signer", or_null(bundle.signer)},
          {"tier", bundle.tier},
          {"received_at", bundle.received_at},
          {"withdrawn_at", or_null(bundle.withdrawn_at)},
          {"why", or_null(bundle.why)}};
}

Result<std::int64_t> count_of(Database& database, std::string_view sql, const std::string& value) {
  Result<Statement> row = database.prepare(sql);
  if (!row) return row.error();
  const Result<bool> found = row->bind(value).step();
  if (!found) return found.error();
  return row->integer(0);
}

}  // namespace

Result<std::string> suites_page(Reader& reader, const Page& page, const std::string& name) {
  const Result<std::int64_t> before = row_cursor("suites", page.cursor);
  if (!before) return before.error();
  return reading(reader, [&](Database& database) -> Result<std::string> {
    Result<Statement> rows = database.prepare(
        "SELECT s.rowid, s.id, s.name, (SELECT count(*) FROM run AS r WHERE r.suite_id = s.id), "
        "(SELECT max(r.started_at) FROM run AS r WHERE r.suite_id = s.id) FROM suite AS s "
        "WHERE s.rowid < ?1 AND (?2 = '' OR s.name = ?2) ORDER BY s.rowid DESC LIMIT ?3");
    if (!rows) return rows.error();
    rows->bind(*before).bind(name).bind(static_cast<std::int64_t>(page.limit + 1));
    json items = json::array();
    std::vector<std::string> places;
    Status status = each_row(rows, [&](const Statement& row) {
      places.push_back(std::to_string(row.integer(0)));
      items.push_back(
          {{"id", row.text(1)}, {"name", row.text(2)}, {"runs", row.integer(3)}, {"newest_run", text_or_null(row, 4)}});
    });
    if (!status) return std::move(status).error();
    return page_text(std::move(items), "suites", page.limit, places);
  });
}

Result<std::string> machines_page(Reader& reader, const Page& page) {
  std::string after;
  if (!page.cursor.empty()) {
    std::optional<std::string> place = decode_cursor("machines", page.cursor);
    if (!place) return bad_cursor();
    after = std::move(*place);
  }
  return reading(reader, [&](Database& database) -> Result<std::string> {
    Result<Statement> rows =
        database.prepare("SELECT machine_id, max(machine_label), max(is_virtual), " +
                         std::string(database.either("json_group_array(id)", "CAST(json_agg(id) AS TEXT)")) +
                         " FROM environment WHERE machine_id > ? GROUP BY machine_id ORDER BY machine_id LIMIT ?");
    if (!rows) return rows.error();
    rows->bind(after).bind(static_cast<std::int64_t>(page.limit + 1));
    json items = json::array();
    std::vector<std::string> places;
    Status status = each_row(rows, [&](const Statement& row) {
      places.push_back(row.text(0));
      items.push_back({{"id", row.text(0)},
                       {"label", row.text(1)},
                       {"is_virtual", row.integer(2) != 0},
                       {"environments", embedded(row.text(3))}});
    });
    if (!status) return std::move(status).error();
    return page_text(std::move(items), "machines", page.limit, places);
  });
}

Result<std::string> trials_page(Reader& reader, const Page& page, const TrialQuery& query) {
  return reading(reader, [&](Database& database) { return read_trials(database, page, query); });
}

Result<std::string> bundles_page(Reader& reader, const Page& page, const BundleQuery& query) {
  schema::BundleFilter filter;
  filter.signer = query.signer;
  filter.tier = query.tier;
  filter.standing = !query.withdrawn;
  filter.limit = page.limit + 1;
  if (!page.cursor.empty()) {
    const std::optional<std::string> place = decode_cursor("bundles", page.cursor);
    const std::size_t space = place ? place->find(' ') : std::string::npos;
    if (space == std::string::npos) return bad_cursor();
    filter.older_than = place->substr(0, space);
    filter.older_id = place->substr(space + 1);
  }
  const Result<std::vector<schema::BundleRecord>> bundles = reader.store.bundles(filter);
  if (!bundles) return bundles.error();
  json items = json::array();
  std::vector<std::string> places;
  for (const schema::BundleRecord& bundle : *bundles) {
    places.push_back(bundle.received_at + " " + bundle.id);
    items.push_back(bundle_summary(bundle));
  }
  return page_text(std::move(items), "bundles", page.limit, places);
}

Found suite_document(Reader& reader, const std::string& id) {
  return reading(reader, [&](Database& database) -> Found {
    Result<Statement> suite = database.prepare("SELECT id, name, json FROM suite WHERE id = ?");
    if (!suite) return suite.error();
    const Result<bool> found = suite->bind(id).step();
    if (!found) return found.error();
    if (!*found) return std::optional<std::string>();
    json runs = json::array();
    Result<Statement> rows = database.prepare(
        "SELECT id, machine_id, seed, started_at, harness_version, state, planned_trials FROM run WHERE suite_id = ? "
        "ORDER BY started_at DESC, id LIMIT 1000");
    if (rows) rows->bind(id);
    Status status = each_row(rows, [&](const Statement& row) {
      runs.push_back({{"id", row.text(0)},
                      {"machine", row.text(1)},
                      {"seed", row.text(2)},
                      {"started_at", row.text(3)},
                      {"harness_version", row.text(4)},
                      {"state", row.text(5)},
                      {"planned_trials", row.integer(6)}});
    });
    if (!status) return std::move(status).error();
    return std::optional<std::string>(http::safe_json({{"id", suite->text(0)},
                                                       {"name", suite->text(1)},
                                                       {"suite", embedded(suite->text(2))},
                                                       {"runs", std::move(runs)}}));
  });
}

Found environment_document(Reader& reader, const std::string& id) {
  return reading(reader, [&](Database& database) -> Found {
    Result<Statement> row =
        database.prepare("SELECT id, machine_id, machine_label, is_virtual, json FROM environment WHERE id = ?");
    if (!row) return row.error();
    const Result<bool> found = row->bind(id).step();
    if (!found) return found.error();
    if (!*found) return std::optional<std::string>();
    return std::optional<std::string>(http::safe_json({{"id", row->text(0)},
                                                       {"machine", row->text(1)},
                                                       {"machine_label", row->text(2)},
                                                       {"is_virtual", row->integer(3) != 0},
                                                       {"facts", embedded(row->text(4))}}));
  });
}

Found trial_document(Reader& reader, const std::string& id) {
  return reading(reader, [&](Database& database) { return read_trial(database, id); });
}

namespace {

std::string_view word_of(schema::InboxState state) {
  switch (state) {
    case schema::InboxState::kPending:
      return "pending";
    case schema::InboxState::kRefused:
      return "refused";
    case schema::InboxState::kWithdrawn:
      break;
  }
  return "withdrawn";
}

// In the same shape as one that was taken, as far as it is known.
json inbox_document(const schema::InboxEntry& entry) {
  json document{{"id", entry.id},  {"state", word_of(entry.state)},    {"size", entry.size},      {"signer", nullptr},
                {"tier", nullptr}, {"received_at", entry.received_at}, {"withdrawn_at", nullptr}, {"why", nullptr},
                {"trials", 0},     {"checks", json::array()}};
  json outcome = embedded(entry.outcome);
  if (!outcome.is_object()) return document;
  for (const char* name : {"error", "checks", "why"}) {
    if (outcome.contains(name)) document[name] = std::move(outcome[name]);
  }
  return document;
}

}  // namespace

Result<Submission> find_submission(schema::Store& store, const std::string& id) {
  Submission submission;
  // The inbox first: what leaves it in between is then in the store. The other way round it would be in neither.
  Result<std::optional<schema::InboxEntry>> waiting = schema::Inbox(store).find(id);
  if (!waiting) return std::move(waiting).error();
  submission.waiting = std::move(*waiting);
  Result<std::optional<schema::BundleRecord>> taken = store.bundle(id);
  if (!taken) return std::move(taken).error();
  submission.taken = std::move(*taken);
  return submission;
}

Found submission_document(Reader& reader, const std::string& id, const std::string& public_url,
                          std::string_view receipt_sha256) {
  const auto finished = [&](json document, const std::string& held) {
    document["url"] = public_url + "/api/v1/submissions/" + id;
    if (!receipt_sha256.empty()) document["yours"] = held == receipt_sha256;
    return std::optional<std::string>(http::safe_json(document));
  };
  const Result<Submission> found = find_submission(reader.store, id);
  if (!found) return found.error();
  if (!found->taken) {
    if (!found->waiting) return std::optional<std::string>();
    return finished(inbox_document(*found->waiting), found->waiting->receipt_sha256);
  }
  const Result<std::int64_t> trials =
      count_of(reader.database, "SELECT count(*) FROM bundle_trial WHERE bundle_id = ?", id);
  if (!trials) return trials.error();
  const schema::BundleRecord& bundle = *found->taken;
  json document = bundle_summary(bundle);
  document["state"] = bundle.withdrawn_at.empty() ? "taken" : "withdrawn";
  document["trials"] = *trials;
  json verdict = embedded(bundle.verdict);
  document["checks"] = verdict.is_object() && verdict.contains("checks") ? std::move(verdict["checks"]) : json::array();
  return finished(std::move(document), bundle.receipt_sha256);
}

// Output of trials, of probes under their arm, and of quality checks.
Result<bool> is_withdrawn_raw(Reader& reader, const std::string& sha256) {
  return reading(reader, [&](Database& database) -> Result<bool> {
    constexpr std::string_view kTrials =
        "SELECT 1 FROM trial AS t WHERE (t.stdout_sha256 = ?1 OR t.stderr_sha256 = ?1 OR t.probe_sha256 = ?1)";
    constexpr std::string_view kChecks =
        "SELECT 1 FROM quality_check AS q WHERE (q.stdout_sha256 = ?1 OR q.stderr_sha256 = ?1)";
    const std::string stands = " AND NOT (" + std::string(kWithdrawn) + ")";
    const std::string of_trials = std::string(kTrials) + " UNION ALL " + std::string(kChecks) + " LIMIT 1";
    const Result<bool> known = exists(database, of_trials, sha256);
    if (!known || !*known) return known;
    const std::string standing = std::string(kTrials) + stands + " UNION ALL " + std::string(kChecks) +
                                 " AND EXISTS (SELECT 1 FROM trial AS t WHERE t.run_id = q.run_id" + stands +
                                 ") LIMIT 1";
    const Result<bool> found = exists(database, standing, sha256);
    if (!found) return found.error();
    return !*found;
  });
}

Result<std::int64_t> count_trials(Reader& reader, const std::string& suite, std::int64_t most) {
  return reading(reader, [&](Database& database) -> Result<std::int64_t> {
    TrialQuery query;
    query.suite = suite;
    const Where w = where(query, true);
    Result<Statement> row =
        database.prepare("SELECT count(*) FROM (SELECT 1 FROM trial AS t WHERE TRUE" + w.sql + " LIMIT ?) AS counted");
    if (!row) return row.error();
    for (const std::string& value : w.values) row->bind(value);
    const Result<bool> found = row->bind(most).step();
    if (!found) return found.error();
    return row->integer(0);
  });
}

}  // namespace capbench::server
