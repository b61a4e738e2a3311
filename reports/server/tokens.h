// Who may submit: secrets of which only the digests are kept.
#ifndef CAPBENCH_REPORTS_SERVER_TOKENS_H_
#define CAPBENCH_REPORTS_SERVER_TOKENS_H_

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::server {

// The SHA-256 of each token. To compare digests tells nothing about a secret, however long it takes.
using TokenDigests = std::set<std::string, std::less<>>;

// One digest a line (`printf %s TOKEN | sha256sum`); what follows it on its line, empty lines and lines that begin with
// # are for people. An error names the line.
Result<TokenDigests> parse_tokens(std::string_view text);
Result<TokenDigests> read_tokens(const std::filesystem::path& path);

// The digest of the token in an Authorization field ("Bearer TOKEN"), or empty.
std::string bearer_digest(std::string_view authorization);

// 64 hexadecimal digits from the system's random source.
std::string random_secret();

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_TOKENS_H_
