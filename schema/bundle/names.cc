#include "schema/bundle/names.h"

#include <array>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/bundle/bundle.h"
#include "schema/canonical.h"

namespace capbench::bundle {
namespace {

struct Folder {
  std::string_view name;
  Kind kind;
};

constexpr auto kFolders = std::to_array<Folder>({
    {"closures/", Kind::kClosure},
    {"environments/", Kind::kEnvironment},
    {"quality/", Kind::kQuality},
    {"raw/", Kind::kRaw},
    {"runs/", Kind::kRun},
    {"sources/", Kind::kSource},
    {"suites/", Kind::kSuite},
    {"trials/", Kind::kTrial},
});
constexpr std::string_view kJson = ".json";

std::string member(std::string_view folder, std::string_view id) {
  std::string name(folder);
  name += id;
  name += kJson;
  return name;
}

}  // namespace

Kind kind_of(std::string_view name) {
  if (name == kManifestName) return Kind::kManifest;
  if (name == kSignatureName) return Kind::kSignature;
  for (const Folder& folder : kFolders) {
    if (!name.starts_with(folder.name)) continue;
    std::string_view id = name.substr(folder.name.size());
    if (folder.kind != Kind::kRaw) {
      if (!id.ends_with(kJson)) return Kind::kNone;
      id.remove_suffix(kJson.size());
    }
    return is_sha256(id) ? folder.kind : Kind::kNone;
  }
  return Kind::kNone;
}

std::string_view id_of(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1, 64);
}

std::string why_no_name(std::string_view name) {
  if (name.empty()) return "has no name";
  if (name.front() == '/') return "has an absolute name";
  if (name == ".." || name.starts_with("../") || name.ends_with("/..") || name.find("/../") != std::string_view::npos) {
    return "has a name that leads out of its folder";
  }
  return "has a name that no member has";
}

std::string suite_member(const schema::SuiteRecord& suite) {
  return member("suites/", suite.id);
}

std::string environment_member(const schema::EnvironmentRecord& environment) {
  return member("environments/", environment.id);
}

std::string closure_member(const schema::ClosureRecord& closure) {
  return member("closures/", closure.id);
}

std::string run_member(const schema::RunRecord& run) {
  return member("runs/", run.id);
}

std::string trial_member(const schema::TrialRecord& trial) {
  return member("trials/", trial.id);
}

std::string quality_member(const schema::QualityRecord& check) {
  return member("quality/", quality_id(check));
}

std::string source_member(const schema::SourceRecord& source) {
  return member("sources/", source.sha256);
}

std::string raw_member(std::string_view sha256) {
  return "raw/" + std::string(sha256);
}

std::string quality_id(const schema::QualityRecord& check) {
  // Spelled without a tree: whoever opens a bundle names every check in it again.
  std::string text;
  const auto member = [&](std::string_view key, std::string_view value) {
    text += key;
    schema::append_canonical(text, to_utf8(value));
  };
  member("{\"arm\":", check.arm);
  text += ",\"attempt\":";
  schema::append_canonical(text, check.attempt);
  member(",\"kind\":", check.kind);
  member(",\"model\":", check.model);
  member(",\"run\":", check.run_id);
  text += '}';
  return sha256(text);
}

}  // namespace capbench::bundle
