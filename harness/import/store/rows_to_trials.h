// Imported rows become trials: which of them one process printed, on what, with which settings. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_STORE_ROWS_TO_TRIALS_H_
#define CAPBENCH_HARNESS_IMPORT_STORE_ROWS_TO_TRIALS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "harness/import/row.h"
#include "schema/records.h"

namespace capbench::imports {

// Where a trial of a foreign file goes.
struct TrialSink {
  // Each suite, environment and run comes before the first trial that refers to it.
  std::function<Status(const schema::SuiteRecord&)> suite;
  std::function<Status(const schema::EnvironmentRecord&)> environment;
  std::function<Status(const schema::RunRecord&)> run;
  std::function<Status(const schema::TrialRecord&)> trial;
  // Whether the trial, which an export restates, is there already, as itself or restated. What only it refers to is
  // then not put.
  std::function<Result<bool>(const schema::TrialRecord&)> knows;
};

inline constexpr std::size_t kMostResults = 4096;
inline constexpr std::size_t kMostTrialBytes = 16U << 20U;

// Takes rows in the order of their file. Rows that follow each other with the same build, machine, model and settings
// are taken for one process's, until a test comes again. Machines, models and settings are told apart by what the rows
// say; nothing is pooled that they tell apart.
//
// Arm and mode are "imported": what the device was made to answer is not known. The workload's name lists the settings
// that a row states, "t=8 ngl=99 b=2048 ub=512 ..."; the model's is its file's name, or its type. Rows that capbench
// exported say all of that themselves, and which trial of which run and suite they are of
// (harness/import/origin_fields.h): they give the same trials from whatever file they come (schema/restated.h). That
// the treatment took is not proven by their word.
//
// A trial has at most kMostResults results, and ends with the one that makes its fields and samples more than
// kMostTrialBytes, so that memory is bounded whatever the file holds; no process prints more.
class RowsToTrials {
 public:
  // `suite`: which the file's results belong to that name no other (see imported_suite). `source`: the file's digest.
  RowsToTrials(schema::SuiteRecord suite, std::string source, std::string harness_version, TrialSink sink);

  // May move from the row, and leaves a worn one in its place: valid, with anything in it.
  Status take(ImportedRow& row);
  // The last trial, and the runs' final numbers.
  Status finish();

 private:
  // What all rows of one process share.
  struct Setting {
    std::string build;
    std::string machine_id;
    std::string arm;
    std::string mode;
    std::string guest;
    std::string model;
    std::string model_kind;
    std::string workload;
    std::string environment_id;
    std::string machine_label;  // as an export gives it, like the next three
    std::string suite;
    std::string suite_of;
    std::string run_of;
    bool is_exported = false;  // capbench wrote the rows, and they name their trials

    bool operator==(const Setting&) const = default;
  };

  const Setting& setting_of(const ImportedRow& row);
  std::int64_t block_of(const schema::TrialRecord& trial, std::optional<std::int64_t> wanted);
  // A run, and what of it is in the store.
  struct Run {
    schema::SuiteRecord suite;
    schema::RunRecord run;
    bool is_put = false;
  };
  Run& run_of(const ImportedRow& row);
  Status put_origin();
  Status flush();

  schema::SuiteRecord suite_;
  std::string source_;
  std::string harness_version_;
  TrialSink sink_;
  std::set<std::string> environments_;                 // that were put, by id
  std::map<std::array<std::string, 3>, Run> runs_;     // by machine_id, and suite and run as an export gives them
  std::unordered_map<std::string, Setting> settings_;  // by what the rows say of themselves before their measurement
  std::string last_said_;                              // of the row before, and how much of it are fields
  std::size_t last_told_ = 0;
  const Setting* last_setting_ = nullptr;  // of the row before, in settings_
  // Those that are taken, by run, arm, workload and model.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::set<std::int64_t>> blocks_;
  std::optional<schema::TrialRecord> trial_;
  Run* run_ = nullptr;                                    // of trial_
  std::optional<schema::EnvironmentRecord> environment_;  // of trial_, if it was not put yet
  std::vector<schema::ResultRecord> spare_;               // results of trials that are done with
  Setting of_trial_;
  std::string name_of_trial_;              // as an export gives it; empty: it is no export
  std::unordered_set<std::string> tests_;  // of the trial
  std::size_t trial_bytes_ = 0;            // its fields and samples
  std::int64_t position_ = 0;
};

// The suite that imported results of a kind belong to: it says that they were imported and has no arms to run.
schema::SuiteRecord imported_suite(std::string_view kind);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_STORE_ROWS_TO_TRIALS_H_
