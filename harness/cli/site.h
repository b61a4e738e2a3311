// The subcommand `site`.
#ifndef CAPBENCH_HARNESS_CLI_SITE_H_
#define CAPBENCH_HARNESS_CLI_SITE_H_

#include "harness/cli/command.h"

namespace capbench::cli {

void add_site(CLI::App& app, Session& session);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_SITE_H_
