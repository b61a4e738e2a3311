// Internal to fixups.cc: the two encodings.
#ifndef CAPBENCH_SHIM_MACHO_FIXUP_ENCODINGS_H_
#define CAPBENCH_SHIM_MACHO_FIXUP_ENCODINGS_H_

#include <vector>

#include "shim/macho/fixups.h"

namespace capbench::macho {

// LC_DYLD_CHAINED_FIXUPS: pointers that hold the distance to the next one.
Result<std::vector<Fixup>> read_chained_fixups(const Image& image);

// LC_DYLD_INFO: four programs for a small machine.
Result<std::vector<Fixup>> read_opcode_fixups(const Image& image);

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_FIXUP_ENCODINGS_H_
