// http and https addresses, as far as downloads need them. Pure.
#ifndef CAPBENCH_MODELS_URL_H_
#define CAPBENCH_MODELS_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::models {

struct Url {
  bool secure = true;  // https
  std::string host;    // lower case; an IPv6 address without its brackets
  std::uint16_t port = 443;
  std::string target = "/";  // path and query, as they are sent

  // "https://host:port".
  std::string origin() const;
  // Without the query, which may hold a signature that grants access.
  std::string shown() const;

  friend bool operator==(const Url&, const Url&) = default;
};

// An error for another scheme, user names in it, spaces, control characters and bytes outside ASCII.
Result<Url> parse_url(std::string_view text);

// Where `location`, as a server's redirect gives it, leads from `from`. An error too if it leaves https for http.
Result<Url> follow(const Url& from, std::string_view location);

// Percent-encodes what a path may not hold; slashes stay.
std::string encode_path(std::string_view path);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_URL_H_
