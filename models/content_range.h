// "bytes 100-199/200", a server's answer to a request for a part. Pure.
#ifndef CAPBENCH_MODELS_CONTENT_RANGE_H_
#define CAPBENCH_MODELS_CONTENT_RANGE_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace capbench::models {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;  // 0: "*", not known
};

// A whole number and nothing else.
inline std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Nothing for what is no such range, or an impossible one.
inline std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto first = whole_number(text.substr(0, dash));
  const auto last = whole_number(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total = text.substr(slash + 1);
  const auto count = total == "*" ? std::optional<std::uint64_t>(0) : whole_number(total);
  if (!first || !last || !count || *last < *first || (*count != 0 && *last >= *count)) return std::nullopt;
  return ContentRange{*first, *last, *count};
}

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_CONTENT_RANGE_H_
