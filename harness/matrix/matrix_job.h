// A suite split over the tasks of an engine that schedules machines. Pure.
#ifndef CAPBENCH_HARNESS_MATRIX_MATRIX_JOB_H_
#define CAPBENCH_HARNESS_MATRIX_MATRIX_JOB_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace capbench::matrix {

struct MatrixJob {
  std::string suite_name;
  std::string suite_path;  // as a task will find it
  std::string suite_id;
  std::size_t shards = 1;
  std::size_t trials = 0;                        // of all shards
  std::optional<std::chrono::seconds> estimate;  // of the longest shard; unknown before a first run
};

// The job's name in the engine and in file names: letters, digits, - and _ of the suite's name, at most 40.
std::string job_name(const MatrixJob& job);

// What a task may take before the engine ends it: three times the estimate, at least ten minutes, in whole minutes.
// Nothing without an estimate.
std::optional<std::chrono::minutes> time_limit(const MatrixJob& job);

}  // namespace capbench::matrix

#endif  // CAPBENCH_HARNESS_MATRIX_MATRIX_JOB_H_
