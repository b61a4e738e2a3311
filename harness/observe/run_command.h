// Runs one program that reports facts, with a time limit and a cap.
#ifndef CAPBENCH_HARNESS_OBSERVE_RUN_COMMAND_H_
#define CAPBENCH_HARNESS_OBSERVE_RUN_COMMAND_H_

#include <filesystem>
#include <string>
#include <vector>

#include "harness/observe/sources.h"

namespace capbench::observe {

// Its standard output, at most source.max_bytes, and its exit status: 128 + N for a signal's end, 137 past
// source.limit_s, 127 if it does not start. Standard input and error are /dev/null, the locale is C, and the
// environment is this process's without what injects a library (variables.h). The program and all that it started end
// with the call. Safe to call from several threads.
SourceText run_command(const std::filesystem::path& program, const std::vector<std::string>& argv,
                       const Source& source);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_RUN_COMMAND_H_
