// What Store::scan() hands out: every trial and result of a store, lean enough for a million of them.
#ifndef CAPBENCH_SCHEMA_MEASUREMENTS_H_
#define CAPBENCH_SCHEMA_MEASUREMENTS_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace capbench::schema {

// Views into a row that is gone with the next. What is not known is empty.
struct TrialRow {
  std::string_view id;
  std::string_view run_id;
  std::string_view suite;  // its name
  std::string_view suite_id;
  std::string_view machine_id;
  std::string_view machine_label;
  std::string_view environment_id;
  std::string_view closure_id;
  std::string_view arm;
  std::string_view mode;
  std::string_view guest;
  std::string_view workload;
  std::string_view model;
  std::string_view model_kind;
  std::int64_t block = 0;
  std::int64_t attempt = 0;
  std::string_view status;
  std::string_view reason;
  std::string_view treatment;
  std::string_view quality;
  std::string_view started_at;
  std::string_view argv;             // JSON
  std::string_view environment_set;  // JSON
  std::string_view image;            // JSON
};

struct ResultRow {
  std::string_view trial_id;
  std::int64_t ordinal = 0;
  std::string_view test;
  std::string_view build;
  std::string_view backends;
  std::string_view cpu_info;
  std::string_view gpu_info;
  std::int64_t settings = 0;    // what MeasurementSink::settings has of it; 0: `fields` are all
  std::string_view fields;      // JSON
  std::string_view samples_ns;  // JSON
  std::int64_t tokens = 0;      // that each sample took: n_prompt + n_gen
  double median_ts = 0;
};

struct MemberRow {
  std::string_view closure_id;
  std::int64_t ordinal = 0;
  std::string_view role;
  std::string_view name;
  std::string_view sha256;
  std::string_view path;
};

// Rows of one kind come in any order. What is empty is not read.
struct MeasurementSink {
  std::function<Status(const TrialRow&)> trial;                              // of every status
  std::function<Status(const MemberRow&)> member;                            // the files of every closure
  std::function<Status(std::int64_t id, std::string_view fields)> settings;  // JSON that results share; before them
  std::function<Status(const ResultRow&)> result;
  // Whether `settings` and `result` may be called by a thread of their own while the others are. Its view of the store
  // is then theirs or a later one: a result may be of a trial that they have not seen. Otherwise the order is as above.
  bool results_beside = false;
  // If given, that thread brings some of the files of closures here, when it is done with results.
  std::function<Status(const MemberRow&)> member_beside;
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_MEASUREMENTS_H_
