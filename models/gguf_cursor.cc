#include "models/gguf_cursor.h"

#include <limits>
#include <utility>

#include "models/gguf.h"

namespace capbench::models {

bool add(std::uint64_t a, std::uint64_t b, std::uint64_t& sum) {
  sum = a + b;
  return sum >= a;
}

bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& product) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return false;
  product = a * b;
  return true;
}

void Cursor::fail(std::string cause, std::string remedy) {
  if (failed_) return;
  failed_ = true;
  if (remedy.empty()) {
    remedy = "download the model again, or write a twin with `capbench models synth --like tinyllama-1.1b --out FILE`";
  }
  error_ = {ErrorKind::kUsage, std::string(name_), std::move(cause), std::move(remedy)};
}

void Cursor::fail_truncated(std::uint64_t needed, const std::string& at) {
  fail("truncated: needs " + std::to_string(needed) + " bytes, has " + std::to_string(bytes_.size()) + " (" + at + ")");
}

std::string_view Cursor::take(std::uint64_t count, const std::string& at) {
  if (failed_) return {};
  if (count > remaining()) {
    std::uint64_t needed = 0;
    if (!add(position_, count, needed)) needed = std::numeric_limits<std::uint64_t>::max();
    fail_truncated(needed, at);
    return {};
  }
  const std::string_view taken = bytes_.substr(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
  position_ += count;
  return taken;
}

std::string_view Cursor::string(const std::string& at) {
  const auto length = number<std::uint64_t>(at);
  if (length > kGgufMaxStringBytes) {
    fail("damaged: a string of " + std::to_string(length) + " bytes (" + at + "); at most " +
         std::to_string(kGgufMaxStringBytes) + " are sensible");
    return {};
  }
  return take(length, at);
}

}  // namespace capbench::models
