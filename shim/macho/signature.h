// The code signature of an image: what it says about itself, not whether it is valid.
#ifndef CAPBENCH_SHIM_MACHO_SIGNATURE_H_
#define CAPBENCH_SHIM_MACHO_SIGNATURE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "shim/macho/image.h"

namespace capbench::macho {

// Flags of a CodeDirectory.
inline constexpr std::uint32_t kSignAdhoc = 0x2;
inline constexpr std::uint32_t kSignRestrict = 0x800;
inline constexpr std::uint32_t kSignEnforcement = 0x1000;
inline constexpr std::uint32_t kSignLibraryValidation = 0x2000;
inline constexpr std::uint32_t kSignHardenedRuntime = 0x10000;
inline constexpr std::uint32_t kSignLinker = 0x20000;

struct Signature {
  std::uint32_t version = 0;  // of the CodeDirectory: 0x20400
  std::uint32_t flags = 0;
  std::uint8_t platform = 0;      // not 0: an Apple platform binary
  std::uint8_t hash_type = 0;     // 1 SHA-1, 2 SHA-256, ...
  std::string_view identifier;    // views the image
  std::string_view team;          // team identifier; empty without
  std::string_view entitlements;  // property list in XML; empty without
  bool cms = false;               // signed by a certificate, not just ad hoc

  bool adhoc() const { return (flags & kSignAdhoc) != 0; }
  bool linker_signed() const { return (flags & kSignLinker) != 0; }
  bool hardened_runtime() const { return (flags & kSignHardenedRuntime) != 0; }
  bool library_validation() const { return (flags & kSignLibraryValidation) != 0; }
  bool restricted() const { return (flags & kSignRestrict) != 0; }
};

// Nothing if the image is not signed. Of several CodeDirectories the one with the strongest hash is read, as the
// system does.
Result<std::optional<Signature>> read_signature(const Image& image);

// Whether the property list has the key with the value <true/>.
bool entitled(std::string_view entitlements, std::string_view key);

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_SIGNATURE_H_
