// What an image gives to others: its export trie, or the symbol table where it has none.
#ifndef CAPBENCH_SHIM_MACHO_EXPORTS_H_
#define CAPBENCH_SHIM_MACHO_EXPORTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/macho/image.h"

namespace capbench::macho {

enum class ExportKind : std::uint8_t { kRegular, kThreadLocal, kAbsolute, kReexport };

struct Export {
  std::string name;  // with its leading underscore
  ExportKind kind = ExportKind::kRegular;
  bool weak = false;
  std::uint64_t address = 0;           // as linked; the value itself for kAbsolute, 0 for kReexport
  std::uint64_t resolver = 0;          // address of the function that returns the real one; 0 for none
  std::uint64_t reexport_library = 0;  // kReexport: an ordinal
  std::string_view reexport_name;      // kReexport: its name there; empty for the same
};

// Sorted by name. Names may add up to 64 times the size of the trie, which is far more than linkers write.
Result<std::vector<Export>> read_exports(const Image& image);

// Among exports sorted by name; null if there is none.
const Export* find_export(const std::vector<Export>& exports, std::string_view name);

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_EXPORTS_H_
