#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/ingest_file.h"
#include "harness/import/evidence/evidence.h"
#include "harness/import/evidence/put_evidence.h"
#include "harness/import/store/import_into.h"
#include "harness/import/store/spool.h"
#include "harness/runner/version.h"
#include "schema/address.h"
#include "schema/bundle/bundle.h"
#include "schema/import_writer.h"
#include "schema/store.h"
#include "schema/store_file.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  std::string db;
  std::string as;
  std::string columns;
  std::string machine;
  bool keep_raw = false;
};

// What the whole command has to say.
struct Tally {
  std::int64_t added = 0;
  std::int64_t known = 0;
  bool finding = false;  // something was quarantined, or is not what it says it is
  bool read = false;     // something was, so that the store holds it
};

void tell_quarantine(const std::string& path, const imports::QuarantinedRow& row) {
  tell(fmt::format("{}:{}: quarantined: {}\n", path, row.place.line, row.reason));
}

// ", 2 of them means alone": those have no median, and nothing is compared with them.
std::string means_text(const imports::Outcome& outcome) {
  if (outcome.means == 0) return "";
  if (outcome.means == outcome.rows) return outcome.rows == 1 ? " that gives only a mean" : " that give only a mean";
  return fmt::format(", {} of them only a mean", outcome.means);
}

void tell_outcome(const std::string& path, const imports::Outcome& outcome, Tally& tally) {
  for (const std::string& note : outcome.notes) tell(fmt::format("{}: {}\n", path, note));
  for (const imports::QuarantinedRow& row : outcome.quarantine) tell_quarantine(path, row);
  if (outcome.quarantined > outcome.quarantine.size()) {
    tell(fmt::format("{}: and {} more, in table quarantine\n", path,
                     counted(outcome.quarantined - outcome.quarantine.size(), "quarantined row")));
  }
  tally.read = true;
  tally.added += outcome.added;
  tally.known += outcome.known;
  tally.finding = tally.finding || outcome.quarantined > 0;
  if (outcome.is_known) {
    const std::string quarantined =
        outcome.quarantined == 0 ? "" : fmt::format("; {} quarantined then", outcome.quarantined);
    tell(fmt::format("{}: imported before, nothing changed{}\n", path, quarantined));
    return;
  }
  tell(fmt::format("{}: {}: {}{}, {} added, {} known, {} quarantined\n", path, outcome.kind,
                   counted(outcome.rows, "row"), means_text(outcome), counted(outcome.added, "trial"), outcome.known,
                   outcome.quarantined));
}

// Files below the folder, by their name from it.
Result<std::vector<imports::EvidenceFile>> files_below(const fs::path& folder) {
  constexpr std::uintmax_t kMostBytes = 64U << 20U;
  constexpr std::size_t kMostFiles = 10000;
  std::vector<imports::EvidenceFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    if (files.size() == kMostFiles) {
      return Error{ErrorKind::kUsage, folder.string(), fmt::format("holds more than {} files", kMostFiles),
                   "import its subfolders one by one"};
    }
    const fs::path path = it->path();
    files.push_back({path.lexically_relative(folder).generic_string(), [path] { return read_file(path, kMostBytes); },
                     it->file_size(error)});
  }
  if (error) return file_error(folder, error.value());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

bool is_bundle(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // a look at a pipe would take its beginning away
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> beginning{};
  file.read(beginning.data(), beginning.size());
  return bundle::may_be_bundle({beginning.data(), static_cast<std::size_t>(file.gcount())});
}

enum class PathKind { kFolder, kBundle, kStore, kFile };

PathKind kind_of(const std::string& path) {
  if (schema::is_address(path)) return PathKind::kStore;
  std::error_code error;
  if (fs::is_directory(path, error)) return PathKind::kFolder;
  if (is_bundle(path)) return PathKind::kBundle;
  return schema::is_store_file(path) ? PathKind::kStore : PathKind::kFile;
}

// `ahead`: of a file whose reading has begun. The exit status.
int import_one(schema::Store& store, const std::string& path, const imports::ImportOptions& options, Tally& tally,
               std::optional<imports::FileAhead> ahead = {}) {
  const std::string version(runner::kVersion);
  const PathKind kind = kind_of(path);
  if (!ahead && path != "-" && kind == PathKind::kFile && imports::is_read_once(path)) {
    tell(fmt::format("{}: a pipe: reading it until its writer ends\n", path));
  }
  if (!ahead && kind == PathKind::kBundle) {
    const auto outcome = ingest_file(store, path, "");
    if (!outcome) return fail(outcome.error());
    tally.read = true;
    tally.added += outcome->added;
    tally.known += outcome->known;
    return 0;
  }
  const auto outcome = ahead                      ? imports::import_file_into(store, std::move(*ahead), version)
                       : kind == PathKind::kStore ? imports::merge_store_into(store, path)
                                                  : imports::import_file_into(store, path, options, version);
  if (!outcome) return fail(outcome.error());
  tell_outcome(path, *outcome, tally);
  return 0;
}

Status import_folder(schema::Store& store, const fs::path& folder, const std::vector<imports::EvidenceFile>& files,
                     const Options& options, Tally& tally) {
  imports::EvidenceOptions wanted;
  wanted.machine = options.machine;
  wanted.keep_raw = options.keep_raw;
  wanted.harness_version = std::string(runner::kVersion);
  auto evidence = imports::import_evidence(fs::absolute(folder).lexically_normal().filename().string(), files, wanted);
  if (!evidence) return std::move(evidence).error();
  auto writer = schema::ImportWriter::begin(store);
  if (!writer) return std::move(writer).error();
  if (auto status = imports::put_evidence(*evidence, *writer); !status) return status;
  const auto counts = writer->trials();
  if (auto status = writer->finish(); !status) return status;
  const std::string name = folder.string();
  for (const std::string& note : evidence->notes) tell(fmt::format("{}: {}\n", name, note));
  for (const std::string& finding : evidence->findings) tell(fmt::format("{}: finding: {}\n", name, finding));
  tell(fmt::format("{}: evidence: {} added, {} known, {}\n", name, counted(counts.added, "trial"), counts.known,
                   counted(evidence->findings.size(), "finding")));
  tally.read = true;
  tally.added += counts.added;
  tally.known += counts.known;
  tally.finding = tally.finding || !evidence->findings.empty();
  return {};
}

// An empty one, made for what then was nothing to import.
void remove_store(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  for (const std::string_view suffix : schema::kBesideStore) fs::remove(path.string() + std::string(suffix), ignored);
}

int import_paths(const Options& options) {
  imports::ImportOptions import_options;
  if (!options.as.empty()) import_options.as = imports::source_kind(options.as);
  if (!options.columns.empty()) {
    auto columns = imports::parse_column_mapping(options.columns);
    if (!columns) return fail(columns.error());
    import_options.columns = std::move(*columns);
    if (import_options.as.value_or(imports::SourceKind::kLlamaBench) != imports::SourceKind::kLlamaBench) {
      return fail({ErrorKind::kUsage, "--columns", "only a CSV has columns to name, and --as says that it is none",
                   "leave --as out"});
    }
  }
  auto path = store_path(options.db, true);
  if (!path) return fail(path.error());
  std::error_code error;
  std::optional<imports::FileAhead> ahead;
  // The first file is read while the store is opened. What can be read only once waits until that has worked.
  const std::string& first = options.paths.front();
  if (kind_of(first) == PathKind::kFile && fs::is_regular_file(first, error)) {
    auto begun = imports::FileAhead::begin(first, import_options);
    if (begun) ahead = std::move(*begun);
  }
  const bool is_new = !schema::is_address(path->native()) && !fs::exists(*path, error);
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate);
  if (!store) return fail(store.error());
  Tally tally;
  int worst = 0;
  for (const std::string& name : options.paths) {
    // One bad file does not keep the others out.
    if (ahead || kind_of(name) != PathKind::kFolder) {
      worst = std::max(worst, import_one(*store, name, import_options, tally, std::exchange(ahead, std::nullopt)));
      continue;
    }
    auto files = files_below(name);
    if (!files) {
      worst = std::max(worst, fail(files.error()));
      continue;
    }
    if (files->empty()) {
      worst = std::max(worst, fail({ErrorKind::kUsage, name, "holds no files", "name a folder with results in it"}));
      continue;
    }
    std::vector<std::string> names;
    for (const imports::EvidenceFile& file : *files) names.push_back(file.name);
    if (imports::looks_like_evidence(names)) {
      if (auto status = import_folder(*store, name, *files, options, tally); !status) {
        worst = std::max(worst, fail(status.error()));
      }
      continue;
    }
    for (const std::string& file : names) {
      worst = std::max(worst, import_one(*store, (fs::path(name) / file).string(), import_options, tally));
    }
  }
  if (!tally.read) {
    if (is_new) {
      store = Error{};  // closed first
      remove_store(*path);
    }
    return worst;
  }
  tell(fmt::format("{} added, {} known; the table: capbench report speedup --db {}\n", counted(tally.added, "trial"),
                   tally.known, schema::shown(path->string())));
  return worst != 0 ? worst : tally.finding ? exit_status(ErrorKind::kFinding) : 0;
}

}  // namespace

void add_import(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("import", "Take in results that were measured without capbench");
  command->add_option("PATH", options->paths, "llama-bench output, evidence folders, databases, other stores, bundles")
      ->required();
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--as", options->as, "the kind of file [as its content tells]")
      ->check(CLI::IsMember({"llama-bench", "google-benchmark", "mlx-lm", "sqlite"}));
  command->add_option("--columns", options->columns, "for a CSV of your own: FIELD=COLUMN;FIELD:=VALUE;...");
  command->add_option("--machine", options->machine, "name of the machine that evidence folders are from [its chip]");
  command->add_flag("--keep-raw", options->keep_raw, "keep the bytes of evidence folders as well");
  command->footer(
      "JSON, JSONL, CSV, SQL and Markdown of every llama-bench since 2023, logs and pasted tables too; a row that\n"
      "cannot be trusted is quarantined with its line and reason. What was imported before changes nothing.\n"
      "A PATH of - is standard input.\n"
      "Exit status 1: something was quarantined, or a folder is not what it says.\n"
      "Examples:\n"
      "  capbench import results.jsonl table.md --db results.db\n"
      "  capbench import speeds.csv --columns 'test=Test;avg_ts=tok/s;model_filename=Model'");
  command->callback([&session, options] { session.action = [options] { return import_paths(*options); }; });
}

}  // namespace capbench::cli
