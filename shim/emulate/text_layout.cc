#include "shim/emulate/text_layout.h"

#include <fmt/format.h>

#include <cstdlib>

namespace capbench::emulate {

std::string wrapped(std::string_view first, std::string_view text) {
  const std::string indent(first.size(), ' ');
  const std::size_t room = first.size() < kColumns - 20 ? kColumns - first.size() : 20;
  std::string clean(text);
  for (char& c : clean) {
    if (c < ' ' || c > '~') c = '?';
  }
  std::string out;
  std::string_view rest = clean;
  std::string_view before = first;
  do {
    std::size_t size = rest.size();
    std::size_t next = size;
    if (size > room) {
      const std::size_t space = rest.rfind(' ', room);
      size = space == std::string_view::npos || space == 0 ? room : space;
      next = rest[size] == ' ' ? size + 1 : size;
    }
    out += before;
    out += rest.substr(0, size);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
    rest.remove_prefix(next);
    before = indent;
  } while (!rest.empty());
  return out;
}

std::string with_unit(std::string_view number) {
  constexpr double kMib = 1024.0 * 1024.0;
  if (number.size() < 8 || number.find_first_not_of("0123456789") != std::string_view::npos) return std::string(number);
  const double bytes = std::strtod(std::string(number).c_str(), nullptr);
  if (bytes >= 1024 * kMib) return fmt::format("{} ({:.2f} GiB)", number, bytes / kMib / 1024);
  return fmt::format("{} ({:.2f} MiB)", number, bytes / kMib);
}

}  // namespace capbench::emulate
