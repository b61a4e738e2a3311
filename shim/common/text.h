// Text in a buffer of fixed size. The shims run inside somebody else's process, so nothing here allocates or throws.
#ifndef CAPBENCH_SHIM_COMMON_TEXT_H_
#define CAPBENCH_SHIM_COMMON_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capbench::shim {

// Appends to a caller's buffer. Once something does not fit, it and all that follows are left out and overflowed() is
// true.
class TextBuilder {
 public:
  TextBuilder(char* buffer, std::size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  void append(std::string_view text);
  void append_number(std::int64_t number);
  // Untrusted text for people: in double quotes, at most 48 bytes of it, cut between characters; bytes that are not
  // printable text become '?'.
  void append_quoted(std::string_view untrusted);
  // A JSON string, quotes included, pure ASCII: control characters and everything beyond ASCII as \uXXXX, malformed
  // bytes as \ufffd.
  void append_json(std::string_view untrusted);

  std::string_view view() const { return {buffer_, size_}; }
  bool overflowed() const { return overflowed_; }

 private:
  char* buffer_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

// One line that explains a refusal. Empty: there was none.
struct ErrorText {
  std::array<char, 480> bytes{};
  std::size_t size = 0;

  std::string_view view() const { return {bytes.data(), size}; }
  bool empty() const { return size == 0; }
};

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_TEXT_H_
