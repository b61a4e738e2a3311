#include "schema/copy.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "harness/cli/command.h"
#include "schema/address.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string from;
  std::string to;
  bool quiet = false;
};

bool is_same(const std::string& from, const std::string& to) {
  std::error_code ignored;
  const bool files = !schema::is_address(from) && !schema::is_address(to);
  return from == to || (files && std::filesystem::equivalent(from, to, ignored));
}

int copy(const Options& options) {
  if (is_same(options.from, options.to)) {
    return fail({ErrorKind::kUsage, schema::shown(options.to), "is the store that is to be copied",
                 "name another one with --to"});
  }
  auto from = schema::Store::open(options.from, schema::OpenMode::kReadOnly);
  if (!from) return fail(from.error());
  auto to_path = store_path(options.to, true);
  if (!to_path) return fail(to_path.error());
  auto to = schema::Store::open(*to_path, schema::OpenMode::kCreate, std::chrono::seconds(60));
  if (!to) return fail(to.error());
  constexpr std::int64_t kStep = 100'000;
  const auto copied = schema::copy_store(*from, *to, [&](std::string_view table, std::int64_t rows) {
    if (!options.quiet && rows % kStep == 0) tell(fmt::format("{}: {} rows\n", table, rows));
  });
  if (!copied) return fail(copied.error());
  if (auto status = to->check_integrity(); !status) return fail(status.error());
  std::string text = "table\trows\tadded\tsha256\n";
  for (const schema::CopiedTable& table : *copied) {
    text += fmt::format("{}\t{}\t{}\t{}\n", table.name, table.rows, table.added, table.digest);
  }
  tell(fmt::format("{} holds all of {}; its rows were compared one by one\n", schema::shown(options.to),
                   schema::shown(options.from)));
  return print_data(text);
}

}  // namespace

void add_copy(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("copy", "Copy a store into another, a file or a PostgreSQL database");
  command->add_option("--from", options->from, "the store to copy: a file or postgresql://...")->required();
  command->add_option("--to", options->to, "where to: a file or postgresql://...; made if need be")->required();
  command->add_flag("--quiet", options->quiet, "no progress");
  command->footer(
      "Everything goes: trials with their raw output, sources and quarantined rows, bundles with their archives, the\n"
      "inbox of a server, exclusions, withdrawals, triage. Both are read again afterwards and compared row by row;\n"
      "printed are the rows of each table and their digest, the same for both stores.\n"
      "What the other store has stays, and the rest joins it; copying again changes nothing, so a copy that was cut\n"
      "short is run again. An exclusion or withdrawal of either holds. Exit status 1: something else is there under\n"
      "the same name.\n"
      "Examples:\n"
      "  capbench copy --from results.db --to postgresql://bench@db.example/results\n"
      "  capbench copy --from postgresql://bench@db.example/results --to copy.db\n"
      "A password belongs into ~/.pgpass or PGPASSWORD; in an address others can see it.");
  command->callback([&session, options] { session.action = [options] { return copy(*options); }; });
}

}  // namespace capbench::cli
