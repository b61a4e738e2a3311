#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/ingest_file.h"
#include "harness/cli/reproduction.h"
#include "harness/cli/verify_archive.h"
#include "harness/verify/verdict.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/exchange.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

struct IngestOptions {
  std::vector<std::string> paths;
  std::string db;
  std::string signers;
};

struct IngestTally {
  std::int64_t bundles = 0;
  std::int64_t refused = 0;
  std::int64_t added = 0;  // trials
  std::int64_t known = 0;
};

// Every bundle below the folder, sorted by its path.
Result<std::vector<std::string>> bundles_below(const fs::path& folder) {
  constexpr std::size_t kMost = 100'000;
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != bundle::kFileExtension || !it->is_regular_file(error)) continue;
    if (files.size() == kMost) {
      return Error{ErrorKind::kUsage, folder.string(), fmt::format("holds more than {} bundles", kMost),
                   "take in its subfolders one by one"};
    }
    files.push_back(it->path().string());
  }
  if (error) return file_error(folder, error.value());
  if (files.empty()) {
    return Error{ErrorKind::kUsage, folder.string(), "no file in it ends in .capbundle", "name another folder"};
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The checks that failed, as the cause of one error.
Error failed_checks(const verify::Verdict& verdict) {
  constexpr std::size_t kMost = 5;
  std::string cause;
  std::size_t told = 0;
  for (const verify::Check& check : verdict.checks) {
    if (check.outcome != verify::Outcome::kFailed) continue;
    if (told++ == kMost) break;
    cause += fmt::format("{}{}{}: {}", cause.empty() ? "" : "; ", check.name,
                         check.where.empty() ? "" : " (" + check.where + ")", check.detail);
  }
  const std::size_t failed = verdict.count(verify::Outcome::kFailed);
  if (failed > kMost) cause += fmt::format("; and {} more", failed - kMost);
  return {ErrorKind::kFinding, "", std::move(cause), "`capbench verify` shows every check; ask its author"};
}

std::string outcome_text(const bundle::IngestOutcome& outcome, std::string_view tier) {
  using Kind = bundle::IngestOutcome::Kind;
  switch (outcome.kind) {
    case Kind::kAdded:
      return fmt::format("{} added, {} known, {}", counted(outcome.added, "trial"), outcome.known, tier);
    case Kind::kKnown:
      return "known, nothing changed";
    case Kind::kOwn:
      return "its trials were measured here, nothing changed";
    case Kind::kWithdrawn:
      return "was withdrawn, nothing changed";
    case Kind::kConflict:
      break;
  }
  return "conflict";
}

// An error names what is in the file; this adds which file.
Error in_file(const std::string& file, Error error) {
  error.what = error.what.empty() ? file : file + ": " + error.what;
  return error;
}

// It, or others that it reproduces.
Status tell_reproductions(schema::Store& store, const std::string& id) {
  const auto changes = changed_tiers(store, id);
  if (!changes) return changes.error();
  for (const TierChange& change : *changes) {
    if (Status status = store.set_tier(change.id, change.tier, change.verdict); !status) return status;
    tell(fmt::format("bundle {}: {} now\n", change.id.substr(0, 12), change.tier));
  }
  return {};
}

}  // namespace

Result<bundle::IngestOutcome> ingest_file(schema::Store& store, const std::string& file, const std::string& signers) {
  const auto archive = read_file(file, bundle::Limits{}.archive_bytes);
  if (!archive) return archive.error();
  const auto opened = bundle::open_bundle(*archive);
  if (!opened) return in_file(file, opened.error());
  const verify::Verdict verdict = verify_opened(*opened, signers);
  if (verdict.failed()) return in_file(file, failed_checks(verdict));
  bundle::Provenance provenance;
  provenance.signer = verdict.signer;
  provenance.tier = verdict.tier;
  provenance.verdict = verify::verdict_json(verdict);
  auto outcome = bundle::ingest(store, *opened, *archive, provenance);
  if (!outcome) return outcome;
  if (outcome->kind == bundle::IngestOutcome::Kind::kConflict) return in_file(file, std::move(outcome->conflict));
  tell(fmt::format("{}: {}\n", file, outcome_text(*outcome, verdict.tier)));
  if (outcome->kind != bundle::IngestOutcome::Kind::kAdded || verdict.signer.empty()) return outcome;
  if (Status status = tell_reproductions(store, opened->id); !status) return std::move(status).error();
  return outcome;
}

namespace {

int ingest_paths(const IngestOptions& options) {
  if (!options.signers.empty()) {
    if (auto readable = read_file(options.signers); !readable) return fail(readable.error());
  }
  const auto path = store_path(options.db, true);
  if (!path) return fail(path.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate);
  if (!store) return fail(store.error());
  IngestTally tally;
  int worst = 0;
  for (const std::string& name : options.paths) {
    std::vector<std::string> files = {name};
    if (std::error_code error; fs::is_directory(name, error)) {
      auto below = bundles_below(name);
      if (!below) {
        worst = std::max(worst, fail(below.error()));
        continue;
      }
      files = std::move(*below);
    }
    // One bad bundle does not keep the others out.
    for (const std::string& file : files) {
      ++tally.bundles;
      const auto outcome = ingest_file(*store, file, options.signers);
      if (!outcome) {
        ++tally.refused;
        worst = std::max(worst, fail(outcome.error()));
        continue;
      }
      tally.added += outcome->added;
      tally.known += outcome->known;
    }
  }
  tell(fmt::format("{}: {} added, {} known; {} refused\n", counted(tally.bundles, "bundle"),
                   counted(tally.added, "trial"), tally.known, counted(tally.refused, "bundle")));
  return worst;
}

}  // namespace

void add_ingest(CLI::App& app, Session& session) {
  auto options = std::make_shared<IngestOptions>();
  CLI::App* command = app.add_subcommand("ingest", "Take bundles of others into the store, each verified and whole");
  command->add_option("PATH", options->paths, "bundles (.capbundle), or folders with bundles anywhere below")
      ->required();
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--signers", options->signers,
                      "whose signatures are expected: a file of ALLOWED SIGNERS, see ssh-keygen(1)");
  command->footer(
      "Each bundle comes in as a whole or not at all, and one that is known changes nothing. Refused are bundles\n"
      "that are damaged, that a check of `capbench verify` fails, or that contradict what the store has under the\n"
      "same name; the others are taken all the same.\n"
      "Exit status: 0 all are in; 1 one was refused; 2 a file cannot be read.\n"
      "Examples:\n"
      "  capbench ingest results.capbundle --db results.db\n"
      "  capbench ingest submissions/ --db results.db");
  command->callback([&session, options] { session.action = [options] { return ingest_paths(*options); }; });
}

}  // namespace capbench::cli
