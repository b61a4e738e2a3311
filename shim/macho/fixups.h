// What the loader must write into an image before it runs, both kinds of it: chained fix-ups and the older rebase and
// bind opcodes. After Apple's <mach-o/fixup-chains.h> and <mach-o/loader.h>.
#ifndef CAPBENCH_SHIM_MACHO_FIXUPS_H_
#define CAPBENCH_SHIM_MACHO_FIXUPS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/macho/image.h"

namespace capbench::macho {

// Library ordinals that name no entry of Image::libraries.
inline constexpr std::int32_t kOrdinalSelf = 0;
inline constexpr std::int32_t kOrdinalMainExecutable = -1;
inline constexpr std::int32_t kOrdinalFlat = -2;  // any image, in load order
inline constexpr std::int32_t kOrdinalWeak = -3;  // the first definition among all images, this one included

enum class FixupKind : std::uint8_t {
  kRebase,    // write `target` + slide
  kBind,      // write address of `symbol` + `addend`
  kCoalesce,  // as kBind with kOrdinalWeak, but what an earlier fix-up wrote stays if no image defines the symbol
};

// How arm64e signs the pointer (the emulator and other readers may ignore it).
struct PointerAuth {
  std::uint8_t key = 0;  // 0 IA, 1 IB, 2 DA, 3 DB
  bool address_diversity = false;
  std::uint16_t diversity = 0;
};

struct Fixup {
  std::uint64_t address = 0;  // of the 8 bytes to write, as linked; always within the file's part of a segment
  FixupKind kind = FixupKind::kRebase;
  std::uint64_t target = 0;  // rebase: address as linked, a tag in the highest byte kept
  std::int32_t library = 0;  // bind: an ordinal
  std::string_view symbol;   // bind: with its leading underscore; views the image
  std::int64_t addend = 0;   // bind
  bool weak_import = false;  // bind: write 0 if the symbol is missing
  bool lazy = false;         // bind: only needed at the first call; a loader may bind it at once
  std::optional<PointerAuth> auth;
};

// All fix-ups, in the order in which they must be applied: rebases, binds, coalescing binds, lazy binds (chained ones:
// by segment and address). There are at most half as many as the image has bytes.
Result<std::vector<Fixup>> read_fixups(const Image& image);

// Addresses of the functions to call after the fix-ups are applied, as linked, in order: `__mod_init_func` sections
// (whose pointers are found among `fixups`) and `__init_offsets`.
Result<std::vector<std::uint64_t>> read_initialisers(const Image& image, const std::vector<Fixup>& fixups);

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_FIXUPS_H_
