#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/digest.h"
#include "schema/bundle/exchange.h"
#include "schema/import_writer.h"

namespace capbench::bundle {
namespace {

constexpr std::size_t kPart = 16U << 20U;  // bytes of a source that are put at once

// Raw output of trials and checks, compressed; sorted by digest. The bytes of sources are kept in parts of their own.
Result<std::vector<schema::PackedRaw>> pack_raw(const Bundle& bundle) {
  std::unordered_set<std::string_view> wanted;
  for (const schema::TrialRecord& trial : bundle.trials) {
    wanted.insert({trial.stdout_sha256, trial.stderr_sha256, trial.probe_sha256});
  }
  for (const schema::QualityRecord& check : bundle.quality) wanted.insert({check.stdout_sha256, check.stderr_sha256});
  schema::Compressor compressor;
  std::vector<schema::PackedRaw> packed;
  for (const auto& [digest, bytes] : bundle.raw) {
    if (!wanted.contains(digest)) continue;
    auto frame = compressor.compress(bytes);
    if (!frame) return std::move(frame).error();
    packed.push_back({digest, std::move(*frame), bytes.size()});
  }
  return packed;
}

std::optional<IngestOutcome::Kind> kind_of_known(const std::optional<schema::BundleRecord>& record) {
  if (!record) return std::nullopt;
  return record->withdrawn_at.empty() ? IngestOutcome::Kind::kKnown : IngestOutcome::Kind::kWithdrawn;
}

// Nothing of it is new.
IngestOutcome known_outcome(const Opened& opened, IngestOutcome::Kind kind) {
  return {kind, 0, static_cast<std::int64_t>(opened.bundle.trials.size()), {}};
}

class Ingest {
 public:
  Ingest(schema::ImportWriter& writer, const Bundle& bundle, const std::vector<schema::PackedRaw>& packed)
      : writer_(writer), bundle_(bundle), packed_(packed) {}

  // Which trials are new, and whether anything contradicts the store.
  Status look() {
    for (const schema::TrialRecord& trial : bundle_.trials) {
      const auto standing = writer_.standing(trial);
      if (!standing) return standing.error();
      if (!standing->conflict.empty()) return conflict(trial_member(trial), standing->conflict);
      if (!standing->known) {
        new_.push_back(&trial);
        continue;
      }
      const auto received = writer_.was_received(trial.id);
      if (!received) return received.error();
      if (*received) linked_.push_back(trial.id);
    }
    for (const schema::EnvironmentRecord& environment : bundle_.environments) {
      if (Status status = compare(environment, environment_member(environment)); !status) return status;
    }
    for (const schema::ClosureRecord& closure : bundle_.closures) {
      if (Status status = compare(closure, closure_member(closure)); !status) return status;
    }
    for (const schema::QualityRecord& check : bundle_.quality) {
      if (conflict_) break;
      const auto standing = writer_.standing(check);
      if (!standing) return standing.error();
      if (!standing->conflict.empty()) return conflict(quality_member(check), standing->conflict);
      if (!standing->known) new_quality_.push_back(&check);
    }
    return {};
  }

  // Every trial was measured here.
  bool is_own() const { return new_.empty() && linked_.empty(); }
  std::optional<Error>& conflict() { return conflict_; }

  Status put(const schema::BundleRecord& record, std::string_view archive) {
    if (Status status = put_settings(); !status) return status;
    for (const schema::TrialRecord* trial : new_) {
      if (Status status = put_trial(*trial); !status) return status;
      linked_.push_back(trial->id);
    }
    if (Status status = put_quality(); !status) return status;
    if (Status status = writer_.put_bundle(record, archive); !status) return status;
    for (const std::string& id : linked_) {
      if (Status status = writer_.put_bundle_trial(record.id, id); !status) return status;
    }
    return {};
  }

 private:
  Status conflict(const std::string& member, const std::string& cause) {
    conflict_ = Error{ErrorKind::kFinding, member, "the store has another under this name: " + cause,
                      "find out which of the two was altered; a store of its own (--db) takes this one"};
    return {};
  }

  template <class Record>
  Status compare(const Record& record, const std::string& member) {
    if (conflict_) return {};
    const auto standing = writer_.standing(record);
    if (!standing) return standing.error();
    return standing->conflict.empty() ? Status() : conflict(member, standing->conflict);
  }

  // What new trials refer to; all else is in the store, perhaps before it was redacted.
  Status put_settings() {
    std::unordered_set<std::string_view> wanted;
    for (const schema::TrialRecord* trial : new_) {
      wanted.insert({trial->suite_id, trial->environment_id, trial->closure_id, trial->run_id, trial->source_sha256});
    }
    for (const schema::SuiteRecord& suite : bundle_.suites) {
      if (!wanted.contains(suite.id)) continue;
      if (Status status = writer_.put_suite(suite); !status) return status;
    }
    for (const schema::EnvironmentRecord& environment : bundle_.environments) {
      if (!wanted.contains(environment.id)) continue;
      if (Status status = writer_.put_environment(environment); !status) return status;
    }
    for (const schema::ClosureRecord& closure : bundle_.closures) {
      if (!wanted.contains(closure.id)) continue;
      if (Status status = writer_.put_closure(closure); !status) return status;
    }
    for (const schema::RunRecord& run : bundle_.runs) {
      if (!wanted.contains(run.id)) continue;
      if (Status status = put_run(run); !status) return status;
    }
    for (const schema::SourceRecord& source : bundle_.sources) {
      if (!wanted.contains(source.sha256)) continue;
      if (Status status = put_source(source); !status) return status;
    }
    return {};
  }

  Status put_run(const schema::RunRecord& run) {
    const auto known = writer_.holds_run(run.id);
    if (!known) return known.error();
    new_runs_.insert(run.id);
    return *known ? Status() : writer_.put_run(run);
  }

  Status put_source(const schema::SourceRecord& source) {
    const auto is_new = writer_.put_source(source);
    if (!is_new) return is_new.error();
    if (!*is_new) return {};
    if (const auto raw = bundle_.raw.find(source.sha256); raw != bundle_.raw.end()) {
      std::string_view rest = raw->second;
      do {
        const std::string_view part = rest.substr(0, kPart);
        if (Status status = writer_.put_part(source.sha256, part); !status) return status;
        rest.remove_prefix(part.size());
      } while (!rest.empty());
    }
    for (const schema::QuarantineRecord& row : bundle_.quarantine) {
      if (row.source_sha256 != source.sha256) continue;
      if (Status status = writer_.put_quarantine(row); !status) return status;
    }
    return {};
  }

  // A digest of withheld bytes would refer to nothing.
  std::string digest_of(const std::string& digest) const {
    return bundle_.raw.contains(digest) ? digest : std::string();
  }

  Status put_raw(std::string_view digest) {
    const auto packed = std::lower_bound(packed_.begin(), packed_.end(), digest,
                                         [](const auto& raw, std::string_view name) { return raw.sha256 < name; });
    if (packed == packed_.end() || packed->sha256 != digest) return {};
    return writer_.put_raw(*packed);
  }

  Status put_trial(const schema::TrialRecord& trial) {
    for (const std::string& digest : {trial.stdout_sha256, trial.stderr_sha256, trial.probe_sha256}) {
      if (Status status = put_raw(digest); !status) return status;
    }
    schema::TrialRecord record = trial;
    record.stdout_sha256 = digest_of(trial.stdout_sha256);
    record.stderr_sha256 = digest_of(trial.stderr_sha256);
    record.probe_sha256 = digest_of(trial.probe_sha256);
    return writer_.put_new(record);
  }

  Status put_quality() {
    for (const schema::QualityRecord* given : new_quality_) {
      const schema::QualityRecord& check = *given;
      if (!new_runs_.contains(check.run_id)) continue;
      for (const std::string& digest : {check.stdout_sha256, check.stderr_sha256}) {
        if (Status status = put_raw(digest); !status) return status;
      }
      schema::QualityRecord record = check;
      record.stdout_sha256 = digest_of(check.stdout_sha256);
      record.stderr_sha256 = digest_of(check.stderr_sha256);
      if (Status status = writer_.put_new(record); !status) return status;
    }
    return {};
  }

  schema::ImportWriter& writer_;
  const Bundle& bundle_;
  const std::vector<schema::PackedRaw>& packed_;
  std::vector<const schema::TrialRecord*> new_;
  std::vector<const schema::QualityRecord*> new_quality_;
  std::vector<std::string> linked_;                // trials whose origin is this bundle or another
  std::unordered_set<std::string_view> new_runs_;  // that got a trial
  std::optional<Error> conflict_;
};

}  // namespace

Result<Prepared> prepare(const Opened& opened, std::string_view archive) {
  auto raw = pack_raw(opened.bundle);
  if (!raw) return std::move(raw).error();
  return Prepared{sha256(archive), std::move(*raw)};
}

Result<IngestOutcome> ingest(schema::Store& store, const Opened& opened, std::string_view archive,
                             const Provenance& provenance) {
  // What is known needs no lock, and nothing prepared.
  const auto before = store.bundle(opened.id);
  if (!before) return before.error();
  if (const auto kind = kind_of_known(*before)) return known_outcome(opened, *kind);
  const auto prepared = prepare(opened, archive);
  if (!prepared) return prepared.error();
  return ingest(store, opened, archive, provenance, *prepared);
}

Result<IngestOutcome> ingest(schema::Store& store, const Opened& opened, std::string_view archive,
                             const Provenance& provenance, const Prepared& prepared) {
  using Outcome = IngestOutcome::Kind;
  const schema::BundleRecord record{
      opened.id,           prepared.archive_sha256, archive.size(),         provenance.signer,
      provenance.tier,     provenance.verdict,      provenance.received_at, provenance.receipt_sha256,
      /*withdrawn_at=*/"",
      /*why=*/""};
  auto writer = schema::ImportWriter::begin(store);
  if (!writer) return std::move(writer).error();
  const auto held = writer->bundle(opened.id);
  if (!held) return held.error();
  if (const auto kind = kind_of_known(*held)) return known_outcome(opened, *kind);
  Ingest work(*writer, opened.bundle, prepared.raw);
  if (Status status = work.look(); !status) return std::move(status).error();
  IngestOutcome outcome = known_outcome(opened, Outcome::kOwn);
  if (work.conflict()) {
    outcome.kind = Outcome::kConflict;
    outcome.known = 0;
    outcome.conflict = *work.conflict();
    return outcome;
  }
  if (work.is_own() && !provenance.record_own) return outcome;
  if (Status status = work.put(record, archive); !status) return std::move(status).error();
  outcome.added = writer->trials().added;
  outcome.known -= outcome.added;
  if (!work.is_own()) outcome.kind = Outcome::kAdded;
  if (Status status = writer->finish(); !status) return std::move(status).error();
  return outcome;
}

}  // namespace capbench::bundle
