// `capbench report paper`, beside the reports that are one table in several formats.
#ifndef CAPBENCH_HARNESS_CLI_REPORT_PAPER_H_
#define CAPBENCH_HARNESS_CLI_REPORT_PAPER_H_

#include "harness/cli/command.h"

namespace capbench::cli {

void add_report_paper(CLI::App& report, Session& session);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_REPORT_PAPER_H_
