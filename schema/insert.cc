#include "schema/insert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/blob.h"
#include "schema/canonical.h"

namespace capbench::schema {
namespace {

constexpr std::size_t kShown = 12;  // digits of an id that people need to see

std::string named(std::string_view what, std::string_view id) {
  return id.empty() ? std::string(what) : std::string(what) + " " + std::string(id.substr(0, kShown));
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

// A JSON array.
std::string json_list(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ',';
    append_canonical(list, to_utf8(text));
  }
  return list + ']';
}

void write_list(std::string& list, const std::vector<std::int64_t>& numbers) {
  list.assign("[");
  for (const std::int64_t number : numbers) {
    if (list.size() > 1) list += ',';
    append_canonical(list, number);
  }
  list += ']';
}

Error fields_are_no_json(const TrialRecord& trial, const std::string& test) {
  return refuse("trial", trial.id, "the fields of " + test + " are not JSON", "store only whole rows");
}

}  // namespace

Status check_trial(const TrialRecord& trial) {
  if (trial.id.empty()) return refuse("trial", "", "has no id", "name it with trial_id()");
  for (const ResultRecord& result : trial.results) {
    if (!std::isfinite(result.median_ts)) {
      return refuse("trial", trial.id, "the median of " + result.test + " is not a number", "check the samples");
    }
    for (const std::int64_t ns : result.samples_ns) {
      if (ns < 0) return refuse("trial", trial.id, "a sample of " + result.test + " is negative", "check the samples");
    }
    if (!is_utf8(result.fields)) return fields_are_no_json(trial, result.test);  // more: when the row is inserted
  }
  for (const StatedResultRecord& result : trial.stated) {
    if (!std::isfinite(result.mean_ts) || !std::isfinite(result.stddev_ts.value_or(0))) {
      return refuse("trial", trial.id, "the mean of " + result.test + " is not a number", "check where it came from");
    }
    if (!result.fields.empty() && !nlohmann::json::accept(result.fields)) {
      return fields_are_no_json(trial, result.test);
    }
  }
  return {};
}

Status insert_raw(Database& database, const Raw& raw) {
  if (raw.frame.empty()) return {};
  Result<Statement> insert =
      database.prepare("INSERT INTO blob (sha256, raw_size, zstd) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING");
  if (!insert) return insert.error();
  return insert->bind(raw.sha256).bind(static_cast<std::int64_t>(raw.size)).bind_blob(raw.frame).run_later();
}

namespace {

// Names the missing or conflicting row, where the engine would only say that there is one. One question for all of it:
// over a wire each takes its time.
Status check_references(Database& database, const TrialRecord& trial) {
  struct Reference {
    std::string_view table;
    std::string_view id;
  };
  const Reference references[] = {
      {"run", trial.run_id},
      {"suite", trial.suite_id},
      {"environment", trial.environment_id},  // these may be absent
      {"closure", trial.closure_id},
      {"source", trial.source_sha256},
  };
  constexpr std::size_t kNeeded = 2;
  Result<Statement> query = database.prepare(
      "SELECT (SELECT 1 FROM run WHERE id = ?1), (SELECT 1 FROM suite WHERE id = ?2), "
      "(SELECT 1 FROM environment WHERE id = ?3), (SELECT 1 FROM closure WHERE id = ?4), "
      "(SELECT 1 FROM source WHERE sha256 = ?5), "
      "(SELECT id FROM trial WHERE run_id = ?1 AND arm = ?6 AND workload = ?7 AND model = ?8 AND block = ?9 AND "
      "attempt = "
      "?10)");
  if (!query) return query.error();
  for (const Reference& reference : references) query->bind_in_place(reference.id);
  query->bind_in_place(trial.arm).bind_in_place(trial.workload).bind_in_place(trial.model);
  const Result<bool> row = query->bind(trial.block).bind(trial.attempt).step();
  if (!row) return row.error();
  for (std::size_t i = 0; i < std::size(references); ++i) {
    const Reference& reference = references[i];
    if ((i >= kNeeded && reference.id.empty()) || !query->is_null(static_cast<int>(i))) continue;
    return refuse("trial", trial.id, "its " + named(reference.table, reference.id) + " is not in the store",
                  "put the " + std::string(reference.table) + " first");
  }
  constexpr int kTaken = 5;
  if (query->is_null(kTaken)) return {};
  return refuse("trial", trial.id,
                "its place (" + trial.arm + ", " + trial.workload + ", " + trial.model + ", block " +
                    std::to_string(trial.block) + ", attempt " + std::to_string(trial.attempt) + ") is taken by " +
                    named("trial", query->bytes(kTaken)),
                "store it as the next attempt");
}

Status insert_trial_row(Database& database, const TrialRecord& trial, const PreparedTrial& raw) {
  Result<Statement> prepared = database.prepare(
      "INSERT INTO trial (id, run_id, suite_id, environment_id, closure_id, arm, mode, target, guest, workload, model, "
      "model_kind, block, position, attempt, status, reason, treatment, quality, started_at, wall_ns, user_ns, "
      "system_ns, "
      "max_rss_bytes, exit_status, signal, argv, environment_set, stdout_sha256, stderr_sha256, probe_sha256, "
      "source_sha256, "
      "image, hygiene, measured, status_before_exclusion) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!prepared) return prepared.error();
  Statement& insert = *prepared;
  insert.bind(trial.id).bind(trial.run_id).bind(trial.suite_id);
  insert.bind_or_null(trial.environment_id).bind_or_null(trial.closure_id);
  insert.bind(trial.arm).bind(trial.mode).bind(trial.target).bind(trial.guest);
  insert.bind(trial.workload).bind(trial.model).bind(trial.model_kind);
  insert.bind(trial.block).bind(trial.position).bind(trial.attempt);
  insert.bind(trial.status)
      .bind(free_text(database, trial.reason))
      .bind(trial.treatment)
      .bind(trial.quality)
      .bind(trial.started_at);
  insert.bind(trial.wall_ns).bind(trial.user_ns).bind(trial.system_ns).bind(trial.max_rss_bytes);
  for (const std::optional<int>& number : {trial.exit_status, trial.signal}) {
    if (number) {
      insert.bind(std::int64_t{*number});
    } else {
      insert.bind_null();
    }
  }
  insert.bind(json_list(trial.argv)).bind(json_list(trial.environment_set));
  insert.bind_or_null(raw.out.sha256).bind_or_null(raw.err.sha256).bind_or_null(raw.probe.sha256);
  insert.bind_or_null(trial.source_sha256).bind_or_null(trial.image).bind_or_null(trial.hygiene);
  return insert.bind_or_null(trial.measured).bind_or_null(trial.status_before_exclusion).run_later();
}

// What the rows of one trial print alike, kept once for all that print it. Rows mostly say what the one before them
// said.
class PrintedSettings {
 public:
  explicit PrintedSettings(Database& database) : database_(database) {}

  // Where the fields of the measurement begin, at the comma; npos: they do not, or nothing is before them. A quotation
  // mark within a text has a backslash before it, so these bytes are never part of one.
  std::size_t end_in(std::string_view fields) const {
    constexpr std::string_view kMeasurement = ",\"n_prompt\":";
    const bool as_last =
        !last_.empty() && fields.starts_with(last_) && fields.substr(last_.size()).starts_with(kMeasurement);
    return as_last ? last_.size() : fields.find(kMeasurement);
  }

  // The number of `{` + `settings` + `}`; nothing if they belong to the row alone: if that is no JSON, since the comma
  // stood deeper in the row, or if averages are among them, since somebody sorted the names.
  Result<std::optional<std::int64_t>> number_of(std::string_view settings) {
    if (known_ && settings == last_) return number_;
    last_ = settings;
    known_ = last_.find("\"avg_") != std::string::npos;
    number_.reset();
    if (known_) return number_;
    const std::string object = last_ + '}';
    Result<Statement> held = database_.prepare(
        database_.either("SELECT id FROM printed_settings WHERE fields = ?1",
                         // An index of PostgreSQL does not take texts of any length.
                         "SELECT id FROM printed_settings WHERE md5(fields) = md5(?1) AND fields = ?1"));
    if (!held) return held.error();
    Result<bool> row = held->bind(object).step();
    if (!row) return row.error();
    if (*row) {
      number_ = held->integer(0);
    } else if (database_.backend() == Backend::kSqlite || nlohmann::json::accept(object)) {
      Result<Statement> insert = database_.prepare(
          database_.either("INSERT INTO printed_settings (fields) SELECT ?1 WHERE json_valid(?1) RETURNING id",
                           "INSERT INTO printed_settings (fields) VALUES (?1) ON CONFLICT DO NOTHING RETURNING id"));
      if (!insert) return insert.error();
      row = insert->bind(object).step();
      if (!row) return row.error();
      number_ = *row ? std::optional(insert->integer(0)) : std::nullopt;
    }
    known_ = true;
    return number_;
  }

 private:
  Database& database_;
  std::string last_;
  std::optional<std::int64_t> number_;
  bool known_ = false;
};

Status insert_results(Database& database, const TrialRecord& trial) {
  if (trial.results.empty()) return {};
  Result<Statement> insert = database.prepare(
      "INSERT INTO result (trial_id, ordinal, test, build, n_prompt, n_gen, n_depth, model_type, model_size, "
      "model_n_params, backends, cpu_info, gpu_info, samples_ns, median_ts, fields, settings_id) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!insert) return insert.error();
  PrintedSettings settings(database);
  std::string samples;
  std::string rest;
  std::int64_t ordinal = 0;
  for (const ResultRecord& result : trial.results) {
    std::string_view fields = result.fields;
    std::optional<std::int64_t> number;
    if (const std::size_t end = settings.end_in(fields); end != std::string_view::npos) {
      const auto found = settings.number_of(fields.substr(0, end));
      if (!found) return found.error();
      number = *found;
      if (number) {
        rest.assign("{").append(fields.substr(end + 1));
        fields = rest;
      }
    }
    // Where the answer comes later it would not say which.
    if (database.backend() != Backend::kSqlite && !fields.empty() && !nlohmann::json::accept(fields)) {
      return fields_are_no_json(trial, result.test);
    }
    write_list(samples, result.samples_ns);
    insert->bind_in_place(trial.id).bind(ordinal++).bind_in_place(result.test).bind_in_place(result.build);
    insert->bind(result.n_prompt).bind(result.n_gen).bind(result.n_depth);
    insert->bind_in_place(result.model_type).bind(result.model_size).bind(result.model_n_params);
    insert->bind_in_place(result.backends).bind_in_place(result.cpu_info).bind_in_place(result.gpu_info);
    insert->bind_in_place(samples).bind(result.median_ts);
    if (fields.empty()) {
      insert->bind_null();
    } else {
      insert->bind_in_place(fields);
    }
    if (number) {
      insert->bind(*number);
    } else {
      insert->bind_null();
    }
    if (Status status = insert->run_later(); !status) {
      // The table takes nothing but JSON. It is asked first, being faster, and this is for people.
      const bool is_refused = database.refused_row() && !result.fields.empty();
      if (is_refused && !nlohmann::json::accept(result.fields)) return fields_are_no_json(trial, result.test);
      return status;
    }
  }
  return {};
}

Status insert_stated_results(Database& database, const TrialRecord& trial) {
  if (trial.stated.empty()) return {};
  Result<Statement> insert = database.prepare(
      "INSERT INTO stated_result (trial_id, ordinal, test, build, n_prompt, n_gen, n_depth, model_type, model_size, "
      "model_n_params, backends, cpu_info, gpu_info, mean_ts, stddev_ts, repetitions, fields) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!insert) return insert.error();
  std::int64_t ordinal = 0;
  for (const StatedResultRecord& result : trial.stated) {
    insert->bind(trial.id).bind(ordinal++).bind(result.test).bind(result.build);
    insert->bind(result.n_prompt).bind(result.n_gen).bind(result.n_depth);
    insert->bind(result.model_type).bind(result.model_size).bind(result.model_n_params);
    insert->bind(result.backends).bind(result.cpu_info).bind(result.gpu_info).bind(result.mean_ts);
    if (result.stddev_ts) {
      insert->bind(*result.stddev_ts);
    } else {
      insert->bind_null();
    }
    if (result.repetitions) {
      insert->bind(*result.repetitions);
    } else {
      insert->bind_null();
    }
    if (Status status = insert->bind_or_null(result.fields).run_later(); !status) return status;
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
    if (Status status = capability->bind(std::int64_t{c.agrees}).run_later(); !status) return status;
  }
  Result<Statement> flag = database.prepare("INSERT INTO flag (trial_id, ordinal, flag) VALUES (?,?,?)");
  if (!flag) return flag.error();
  ordinal = 0;
  for (const std::string& text : trial.flags) {
    if (Status status = flag->bind(trial.id).bind(ordinal++).bind(text).run_later(); !status) return status;
  }
  return {};
}

}  // namespace

Error refuse(std::string_view what, std::string_view id, std::string cause, std::string remedy) {
  return {ErrorKind::kUsage, named(what, id), std::move(cause), std::move(remedy)};
}

Status insert_suite(Database& database, const SuiteRecord& suite) {
  const auto held = find_text(database, "SELECT json FROM suite WHERE id = ?", suite.id);
  if (!held) return held.error();
  if (held->has_value()) return **held == suite.json ? Status() : two_under_one_id("suite", suite.id);
  Result<Statement> insert = database.prepare("INSERT INTO suite (id, name, json) VALUES (?, ?, ?)");
  if (!insert) return insert.error();
  return insert->bind(suite.id).bind(suite.name).bind(suite.json).run_later();
}

Status insert_environment(Database& database, const EnvironmentRecord& environment) {
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
  return insert->run_later();
}

Status insert_closure(Database& database, const ClosureRecord& closure) {
  const Result<bool> held = exists(database, "SELECT 1 FROM closure WHERE id = ?", closure.id);
  if (!held) return held.error();
  if (*held) return {};
  Result<Statement> insert = database.prepare("INSERT INTO closure (id) VALUES (?)");
  if (!insert) return insert.error();
  if (Status status = insert->bind(closure.id).run_later(); !status) return status;
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
    if (Status status = artifact->bind(m.artifact.sha256).bind(*size).bind(m.artifact.name).run_later(); !status)
      return status;
    const Result<bool> row = stored_size->bind(m.artifact.sha256).step();
    if (!row) return row.error();
    if (!*row || stored_size->integer(0) != *size) return two_under_one_id("artifact", m.artifact.sha256);
    if (Status status = stored_size->run(); !status) return status;  // ends the query
    member->bind(closure.id).bind(ordinal++).bind(m.role).bind(m.artifact.name).bind(m.artifact.sha256).bind(m.path);
    if (Status status = member->run_later(); !status) return status;
  }
  return {};
}

Status insert_run(Database& database, const RunRecord& run) {
  const Result<std::int64_t> planned = to_integer("planned_trials", run.planned_trials);
  if (!planned) return planned.error();
  const Result<bool> suite = exists(database, "SELECT 1 FROM suite WHERE id = ?", run.suite_id);
  if (!suite) return suite.error();
  if (!*suite) {
    return refuse("run", run.id, "its " + named("suite", run.suite_id) + " is not in the store", "put the suite first");
  }
  Result<Statement> put = database.prepare(
      "INSERT INTO run (id, suite_id, machine_id, seed, started_at, harness_version, state, planned_trials) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET state = excluded.state, planned_trials = excluded.planned_trials "
      "WHERE run.suite_id = excluded.suite_id AND run.machine_id = excluded.machine_id AND run.seed = excluded.seed "
      "AND run.started_at = excluded.started_at");
  if (!put) return put.error();
  put->bind(run.id).bind(run.suite_id).bind(run.machine_id).bind(std::to_string(run.seed)).bind(run.started_at);
  if (Status status = put->bind(run.harness_version).bind(run.state).bind(*planned).run(); !status) return status;
  if (database.changes() == 0) return two_under_one_id("run", run.id);
  return {};
}

namespace {

// One stream of raw output, as it was given.
struct Stream {
  std::string_view name;
  const std::string& digest;
  std::string_view bytes;

  // No bytes may be those of the digest, or not passed.
  bool is_given() const { return !bytes.empty() || digest.empty(); }
};

// Of at most three streams each that the store has the bytes of. One question: over a wire each takes its time.
template <std::size_t kStreams>
Result<std::array<bool, kStreams>> held_raw(Database& database, const std::array<Raw, kStreams>& all) {
  static_assert(kStreams <= 3);
  std::array<bool, kStreams> held{};
  if (std::all_of(all.begin(), all.end(), [](const Raw& raw) { return raw.sha256.empty(); })) return held;
  Result<Statement> query = database.prepare(
      "SELECT (SELECT 1 FROM blob WHERE sha256 = ?1), (SELECT 1 FROM blob WHERE sha256 = ?2), "
      "(SELECT 1 FROM blob WHERE sha256 = ?3)");
  if (!query) return query.error();
  for (std::size_t i = 0; i < 3; ++i) query->bind(i < kStreams ? std::string_view(all.at(i).sha256) : "");
  const Result<bool> row = query->step();
  if (!row) return row.error();
  for (std::size_t i = 0; i < kStreams; ++i) held.at(i) = !query->is_null(static_cast<int>(i));
  return held;
}

// Checks, digests and compresses what the store does not have. `owner` is for the error.
template <std::size_t kStreams>
Result<std::array<Raw, kStreams>> prepare_raw(Database& database, std::string_view owner,
                                              const std::array<Stream, kStreams>& streams) {
  std::array<Raw, kStreams> all;
  for (std::size_t i = 0; i < kStreams; ++i) {
    const Stream& stream = streams.at(i);
    Raw& raw = all.at(i);
    raw.size = stream.bytes.size();
    if (stream.bytes.empty() && stream.digest.empty()) continue;
    raw.sha256 = stream.is_given() ? sha256(stream.bytes) : stream.digest;
    if (stream.digest.empty() || stream.digest == raw.sha256) continue;
    return refuse(owner, "", "its " + std::string(stream.name) + " is not what its digest says",
                  "take the digest of the bytes that are stored");
  }
  const auto held = held_raw(database, all);
  if (!held) return held.error();
  for (std::size_t i = 0; i < kStreams; ++i) {
    const Stream& stream = streams.at(i);
    Raw& raw = all.at(i);
    if (raw.sha256.empty() || held->at(i)) continue;
    if (!stream.is_given() && stream.digest != sha256("")) {
      return refuse(owner, "", "its " + std::string(stream.name) + " is missing",
                    "pass the raw bytes, or no digest if they are withheld");
    }
    Result<std::string> frame = compress(stream.bytes);
    if (!frame) return frame.error();
    raw.frame = std::move(*frame);
  }
  return all;
}

}  // namespace

Result<PreparedTrial> prepare_trial(Database& database, const TrialRecord& trial, std::string_view raw_stdout,
                                    std::string_view raw_stderr, std::string_view raw_probe) {
  if (Status status = check_trial(trial); !status) return std::move(status).error();
  auto raw = prepare_raw<3>(
      database, named("trial", trial.id),
      {Stream{"stdout", trial.stdout_sha256, raw_stdout}, Stream{"stderr", trial.stderr_sha256, raw_stderr},
       Stream{"probe", trial.probe_sha256, raw_probe}});
  if (!raw) return std::move(raw).error();
  return PreparedTrial{std::move((*raw)[0]), std::move((*raw)[1]), std::move((*raw)[2])};
}

Result<bool> holds_trial(Database& database, std::string_view id) {
  return exists(database, "SELECT 1 FROM trial WHERE id = ?", id);
}

Result<bool> holds_run(Database& database, std::string_view id) {
  return exists(database, "SELECT 1 FROM run WHERE id = ?", id);
}

Status insert_trial(Database& database, const TrialRecord& trial, const PreparedTrial& prepared) {
  if (Status status = check_references(database, trial); !status) return status;
  return insert_new_trial(database, trial, prepared);
}

Status insert_new_trial(Database& database, const TrialRecord& trial, const PreparedTrial& prepared) {
  for (const Raw* raw : {&prepared.out, &prepared.err, &prepared.probe}) {
    if (Status status = insert_raw(database, *raw); !status) return status;
  }
  if (Status status = insert_trial_row(database, trial, prepared); !status) return status;
  if (Status status = insert_results(database, trial); !status) return status;
  if (Status status = insert_stated_results(database, trial); !status) return status;
  return insert_capabilities_and_flags(database, trial);
}

Result<PreparedQuality> prepare_quality(Database& database, const QualityRecord& check, std::string_view raw_stdout,
                                        std::string_view raw_stderr) {
  const std::string owner = "quality check of " + check.arm;
  if (!nlohmann::json::accept(check.figures)) return refuse(owner, "", "its figures are not JSON", "store {} for none");
  auto raw = prepare_raw<2>(
      database, owner,
      {Stream{"stdout", check.stdout_sha256, raw_stdout}, Stream{"stderr", check.stderr_sha256, raw_stderr}});
  if (!raw) return std::move(raw).error();
  return PreparedQuality{std::move((*raw)[0]), std::move((*raw)[1])};
}

Status insert_quality(Database& database, const QualityRecord& check, const PreparedQuality& prepared) {
  const Result<bool> run = exists(database, "SELECT 1 FROM run WHERE id = ?", check.run_id);
  if (!run) return run.error();
  if (!*run)
    return refuse("quality check", check.arm, "its " + named("run", check.run_id) + " is not in the store",
                  "put the run first");
  Result<Statement> held = database.prepare(
      "SELECT status, figures FROM quality_check WHERE run_id = ? AND arm = ? AND model = ? AND kind = ? AND attempt = "
      "?");
  if (!held) return held.error();
  held->bind(check.run_id).bind(check.arm).bind(check.model).bind(check.kind).bind(check.attempt);
  const Result<bool> row = held->step();
  if (!row) return row.error();
  if (*row) {
    const bool equal = held->bytes(0) == check.status && held->bytes(1) == check.figures;
    return equal ? Status() : two_under_one_id("quality check of", check.arm);
  }
  return insert_new_quality(database, check, prepared);
}

Status insert_new_quality(Database& database, const QualityRecord& check, const PreparedQuality& prepared) {
  for (const Raw* raw : {&prepared.out, &prepared.err}) {
    if (Status status = insert_raw(database, *raw); !status) return status;
  }
  Result<Statement> insert = database.prepare(
      "INSERT INTO quality_check (run_id, arm, model, kind, attempt, status, reason, figures, argv, stdout_sha256, "
      "stderr_sha256, checked_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!insert) return insert.error();
  insert->bind(check.run_id).bind(check.arm).bind(check.model).bind(check.kind).bind(check.attempt);
  insert->bind(check.status).bind(free_text(database, check.reason)).bind(check.figures).bind(json_list(check.argv));
  return insert->bind_or_null(prepared.out.sha256).bind_or_null(prepared.err.sha256).bind(check.checked_at).run_later();
}

Result<bool> insert_source(Database& database, const SourceRecord& source) {
  const Result<bool> held = exists(database, "SELECT 1 FROM source WHERE sha256 = ?", source.sha256);
  if (!held) return held.error();
  if (*held) return false;
  const Result<std::int64_t> size = to_integer("the size of " + source.name, source.size);
  if (!size) return size.error();
  Result<Statement> insert =
      database.prepare("INSERT INTO source (sha256, kind, name, size, notes) VALUES (?, ?, ?, ?, ?)");
  if (!insert) return insert.error();
  insert->bind(source.sha256)
      .bind(source.kind)
      .bind(free_text(database, to_utf8(source.name)))
      .bind(*size)
      .bind(json_list(source.notes));
  if (Status status = insert->run(); !status) return std::move(status).error();
  return true;
}

Status update_source(Database& database, const SourceRecord& source) {
  Result<Statement> update = database.prepare("UPDATE source SET kind = ?, notes = ? WHERE sha256 = ?");
  if (!update) return update.error();
  return update->bind(source.kind).bind(json_list(source.notes)).bind(source.sha256).run();
}

}  // namespace capbench::schema
