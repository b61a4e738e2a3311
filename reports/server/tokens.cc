#include "reports/server/tokens.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#ifdef __APPLE__
#include <sys/random.h>
#endif

#include "base/digest.h"
#include "base/file.h"

namespace capbench::server {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 20U;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

}  // namespace

Result<TokenDigests> parse_tokens(std::string_view text) {
  TokenDigests digests;
  int number = 0;
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == '#') continue;
    const auto end = std::find_if(line.begin(), line.end(), is_space);
    const std::string_view word = line.substr(0, static_cast<std::size_t>(end - line.begin()));
    if (!is_sha256(word)) {
      return Error{ErrorKind::kUsage, "line " + std::to_string(number), "does not begin with a SHA-256 digest",
                   "write the digest of each token: `printf %s TOKEN | sha256sum`"};
    }
    digests.emplace(word);
  }
  return digests;
}

Result<TokenDigests> read_tokens(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, kMostBytes);
  if (!text) return text.error();
  Result<TokenDigests> digests = parse_tokens(*text);
  if (digests) return digests;
  Error error = std::move(digests).error();
  error.what = path.string() + ", " + error.what;
  return error;
}

std::string bearer_digest(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return "";
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != kScheme[i]) return "";
  }
  std::string_view token = authorization.substr(kScheme.size());
  while (!token.empty() && is_space(token.front())) token.remove_prefix(1);
  return token.empty() ? "" : sha256(token);
}

std::string random_secret() {
  std::array<unsigned char, 32> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) throw std::runtime_error("the system gives no random bytes");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

}  // namespace capbench::server
