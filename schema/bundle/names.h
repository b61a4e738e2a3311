// Which names a member may have. Pure. For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_NAMES_H_
#define CAPBENCH_SCHEMA_BUNDLE_NAMES_H_

#include <string>
#include <string_view>

namespace capbench::bundle {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kSignatureName = "manifest.json.sig";

// What a member is by its name.
enum class Kind {
  kNone,  // no member's name
  kManifest,
  kSignature,
  kSuite,
  kEnvironment,
  kClosure,
  kRun,
  kTrial,
  kQuality,
  kSource,
  kRaw,
};
Kind kind_of(std::string_view name);

// The id or digest in the name of a member that has one.
std::string_view id_of(std::string_view name);

// Why `name` is no member's name, as one clause.
std::string why_no_name(std::string_view name);

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_NAMES_H_
