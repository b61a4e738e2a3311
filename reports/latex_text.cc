#include "reports/latex_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string_view ascii_command(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '{':
      return "\\{";
    case '}':
      return "\\}";
    case '$':
      return "\\$";
    case '&':
      return "\\&";
    case '#':
      return "\\#";
    case '%':
      return "\\%";
    case '_':
      return "\\_";
    case '^':
      return "\\textasciicircum{}";
    case '~':
      return "\\textasciitilde{}";
    case '<':
      return "\\textless{}";
    case '>':
      return "\\textgreater{}";
    case '|':
      return "\\textbar{}";
    case '"':
      return "{\\char34}";
    case '`':
      return "{`}";
    // After a line break or an item's command these would be an argument.
    case '[':
      return "{[}";
    case '*':
      return "{*}";
    default:
      return {};
  }
}

std::string_view sign_command(std::uint32_t code) {
  switch (code) {
    case 0xD7:
      return "$\\times$";
    case 0xB1:
      return "$\\pm$";
    case 0xB5:
      return "$\\mu$";
    case 0xB0:
      return "$^\\circ$";
    case 0x2013:
      return "\\textendash{}";
    case 0x2014:
      return "\\textemdash{}";
    case 0x2026:
      return "\\textellipsis{}";
    default:
      return {};
  }
}

// Of valid UTF-8.
std::uint32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6U) | (byte(i) & 0x3FU);
  return code;
}

std::size_t length_of(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

// Of Latin-1 and Latin Extended-A what is neither a letter nor in the fonts of a document without packages (OT1), where
// TeX would stop.
constexpr std::array<std::uint32_t, 27> kNoGlyph = {0xD0,  0xD7,  0xDE,  0xF0,  0xF7,  0xFE,  0x104, 0x105, 0x110,
                                                    0x111, 0x118, 0x119, 0x126, 0x127, 0x12E, 0x12F, 0x138, 0x13F,
                                                    0x140, 0x149, 0x14A, 0x14B, 0x166, 0x167, 0x172, 0x173, 0x17F};

bool is_latin_letter(std::uint32_t code) {
  return code >= 0xC0 && code <= 0x17F && !std::binary_search(kNoGlyph.begin(), kNoGlyph.end(), code);
}

}  // namespace

std::string escape_latex(std::string_view text) {
  const std::string line = one_line(text);
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t length = length_of(line[i]);
    const std::string_view character = std::string_view(line).substr(i, length);
    i += length;
    if (length == 1) {
      const char c = character.front();
      // Two of them would become one character.
      if (std::string_view("-',").find(c) != std::string_view::npos && out.ends_with(c)) out += "{}";
      const std::string_view command = ascii_command(c);
      out += command.empty() ? character : command;
      continue;
    }
    const std::uint32_t code = code_of(character);
    if (const std::string_view command = sign_command(code); !command.empty()) {
      out += command;
    } else if (is_latin_letter(code)) {
      out += character;
    } else {
      out += fmt::format("{{[}}U+{:04X}]", code);
    }
  }
  return out;
}

}  // namespace capbench::reports
