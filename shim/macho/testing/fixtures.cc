#include "shim/macho/testing/fixtures.h"

#include <stdexcept>

#include "base/file.h"

namespace capbench::macho::testing {
namespace {

constexpr std::uint32_t kSegment64 = 0x19;
constexpr std::uint32_t kCodeSignature = 0x1d;
constexpr std::uint32_t kHeaderSize = 32;
constexpr std::uint64_t kPage = 0x4000;

std::uint32_t word(const std::string& bytes, std::uint64_t at) {
  return little<std::uint32_t>(as_bytes(bytes), at).value_or(0);
}

void put(std::string& bytes, std::uint64_t at, const std::string& value) {
  bytes.replace(static_cast<std::size_t>(at), value.size(), value);
}

std::string padded(std::string_view text, std::size_t size) {
  std::string field(text);
  field.resize(size, '\0');
  return field;
}

void pad_to(std::string& bytes, std::uint64_t multiple) {
  while (bytes.size() % multiple != 0) bytes += '\0';
}

// Offset of the first load command of the type (of __LINKEDIT, for segments); 0 if there is none.
std::uint64_t find_command(const std::string& thin, std::uint32_t type) {
  std::uint64_t at = kHeaderSize;
  for (std::uint32_t i = 0; i < word(thin, 16); ++i) {
    if (word(thin, at) == type &&
        (type != kSegment64 || thin.compare(static_cast<std::size_t>(at) + 8, 10, "__LINKEDIT") == 0)) {
      return at;
    }
    at += word(thin, at + 4);
  }
  return 0;
}

std::string segment_command(std::string_view name, std::uint64_t address, std::uint64_t vm_size, std::uint64_t offset,
                            std::uint64_t file_size) {
  return little_bytes(kSegment64) + little_bytes(std::uint32_t{72}) + padded(name, 16) + little_bytes(address) +
         little_bytes(vm_size) + little_bytes(offset) + little_bytes(file_size) + little_bytes(std::uint32_t{7}) +
         little_bytes(std::uint32_t{3}) + little_bytes(std::uint64_t{0});
}

std::string library_command(std::string_view path) {
  const std::string name = padded(path, 32);
  return little_bytes(std::uint32_t{0xc}) + little_bytes(static_cast<std::uint32_t>(24 + name.size())) +
         little_bytes(std::uint32_t{24}) + little_bytes(std::uint32_t{0}) + little_bytes(std::uint32_t{0x10000}) +
         little_bytes(std::uint32_t{0x10000}) + name;
}

// Header and commands in one page, `data` in a second one, `link_edit` behind.
std::string assemble(std::uint32_t subtype, const std::vector<std::string>& commands, std::string data,
                     const std::string& link_edit) {
  std::string all =
      segment_command("__TEXT", kPage, kPage, 0, kPage) + segment_command("__DATA", 2 * kPage, kPage, kPage, kPage) +
      segment_command("__LINKEDIT", 3 * kPage, (link_edit.size() / kPage + 1) * kPage, 2 * kPage, link_edit.size()) +
      library_command("/usr/lib/libSystem.B.dylib");
  for (const std::string& command : commands) all += command;
  std::string bytes = little_bytes(std::uint32_t{0xfeedfacf}) + little_bytes(kCpuArm64) + little_bytes(subtype) +
                      little_bytes(std::uint32_t{6}) + little_bytes(static_cast<std::uint32_t>(4 + commands.size())) +
                      little_bytes(static_cast<std::uint32_t>(all.size())) + little_bytes(std::uint64_t{0x85}) + all;
  bytes.resize(kPage, '\0');
  data.resize(kPage, '\0');
  return bytes + data + link_edit;
}

std::string import_entry(const ChainedParts& parts, std::size_t index, std::uint32_t name_offset) {
  const auto addend = static_cast<std::uint64_t>(index < parts.addends.size() ? parts.addends[index] : 0);
  if (parts.import_format == 3) {
    return little_bytes(std::uint64_t{1} | std::uint64_t{name_offset} << 32U) + little_bytes(addend);
  }
  const std::string entry = little_bytes(std::uint32_t{1} | name_offset << 9U);
  return parts.import_format == 2 ? entry + little_bytes(static_cast<std::uint32_t>(addend)) : entry;
}

}  // namespace

std::string fixture(std::string_view name) {
  Result<std::string> bytes = read_file("shim/macho/testing/" + std::string(name));
  if (!bytes) throw std::runtime_error(to_string(bytes.error()));
  return std::move(bytes).value();
}

std::string fat_file(const std::vector<std::string>& thin, bool wide) {
  std::string table;
  std::string body;
  for (const std::string& image : thin) {
    pad_to(body, kPage);
    const std::uint64_t offset = kPage + body.size();
    table += big_bytes(word(image, 4)) + big_bytes(word(image, 8));
    if (wide) {
      table += big_bytes(offset) + big_bytes(std::uint64_t{image.size()}) + big_bytes(std::uint32_t{14}) +
               big_bytes(std::uint32_t{0});
    } else {
      table += big_bytes(static_cast<std::uint32_t>(offset)) + big_bytes(static_cast<std::uint32_t>(image.size())) +
               big_bytes(std::uint32_t{14});
    }
    body += image;
  }
  std::string file =
      big_bytes(wide ? 0xcafebabfU : 0xcafebabeU) + big_bytes(static_cast<std::uint32_t>(thin.size())) + table;
  file.resize(kPage, '\0');
  return file + body;
}

std::string entitlements_xml(const std::vector<std::string>& keys) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n";
  for (const std::string& key : keys) xml += "\t<key>" + key + "</key>\n\t<true/>\n";
  return xml + "</dict>\n</plist>\n";
}

std::string signature_blob(const SignatureParts& parts) {
  constexpr std::uint32_t kFixed = 88;
  std::string names = parts.identifier + '\0';
  const auto team_offset = static_cast<std::uint32_t>(kFixed + names.size());
  if (!parts.team.empty()) names += parts.team + '\0';
  std::string directory = big_bytes(std::uint32_t{0xfade0c02}) +
                          big_bytes(static_cast<std::uint32_t>(kFixed + names.size())) +
                          big_bytes(std::uint32_t{0x20400}) + big_bytes(parts.flags) +
                          big_bytes(static_cast<std::uint32_t>(kFixed + names.size())) + big_bytes(kFixed);
  directory.resize(36, '\0');  // no slots, no code
  directory += '\x20';
  directory += '\x02';  // SHA-256
  directory += static_cast<char>(parts.platform);
  directory.resize(48, '\0');
  directory += big_bytes(parts.team.empty() ? 0 : team_offset);
  directory.resize(kFixed, '\0');
  directory += names;

  std::vector<std::pair<std::uint32_t, std::string>> blobs = {{0, directory}};
  if (!parts.entitlements.empty()) {
    blobs.emplace_back(5, big_bytes(std::uint32_t{0xfade7171}) +
                              big_bytes(static_cast<std::uint32_t>(8 + parts.entitlements.size())) +
                              parts.entitlements);
  }
  if (parts.cms) {
    blobs.emplace_back(0x10000, big_bytes(std::uint32_t{0xfade0b01}) + big_bytes(std::uint32_t{12}) + "\x30\x82\1\1");
  }
  std::string table;
  std::string body;
  for (const auto& [slot, blob] : blobs) {
    table += big_bytes(slot) + big_bytes(static_cast<std::uint32_t>(12 + 8 * blobs.size() + body.size()));
    body += blob;
  }
  return big_bytes(std::uint32_t{0xfade0cc0}) + big_bytes(static_cast<std::uint32_t>(12 + table.size() + body.size())) +
         big_bytes(static_cast<std::uint32_t>(blobs.size())) + table + body;
}

std::string signed_again(std::string thin, const SignatureParts& parts) {
  const std::uint64_t signature = find_command(thin, kCodeSignature);
  const std::uint64_t link_edit = find_command(thin, kSegment64);
  if (signature == 0 || link_edit == 0) throw std::runtime_error("the file has no signature to replace");
  const std::uint32_t offset = word(thin, signature + 8);
  thin.resize(offset);
  std::string blob = signature_blob(parts);
  pad_to(blob, 16);
  thin += blob;
  put(thin, signature + 12, little_bytes(static_cast<std::uint32_t>(blob.size())));
  const std::uint64_t size = thin.size() - word(thin, link_edit + 40);
  put(thin, link_edit + 32, little_bytes((size + kPage - 1) / kPage * kPage));
  put(thin, link_edit + 48, little_bytes(size));
  return thin;
}

std::string unsigned_file(std::string thin) {
  const std::uint64_t signature = find_command(thin, kCodeSignature);
  if (signature == 0) throw std::runtime_error("the file has no signature to remove");
  put(thin, signature + 12, little_bytes(std::uint32_t{0}));
  return thin;
}

std::string with_subtype(std::string thin, std::uint32_t subtype) {
  put(thin, 8, little_bytes(subtype));
  return thin;
}

std::string with_renamed_section(std::string thin, std::string_view segment, std::string_view section,
                                 std::string_view new_segment, std::string_view new_section) {
  const std::size_t at = thin.find(padded(section, 16) + padded(segment, 16));
  if (at == std::string::npos) throw std::runtime_error("the file has no such section");
  put(thin, at, padded(new_section, 16) + padded(new_segment, 16));
  return thin;
}

std::string chained_dylib(const ChainedParts& parts) {
  std::string data;
  for (const std::uint64_t pointer : parts.pointers) data += little_bytes(pointer);
  std::string imports;
  std::string names(1, '\0');
  for (std::size_t i = 0; i < parts.symbols.size(); ++i) {
    imports += import_entry(parts, i, static_cast<std::uint32_t>(names.size()));
    names += parts.symbols[i] + '\0';
  }
  // Starts of four-segment images: only __DATA, the second segment, has one page of them.
  constexpr std::uint32_t kStartsInSegment = 24;
  std::string starts = little_bytes(std::uint32_t{3}) + little_bytes(std::uint32_t{0}) +
                       little_bytes(std::uint32_t{16}) + little_bytes(std::uint32_t{0}) +
                       little_bytes(kStartsInSegment) + little_bytes(static_cast<std::uint16_t>(kPage)) +
                       little_bytes(parts.pointer_format) + little_bytes(kPage) + little_bytes(std::uint32_t{0}) +
                       little_bytes(std::uint16_t{1}) + little_bytes(std::uint16_t{0});
  constexpr std::uint32_t kHeader = 32;
  const auto imports_at = static_cast<std::uint32_t>(kHeader + starts.size());
  std::string fixups = little_bytes(std::uint32_t{0}) + little_bytes(kHeader) + little_bytes(imports_at) +
                       little_bytes(static_cast<std::uint32_t>(imports_at + imports.size())) +
                       little_bytes(static_cast<std::uint32_t>(parts.symbols.size())) +
                       little_bytes(parts.import_format) + little_bytes(std::uint64_t{0}) + starts + imports + names;
  const std::string command = little_bytes(std::uint32_t{0x80000034}) + little_bytes(std::uint32_t{16}) +
                              little_bytes(static_cast<std::uint32_t>(2 * kPage)) +
                              little_bytes(static_cast<std::uint32_t>(fixups.size()));
  return assemble(parts.cpusubtype, {command}, data, fixups);
}

std::string opcode_dylib(const OpcodeParts& parts) {
  std::string command = little_bytes(std::uint32_t{0x80000022}) + little_bytes(std::uint32_t{48});
  std::string link_edit;
  for (const std::string* part : {&parts.rebase, &parts.bind, &parts.weak_bind, &parts.lazy_bind, &parts.exports}) {
    command += little_bytes(static_cast<std::uint32_t>(2 * kPage + link_edit.size())) +
               little_bytes(static_cast<std::uint32_t>(part->size()));
    link_edit += *part;
  }
  return assemble(0, {command}, little_bytes(std::uint64_t{0x8010}) + little_bytes(std::uint64_t{0x8018}), link_edit);
}

}  // namespace capbench::macho::testing
