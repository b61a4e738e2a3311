// A command line of the user's that says something on its standard output.
#ifndef CAPBENCH_HARNESS_CLI_SHELL_COMMAND_H_
#define CAPBENCH_HARNESS_CLI_SHELL_COMMAND_H_

#include <string>

#include "base/result.h"

namespace capbench::cli {

// What /bin/sh prints when it runs `command`, at most 4 MiB. It may have to fetch or compile first, so it has six
// hours. Another exit status than 0 is an error (kMachine) with the end of what it said on its standard error.
Result<std::string> output_of(const std::string& command);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_SHELL_COMMAND_H_
