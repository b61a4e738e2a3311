// Which questions about a device a binary holds: selectors, symbols and names of extensions, and the capabilities of
// shim/common/toggles.h that answer them. That it holds a question does not show that it asks it.
#ifndef CAPBENCH_SHIM_INSPECT_QUESTIONS_H_
#define CAPBENCH_SHIM_INSPECT_QUESTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "shim/inspect/elf.h"
#include "shim/macho/fixups.h"
#include "shim/macho/image.h"

namespace capbench::shim::inspect {

enum class Evidence : std::uint8_t {
  kSelector,        // a selector reference: code sends the message
  kMethodName,      // among the names of methods; which ones are sent cannot be read
  kString,          // a string of its own among the constants
  kImportedSymbol,  // another library's function is linked
  kExportedSymbol,  // it answers this question itself
};

std::string_view evidence_name(Evidence evidence);

struct Question {
  std::string name;  // "supportsFamily:"
  Evidence evidence = Evidence::kString;
  std::string domain;                     // "metal", "vulkan", "cpu", "cuda", ...
  std::vector<std::string> capabilities;  // toggles that change the answer; empty: no shim answers it
  bool entry_point = false;               // it is where devices come from, and where a shim steps in
};

// Sorted by domain and name, each name once.
std::vector<Question> questions_of(const macho::Image& image, const std::vector<macho::Fixup>& fixups);
std::vector<Question> questions_of(const Elf& elf);

}  // namespace capbench::shim::inspect

#endif  // CAPBENCH_SHIM_INSPECT_QUESTIONS_H_
