#include "schema/canonical.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace capbench::schema {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 500;  // the walk below is recursive, and so is nlohmann's own

// Length of the valid UTF-8 sequence that `bytes` begins with; 0 if it begins with none. Unicode 15, table 3-7.
std::size_t sequence_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;  // bounds of the second byte: no overlong forms, no surrogates, nothing above U+10FFFF
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (bytes.size() < length || at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  return length;
}

class Writer {
 public:
  Status write(const json& value) {
    switch (value.type()) {
      case json::value_t::null:
        out_ += "null";
        return {};
      case json::value_t::boolean:
        out_ += value.get<bool>() ? "true" : "false";
        return {};
      case json::value_t::number_integer:
        number(value.get<std::int64_t>());
        return {};
      case json::value_t::number_unsigned:
        number(value.get<std::uint64_t>());
        return {};
      case json::value_t::number_float:
        return real(value.get<double>());
      case json::value_t::string:
        return text(value.get_ref<const std::string&>());
      case json::value_t::array:
        return array(value);
      case json::value_t::object:
        return object(value);
      case json::value_t::binary:
      case json::value_t::discarded:
        break;
    }
    return error("a value that JSON cannot hold");
  }

  std::string take() { return std::move(out_); }

 private:
  // Restores the depth and the path of an error when one level of the value is left.
  class Level {
   public:
    explicit Level(Writer& writer) : writer_(writer), size_(writer.where_.size()) { ++writer_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() {
      --writer_.depth_;
      writer_.where_.resize(size_);
    }
    void enter(const std::string& step) {
      writer_.where_.resize(size_);
      writer_.where_ += step;
    }

   private:
    Writer& writer_;
    std::size_t size_;
  };

  Error error(const std::string& cause) const { return {ErrorKind::kUsage, where_, cause, "leave that value out"}; }

  template <class T>
  void number(T value) {
    std::array<char, 40> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
  }

  Status real(double value) {
    if (!std::isfinite(value)) return error("not a finite number");
    number(value == 0 ? 0.0 : value);  // -0.0 would read back as the integer 0
    return {};
  }

  Status text(const std::string& value) {
    if (!is_utf8(value)) return error("not UTF-8");
    constexpr std::string_view kDigits = "0123456789abcdef";
    out_ += '"';
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      switch (c) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\b':
          out_ += "\\b";
          break;
        case '\f':
          out_ += "\\f";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        default:
          if (byte >= 0x20) {
            out_ += c;
          } else {
            out_ += "\\u00";
            out_ += kDigits[byte >> 4U];
            out_ += kDigits[byte & 0xFU];
          }
      }
    }
    out_ += '"';
    return {};
  }

  Status array(const json& value) {
    Level level(*this);
    if (depth_ > kMaxDepth) return error("nested too deeply");
    out_ += '[';
    std::size_t index = 0;
    for (const json& element : value) {
      level.enter("[" + std::to_string(index) + "]");
      if (index++ > 0) out_ += ',';
      if (Status status = write(element); !status) return status;
    }
    out_ += ']';
    return {};
  }

  Status object(const json& value) {
    Level level(*this);
    if (depth_ > kMaxDepth) return error("nested too deeply");
    out_ += '{';
    bool first = true;
    for (const auto& [key, member] : value.items()) {  // a std::map, so in the order of the keys' bytes
      level.enter("." + to_utf8(key));
      if (!first) out_ += ',';
      first = false;
      if (Status status = text(key); !status) return status;
      out_ += ':';
      if (Status status = write(member); !status) return status;
    }
    out_ += '}';
    return {};
  }

  std::string out_;
  std::string where_ = "$";
  int depth_ = 0;
};

}  // namespace

Result<std::string> try_canonical(const json& value) {
  Writer writer;
  if (Status status = writer.write(value); !status) return std::move(status).error();
  return writer.take();
}

std::string canonical(const json& value) {
  Result<std::string> text = try_canonical(value);
  if (!text) throw std::invalid_argument(to_string(text.error()));
  return std::move(text).value();
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) {
      text += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

}  // namespace capbench::schema
