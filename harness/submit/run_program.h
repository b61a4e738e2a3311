// Runs one program with bounds on its time and its output.
#ifndef CAPBENCH_HARNESS_SUBMIT_RUN_PROGRAM_H_
#define CAPBENCH_HARNESS_SUBMIT_RUN_PROGRAM_H_

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace capbench::submit {

struct ProgramRun {
  std::vector<std::string> argv;     // argv[0] is looked for on the PATH
  std::filesystem::path stdin_file;  // its standard input; empty: nothing to read, or the terminal's
  bool terminal = false;  // it stays with this process's terminal and may ask there; otherwise it has a session of its
                          // own, without one
  std::vector<std::string> set_env;   // NAME=VALUE, beside the environment of this process
  std::vector<std::string> drop_env;  // NAME
  std::chrono::milliseconds time_limit{60000};
  std::size_t max_output_bytes = 64U << 10U;  // of each stream; what is more is read and dropped
};

struct ProgramEnd {
  int exit_status = 0;  // 128 + N for the end by signal N
  std::string out;
  std::string err;
};

// Errors (kMachine): it is not there (the remedy is the caller's to add), cannot be started, did not end in time (it is
// killed). Safe to call from several threads.
Result<ProgramEnd> run_program(const ProgramRun& run);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_RUN_PROGRAM_H_
