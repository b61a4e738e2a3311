#include "shim/emulate/c_format.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace capbench::emulate {
namespace {

constexpr int kMaxWidth = 4096;

struct Conversion {
  std::string flags;
  int width = -1;
  int precision = -1;
  std::string length;  // "", "h", "hh", "l", "ll", "z", "j", "t", "q", "L"
  char kind = 0;
};

class Formatter {
 public:
  Formatter(Machine& machine, std::string_view format, Address arguments, const ObjectText& object_text)
      : machine_(machine), format_(format), next_(arguments), object_text_(object_text) {}

  std::string run() {
    std::string out;
    while (at_ < format_.size() && !machine_.failed()) {
      const char c = format_[at_++];
      if (c != '%') {
        out.push_back(c);
      } else if (peek() == '%') {
        ++at_;
        out.push_back('%');
      } else {
        convert(read_conversion(), out);
      }
    }
    return out;
  }

 private:
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }

  std::uint64_t slot() {
    const auto value = machine_.read<std::uint64_t>(next_);
    next_ += 8;
    return value;
  }

  int number() {
    if (peek() == '*') {
      ++at_;
      return bounded(static_cast<std::int32_t>(slot()));
    }
    int value = 0;
    while (peek() >= '0' && peek() <= '9') value = bounded(value * 10 + (format_[at_++] - '0'));
    return value;
  }

  int bounded(int value) {
    if (value >= -kMaxWidth && value <= kMaxWidth) return value;
    machine_.fail({ErrorKind::kUsage, "the emulated program",
                   fmt::format("prints with the format \"{}\", a field wider than {}", format_, kMaxWidth),
                   "a library as published"});
    return 0;
  }

  Conversion read_conversion() {
    Conversion conversion;
    while (peek() != '\0' && std::strchr("-+ #0", peek()) != nullptr && conversion.flags.size() < 8) {
      conversion.flags.push_back(format_[at_++]);
    }
    if (peek() == '*' || (peek() >= '0' && peek() <= '9')) conversion.width = number();
    if (conversion.width < -1) {
      conversion.flags.push_back('-');
      conversion.width = -conversion.width;
    }
    if (peek() == '.') {
      ++at_;
      conversion.precision = number();
    }
    while (peek() != '\0' && std::strchr("hlzjtqL", peek()) != nullptr && conversion.length.size() < 2) {
      conversion.length.push_back(format_[at_++]);
    }
    if (at_ < format_.size()) conversion.kind = format_[at_++];
    return conversion;
  }

  void convert(const Conversion& conversion, std::string& out) {
    const bool narrow = conversion.length.empty();
    switch (conversion.kind) {
      case 'd':
      case 'i': {
        auto value = static_cast<std::int64_t>(slot());
        if (narrow) value = static_cast<std::int32_t>(value);
        if (conversion.length == "h") value = static_cast<std::int16_t>(value);
        if (conversion.length == "hh") value = static_cast<std::int8_t>(value);
        return print(conversion, "ll", conversion.kind, value, out);
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        std::uint64_t value = slot();
        if (narrow) value = static_cast<std::uint32_t>(value);
        if (conversion.length == "h") value = static_cast<std::uint16_t>(value);
        if (conversion.length == "hh") value = static_cast<std::uint8_t>(value);
        return print(conversion, "ll", conversion.kind, value, out);
      }
      case 'c':
        return print(conversion, "", 'c', static_cast<int>(slot() & 0xffU), out);
      case 'p':
        out += fmt::format("{:#x}", slot());
        return;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        const std::uint64_t bits = slot();
        double value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return print(conversion, "", conversion.kind, value, out);
      }
      case 's':
        return print_string(conversion, slot(), out);
      case '@':
        if (object_text_) {
          out += object_text_(slot());
          return;
        }
        break;
      default:
        break;
    }
    machine_.fail({ErrorKind::kUsage, "the emulated program",
                   fmt::format("prints with the format \"{}\", whose %{} is unknown here", format_, conversion.kind),
                   "a release that is known to run"});
  }

  void print_string(const Conversion& conversion, Address address, std::string& out) {
    std::string text;
    if (address == 0) {
      text = "(null)";
    } else if (conversion.precision >= 0) {
      // Need not end in NUL.
      while (text.size() < static_cast<std::size_t>(conversion.precision) && !machine_.failed()) {
        const char c = machine_.read<char>(address + text.size());
        if (c == '\0') break;
        text.push_back(c);
      }
    } else {
      text = machine_.c_string(address);
    }
    const auto width = static_cast<std::size_t>(conversion.width < 0 ? 0 : conversion.width);
    const std::string padding(width > text.size() ? width - text.size() : 0, ' ');
    const bool left = conversion.flags.find('-') != std::string::npos;
    out += left ? text + padding : padding + text;
  }

  template <class T>
  void print(const Conversion& conversion, std::string_view length, char kind, T value, std::string& out) {
    std::string format = "%" + conversion.flags;
    if (conversion.width >= 0) format += fmt::format("{}", conversion.width);
    if (conversion.precision >= 0) format += fmt::format(".{}", conversion.precision);
    format += length;
    format.push_back(kind);
    // A number of the largest double has 309 digits before the point; the rest is width and precision.
    std::array<char, 3 * kMaxWidth> buffer{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int size = std::snprintf(buffer.data(), buffer.size(), format.c_str(), value);
#pragma GCC diagnostic pop
    if (size > 0) out.append(buffer.data(), std::min(static_cast<std::size_t>(size), buffer.size() - 1));
  }

  Machine& machine_;
  std::string_view format_;
  Address next_;
  const ObjectText& object_text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string format_c(Machine& machine, std::string_view format, Address arguments, const ObjectText& object_text) {
  return Formatter(machine, format, arguments, object_text).run();
}

}  // namespace capbench::emulate
