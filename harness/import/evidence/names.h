// What file names say. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_NAMES_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_NAMES_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports::evidence {

std::string lower(std::string_view text);

// The words of a text in lower case, letters and digits each: "tiny-Host_10x.json" has "tiny", "host", "10x", "json".
std::vector<std::string> words(std::string_view text);
std::set<std::string> word_set(std::string_view text);

std::string folder_of(std::string_view path);  // empty at the top
// Without folder and without the endings that tell a result from its log: "a/b.json.stderr" has the stem "b".
std::string stem_of(std::string_view path);

// Its ending is that of a log: .stderr .err .log.
bool is_log_name(std::string_view path);
bool is_markdown_name(std::string_view path);

// "bare-metal", "stock" or "unlocked" by the words of the file's own name, else by those of its folders; empty if they
// say none, or two.
std::string mode_said_by(std::string_view path);

// Printable ASCII without '/', ',' and spaces at its ends, 1 to 90 bytes; `fallback` if nothing is left.
std::string safe_name(std::string_view text, std::string_view fallback);

// How many words are in both.
std::size_t common_words(const std::set<std::string>& a, const std::set<std::string>& b);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_NAMES_H_
