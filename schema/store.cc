#include "schema/store.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "schema/blob.h"
#include "schema/canonical.h"
#include "schema/store_state.h"

namespace capbench::schema {
namespace {

constexpr std::size_t kShown = 12;  // digits of an id that people need to see

std::string named(std::string_view what, std::string_view id) {
  return id.empty() ? std::string(what) : std::string(what) + " " + std::string(id.substr(0, kShown));
}

Error refuse(std::string_view what, std::string_view id, std::string cause, std::string remedy) {
  return {ErrorKind::kUsage, named(what, id), std::move(cause), std::move(remedy)};
}

Error two_under_one_id(std::string_view what, std::string_view id) {
  return refuse(what, id, "the store holds a different one under this id",
                "put it into a store of its own with --db, and check where it came from: one of the two was altered");
}

Result<std::int64_t> to_integer(std::string_view what, std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return refuse(what, "", std::to_string(value) + " is more than the store can hold", "check where it came from");
  }
  return static_cast<std::int64_t>(value);
}

Result<bool> exists(Database& database, std::string_view sql, std::string_view id) {
  Result<Statement> statement = database.prepare(sql);
  if (!statement) return statement.error();
  return statement->bind(id).step();
}

// The text that `sql` finds for an id; nothing if there is no such row.
Result<std::optional<std::string>> find_text(Database& database, std::string_view sql, std::string_view id) {
  Result<Statement> statement = database.prepare(sql);
  if (!statement) return statement.error();
  const Result<bool> row = statement->bind(id).step();
  if (!row) return row.error();
  if (!*row) return std::optional<std::string>();
  return std::optional<std::string>(statement->text(0));
}

std::string json_list(const std::vector<std::string>& texts) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& text : texts) list.push_back(to_utf8(text));
  return canonical(list);
}

// What no trial may hold, whatever the tables would take.
Status check_trial(const TrialRecord& trial) {
  if (trial.id.empty()) return refuse("trial", "", "has no id", "name it with trial_id()");
  for (const ResultRecord& result : trial.results) {
    if (!std::isfinite(result.median_ts)) {
      return refuse("trial", trial.id, "the median of " + result.test + " is not a number", "check the samples");
    }
    for (const std::int64_t ns : result.samples_ns) {
      if (ns < 0) return refuse("trial", trial.id, "a sample of " + result.test + " is negative", "check the samples");
    }
    if (!result.fields.empty() && !nlohmann::json::accept(result.fields)) {
      return refuse("trial", trial.id, "the fields of " + result.test + " are not JSON", "store only whole rows");
    }
  }
  return {};
}

// Raw output on its way in.
struct Raw {
  std::string sha256;  // empty: withheld
  std::string frame;   // compressed; empty if the store has it
  std::uint64_t size = 0;
};

Result<Raw> prepare_raw(Database& database, const TrialRecord& trial, std::string_view stream,
                        const std::string& digest, std::string_view bytes) {
  Raw raw;
  raw.size = bytes.size();
  if (bytes.empty() && digest.empty()) return raw;
  raw.sha256 = sha256(bytes);
  const bool given = digest.empty() || digest == raw.sha256;
  if (!given && !bytes.empty()) {
    return refuse("trial", trial.id, "its " + std::string(stream) + " is not what its digest says",
                  "take the digest of the bytes that are stored");
  }
  if (!given) raw.sha256 = digest;
  const Result<bool> held = exists(database, "SELECT 1 FROM blob WHERE sha256 = ?", raw.sha256);
  if (!held) return held.error();
  if (*held) return raw;
  if (!given) {
    return refuse("trial", trial.id, "its " + std::string(stream) + " is missing",
                  "pass the raw bytes, or no digest if they are withheld");
  }
  Result<std::string> frame = compress(bytes);
  if (!frame) return frame.error();
  raw.frame = std::move(*frame);
  return raw;
}

Status insert_raw(Database& database, const Raw& raw) {
  if (raw.frame.empty()) return {};
  Result<Statement> insert =
      database.prepare("INSERT INTO blob (sha256, raw_size, zstd) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING");
  if (!insert) return insert.error();
  return insert->bind(raw.sha256).bind(static_cast<std::int64_t>(raw.size)).bind_blob(raw.frame).run();
}

// Names the missing or conflicting row, where SQLite would only say that there is one.
Status check_references(Database& database, const TrialRecord& trial) {
  struct Reference {
    std::string_view table;
    std::string_view sql;
    std::string_view id;
    bool optional;
  };
  const Reference references[] = {
      {"run", "SELECT 1 FROM run WHERE id = ?", trial.run_id, false},
      {"suite", "SELECT 1 FROM suite WHERE id = ?", trial.suite_id, false},
      {"environment", "SELECT 1 FROM environment WHERE id = ?", trial.environment_id, true},
      {"closure", "SELECT 1 FROM closure WHERE id = ?", trial.closure_id, true},
  };
  for (const Reference& reference : references) {
    if (reference.optional && reference.id.empty()) continue;
    const Result<bool> found = exists(database, reference.sql, reference.id);
    if (!found) return found.error();
    if (!*found) {
      return refuse("trial", trial.id, "its " + named(reference.table, reference.id) + " is not in the store",
                    "put the " + std::string(reference.table) + " first");
    }
  }
  Result<Statement> place = database.prepare(
      "SELECT id FROM trial WHERE run_id = ? AND arm = ? AND workload = ? AND model = ? AND block = ? AND attempt = ?");
  if (!place) return place.error();
  const Result<bool> taken = place->bind(trial.run_id)
                                 .bind(trial.arm)
                                 .bind(trial.workload)
                                 .bind(trial.model)
                                 .bind(trial.block)
                                 .bind(trial.attempt)
                                 .step();
  if (!taken) return taken.error();
  if (!*taken) return {};
  return refuse("trial", trial.id,
                "its place (" + trial.arm + ", " + trial.workload + ", " + trial.model + ", block " +
                    std::to_string(trial.block) + ", attempt " + std::to_string(trial.attempt) + ") is taken by " +
                    named("trial", place->bytes(0)),
                "store it as the next attempt");
}

Status insert_trial(Database& database, const TrialRecord& trial, const Raw& out, const Raw& err, const Raw& probe) {
  Result<Statement> prepared = database.prepare(
      "INSERT INTO trial (id, run_id, suite_id, environment_id, closure_id, arm, mode, target, guest, workload, model, "
      "model_kind, block, position, attempt, status, reason, treatment, quality, started_at, wall_ns, user_ns, "
      "system_ns, "
      "max_rss_bytes, exit_status, signal, argv, environment_set, stdout_sha256, stderr_sha256, probe_sha256) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!prepared) return prepared.error();
  Statement& insert = *prepared;
  insert.bind(trial.id).bind(trial.run_id).bind(trial.suite_id);
  insert.bind_or_null(trial.environment_id).bind_or_null(trial.closure_id);
  insert.bind(trial.arm).bind(trial.mode).bind(trial.target).bind(trial.guest);
  insert.bind(trial.workload).bind(trial.model).bind(trial.model_kind);
  insert.bind(trial.block).bind(trial.position).bind(trial.attempt);
  insert.bind(trial.status).bind(trial.reason).bind(trial.treatment).bind(trial.quality).bind(trial.started_at);
  insert.bind(trial.wall_ns).bind(trial.user_ns).bind(trial.system_ns).bind(trial.max_rss_bytes);
  for (const std::optional<int>& number : {trial.exit_status, trial.signal}) {
    if (number) {
      insert.bind(std::int64_t{*number});
    } else {
      insert.bind_null();
    }
  }
  insert.bind(json_list(trial.argv)).bind(json_list(trial.environment_set));
  return insert.bind_or_null(out.sha256).bind_or_null(err.sha256).bind_or_null(probe.sha256).run();
}

Status insert_results(Database& database, const TrialRecord& trial) {
  Result<Statement> insert = database.prepare(
      "INSERT INTO result (trial_id, ordinal, test, build, n_prompt, n_gen, n_depth, model_type, model_size, "
      "model_n_params, "
      "backends, cpu_info, gpu_info, samples_ns, median_ts, fields) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!insert) return insert.error();
  std::int64_t ordinal = 0;
  for (const ResultRecord& result : trial.results) {
    insert->bind(trial.id).bind(ordinal++).bind(result.test).bind(result.build);
    insert->bind(result.n_prompt).bind(result.n_gen).bind(result.n_depth);
    insert->bind(result.model_type).bind(result.model_size).bind(result.model_n_params);
    insert->bind(result.backends).bind(result.cpu_info).bind(result.gpu_info);
    insert->bind(canonical(result.samples_ns)).bind(result.median_ts).bind_or_null(result.fields);
    if (Status status = insert->run(); !status) return status;
  }
  return {};
}

Status insert_capabilities_and_flags(Database& database, const TrialRecord& trial) {
  Result<Statement> capability = database.prepare(
      "INSERT INTO capability (trial_id, ordinal, name, requested, observed, source, agrees) VALUES (?,?,?,?,?,?,?)");
  if (!capability) return capability.error();
  std::int64_t ordinal = 0;
  for (const CapabilityRecord& c : trial.capabilities) {
    capability->bind(trial.id).bind(ordinal++).bind(c.name).bind(c.requested).bind(c.observed).bind(c.source);
    if (Status status = capability->bind(std::int64_t{c.agrees}).run(); !status) return status;
  }
  Result<Statement> flag = database.prepare("INSERT INTO flag (trial_id, ordinal, flag) VALUES (?,?,?)");
  if (!flag) return flag.error();
  ordinal = 0;
  for (const std::string& text : trial.flags) {
    if (Status status = flag->bind(trial.id).bind(ordinal++).bind(text).run(); !status) return status;
  }
  return {};
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::filesystem::path& path, OpenMode mode, std::chrono::milliseconds patience) {
  Result<Connection> connection = Connection::open(path, mode, patience);
  if (!connection) return std::move(connection).error();
  return Store(std::make_unique<State>(State{std::move(*connection)}));
}

Status Store::put_suite(const SuiteRecord& suite) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  const auto held = find_text(database, "SELECT json FROM suite WHERE id = ?", suite.id);
  if (!held) return held.error();
  if (held->has_value()) return **held == suite.json ? Status() : two_under_one_id("suite", suite.id);
  Result<Statement> insert = database.prepare("INSERT INTO suite (id, name, json) VALUES (?, ?, ?)");
  if (!insert) return insert.error();
  if (Status status = insert->bind(suite.id).bind(suite.name).bind(suite.json).run(); !status) return status;
  return transaction->commit();
}

Status Store::put_environment(const EnvironmentRecord& environment) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  const auto held = find_text(database, "SELECT json FROM environment WHERE id = ?", environment.id);
  if (!held) return held.error();
  if (held->has_value()) {
    return **held == environment.json ? Status() : two_under_one_id("environment", environment.id);
  }
  Result<Statement> insert = database.prepare(
      "INSERT INTO environment (id, machine_id, machine_label, is_virtual, json) VALUES (?, ?, ?, ?, ?)");
  if (!insert) return insert.error();
  insert->bind(environment.id).bind(environment.machine_id).bind(environment.machine_label);
  insert->bind(std::int64_t{environment.is_virtual}).bind(environment.json);
  if (Status status = insert->run(); !status) return status;
  return transaction->commit();
}

Status Store::put_closure(const ClosureRecord& closure) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  const Result<bool> held = exists(database, "SELECT 1 FROM closure WHERE id = ?", closure.id);
  if (!held) return held.error();
  if (*held) return {};
  Result<Statement> insert = database.prepare("INSERT INTO closure (id) VALUES (?)");
  if (!insert) return insert.error();
  if (Status status = insert->bind(closure.id).run(); !status) return status;
  Result<Statement> artifact =
      database.prepare("INSERT INTO artifact (sha256, size, name) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING");
  if (!artifact) return artifact.error();
  Result<Statement> stored_size = database.prepare("SELECT size FROM artifact WHERE sha256 = ?");
  if (!stored_size) return stored_size.error();
  Result<Statement> member = database.prepare(
      "INSERT INTO closure_member (closure_id, ordinal, role, name, sha256, path) VALUES (?, ?, ?, ?, ?, ?)");
  if (!member) return member.error();
  std::int64_t ordinal = 0;
  for (const ClosureMember& m : closure.members) {
    const Result<std::int64_t> size = to_integer("the size of " + m.artifact.name, m.artifact.size);
    if (!size) return size.error();
    if (Status status = artifact->bind(m.artifact.sha256).bind(*size).bind(m.artifact.name).run(); !status)
      return status;
    const Result<bool> row = stored_size->bind(m.artifact.sha256).step();
    if (!row) return row.error();
    if (!*row || stored_size->integer(0) != *size) return two_under_one_id("artifact", m.artifact.sha256);
    if (Status status = stored_size->run(); !status) return status;  // ends the query
    member->bind(closure.id).bind(ordinal++).bind(m.role).bind(m.artifact.name).bind(m.artifact.sha256).bind(m.path);
    if (Status status = member->run(); !status) return status;
  }
  return transaction->commit();
}

Status Store::put_run(const RunRecord& run) {
  const Result<std::int64_t> planned = to_integer("planned_trials", run.planned_trials);
  if (!planned) return planned.error();
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  Database& database = state_->connection.database();
  const Result<bool> suite = exists(database, "SELECT 1 FROM suite WHERE id = ?", run.suite_id);
  if (!suite) return suite.error();
  if (!*suite) {
    return refuse("run", run.id, "its " + named("suite", run.suite_id) + " is not in the store", "put the suite first");
  }
  Result<Statement> put = database.prepare(
      "INSERT INTO run (id, suite_id, machine_id, seed, started_at, harness_version, state, planned_trials) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET state = excluded.state, planned_trials = excluded.planned_trials "
      "WHERE suite_id = excluded.suite_id AND machine_id = excluded.machine_id AND seed = excluded.seed "
      "AND started_at = excluded.started_at");
  if (!put) return put.error();
  put->bind(run.id).bind(run.suite_id).bind(run.machine_id).bind(std::to_string(run.seed)).bind(run.started_at);
  if (Status status = put->bind(run.harness_version).bind(run.state).bind(*planned).run(); !status) return status;
  if (sqlite3_changes(database.handle()) == 0) return two_under_one_id("run", run.id);
  return transaction->commit();
}

Status Store::put_trial(const TrialRecord& trial, std::string_view raw_stdout, std::string_view raw_stderr,
                        std::string_view raw_probe) {
  if (Status status = check_trial(trial); !status) return status;
  Database& database = state_->connection.database();
  constexpr std::string_view kHeld = "SELECT 1 FROM trial WHERE id = ?";
  // Merging stores puts many trials that are there already: those cost no lock.
  const Result<bool> known = exists(database, kHeld, trial.id);
  if (!known) return known.error();
  if (*known) return {};
  // Everything slow happens before the write lock is taken.
  const Result<Raw> out = prepare_raw(database, trial, "stdout", trial.stdout_sha256, raw_stdout);
  if (!out) return out.error();
  const Result<Raw> err = prepare_raw(database, trial, "stderr", trial.stderr_sha256, raw_stderr);
  if (!err) return err.error();
  const Result<Raw> probe = prepare_raw(database, trial, "probe", trial.probe_sha256, raw_probe);
  if (!probe) return probe.error();
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  const Result<bool> held = exists(database, kHeld, trial.id);  // another program may have been faster
  if (!held) return held.error();
  if (*held) return {};
  if (Status status = check_references(database, trial); !status) return status;
  if (Status status = insert_raw(database, *out); !status) return status;
  if (Status status = insert_raw(database, *err); !status) return status;
  if (Status status = insert_raw(database, *probe); !status) return status;
  if (Status status = insert_trial(database, trial, *out, *err, *probe); !status) return status;
  if (Status status = insert_results(database, trial); !status) return status;
  if (Status status = insert_capabilities_and_flags(database, trial); !status) return status;
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
  const std::string reason = (status == "excluded" ? former + "; " : before) + to_utf8(why);
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
