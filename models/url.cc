#include "models/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/format.h"

namespace capbench::models {
namespace {

Error bad(std::string_view text, std::string cause) {
  return {ErrorKind::kUsage, fmt::format("address '{}'", printable(text.substr(0, text.find('?')), 120)),
          std::move(cause), "check the address"};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == ':';
}

}  // namespace

std::string Url::origin() const {
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", secure ? "https" : "http", brackets ? "[" : "", host, brackets ? "]" : "", port);
}

std::string Url::shown() const {
  return origin() + target.substr(0, target.find('?'));
}

Result<Url> parse_url(std::string_view text) {
  constexpr std::size_t kLongest = 16384;
  if (text.size() > kLongest) return bad(text, "longer than any server takes");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; })) {
    return bad(text, "has a space, a control character or a byte outside ASCII");
  }
  Url url;
  const std::size_t colon = text.find("://");
  const std::string scheme = lower(text.substr(0, std::min(colon, text.size())));
  if (colon == std::string_view::npos || (scheme != "https" && scheme != "http")) {
    return bad(text, "neither https:// nor http://");
  }
  url.secure = scheme == "https";
  url.port = url.secure ? 443 : 80;
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, end);
  url.target = rest.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (authority.find('@') != std::string_view::npos) return bad(text, "user names in an address are not taken");
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad(text, "a bracket is not closed");
    port = authority.substr(close + 1);
    authority = authority.substr(1, close - 1);
    if (!port.empty() && !port.starts_with(':')) return bad(text, "something stands behind the host");
    if (!port.empty()) port.remove_prefix(1);
  } else if (const std::size_t at = authority.find(':'); at != std::string_view::npos) {
    port = authority.substr(at + 1);
    authority = authority.substr(0, at);
  }
  url.host = lower(authority);
  if (url.host.empty() || !std::all_of(url.host.begin(), url.host.end(), is_host_character)) {
    return bad(text, "no host in it");
  }
  if (!port.empty()) {
    const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || stop != port.data() + port.size() || url.port == 0) return bad(text, "no such port");
  }
  return url;
}

Result<Url> follow(const Url& from, std::string_view location) {
  std::string text(location);
  if (location.starts_with("//")) {
    text = fmt::format("{}:{}", from.secure ? "https" : "http", location);
  } else if (location.starts_with('/')) {
    text = from.origin() + text;
  } else if (location.find("://") == std::string_view::npos) {
    const std::string path = from.target.substr(0, from.target.find('?'));
    text = from.origin() + path.substr(0, path.rfind('/') + 1) + text;
  }
  auto url = parse_url(text);
  if (!url) return url;
  if (from.secure && !url->secure) return bad(text, "a redirect from https to http");
  return url;
}

std::string encode_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace capbench::models
