#include "schema/canonical.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/utf8.h"

namespace capbench::schema {
namespace {

using nlohmann::json;

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, 40> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

constexpr int kMaxDepth = 500;  // the walk below is recursive, and so is nlohmann's own

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
    append_canonical(out_, value);
  }

  Status real(double value) {
    if (!std::isfinite(value)) return error("not a finite number");
    append_canonical(out_, value);
    return {};
  }

  Status text(const std::string& value) {
    if (!is_utf8(value)) return error("not UTF-8");
    append_canonical(out_, value);
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

void append_canonical(std::string& out, std::int64_t number) {
  append_number(out, number);
}

void append_canonical(std::string& out, std::uint64_t number) {
  append_number(out, number);
}

void append_canonical(std::string& out, double number) {
  append_number(out, number == 0 ? 0.0 : number);  // -0.0 would read back as the integer 0
}

void append_canonical(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
  for (auto at = text.begin(); at != text.end(); ++at) {
    const auto special = std::find_if_not(at, text.end(), is_plain);
    out.append(at, special);
    if (special == text.end()) break;
    at = special;
    const char c = *at;
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 0xFU];
    }
  }
  out += '"';
}

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

}  // namespace capbench::schema
