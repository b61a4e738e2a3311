#include "schema/bundle/manifest.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/bundle/canonical_reader.h"
#include "schema/bundle/names.h"
#include "schema/bundle/refuse.h"

namespace capbench::bundle {
namespace {

const Member* find(const std::vector<Member>& members, std::string_view name) {
  const auto found = std::lower_bound(members.begin(), members.end(), name,
                                      [](const Member& member, std::string_view other) { return member.name < other; });
  return found != members.end() && found->name == name ? &*found : nullptr;
}

// A format that this program does not know has keys that it does not know either, so the number is looked at first.
Status check_format(std::string_view text) {
  constexpr std::string_view kBegin = "{\"bundle\":";
  if (!text.starts_with(kBegin)) return {};  // the reader says what is wrong
  text.remove_prefix(kBegin.size());
  std::int64_t format = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), format);
  if (code != std::errc() || format == kFormat) return {};
  return refuse(kManifestName,
                "format " + std::to_string(format) + "; this program reads format " + std::to_string(kFormat),
                "update capbench");
}

// Both lists are sorted, so they are walked side by side.
Status compare(const Manifest& manifest, const std::vector<Member>& members) {
  auto listed = manifest.members.begin();
  for (const Member& member : members) {
    if (member.name == kManifestName || member.name == kSignatureName) continue;
    if (listed == manifest.members.end() || member.name < listed->path) {
      return refuse(member.name, "the manifest does not list it", kAskAgain);
    }
    if (listed->path != member.name) break;
    if (listed->size != member.bytes.size()) {
      return refuse(
          member.name,
          "it has " + std::to_string(member.bytes.size()) + " bytes, the manifest says " + std::to_string(listed->size),
          kAskAgain);
    }
    if (listed->sha256 != sha256(member.bytes)) {
      return refuse(member.name, "its bytes do not have the digest that the manifest says", kAskAgain);
    }
    if (kind_of(member.name) == Kind::kRaw && id_of(member.name) != listed->sha256) {
      return refuse(member.name, "its bytes have another digest than its name", kAskAgain);
    }
    ++listed;
  }
  if (listed == manifest.members.end()) return {};
  return refuse(kManifestName, "it lists " + in_quotes(listed->path) + ", which is not there or not in its place",
                kAskAgain);
}

}  // namespace

Status check_manifest(const Manifest& manifest) {
  const Replaced* before = nullptr;
  for (const Replaced& replaced : manifest.replaced) {
    const auto listed =
        std::lower_bound(manifest.members.begin(), manifest.members.end(), replaced.member,
                         [](const ManifestMember& member, const std::string& name) { return member.path < name; });
    if (listed == manifest.members.end() || listed->path != replaced.member) {
      return refuse(kManifestName, "something was replaced in " + in_quotes(replaced.member) + ", which is no member",
                    kMakeAgain);
    }
    if (replaced.count == 0) {
      return refuse(kManifestName, "nothing was replaced in " + in_quotes(replaced.member), kMakeAgain);
    }
    if (before != nullptr && std::tie(replaced.member, replaced.kind) <= std::tie(before->member, before->kind)) {
      return refuse(kManifestName, "what was replaced is not sorted, or named twice", kMakeAgain);
    }
    before = &replaced;
  }
  return {};
}

Result<Manifest> read_manifest(const std::vector<Member>& members, const Limits& limits) {
  const Member* member = find(members, kManifestName);
  if (member == nullptr) return refuse("the bundle", "it has no manifest.json", kMakeAgain);
  if (Status status = check_format(member->bytes); !status) return std::move(status).error();
  // Each member is at most one entry of a list, however many a record may have.
  const std::size_t items = std::max(limits.members, limits.list_items);
  Result<Manifest> manifest = CanonicalReader(kManifestName, member->bytes, items).read<Manifest>();
  if (!manifest) return manifest;
  if (Status status = compare(*manifest, members); !status) return std::move(status).error();
  if (Status status = check_manifest(*manifest); !status) return std::move(status).error();
  return manifest;
}

}  // namespace capbench::bundle
