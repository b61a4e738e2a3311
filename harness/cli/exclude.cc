#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/file.h"
#include "harness/cli/command.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string trial;
  std::string why;
  std::string db;
};

int exclude(const Options& options) {
  auto path = store_path(options.db, false);
  if (!path) return fail(path.error());
  // Opening for writing would make an empty store out of a mistyped name.
  if (std::error_code error; !std::filesystem::exists(*path, error)) return fail(file_error(*path, ENOENT));
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate);
  if (!store) return fail(store.error());
  if (auto status = store->exclude_trial(options.trial, options.why); !status) return fail(status.error());
  fmt::print(stderr, "excluded {}; its samples stay in the store\n", options.trial);
  return 0;
}

}  // namespace

void add_exclude(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("exclude", "Keep a trial out of every report, with the reason; never delete it");
  command->add_option("TRIAL", options->trial, "the trial's id, or enough of its first digits")->required();
  command->add_option("--why", options->why, "the reason, kept with the trial")->required();
  command->add_option("--db", options->db, "the store [$XDG_DATA_HOME/capbench/results.db]");
  command->footer("Example:\n  capbench exclude 3fa81c --why 'a backup ran at the same time' --db results.db");
  command->callback([&session, options] { session.action = [options] { return exclude(*options); }; });
}

}  // namespace capbench::cli
