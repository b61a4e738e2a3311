#include "harness/target/shell.h"

#include <algorithm>

namespace capbench::target {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Means itself to every shell, quoted or not. `=` and `~` do not: zsh and csh expand words that begin with them.
bool is_harmless(char c) {
  return is_letter_or_digit(c) || std::string_view("_./:,+@-").find(c) != std::string_view::npos;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string quote_all(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), is_harmless);
    line += is_plain ? word : quote(word);
  }
  return line;
}

std::string printf_format(std::string_view bytes) {
  std::string format;
  for (const char c : bytes) {
    if (is_letter_or_digit(c) || std::string_view(" _./:,=+@-").find(c) != std::string_view::npos) {
      format += c;
      continue;
    }
    const auto value = static_cast<unsigned char>(c);
    format += '\\';
    format += static_cast<char>('0' + value / 64);
    format += static_cast<char>('0' + value / 8 % 8);
    format += static_cast<char>('0' + value % 8);
  }
  // A format that begins with a dash is an option to some printf.
  if (format.starts_with('-')) format.replace(0, 1, "\\055");
  return format;
}

std::string far_shell_words(std::string_view script) {
  const bool is_plain =
      !script.empty() && std::all_of(script.begin(), script.end(), [](char c) { return c == ' ' || is_harmless(c); });
  if (is_plain) return std::string(script);
  return R"sh(exec /bin/sh -c 'eval "$(printf ")sh" + printf_format(script) + R"sh(")"')sh";
}

std::string operand(std::string_view path) {
  return path.starts_with('-') ? "./" + std::string(path) : std::string(path);
}

}  // namespace capbench::target
