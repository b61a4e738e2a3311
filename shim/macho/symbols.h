// The symbol table (LC_SYMTAB) of an image.
#ifndef CAPBENCH_SHIM_MACHO_SYMBOLS_H_
#define CAPBENCH_SHIM_MACHO_SYMBOLS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/macho/image.h"

namespace capbench::macho {

// One nlist_64.
struct Symbol {
  std::string_view name;  // with its leading underscore; views the image
  std::uint8_t type = 0;
  std::uint8_t section = 0;  // from 1, over the sections of all segments; 0 for none
  std::uint16_t description = 0;
  std::uint64_t value = 0;  // address as linked, for what a section defines

  bool debugging() const { return (type & 0xe0U) != 0; }  // a stab
  bool external() const { return (type & 0x01U) != 0 && !private_external(); }
  bool private_external() const { return (type & 0x10U) != 0; }
  bool undefined() const { return !debugging() && (type & 0x0eU) == 0; }
  bool defined() const { return !debugging() && (type & 0x0eU) != 0; }
  bool weak_definition() const { return defined() && (description & 0x80U) != 0; }
  bool weak_reference() const { return undefined() && (description & 0x40U) != 0; }
};

// Empty if the image was stripped of its table.
Result<std::vector<Symbol>> read_symbols(const Image& image);

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_SYMBOLS_H_
