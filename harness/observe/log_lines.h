// Reading text that some program printed: any bytes, cut anywhere. Pure.
#ifndef CAPBENCH_HARNESS_OBSERVE_LOG_LINES_H_
#define CAPBENCH_HARNESS_OBSERVE_LOG_LINES_H_

#include <charconv>
#include <optional>
#include <string_view>

namespace capbench::observe {

// Calls `f` with every line, without its end ("\n" or "\r\n").
template <class F>
void for_each_line(std::string_view text, const F& f) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line);
  }
}

// Without spaces at either end.
constexpr std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// What stands behind the first `mark`; nothing if the text has none.
constexpr std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

// The number at the start of the text; nothing if there is none or it is out of T's range.
template <class T>
std::optional<T> leading_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_LOG_LINES_H_
