// Store::scan: trials and results by the million, without a record for each. Three queries along their tables and small
// tables looked up here: a join of a million rows by ids of 64 digits takes longer than all of it.
#include "schema/measurements.h"

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/beside.h"
#include "schema/store_state.h"

namespace capbench::schema {
namespace {

using Names = std::unordered_map<std::string, std::vector<std::string>>;

// Calls take(row) for each row of a query; `suite` is bound twice where the query restricts.
template <class Take>
Status each(Database& database, const std::string& sql, const std::string& suite, const Take& take) {
  Result<Statement> rows = database.prepare(sql);
  if (!rows) return std::move(rows).error();
  if (!suite.empty()) rows->bind(suite).bind(suite);
  rows->expect_many();
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    if (Status status = take(*rows); !status) return status;
  }
}

// A table's rows by their first column.
Result<Names> table_of(Database& database, const std::string& sql, int columns) {
  Names names;
  Status status = each(database, sql, "", [&](const Statement& row) -> Status {
    std::vector<std::string>& values = names[row.text(0)];
    for (int c = 1; c < columns; ++c) values.push_back(row.text(c));
    return {};
  });
  if (!status) return std::move(status).error();
  return names;
}

std::string only(const TrialFilter& filter, const char* column) {
  if (filter.suite.empty()) return "";
  return std::string(" WHERE ") + column + " IN (SELECT id FROM suite WHERE id = ? OR name = ?)";
}

template <class Take>
Status scan_trials(Database& database, const TrialFilter& filter, const Take& take) {
  Result<Names> suites = table_of(database, "SELECT id, name FROM suite", 2);
  if (!suites) return std::move(suites).error();
  Result<Names> runs = table_of(database, "SELECT id, machine_id FROM run", 2);
  if (!runs) return std::move(runs).error();
  Result<Names> environments = table_of(database, "SELECT id, machine_id, machine_label FROM environment", 3);
  if (!environments) return std::move(environments).error();
  // What a row names is most often what the one before named.
  struct Last {
    std::string id;
    const std::vector<std::string>* values = nullptr;
  };
  Last of_suite;
  Last of_run;
  Last of_environment;
  const auto look_up = [](const Names& names, std::string_view id, Last& last) {
    if (last.id != id) {
      last.id = id;
      const auto found = names.find(last.id);
      last.values = found == names.end() ? nullptr : &found->second;
    }
    return last.values;
  };
  const std::string sql =
      "SELECT id, run_id, suite_id, environment_id, closure_id, arm, mode, guest, workload, model, model_kind, block, "
      "attempt, status, reason, treatment, quality, started_at, argv, environment_set, image FROM trial";
  return each(database, sql + only(filter, "suite_id"), filter.suite, [&](const Statement& row) -> Status {
    TrialRow trial;
    int c = 0;
    for (std::string_view* text :
         {&trial.id, &trial.run_id, &trial.suite_id, &trial.environment_id, &trial.closure_id, &trial.arm, &trial.mode,
          &trial.guest, &trial.workload, &trial.model, &trial.model_kind}) {
      *text = row.bytes(c++);
    }
    trial.block = row.integer(c++);
    trial.attempt = row.integer(c++);
    for (std::string_view* text : {&trial.status, &trial.reason, &trial.treatment, &trial.quality, &trial.started_at,
                                   &trial.argv, &trial.environment_set, &trial.image}) {
      *text = row.bytes(c++);
    }
    if (const auto* suite = look_up(*suites, trial.suite_id, of_suite)) trial.suite = suite->front();
    if (const auto* run = look_up(*runs, trial.run_id, of_run)) trial.machine_id = run->front();
    const auto* environment = look_up(*environments, trial.environment_id, of_environment);
    if (environment != nullptr) {
      trial.machine_id = environment->at(0);
      trial.machine_label = environment->at(1);
    }
    return take(trial);
  });
}

Status scan_results(Database& database, const TrialFilter& filter, const MeasurementSink& sink) {
  std::string sql =
      "SELECT trial_id, ordinal, test, build, backends, cpu_info, gpu_info, coalesce(settings_id, 0), fields, "
      "samples_ns, n_prompt + n_gen, median_ts FROM result";
  if (!filter.suite.empty()) sql += " WHERE trial_id IN (SELECT id FROM trial" + only(filter, "suite_id") + ")";
  return each(database, sql, filter.suite, [&](const Statement& row) -> Status {
    ResultRow result;
    result.trial_id = row.bytes(0);
    result.ordinal = row.integer(1);
    result.test = row.bytes(2);
    result.build = row.bytes(3);
    result.backends = row.bytes(4);
    result.cpu_info = row.bytes(5);
    result.gpu_info = row.bytes(6);
    result.settings = row.integer(7);
    result.fields = row.bytes(8);
    result.samples_ns = row.bytes(9);
    result.tokens = row.integer(10);
    result.median_ts = row.real(11);
    return sink.result(result);
  });
}

// Halves of the files of closures, as they were written; PostgreSQL has no such order.
enum class Part { kAll, kFirst, kSecond };

Status scan_members(Database& database, const std::function<Status(const MemberRow&)>& take, Part part) {
  std::string sql = "SELECT closure_id, ordinal, role, name, sha256, path FROM closure_member";
  constexpr std::string_view kMiddle = " (SELECT coalesce(max(rowid), 0) / 2 FROM closure_member)";
  if (part == Part::kFirst) sql.append(" WHERE rowid <=").append(kMiddle);
  if (part == Part::kSecond) sql.append(" WHERE rowid >").append(kMiddle);
  return each(database, sql, "", [&](const Statement& row) -> Status {
    return take({row.bytes(0), row.integer(1), row.bytes(2), row.bytes(3), row.bytes(4), row.bytes(5)});
  });
}

Status scan_settings(Database& database, const MeasurementSink& sink) {
  return each(database, "SELECT id, fields FROM printed_settings", "",
              [&](const Statement& row) -> Status { return sink.settings(row.integer(0), row.bytes(1)); });
}

// Reads results over a connection of its own, while others come over the first.
class ResultsBeside {
 public:
  ResultsBeside(const TrialFilter& filter, const MeasurementSink& sink) : filter_(filter) {
    only_.settings = sink.settings;
    only_.result = sink.result;
    only_.member_beside = sink.member_beside;
  }

  // False: it cannot be opened a second time, and is read over the first connection.
  bool start(const std::filesystem::path& path) {
    Result<Store> store = Store::open(path, OpenMode::kReadOnly);
    if (!store) return false;
    work_.emplace(path.string(), [this, other = std::move(*store)]() mutable { return other.scan(filter_, only_); });
    return true;
  }
  Status finish() { return work_ ? work_->finish() : Status(); }

 private:
  const TrialFilter& filter_;
  MeasurementSink only_;
  std::optional<Beside> work_;
};

}  // namespace

Status Store::scan(const TrialFilter& filter, const MeasurementSink& sink) {
  return state_->connection.reading([&](Database& database) -> Status {
    const bool halves = sink.member_beside && database.backend() == Backend::kSqlite;
    ResultsBeside results(filter, sink);
    bool beside = false;
    const auto start_beside = [&] { beside = results.start(database.path()); };
    const bool wanted = sink.results_beside && sink.result && sink.trial && database.backend() == Backend::kSqlite;
    const auto scan_rest = [&]() -> Status {
      if (sink.settings) {
        if (Status status = scan_settings(database, sink); !status) return status;
      }
      if (sink.result) {
        if (Status status = scan_results(database, filter, sink); !status) return status;
      }
      return halves ? scan_members(database, sink.member_beside, Part::kSecond) : Status();
    };
    if (sink.trial) {
      bool begun = !wanted;
      const auto trial = [&](const TrialRow& row) -> Status {
        // Only now is there a view of the store that the other must not be older than.
        if (!std::exchange(begun, true)) start_beside();
        return sink.trial(row);
      };
      if (Status status = scan_trials(database, filter, trial); !status) return status;
    }
    if (sink.member) {
      if (Status status = scan_members(database, sink.member, halves ? Part::kFirst : Part::kAll); !status)
        return status;
    }
    return beside ? results.finish() : scan_rest();
  });
}

}  // namespace capbench::schema
