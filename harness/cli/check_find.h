// `capbench check --find`: the first slow build between a good and a bad one.
#ifndef CAPBENCH_HARNESS_CLI_CHECK_FIND_H_
#define CAPBENCH_HARNESS_CLI_CHECK_FIND_H_

#include <string>

#include "harness/cli/command.h"

namespace capbench::cli {

struct FindOptions {
  std::string suite;
  std::string db;
  std::string good;
  std::string bad;
  std::string build_command;
  std::string list_command;
  std::string model;  // empty: every model of the suite
  std::string test;   // empty: the test that lost most
  std::string arm;    // empty: the suite's first
};

// Measures each build that it asks for beside the good one, in interleaved blocks, into the store; what is there
// already is not measured again. Prints the first bad build. Returns the exit status.
int find_first_bad(const Session& session, const FindOptions& options);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_CHECK_FIND_H_
