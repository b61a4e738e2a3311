// Bytes of a file -> text: UTF-16 to UTF-8, byte-order marks and terminal escape sequences removed. Streaming.
#ifndef CAPBENCH_HARNESS_IMPORT_DECODER_H_
#define CAPBENCH_HARNESS_IMPORT_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace capbench::imports {

class TextDecoder {
 public:
  // Appends the text of the next bytes to `out`. Sequences may be split between calls anywhere.
  void feed(std::string_view bytes, std::string& out);
  // What was held back at the end of the file: half a character is U+FFFD.
  void finish(std::string& out);

  bool removed_escapes() const { return removed_escapes_; }
  bool was_utf16() const { return encoding_ == Encoding::kUtf16Little || encoding_ == Encoding::kUtf16Big; }

 private:
  enum class Encoding { kUnknown, kUtf8, kUtf16Little, kUtf16Big };
  enum class Escape { kNone, kStart, kControl, kString, kStringEscape };

  void text(std::string_view utf8, std::string& out);
  void utf16(std::string_view bytes, std::string& out);
  bool decide_encoding(std::string_view& bytes);

  Encoding encoding_ = Encoding::kUnknown;
  std::string start_;  // the first bytes, until the encoding is known
  Escape escape_ = Escape::kNone;
  bool removed_escapes_ = false;
  bool has_half_unit_ = false;
  unsigned char half_unit_ = 0;
  std::uint32_t high_surrogate_ = 0;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_DECODER_H_
