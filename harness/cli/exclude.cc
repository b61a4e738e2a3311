#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/file.h"
#include "harness/cli/command.h"
#include "schema/address.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string trial;
  std::string why;
  std::string db;
};

int exclude(const Options& options) {
  if (options.why.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail({ErrorKind::kUsage, "--why", "it is empty", "say in a few words what was wrong with the trial"});
  }
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  // Opening for writing would make an empty store out of a mistyped name.
  if (std::error_code error; !schema::is_address(path->native()) && !std::filesystem::exists(*path, error)) {
    return fail(file_error(*path, ENOENT));
  }
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate);
  if (!store) return fail(store.error());
  if (auto status = store->exclude_trial(options.trial, options.why); !status) return fail(status.error());
  tell(fmt::format("excluded {}; its samples stay in the store\n", options.trial));
  return 0;
}

}  // namespace

void add_exclude(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("exclude", "Keep a trial out of every report, with the reason; never delete it");
  command->add_option("TRIAL", options->trial, "its id, or as many first digits as no other has")->required();
  command->add_option("--why", options->why, "the reason, kept with the trial")->required();
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->footer(
      "There is no way back: the trial stays, and so does the mark; a second reason\n"
      "is added to the first. The HTML report "
      "lists the ids; so does the store:\n"
      "  sqlite3 -box results.db \"SELECT substr(id, 1, 12) AS id, arm, workload,\n"
      "    model, block, status FROM latest_trial ORDER BY position\"\n"
      "Example:\n"
      "  capbench exclude 3fa81c --why 'a backup ran meanwhile' --db results.db");
  command->callback([&session, options] { session.action = [options] { return exclude(*options); }; });
}

}  // namespace capbench::cli
