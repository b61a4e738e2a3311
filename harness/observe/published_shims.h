// The Metal shims that others have published: the line each prints when it is active, and the files they are. Some VM
// images inject one by default. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_OBSERVE_PUBLISHED_SHIMS_H_
#define CAPBENCH_HARNESS_OBSERVE_PUBLISHED_SHIMS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

// "... [LumeMetalCapabilities] Enabled for llama-bench (appleFamilyMax=1009 maxThreadgroupMemory=65536)"
struct PublishedBanner {
  std::string shim;                         // "LumeMetalCapabilities"
  bool enabled = false;                     // the line says so
  std::map<std::string, std::string> says;  // "appleFamilyMax" -> "1009"

  // The same by the names of our own table: "metal.apple_family" -> "1009". A family given as one ceiling over all
  // kinds (`familyMax`) is left out: it is no single capability of ours.
  std::map<std::string, std::string> capabilities() const;
};

// Every such line, in order.
std::vector<PublishedBanner> published_banners(std::string_view log);

// Whether the file's name is that of a published shim: "/usr/local/lib/TartMetalCapabilities.dylib".
bool is_published_shim(std::string_view path);

// Whether the file's name is that of one of our own shims, in whatever folder.
bool is_own_shim(std::string_view path);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_PUBLISHED_SHIMS_H_
