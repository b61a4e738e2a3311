#include <utility>

#include "base/digest.h"
#include "schema/bundle/archive.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/canonical_reader.h"
#include "schema/bundle/check.h"
#include "schema/bundle/fields.h"
#include "schema/bundle/manifest.h"
#include "schema/bundle/names.h"
#include "schema/bundle/refuse.h"

namespace capbench::bundle {
namespace {

// One member into a bundle.
class Reader {
 public:
  Reader(Bundle& bundle, const Limits& limits) : bundle_(bundle), limits_(limits) {}

  Status read(const Member& member) {
    switch (kind_of(member.name)) {
      case Kind::kSuite:
        return record(member, bundle_.suites, suite_member);
      case Kind::kEnvironment:
        return record(member, bundle_.environments, environment_member);
      case Kind::kClosure:
        return record(member, bundle_.closures, closure_member);
      case Kind::kRun:
        return record(member, bundle_.runs, run_member);
      case Kind::kTrial:
        return record(member, bundle_.trials, trial_member);
      case Kind::kQuality:
        return record(member, bundle_.quality, quality_member);
      case Kind::kSource:
        return source(member);
      case Kind::kRaw:
        bundle_.raw.emplace_hint(bundle_.raw.end(), id_of(member.name), member.bytes);
        return {};
      case Kind::kManifest:
      case Kind::kSignature:
      case Kind::kNone:
        break;
    }
    return {};
  }

 private:
  template <class Record, class Name>
  Status record(const Member& member, std::vector<Record>& records, Name name) {
    Result<Record> read = CanonicalReader(member.name, member.bytes, limits_.list_items).template read<Record>();
    if (!read) return std::move(read).error();
    if (name(*read) != member.name) return another_name(member);
    records.push_back(std::move(*read));
    return {};
  }

  Status source(const Member& member) {
    auto read = CanonicalReader(member.name, member.bytes, limits_.list_items).read<SourceMember>();
    if (!read) return std::move(read).error();
    if (source_member(read->source) != member.name) return another_name(member);
    for (QuarantineRow& row : read->quarantine) {
      bundle_.quarantine.push_back({read->source.sha256, row.line, std::move(row.reason), std::move(row.text)});
    }
    bundle_.sources.push_back(std::move(read->source));
    return {};
  }

  static Error another_name(const Member& member) {
    return refuse(member.name, "the record in it has another name", kMakeAgain);
  }

  Bundle& bundle_;
  const Limits& limits_;
};

}  // namespace

Result<Opened> open_bundle(std::string_view archive, const Limits& limits) {
  const Result<Unpacked> unpacked = unpack(archive, limits);
  if (!unpacked) return unpacked.error();
  Result<Manifest> manifest = read_manifest(unpacked->members, limits);
  if (!manifest) return std::move(manifest).error();
  Opened opened;
  Reader reader(opened.bundle, limits);
  for (const Member& member : unpacked->members) {
    if (member.name == kManifestName) opened.manifest = member.bytes;
    if (member.name == kSignatureName) opened.signature = member.bytes;
    if (Status status = reader.read(member); !status) return std::move(status).error();
  }
  opened.bundle.created_by = std::move(manifest->created_by);
  opened.bundle.replaced = std::move(manifest->replaced);
  if (Status status = check(opened.bundle, limits.json_depth); !status) return std::move(status).error();
  opened.id = sha256(opened.manifest);
  return opened;
}

}  // namespace capbench::bundle
