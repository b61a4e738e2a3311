// Texts of a redacted bundle, compared. Internal to this room. Pure, linear but for the number of placeholders.
#ifndef CAPBENCH_HARNESS_VERIFY_SAME_TEXT_H_
#define CAPBENCH_HARNESS_VERIFY_SAME_TEXT_H_

#include <string_view>

namespace capbench::verify {

// Equal, or equal but for placeholders ("<home>") on either side, each of which stands for any text.
bool same_text(std::string_view a, std::string_view b);

// Whether there is a placeholder in it: '<', one to sixteen small letters, digits or '-', '>'.
bool has_placeholder(std::string_view text);

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_SAME_TEXT_H_
