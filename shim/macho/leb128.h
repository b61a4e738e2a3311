// The variable-length numbers of bind opcodes and export tries.
#ifndef CAPBENCH_SHIM_MACHO_LEB128_H_
#define CAPBENCH_SHIM_MACHO_LEB128_H_

#include <cstdint>
#include <optional>

#include "shim/macho/bytes.h"

namespace capbench::macho {

// Reads from the front of some bytes; every read that fails leaves it at its end, and failed() true.
class Stream {
 public:
  explicit Stream(Bytes bytes, std::uint64_t position = 0) : bytes_(bytes), position_(position) {}

  bool done() const { return position_ >= bytes_.size(); }
  bool failed() const { return failed_; }
  std::uint64_t position() const { return position_; }

  std::uint8_t byte() {
    if (done()) return static_cast<std::uint8_t>(fail());
    return std::to_integer<std::uint8_t>(bytes_[static_cast<std::size_t>(position_++)]);
  }

  // Refuses what does not fit 64 bits.
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      if (failed_) return 0;
      const std::uint64_t bits = next & 0x7fU;
      if (shift == 63 && bits > 1) return fail();
      value |= bits << shift;
      if ((next & 0x80U) == 0) return value;
    }
    return fail();
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      if (failed_) return 0;
      value |= (next & 0x7fULL) << shift;
      if ((next & 0x80U) == 0) {
        if ((next & 0x40U) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
        return static_cast<std::int64_t>(value);
      }
    }
    return static_cast<std::int64_t>(fail());
  }

  std::string_view string() {
    const std::optional<std::string_view> text = c_string(bytes_, position_);
    if (!text) {
      fail();
      return {};
    }
    position_ += text->size() + 1;
    return *text;
  }

 private:
  std::uint64_t fail() {
    failed_ = true;
    position_ = bytes_.size();
    return 0;
  }

  Bytes bytes_;
  std::uint64_t position_;
  bool failed_ = false;
};

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_LEB128_H_
