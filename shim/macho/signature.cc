#include "shim/macho/signature.h"

#include <fmt/format.h>

namespace capbench::macho {
namespace {

constexpr std::uint32_t kSuperBlobMagic = 0xfade0cc0;
constexpr std::uint32_t kCodeDirectoryMagic = 0xfade0c02;
constexpr std::uint32_t kEntitlementsMagic = 0xfade7171;
constexpr std::uint32_t kCmsMagic = 0xfade0b01;
constexpr std::uint32_t kBlobHeader = 8;

constexpr std::uint32_t kSlotCodeDirectory = 0;
constexpr std::uint32_t kSlotEntitlements = 5;
constexpr std::uint32_t kSlotAlternate = 0x1000;  // further CodeDirectories, up to 5
constexpr std::uint32_t kAlternates = 5;
constexpr std::uint32_t kSlotCms = 0x10000;

constexpr std::uint32_t kVersionTeam = 0x20200;  // CodeDirectories from here on have a team identifier

Error bad(std::string cause) {
  return malformed("code signature", std::move(cause));
}

struct Blob {
  std::uint32_t magic = 0;
  Bytes bytes;  // with its header
};

std::optional<Blob> blob_at(Bytes super, std::uint32_t offset) {
  const auto magic = big<std::uint32_t>(super, offset);
  const auto length = big<std::uint32_t>(super, std::uint64_t{offset} + 4);
  if (!magic || !length || *length < kBlobHeader) return std::nullopt;
  const std::optional<Bytes> bytes = slice_of(super, offset, *length);
  if (!bytes) return std::nullopt;
  return Blob{*magic, *bytes};
}

Result<Signature> read_directory(Bytes directory) {
  const auto version = big<std::uint32_t>(directory, 8);
  const auto flags = big<std::uint32_t>(directory, 12);
  const auto identifier = big<std::uint32_t>(directory, 20);
  const auto hash_type = big<std::uint8_t>(directory, 37);
  const auto platform = big<std::uint8_t>(directory, 38);
  if (!version || !flags || !identifier || !hash_type || !platform) return bad("its CodeDirectory is cut off");
  Signature signature;
  signature.version = *version;
  signature.flags = *flags;
  signature.hash_type = *hash_type;
  signature.platform = *platform;
  const std::optional<std::string_view> name = c_string(directory, *identifier);
  if (!name) return bad("its identifier lies outside the CodeDirectory");
  signature.identifier = *name;
  if (*version >= kVersionTeam) {
    const auto team = big<std::uint32_t>(directory, 48);
    if (!team) return bad("its CodeDirectory is cut off");
    if (*team != 0) {
      const std::optional<std::string_view> text = c_string(directory, *team);
      if (!text) return bad("its team identifier lies outside the CodeDirectory");
      signature.team = *text;
    }
  }
  return signature;
}

bool is_directory_slot(std::uint32_t slot) {
  return slot == kSlotCodeDirectory || (slot >= kSlotAlternate && slot < kSlotAlternate + kAlternates);
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// SHA-256, its truncated form and SHA-384 outrank SHA-1.
int strength(std::uint8_t hash_type) {
  switch (hash_type) {
    case 1:
      return 1;
    case 3:
      return 2;
    case 2:
      return 3;
    case 4:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

Result<std::optional<Signature>> read_signature(const Image& image) {
  if (!image.code_signature.present) return std::optional<Signature>();
  const Bytes area = image.code_signature.bytes;
  const auto magic = big<std::uint32_t>(area, 0);
  const auto length = big<std::uint32_t>(area, 4);
  const auto count = big<std::uint32_t>(area, 8);
  if (!magic || !length || !count) return bad("is cut off");
  if (*magic != kSuperBlobMagic) return bad(fmt::format("starts with 0x{:08x}", *magic));
  const std::optional<Bytes> super = slice_of(area, 0, *length);
  if (!super) return bad(fmt::format("says {} bytes and has {}", *length, area.size()));
  if (!within(12, *count * std::uint64_t{8}, super->size())) return bad("its table of parts is cut off");

  std::optional<Signature> best;
  std::string_view entitlements;
  bool cms = false;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::uint64_t at = 12 + i * std::uint64_t{8};
    const auto slot = big<std::uint32_t>(*super, at).value_or(0);
    const std::optional<Blob> blob = blob_at(*super, big<std::uint32_t>(*super, at + 4).value_or(0));
    if (!blob) return bad(fmt::format("part {} lies outside of it", i));
    if (is_directory_slot(slot) && blob->magic == kCodeDirectoryMagic) {
      const Result<Signature> read = read_directory(blob->bytes);
      if (!read) return read.error();
      if (!best || strength(read->hash_type) > strength(best->hash_type)) best = *read;
    } else if (slot == kSlotEntitlements && blob->magic == kEntitlementsMagic) {
      entitlements = text_of(blob->bytes.subspan(kBlobHeader));
    } else if (slot == kSlotCms && blob->magic == kCmsMagic) {
      cms = cms || blob->bytes.size() > kBlobHeader;
    }
  }
  if (!best) return bad("has no CodeDirectory");
  best->entitlements = entitlements;
  best->cms = cms;
  return best;
}

bool entitled(std::string_view entitlements, std::string_view key) {
  const std::string quoted = "<key>" + std::string(key) + "</key>";
  const std::size_t at = entitlements.find(quoted);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = entitlements.substr(at + quoted.size());
  const std::size_t value = rest.find_first_not_of(" \t\r\n");
  return value != std::string_view::npos &&
         (rest.substr(value).starts_with("<true/>") || rest.substr(value).starts_with("<true />"));
}

}  // namespace capbench::macho
