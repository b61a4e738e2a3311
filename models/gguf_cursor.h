// Reads untrusted bytes piece by piece. Private to the GGUF reader.
#ifndef CAPBENCH_MODELS_GGUF_CURSOR_H_
#define CAPBENCH_MODELS_GGUF_CURSOR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "models/little_endian.h"

namespace capbench::models {

// False on overflow; the result is then meaningless.
bool add(std::uint64_t a, std::uint64_t b, std::uint64_t& sum);
bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& product);

// A position in the bytes. The first failure is kept, and everything read after it is zero or empty. `at` says in the
// error what was being read.
class Cursor {
 public:
  Cursor(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  bool failed() const { return failed_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return bytes_.size() - position_; }
  Error error() const { return error_; }

  // Without a remedy: to get the file again.
  void fail(std::string cause, std::string remedy = {});
  void fail_truncated(std::uint64_t needed, const std::string& at);

  std::string_view take(std::uint64_t count, const std::string& at);
  // A length of 8 bytes and as many bytes.
  std::string_view string(const std::string& at);

  template <class T>
  T number(const std::string& at) {
    const std::string_view taken = take(sizeof(T), at);
    return taken.size() == sizeof(T) ? load<T>(taken.data()) : T{};
  }

 private:
  std::string_view bytes_;
  std::string_view name_;
  std::uint64_t position_ = 0;
  bool failed_ = false;
  Error error_;
};

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_GGUF_CURSOR_H_
