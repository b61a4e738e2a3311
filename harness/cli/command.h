// What every subcommand shares. One file per subcommand adds itself to the parser; main only dispatches.
#ifndef CAPBENCH_HARNESS_CLI_COMMAND_H_
#define CAPBENCH_HARNESS_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/runner/install.h"
#include "harness/suite/suite.h"

namespace capbench::cli {

// What the chosen subcommand does; returns the exit status.
using Action = std::function<int()>;

struct Session {
  runner::Install install;
  Action action;  // set by the subcommand that the command line names
};

void add_doctor(CLI::App& app, Session& session);
void add_plan(CLI::App& app, Session& session);
void add_run(CLI::App& app, Session& session);
void add_exclude(CLI::App& app, Session& session);
void add_import(CLI::App& app, Session& session);
void add_export(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);
void add_check(CLI::App& app, Session& session);
void add_models(CLI::App& app, Session& session);
void add_probe(CLI::App& app, Session& session);
void add_shim(CLI::App& app, Session& session);
void add_inspect(CLI::App& app, Session& session);
void add_explain(CLI::App& app, Session& session);
void add_submit(CLI::App& app, Session& session);
void add_withdraw(CLI::App& app, Session& session);
void add_ingest(CLI::App& app, Session& session);
void add_copy(CLI::App& app, Session& session);
void add_verify(CLI::App& app, Session& session);
void add_serve(CLI::App& app, Session& session);

// Prints "capbench: ERROR" to stderr and returns its exit status.
int fail(const Error& error);

// For options that hold a std::uint64_t: the parser alone would wrap -1 and cut what is too large. Empty: fine.
std::string whole_number(const std::string& text);

// A message to stderr. If nobody can read it, that is no reason to fail.
void tell(std::string_view text);

// Data goes to stdout. A reader that has gone away (`| head`) had enough; a full disk behind it is an error, not
// silence.
int print_data(std::string_view text);

// To the file, or to stdout if `out` is empty. A store of results is not replaced.
int write_output(const std::string& out, std::string_view text);

struct LoadedSuite {
  suite::Suite suite;
  std::filesystem::path folder;  // that relative names in the suite start from
};
Result<LoadedSuite> load_suite(const std::string& path);

// --db, or the default place; its folder is made when `create`. A PostgreSQL address is given back as it is: it may be
// shown through schema::shown() only.
Result<std::filesystem::path> store_path(const std::string& option, bool create);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_COMMAND_H_
