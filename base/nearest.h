// What somebody probably meant, for the remedy of an error. Pure, thread-safe.
#ifndef CAPBENCH_BASE_NEAREST_H_
#define CAPBENCH_BASE_NEAREST_H_

#include <span>
#include <string>
#include <string_view>

namespace capbench {

// The choice nearest to `word`; empty if none is near: within one edit, or one for each three letters. Changing, adding
// or leaving out a letter is an edit, and so is swapping two neighbours.
std::string_view nearest(std::string_view word, std::span<const std::string_view> choices);

// As a remedy: the nearest choice in quotes, or "one of A, B, C".
std::string nearest_or_all(std::string_view word, std::span<const std::string_view> choices);

}  // namespace capbench

#endif  // CAPBENCH_BASE_NEAREST_H_
