#include "harness/import/store/import_into.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/counted.h"
#include "harness/import/reading.h"
#include "harness/import/store/row_stream.h"
#include "harness/import/store/rows_to_trials.h"
#include "harness/import/store/spool.h"
#include "schema/import_writer.h"

namespace capbench::imports {
namespace {

namespace fs = std::filesystem;

// What was found on its way into the store.
Status put_batch(schema::ImportWriter& writer, RowsToTrials& trials, const std::string& source, RowBatch& batch,
                 Outcome& outcome) {
  for (const schema::PackedRaw& part : batch.parts) {
    if (auto status = writer.put_part(source, part); !status) return status;
  }
  for (ImportedRow& row : batch.rows) {
    if (row.mean_only()) ++outcome.means;
    if (std::find(row.flags.begin(), row.flags.end(), "time not understood") != row.flags.end()) ++outcome.odd_times;
    if (auto status = trials.take(row); !status) return status;
  }
  for (QuarantinedRow& row : batch.quarantined) {
    ++outcome.quarantined;
    auto status = writer.put_quarantine({source, static_cast<std::int64_t>(row.place.line), row.reason, row.text});
    if (!status) return status;
    if (outcome.quarantine.size() < kMostShown) outcome.quarantine.push_back(std::move(row));
  }
  for (const Note& note : batch.notes) {
    const std::string where = note.line == 0 ? "" : "line " + std::to_string(note.line) + ": ";
    if (outcome.notes.size() < kMostShown) outcome.notes.push_back(where + note.text);
  }
  return {};
}

Result<std::optional<schema::SourceRecord>> find_source(schema::Store& store, const std::string& sha256) {
  auto sources = store.sources();
  if (!sources) return std::move(sources).error();
  const auto found = std::find_if(sources->begin(), sources->end(), [&](const auto& s) { return s.sha256 == sha256; });
  if (found == sources->end()) return std::optional<schema::SourceRecord>();
  return std::optional(std::move(*found));
}

// What was quarantined when the source was read.
Status tell_quarantine(schema::Store& store, Outcome& outcome) {
  const auto rows = store.quarantine(outcome.sha256);
  if (!rows) return rows.error();
  outcome.quarantined = rows->size();
  for (const schema::QuarantineRecord& row : *rows) {
    if (outcome.quarantine.size() == kMostShown) break;
    outcome.quarantine.push_back({{0, static_cast<std::uint64_t>(row.line)}, row.reason, row.text});
  }
  return {};
}

// The suite of a kind's results: "llama-bench-jsonl" and "llama-bench-csv" are both llama-bench's.
std::string_view family_of(std::string_view kind) {
  constexpr std::string_view kLlamaBench = "llama-bench";
  return kind.starts_with(kLlamaBench) ? kLlamaBench : kind;
}

std::string expected_family(const fs::path& path, const ImportOptions& options) {
  SourceKind kind = SourceKind::kLlamaBench;
  if (options.as) {
    kind = *options.as;
  } else {
    std::string head(kDetectBytes, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    kind = detect(head);
  }
  if (kind == SourceKind::kGoogleBenchmark) return "google-benchmark";
  if (kind == SourceKind::kMlxLm) return "mlx-lm";
  return "llama-bench";
}

}  // namespace

struct FileAhead::State {
  std::optional<Spool> copy;  // of what can be read only once
  fs::path given;
  fs::path path;
  std::string name;  // of the source
  std::string family;
  std::string reading;  // how it is read, where that is not what its content tells
  RowStream rows;

  State(std::optional<Spool> spooled, const fs::path& file, const ImportOptions& options)
      : copy(std::move(spooled)),
        given(file),
        path(copy ? copy->path() : file),
        name(file.native() == "-" ? "stdin" : file.filename().string()),
        family(expected_family(path, options)),
        reading(reading_of(options)),
        rows(path, options) {}

  Result<Outcome> put_into(schema::Store& store, const std::string& harness_version);
};

FileAhead::FileAhead(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileAhead::FileAhead(FileAhead&&) noexcept = default;
FileAhead& FileAhead::operator=(FileAhead&&) noexcept = default;
FileAhead::~FileAhead() = default;

Result<FileAhead> FileAhead::begin(const fs::path& path, const ImportOptions& options) {
  std::optional<Spool> copy;
  if (is_read_once(path)) {
    Result<Spool> spooled = spool(path);
    if (!spooled) return std::move(spooled).error();
    copy.emplace(std::move(*spooled));
  }
  return FileAhead(std::make_unique<State>(std::move(copy), path, options));
}

Result<Outcome> FileAhead::State::put_into(schema::Store& store, const std::string& harness_version) {
  // Read twice: the ids of its runs and trials follow from the file's digest, and rows go into the store as they come.
  // The second digest, of the bytes that are kept, tells when somebody wrote to the file in between.
  auto digest = rows.digest();
  if (!digest) return std::move(digest).error();
  Outcome outcome;
  outcome.sha256 = *digest;
  const auto known = find_source(store, *digest);
  if (!known) return known.error();
  const std::string before = known->has_value() ? reading_among((*known)->notes) : "";
  if (known->has_value()) {
    if (Status status = tell_quarantine(store, outcome); !status) return std::move(status).error();
    if (before == reading && outcome.quarantined == 0) {
      outcome.is_known = true;
      return outcome;
    }
  }
  auto writer = schema::ImportWriter::begin(store, schema::ImportWriter::Rows::kMadeHere);
  if (!writer) return std::move(writer).error();
  std::error_code error;
  bool keep_bytes = true;
  if (known->has_value()) {
    // The same once more; but another reading of it takes the place of the first, and one that gave nothing but
    // quarantined rows may give more now.
    const Result<bool> gave_trials = writer->has_trials_of(*digest);
    if (!gave_trials) return gave_trials.error();
    if (before == reading && *gave_trials) {
      outcome.is_known = true;
      return outcome;
    }
    outcome.quarantined = 0;
    outcome.quarantine.clear();
    keep_bytes = false;
    const auto aside = writer->read_again(*digest);
    if (!aside) return aside.error();
    if (before != reading) {
      outcome.notes.push_back(
          fmt::format("imported before, {}: of its {} trials those stay that this reading gives too",
                      before.empty() ? "read as its content tells" : before, *aside));
    }
  }
  schema::SourceRecord source{*digest, "", name, fs::file_size(path, error), {}};
  if (error) return Error{ErrorKind::kUsage, path.string(), "not a file", "give the path of a file"};
  source.kind = family;
  if (auto is_new = writer->put_source(source); !is_new) return std::move(is_new).error();
  RowsToTrials trials(imported_suite(family_of(family)), *digest, harness_version,
                      {[&](const auto& suite) { return writer->put_suite(suite); },
                       [&](const auto& environment) { return writer->put_environment(environment); },
                       [&](const auto& run) { return writer->put_run(run); },
                       [&](const auto& trial) { return writer->put_trial(trial); },
                       [&](const auto& trial) { return writer->knows(trial); }});
  while (auto batch = rows.next()) {
    if (!keep_bytes) batch->parts.clear();
    if (auto status = put_batch(*writer, trials, *digest, *batch, outcome); !status) return std::move(status).error();
    rows.give_back(std::move(batch->rows));
  }
  if (auto status = trials.finish(); !status) return std::move(status).error();
  auto imported = rows.finish();
  if (!imported) return std::move(imported).error();
  if (imported->sha256 != *digest) {
    return Error{ErrorKind::kMachine, path.string(), "changed while it was read", "import it again when it is whole"};
  }
  outcome.kind = imported->kind;
  outcome.rows = imported->rows;
  if (outcome.odd_times > 0) {
    outcome.notes.push_back(
        fmt::format("{} of a time of measurement that is none, which is left out", counted(outcome.odd_times, "row")));
  }
  source.kind = imported->kind;
  source.notes = outcome.notes;
  if (!reading.empty()) source.notes.insert(source.notes.begin(), reading);
  if (auto status = writer->describe_source(source); !status) return std::move(status).error();
  outcome.added = writer->trials().added;
  outcome.known = writer->trials().known;
  if (auto status = writer->finish(); !status) return std::move(status).error();
  return outcome;
}

Result<Outcome> import_file_into(schema::Store& store, FileAhead file, const std::string& harness_version) {
  FileAhead::State& state = *file.state_;
  auto outcome = state.put_into(store, harness_version);
  if (outcome || !state.copy) return outcome;
  Error error = std::move(outcome).error();
  if (error.what == state.path.string()) {
    error.what = state.given.native() == "-" ? "standard input" : state.given.string();
  }
  return error;
}

Result<Outcome> import_file_into(schema::Store& store, const fs::path& path, const ImportOptions& options,
                                 const std::string& harness_version) {
  Result<FileAhead> file = FileAhead::begin(path, options);
  if (!file) return std::move(file).error();
  return import_file_into(store, std::move(*file), harness_version);
}

namespace {

// What others sent, with where it came from. The trials are there already.
Status merge_bundles(schema::Store& from, schema::ImportWriter& writer) {
  const auto bundles = from.bundles({});
  if (!bundles) return bundles.error();
  for (const schema::BundleRecord& bundle : *bundles) {
    const auto held = writer.bundle(bundle.id);
    if (!held) return held.error();
    if (!held->has_value()) {
      const auto archive = from.bundle_archive(bundle.id);
      if (!archive) return archive.error();
      if (auto put = writer.put_bundle(bundle, archive->value_or("")); !put) return put;
      const auto trials = from.bundle_trials({bundle.id, "", ""});
      if (!trials) return trials.error();
      for (const schema::BundleTrialRecord& trial : *trials) {
        if (auto put = writer.put_bundle_trial(bundle.id, trial.trial_id); !put) return put;
      }
    }
    if (bundle.withdrawn_at.empty()) continue;
    if (auto status = writer.withdraw_bundle(bundle); !status) return status;
  }
  return {};
}

}  // namespace

Result<Outcome> merge_store_into(schema::Store& store, const fs::path& path) {
  auto from = schema::Store::open(path, schema::OpenMode::kReadOnly);
  if (!from) return std::move(from).error();
  auto runs = from->runs("");
  if (!runs) return std::move(runs).error();
  auto sources = from->sources();
  if (!sources) return std::move(sources).error();
  auto writer = schema::ImportWriter::begin(store);
  if (!writer) return std::move(writer).error();
  Outcome outcome;
  outcome.kind = "capbench-store";
  for (const schema::SourceRecord& source : *sources) {
    auto is_new = writer->put_source(source);
    if (!is_new) return std::move(is_new).error();
    if (!*is_new) continue;
    Status status;
    auto read = from->source_bytes(source.sha256, [&](std::string_view part) {
      if (status) status = writer->put_part(source.sha256, part);
    });
    if (!read) return std::move(read).error();
    if (!status) return std::move(status).error();
    auto quarantine = from->quarantine(source.sha256);
    if (!quarantine) return std::move(quarantine).error();
    for (const schema::QuarantineRecord& row : *quarantine) {
      if (auto put = writer->put_quarantine(row); !put) return std::move(put).error();
    }
  }
  std::set<std::string> suites;
  std::set<std::string> environments;
  std::set<std::string> closures;
  const auto raw = [&](const std::string& sha256) -> Result<std::string> {
    return sha256.empty() ? Result<std::string>(std::string()) : from->blob(sha256);
  };
  for (const schema::RunRecord& run : *runs) {
    if (suites.insert(run.suite_id).second) {
      auto json = from->suite_json(run.suite_id);
      if (!json) return std::move(json).error();
      auto name = from->suite_name(run.suite_id);
      if (!name) return std::move(name).error();
      if (json->has_value()) {
        if (auto put = writer->put_suite({run.suite_id, *name, **json}); !put) return std::move(put).error();
      }
    }
    if (auto put = writer->put_run(run); !put) return std::move(put).error();
    auto trials = from->trials({"", run.id, true});
    if (!trials) return std::move(trials).error();
    for (const schema::TrialView& view : *trials) {
      const schema::TrialRecord& trial = view.trial;
      ++outcome.rows;
      if (!trial.environment_id.empty() && environments.insert(trial.environment_id).second) {
        auto environment = from->environment(trial.environment_id);
        if (!environment) return std::move(environment).error();
        if (environment->has_value()) {
          if (auto put = writer->put_environment(**environment); !put) return std::move(put).error();
        }
      }
      if (!trial.closure_id.empty() && closures.insert(trial.closure_id).second) {
        auto closure = from->closure(trial.closure_id);
        if (!closure) return std::move(closure).error();
        if (closure->has_value()) {
          if (auto put = writer->put_closure(**closure); !put) return std::move(put).error();
        }
      }
      auto out = raw(trial.stdout_sha256);
      auto err = raw(trial.stderr_sha256);
      auto probe = raw(trial.probe_sha256);
      for (const auto* bytes : {&out, &err, &probe}) {
        if (!*bytes) return bytes->error();
      }
      if (auto put = writer->put_trial(trial, *out, *err, *probe); !put) return std::move(put).error();
    }
    auto checks = from->quality(run.id);
    if (!checks) return std::move(checks).error();
    for (const schema::QualityRecord& check : *checks) {
      auto out = raw(check.stdout_sha256);
      auto err = raw(check.stderr_sha256);
      if (!out) return std::move(out).error();
      if (!err) return std::move(err).error();
      if (auto put = writer->put_quality(check, *out, *err); !put) return std::move(put).error();
    }
  }
  auto decisions = from->triage();
  if (!decisions) return std::move(decisions).error();
  for (const schema::TriageRecord& decision : *decisions) {
    if (auto put = writer->put_triage(decision); !put) return std::move(put).error();
  }
  if (auto status = merge_bundles(*from, *writer); !status) return std::move(status).error();
  outcome.added = writer->trials().added;
  outcome.known = writer->trials().known;
  if (auto status = writer->finish(); !status) return std::move(status).error();
  return outcome;
}

}  // namespace capbench::imports
