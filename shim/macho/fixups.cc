#include "shim/macho/fixups.h"

#include <fmt/format.h>

#include <unordered_map>

#include "shim/macho/fixup_encodings.h"

namespace capbench::macho {
namespace {

constexpr std::uint64_t kPointerSize = 8;
constexpr std::uint64_t kTagShift = 56;

// Ordinals are checked once for both encodings, so that users may index the libraries with them.
Status check_ordinals(const Image& image, const std::vector<Fixup>& fixups) {
  const auto count = static_cast<std::int64_t>(image.libraries.size());
  for (const Fixup& fixup : fixups) {
    if (fixup.kind != FixupKind::kRebase && (fixup.library < kOrdinalWeak || fixup.library > count)) {
      return malformed("fix-ups", fmt::format("{} is bound to library {} of {}", fixup.symbol, fixup.library, count));
    }
  }
  return {};
}

std::string section_place(const Section& section) {
  return fmt::format("section {},{}", section.segment, section.name);
}

}  // namespace

Result<std::vector<Fixup>> read_fixups(const Image& image) {
  Result<std::vector<Fixup>> fixups =
      image.chained_fixups.present ? read_chained_fixups(image) : read_opcode_fixups(image);
  if (!fixups) return fixups;
  if (Status checked = check_ordinals(image, *fixups); !checked) return checked.error();
  return fixups;
}

Result<std::vector<std::uint64_t>> read_initialisers(const Image& image, const std::vector<Fixup>& fixups) {
  std::unordered_map<std::uint64_t, std::uint64_t> targets;
  std::vector<std::uint64_t> functions;
  for (const Segment& segment : image.segments) {
    for (const Section& section : segment.sections) {
      const Bytes bytes = section_bytes(image, section);
      if (section.type() == kSectionInitOffsets) {
        for (std::uint64_t at = 0; at + 4 <= bytes.size(); at += 4) {
          functions.push_back(image.base + *little<std::uint32_t>(bytes, at));
        }
      } else if (section.type() == kSectionModInitPointers) {
        if (targets.empty()) {
          for (const Fixup& fixup : fixups) {
            if (fixup.kind == FixupKind::kRebase) targets[fixup.address] = fixup.target;
          }
        }
        for (std::uint64_t at = 0; at + kPointerSize <= bytes.size(); at += kPointerSize) {
          const auto target = targets.find(section.address + at);
          if (target == targets.end()) return malformed(section_place(section), "a pointer is not fixed up");
          functions.push_back(target->second & ((std::uint64_t{1} << kTagShift) - 1));
        }
      }
      if (functions.size() > image.bytes.size()) return malformed(section_place(section), "overlaps others");
    }
  }
  return functions;
}

}  // namespace capbench::macho
