#include "harness/verify/same_text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace capbench::verify {
namespace {

constexpr std::size_t kLongestName = 16;
constexpr std::size_t kMostPlaceholders = 64;  // a text with more is compared as it stands

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

// Length of the placeholder that begins at the text's front; 0: none does.
std::size_t placeholder_length(std::string_view text) {
  if (!text.starts_with('<')) return 0;
  std::size_t end = 1;
  while (end < text.size() && end <= kLongestName && is_name_letter(text[end])) ++end;
  return end > 1 && end < text.size() && text[end] == '>' ? end + 1 : 0;
}

// The texts between placeholders: one more than there are placeholders.
std::vector<std::string_view> literals(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = placeholder_length(text.substr(i));
    if (length == 0) {
      ++i;
      continue;
    }
    parts.push_back(text.substr(begin, i - begin));
    i += length;
    begin = i;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// `plain` is what `parts` says with something for every placeholder.
bool fits(std::string_view plain, const std::vector<std::string_view>& parts) {
  if (!plain.starts_with(parts.front())) return false;
  plain.remove_prefix(parts.front().size());
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = plain.find(parts[i]);
    if (at == std::string_view::npos) return false;
    plain.remove_prefix(at + parts[i].size());
  }
  return plain.size() >= parts.back().size() && plain.ends_with(parts.back());
}

bool ends_alike(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return a.substr(a.size() - n) == b.substr(b.size() - n);
}

bool begins_alike(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return a.substr(0, n) == b.substr(0, n);
}

}  // namespace

bool has_placeholder(std::string_view text) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (placeholder_length(text.substr(at)) > 0) return true;
  }
  return false;
}

bool same_text(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::vector<std::string_view> of_a = literals(a);
  const std::vector<std::string_view> of_b = literals(b);
  if (of_a.size() + of_b.size() == 2 || of_a.size() + of_b.size() > kMostPlaceholders) return false;
  if (of_b.size() == 1) return fits(b, of_a);
  if (of_a.size() == 1) return fits(a, of_b);
  // Both are redacted: what is left of their ends is all that can be compared.
  return begins_alike(of_a.front(), of_b.front()) && ends_alike(of_a.back(), of_b.back());
}

}  // namespace capbench::verify
