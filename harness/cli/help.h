// Help that fits a terminal of 80 columns.
#ifndef CAPBENCH_HARNESS_CLI_HELP_H_
#define CAPBENCH_HARNESS_CLI_HELP_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace capbench::cli {

inline constexpr std::size_t kHelpColumns = 80;

// Breaks lines that are too long between words. What follows a wide gap (the description of an option) is set below its
// own beginning; other lines are continued below theirs.
std::string wrap_help(std::string_view text, std::size_t columns = kHelpColumns);

// For the application, before its subcommands are added: they inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_HELP_H_
