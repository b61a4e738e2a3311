#include "harness/target/frame.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <random>

namespace capbench::target {
namespace {

constexpr std::string_view kBegin = ":begin";
constexpr std::string_view kEnd = ":end:";

std::string mark(std::string_view nonce, std::string_view what) {
  return "capbench:" + std::string(nonce) + std::string(what);
}

// Takes one line off the front; without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

template <class Integer>
bool parse_number(std::string_view text, Integer& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() && !text.empty();
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

bool append_base64(std::string_view line, std::string& bytes) {
  if (line.size() % 4 != 0) return false;
  for (; !line.empty(); line.remove_prefix(4)) {
    std::uint32_t group = 0;
    int padding = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = line[static_cast<std::size_t>(i)];
      const int value = base64_value(c);
      if (c == '=' && i >= 2 && line.size() == 4) {
        ++padding;
      } else if (value < 0 || padding > 0) {
        return false;
      }
      group = group << 6U | static_cast<std::uint32_t>(value < 0 ? 0 : value);
    }
    for (int i = 0; i < 3 - padding; ++i) bytes.push_back(static_cast<char>(group >> (16 - 8 * i) & 0xffU));
  }
  return true;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// As `od -An -v -tx1` prints: two digits a byte, with spaces between.
bool append_hex(std::string_view line, std::string& bytes) {
  while (!line.empty()) {
    if (line.front() == ' ') {
      line.remove_prefix(1);
      continue;
    }
    if (line.size() < 2 || hex_value(line[0]) < 0 || hex_value(line[1]) < 0) return false;
    bytes.push_back(static_cast<char>(hex_value(line[0]) * 16 + hex_value(line[1])));
    line.remove_prefix(2);
  }
  return true;
}

}  // namespace

std::string framed_script(std::string_view script, std::string_view nonce) {
  const std::string n(nonce);
  return "printf 'capbench:%s:begin\\n' " + n + "\n(\n" + std::string(script) +
         "\n)\nprintf '\\ncapbench:%s:end:%d\\n' " + n + " $?\n";
}

std::optional<Framed> read_frame(std::string_view output, std::string_view nonce) {
  const std::string begin = mark(nonce, kBegin);
  const std::string end = mark(nonce, kEnd);
  const std::size_t from = output.find(begin);
  if (from == std::string_view::npos) return std::nullopt;
  std::string_view inside = output.substr(from + begin.size());
  if (!take_line(inside).empty()) return std::nullopt;
  const std::size_t to = inside.rfind("\n" + end);
  const bool nothing_printed = to == std::string_view::npos && inside.starts_with(end);
  if (to == std::string_view::npos && !nothing_printed) return std::nullopt;
  Framed framed;
  std::string_view rest = inside.substr((nothing_printed ? 0 : to + 1) + end.size());
  const bool is_whole = rest.find('\n') != std::string_view::npos;
  if (!is_whole || !parse_number(take_line(rest), framed.exit_status)) return std::nullopt;
  if (!nothing_printed) framed.text = inside.substr(0, to);
  if (framed.text.ends_with('\r')) framed.text.pop_back();  // of the newline before the mark
  return framed;
}

std::string_view send_file_function() {
  return R"sh(if command -v base64 >/dev/null 2>&1; then
encode() { base64 <"$1"; }
kind=base64
else
encode() { od -An -v -tx1 <"$1"; }
kind=hex
fi
send_file() {
[ -f "$1" ] || return 0
printf 'file %s %s %s\n' "$1" "$kind" "$(($(wc -c <"$1")))"
encode "$1"
printf '.\n'
}
)sh";
}

std::optional<std::map<std::string, std::string>> read_files(std::string_view text) {
  std::map<std::string, std::string> files;
  while (!text.empty()) {
    std::string_view header = take_line(text);
    constexpr std::string_view kFile = "file ";
    if (!header.starts_with(kFile)) continue;  // noise between files is none of ours
    header.remove_prefix(kFile.size());
    const std::size_t name_end = header.find(' ');
    if (name_end == std::string_view::npos) return std::nullopt;
    const std::string name(header.substr(0, name_end));
    header.remove_prefix(name_end + 1);
    const std::size_t kind_end = header.find(' ');
    if (kind_end == std::string_view::npos) return std::nullopt;
    const bool is_base64 = header.substr(0, kind_end) == "base64";
    std::uint64_t size = 0;
    if (!parse_number(header.substr(kind_end + 1), size)) return std::nullopt;
    std::string bytes;
    bool is_ended = false;
    // base64 may break its lines anywhere, or not at all; groups of four may not.
    std::string pending;
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      if (line == ".") {
        is_ended = true;
        break;
      }
      if (!is_base64) {
        if (!append_hex(line, bytes)) return std::nullopt;
        continue;
      }
      pending += line;
      const std::size_t whole = pending.size() / 4 * 4;
      const bool has_padding = pending.ends_with('=');
      const std::size_t take = has_padding && whole >= 4 ? whole - 4 : whole;
      if (!append_base64(std::string_view(pending).substr(0, take), bytes)) return std::nullopt;
      pending.erase(0, take);
    }
    if (!append_base64(pending, bytes)) return std::nullopt;
    if (!is_ended || bytes.size() != size) return std::nullopt;
    files[name] = std::move(bytes);
  }
  return files;
}

std::string last_line(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kSpaces);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t before = text.find_last_of("\r\n");
  std::string_view line = before == std::string_view::npos ? text : text.substr(before + 1);
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  return std::string(line);
}

std::string make_nonce() {
  std::random_device random;
  std::string nonce;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int i = 0; i < 4; ++i) {
    std::uint32_t bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4U) nonce.push_back(kDigits[bits & 15U]);
  }
  return nonce;
}

}  // namespace capbench::target
