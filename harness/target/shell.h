// Words that shells read alike. Pure.
#ifndef CAPBENCH_HARNESS_TARGET_SHELL_H_
#define CAPBENCH_HARNESS_TARGET_SHELL_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::target {

// The text as one word of a POSIX shell. Any bytes but NUL.
std::string quote(std::string_view text);

// The words, quoted where they need it, with spaces between.
std::string quote_all(std::span<const std::string> words);

// A format for printf(1) that prints exactly these bytes. Made of letters, digits and a few harmless characters, and
// \ooo for all else: it is safe within single or double quotes of any shell.
std::string printf_format(std::string_view bytes);

// A command line that runs `script` by /bin/sh, whatever shell reads the line (sh, bash, zsh, ksh, fish, csh): no quote
// inside a quote, no `!`, no newline.
std::string far_shell_words(std::string_view script);

// A path as an operand that no program takes for an option: "-x" becomes "./-x".
std::string operand(std::string_view path);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_SHELL_H_
