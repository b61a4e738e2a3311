#include "harness/import/emitter.h"

#include <utility>

#include "harness/import/text.h"

namespace capbench::imports {

bool Emitter::finish(const Place& place, std::string_view raw, std::uint64_t LlamaBenchCounts::*format) {
  if (std::string problem = builder_.finish(row_); !problem.empty()) {
    quarantine(place, std::move(problem), raw);
    return false;
  }
  row_.place = place;
  row_.raw = raw;
  row(row_, format);
  return true;
}

void Emitter::row(ImportedRow& row, std::uint64_t LlamaBenchCounts::*format) {
  ++(counts_.*format);
  sink_.row(row);
}

void Emitter::quarantine(const Place& place, std::string reason, std::string_view raw) {
  ++counts_.quarantined;
  sink_.quarantine({place, std::move(reason), quarantined_text(raw)});
}

std::string quarantined_text(std::string_view raw) {
  raw = trim(raw);
  if (raw.size() <= kMaxQuarantinedText) return to_utf8(raw);
  // Not in the middle of a character.
  std::size_t end = kMaxQuarantinedText;
  while (end > 0 && (static_cast<unsigned char>(raw[end]) & 0xC0U) == 0x80) --end;
  return to_utf8(raw.substr(0, end)) + "...";
}

}  // namespace capbench::imports
