// `capbench watch`.
#ifndef CAPBENCH_HARNESS_CLI_WATCH_H_
#define CAPBENCH_HARNESS_CLI_WATCH_H_

#include "harness/cli/command.h"

namespace capbench::cli {

void add_watch(CLI::App& app, Session& session);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_WATCH_H_
