#include "shim/macho/symbols.h"

#include <fmt/format.h>

namespace capbench::macho {

Result<std::vector<Symbol>> read_symbols(const Image& image) {
  constexpr std::uint64_t kEntrySize = 16;
  // Linkers share a string between few symbols; a table that makes all of them share a long one would cost quadratic
  // time.
  constexpr std::uint64_t kNameBytesPerTableByte = 64;
  const Bytes table = image.symbol_table.bytes;
  const std::uint64_t count = table.size() / kEntrySize;
  std::vector<Symbol> symbols;
  std::uint64_t name_bytes = 0;
  symbols.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * kEntrySize;
    const auto name_offset = little<std::uint32_t>(table, at).value_or(0);
    Symbol symbol;
    symbol.type = little<std::uint8_t>(table, at + 4).value_or(0);
    symbol.section = little<std::uint8_t>(table, at + 5).value_or(0);
    symbol.description = little<std::uint16_t>(table, at + 6).value_or(0);
    symbol.value = little<std::uint64_t>(table, at + 8).value_or(0);
    if (name_offset != 0) {
      const std::optional<std::string_view> name = c_string(image.string_table.bytes, name_offset);
      if (!name) return malformed(fmt::format("symbol {}", i), "its name lies outside the string table");
      symbol.name = *name;
      name_bytes += name->size();
      if (name_bytes / kNameBytesPerTableByte > image.string_table.bytes.size()) {
        return malformed("symbol table", "its names overlap without end");
      }
    }
    symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace capbench::macho
