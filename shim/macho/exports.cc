#include "shim/macho/exports.h"

#include <fmt/format.h>

#include <algorithm>

#include "shim/macho/leb128.h"
#include "shim/macho/symbols.h"

namespace capbench::macho {
namespace {

constexpr std::uint64_t kKindMask = 0x3;
constexpr std::uint64_t kWeakDefinition = 0x4;
constexpr std::uint64_t kReexport = 0x8;
constexpr std::uint64_t kStubAndResolver = 0x10;
constexpr std::uint64_t kNamesPerTrieByte = 64;

Error bad_trie(std::uint64_t offset, std::string cause) {
  return malformed(fmt::format("export trie, offset {}", offset), std::move(cause));
}

Result<Export> read_terminal(const Image& image, Bytes payload, std::uint64_t offset, const std::string& name) {
  Stream in(payload);
  const std::uint64_t flags = in.uleb();
  Export entry;
  entry.name = name;
  entry.weak = (flags & kWeakDefinition) != 0;
  if ((flags & kReexport) != 0) {
    entry.kind = ExportKind::kReexport;
    entry.reexport_library = in.uleb();
    entry.reexport_name = in.string();
  } else {
    const std::uint64_t kind = flags & kKindMask;
    if (kind > 2) return bad_trie(offset, "an export of unknown kind");
    entry.kind = kind == 0 ? ExportKind::kRegular : kind == 1 ? ExportKind::kThreadLocal : ExportKind::kAbsolute;
    const std::uint64_t value = in.uleb();
    entry.address = entry.kind == ExportKind::kAbsolute ? value : image.base + value;
    if ((flags & kStubAndResolver) != 0) entry.resolver = image.base + in.uleb();
  }
  if (in.failed()) return bad_trie(offset, "an export is cut off");
  return entry;
}

struct Node {
  std::uint64_t offset = 0;
  std::string name;
};

// Depth first, without recursion. A trie is a tree: no node is reached twice, so hostile ones end too.
Result<std::vector<Export>> read_trie(const Image& image) {
  const Bytes trie = image.exports_trie.bytes;
  std::vector<Export> exports;
  std::vector<bool> seen(trie.size(), false);
  std::vector<Node> pending = {{0, ""}};
  std::uint64_t name_bytes = 0;
  while (!pending.empty()) {
    const Node node = std::move(pending.back());
    pending.pop_back();
    if (node.offset >= trie.size()) return bad_trie(node.offset, "a node lies beyond the end");
    if (seen[static_cast<std::size_t>(node.offset)]) return bad_trie(node.offset, "a node is reached twice");
    seen[static_cast<std::size_t>(node.offset)] = true;
    Stream in(trie, node.offset);
    const std::uint64_t size = in.uleb();
    const std::optional<Bytes> payload = in.failed() ? std::nullopt : slice_of(trie, in.position(), size);
    if (!payload) return bad_trie(node.offset, "a node is cut off");
    if (size != 0) {
      Result<Export> entry = read_terminal(image, *payload, node.offset, node.name);
      if (!entry) return entry.error();
      exports.push_back(std::move(entry).value());
    }
    Stream edges(trie, in.position() + size);
    const std::uint8_t count = edges.byte();
    for (std::uint8_t i = 0; i < count; ++i) {
      const std::string_view part = edges.string();
      const std::uint64_t child = edges.uleb();
      name_bytes += node.name.size() + part.size();
      if (edges.failed()) break;
      if (name_bytes > kNamesPerTrieByte * trie.size()) return bad_trie(node.offset, "the names are too long");
      pending.push_back({child, node.name + std::string(part)});
    }
    if (edges.failed()) return bad_trie(node.offset, "a node is cut off");
  }
  return exports;
}

Result<std::vector<Export>> of_symbol_table(const Image& image) {
  const Result<std::vector<Symbol>> symbols = read_symbols(image);
  if (!symbols) return symbols.error();
  constexpr std::uint8_t kTypeMask = 0x0e;
  constexpr std::uint8_t kAbsolute = 0x02;
  constexpr std::uint8_t kInSection = 0x0e;
  std::vector<Export> exports;
  for (const Symbol& symbol : *symbols) {
    const auto type = static_cast<std::uint8_t>(symbol.type & kTypeMask);
    if (symbol.debugging() || !symbol.external() || (type != kAbsolute && type != kInSection)) continue;
    Export entry;
    entry.name = symbol.name;
    entry.kind = type == kAbsolute ? ExportKind::kAbsolute : ExportKind::kRegular;
    entry.weak = symbol.weak_definition();
    entry.address = symbol.value;
    exports.push_back(std::move(entry));
  }
  return exports;
}

}  // namespace

Result<std::vector<Export>> read_exports(const Image& image) {
  Result<std::vector<Export>> exports = image.exports_trie.present ? read_trie(image) : of_symbol_table(image);
  if (exports) {
    std::sort(exports->begin(), exports->end(), [](const Export& a, const Export& b) { return a.name < b.name; });
  }
  return exports;
}

const Export* find_export(const std::vector<Export>& exports, std::string_view name) {
  const auto found = std::lower_bound(exports.begin(), exports.end(), name,
                                      [](const Export& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != exports.end() && found->name == name ? &*found : nullptr;
}

}  // namespace capbench::macho
