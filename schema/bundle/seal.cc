#include <algorithm>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "schema/bundle/archive.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/canonical_writer.h"
#include "schema/bundle/check.h"
#include "schema/bundle/fields.h"
#include "schema/bundle/manifest.h"
#include "schema/bundle/names.h"
#include "schema/bundle/refuse.h"

namespace capbench::bundle {
namespace {

struct Written {
  std::string name;
  std::string json;                  // of a record
  const std::string* raw = nullptr;  // of raw bytes, which are not copied
  std::string_view bytes() const { return raw != nullptr ? std::string_view(*raw) : std::string_view(json); }
};

template <class Record>
Status write(std::vector<Written>& members, std::string name, const Record& record) {
  Result<std::string> json = CanonicalWriter(name).write(record);
  if (!json) return std::move(json).error();
  members.push_back({std::move(name), std::move(*json), nullptr});
  return {};
}

template <class Records, class Name>
Status write_all(std::vector<Written>& members, const Records& records, Name name) {
  for (const auto& record : records) {
    if (Status status = write(members, name(record), record); !status) return status;
  }
  return {};
}

Status write_sources(std::vector<Written>& members, const Bundle& bundle) {
  for (const schema::SourceRecord& source : bundle.sources) {
    SourceMember member{source, {}};
    for (const schema::QuarantineRecord& row : bundle.quarantine) {
      if (row.source_sha256 == source.sha256) member.quarantine.push_back({row.line, row.reason, row.text});
    }
    if (Status status = write(members, source_member(source), member); !status) return status;
  }
  return {};
}

// All but the manifest, sorted.
Result<std::vector<Written>> write_members(const Bundle& bundle) {
  std::vector<Written> members;
  const auto all = [&]() -> Status {
    if (auto s = write_all(members, bundle.suites, suite_member); !s) return s;
    if (auto s = write_all(members, bundle.environments, environment_member); !s) return s;
    if (auto s = write_all(members, bundle.closures, closure_member); !s) return s;
    if (auto s = write_all(members, bundle.runs, run_member); !s) return s;
    if (auto s = write_all(members, bundle.trials, trial_member); !s) return s;
    if (auto s = write_all(members, bundle.quality, quality_member); !s) return s;
    return write_sources(members, bundle);
  };
  if (Status status = all(); !status) return std::move(status).error();
  for (const auto& [digest, bytes] : bundle.raw) {
    if (sha256(bytes) != digest) {
      return refuse(raw_member(digest), "its bytes have another digest", "name raw bytes by their SHA-256");
    }
    members.push_back({raw_member(digest), {}, &bytes});
  }
  std::sort(members.begin(), members.end(), [](const Written& a, const Written& b) { return a.name < b.name; });
  const auto same = std::adjacent_find(members.begin(), members.end(),
                                       [](const Written& a, const Written& b) { return a.name == b.name; });
  if (same != members.end()) return refuse(same->name, "it is there twice", "put every record into a bundle once");
  return members;
}

Result<std::string> write_manifest(const Bundle& bundle, const std::vector<Written>& members) {
  Manifest manifest;
  manifest.created_by = bundle.created_by;
  manifest.members.reserve(members.size());
  for (const Written& member : members) {
    manifest.members.push_back({member.name, sha256(member.bytes()), member.bytes().size()});
  }
  manifest.replaced = bundle.replaced;
  std::sort(manifest.replaced.begin(), manifest.replaced.end(), [](const Replaced& a, const Replaced& b) {
    return std::tie(a.member, a.kind, a.count) < std::tie(b.member, b.kind, b.count);
  });
  if (Status status = check_manifest(manifest); !status) return std::move(status).error();
  return CanonicalWriter(kManifestName).write(manifest);
}

}  // namespace

Result<Sealed> seal(const Bundle& bundle, std::string_view signature) {
  const Limits limits;
  if (Status status = check(bundle, limits.json_depth); !status) return std::move(status).error();
  const Result<std::vector<Written>> written = write_members(bundle);
  if (!written) return written.error();
  Result<std::string> manifest = write_manifest(bundle, *written);
  if (!manifest) return std::move(manifest).error();
  std::vector<Member> members;
  members.reserve(written->size() + 2);
  for (const Written& member : *written) members.push_back({member.name, member.bytes()});
  members.push_back({kManifestName, *manifest});
  if (!signature.empty()) members.push_back({kSignatureName, signature});
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; });
  // What nobody would open is not made.
  if (Status status = check_sizes(members, 0, limits); !status) return std::move(status).error();
  Result<std::string> archive = pack(members);
  if (!archive) return std::move(archive).error();
  if (Status status = check_sizes(members, archive->size(), limits); !status) return std::move(status).error();
  std::string id = sha256(*manifest);
  return Sealed{std::move(id), std::move(*manifest), std::string(signature), std::move(*archive)};
}

}  // namespace capbench::bundle
