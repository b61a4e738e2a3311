// One job: a command to run somewhere, and how it went.
#ifndef CAPBENCH_HARNESS_TARGET_JOB_H_
#define CAPBENCH_HARNESS_TARGET_JOB_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace capbench::target {

struct Job {
  std::vector<std::string> argv;       // argv[0] is the program's path
  std::vector<std::string> set_env;    // NAME=VALUE, on top of the harness's own environment
  std::vector<std::string> unset_env;  // names that must not reach the program
  std::string working_dir;             // absolute; empty: the harness's own, or the job's directory on another machine
  std::string stdin_file;              // empty: nothing to read. Local jobs only
  std::uint64_t stdin_offset = 0;      // where in stdin_file to begin
  std::vector<int> keep_fds;           // descriptors that stay open until the job is gone (locks). Local jobs only
  std::chrono::nanoseconds time_limit = std::chrono::minutes(10);
  std::size_t max_output_bytes = 64U << 20U;  // of each stream; a job that prints more is ended
};

enum class Ending {
  kExited,       // by itself, see exit_status
  kSignaled,     // by a signal that the harness did not send, see signal
  kTimedOut,     // at the time limit
  kInterrupted,  // because the harness was told to stop
  kFlooded,      // because it printed more than max_output_bytes
  kNotStarted,   // the program could not be executed, see reason
  kLost,         // its target could not be reached any more, or gave no whole answer, see reason
};

struct JobResult {
  Ending ending = Ending::kNotStarted;
  int exit_status = 0;
  int signal = 0;
  std::string reason;  // for kNotStarted and kLost
  std::string out;     // the bytes of both streams as they came, up to max_output_bytes each
  std::string err;
  std::int64_t wall_ns = 0;  // from just before the program starts until it has ended
  std::int64_t user_ns = 0;  // of the program and every descendant that was waited for
  std::int64_t system_ns = 0;
  std::int64_t max_rss_bytes = 0;
  std::vector<std::string>
      mapped_files;  // files mapped as code while it ran: the program, its libraries, drivers; sorted
};

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_JOB_H_
