// The tests' small libraries, and processes that run them.
#ifndef CAPBENCH_SHIM_EMULATE_TESTING_FIXTURES_H_
#define CAPBENCH_SHIM_EMULATE_TESTING_FIXTURES_H_

#include <memory>
#include <string>
#include <vector>

#include "shim/emulate/process.h"

namespace capbench::emulate {

// "guest.dylib"; throws std::runtime_error where it cannot be read.
Library fixture(const std::string& name, bool inserted = false);

// A process with the two functions that guest.c takes from its host, and nothing loaded.
std::unique_ptr<Process> make_process(ProcessOptions options = {});

// The same with those libraries loaded.
std::unique_ptr<Process> start(const std::vector<Library>& libraries, ProcessOptions options = {});

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_TESTING_FIXTURES_H_
