#include "harness/target/tools/json_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <ranges>
#include <vector>

#include "base/lines.h"

namespace capbench::target {
namespace {

using nlohmann::json;

// A listing of a tool is a few kilobytes; more than this is not looked at.
constexpr std::size_t kMaxText = 4U << 20U;
// Lines that begin like an array; each costs a scan of what follows it.
constexpr int kMaxCandidates = 64;

json parse(std::string_view text) {
  if (text.size() > kMaxText) return nullptr;
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(nullptr) : value;
}

// The text from an opening bracket to the one that closes it; empty if it stays open. Brackets in strings do not count.
std::string_view bracketed(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) return text.substr(0, i + 1);
    }
  }
  return {};
}

bool holds_objects(const json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const json& element) { return element.is_object(); });
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> times(std::int64_t value, std::int64_t unit) {
  if (unit <= 0 || value > std::numeric_limits<std::int64_t>::max() / unit) return std::nullopt;
  return value * unit;
}

}  // namespace

json last_json_array(std::string_view text) {
  if (text.size() > kMaxText) return nullptr;
  std::size_t end = text.size();
  for (int candidates = 0; candidates < kMaxCandidates && end > 0; ++candidates) {
    std::size_t at = text.rfind('[', end - 1);
    while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n') at = text.rfind('[', at - 1);
    if (at == std::string_view::npos) return nullptr;
    const std::string_view slice = bracketed(text.substr(at));
    if (!slice.empty()) {
      json value = parse(slice);
      if (holds_objects(value)) return value;
    }
    end = at;
  }
  return nullptr;
}

json last_json_line(std::string_view text) {
  if (text.size() > kMaxText) return nullptr;
  const std::vector<std::string_view> lines = lines_of(text);
  for (const std::string_view line : std::views::reverse(lines)) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json value = parse(line);
    return value.is_object() ? value : json(nullptr);
  }
  return nullptr;
}

json json_line_where(std::string_view text, const char* name, std::string_view value) {
  if (text.size() > kMaxText) return nullptr;
  for (const std::string_view line : lines_of(text)) {
    json object = parse(line);
    if (object.is_object() && text_member(object, {name}) == value) return object;
  }
  return nullptr;
}

json whole_json(std::string_view text) {
  return parse(text);
}

const json& member(const json& object, std::initializer_list<const char*> path) {
  static const json kNull = nullptr;
  const json* at = &object;
  for (const char* name : path) {
    if (!at->is_object()) return kNull;
    const auto found = at->find(name);
    if (found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

std::string text_member(const json& object, std::initializer_list<const char*> path) {
  const json& value = member(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::int64_t> number_member(const json& object, std::initializer_list<const char*> path) {
  const json& value = member(object, path);
  if (value.is_string()) return whole_number(value.get_ref<const std::string&>());
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

std::optional<std::int64_t> bytes_of(std::string_view text, std::int64_t unit) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = whole_number(text.substr(0, digits));
  if (!value) return std::nullopt;
  text.remove_prefix(digits);
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty()) return times(*value, unit);
  constexpr std::string_view kUnits = "KMGT";
  const char letter = text.front() >= 'a' ? static_cast<char>(text.front() - 'a' + 'A') : text.front();
  const std::size_t power = kUnits.find(letter);
  text.remove_prefix(1);
  const bool known_rest = text.empty() || text == "b" || text == "B" || text == "iB" || text == "ib";
  if (power == std::string_view::npos || !known_rest) return std::nullopt;
  return times(*value, std::int64_t{1} << (10 * (power + 1)));
}

std::optional<std::int64_t> bytes_member(const json& object, std::initializer_list<const char*> path,
                                         std::int64_t unit) {
  const json& value = member(object, path);
  if (value.is_string()) return bytes_of(value.get_ref<const std::string&>(), unit);
  const auto number = number_member(object, path);
  return number ? times(*number, unit) : std::nullopt;
}

}  // namespace capbench::target
