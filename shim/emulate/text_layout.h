// Text for terminals of 80 columns.
#ifndef CAPBENCH_SHIM_EMULATE_TEXT_LAYOUT_H_
#define CAPBENCH_SHIM_EMULATE_TEXT_LAYOUT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace capbench::emulate {

inline constexpr std::size_t kColumns = 80;

// The text in lines of at most 80 columns, broken at spaces where there are some: the first starts with `first`, the
// others with as many spaces. What is not printable ASCII becomes '?'. Ends with a newline.
std::string wrapped(std::string_view first, std::string_view text);

// "11453251584 (10.67 GiB)" for large round sizes, otherwise the number.
std::string with_unit(std::string_view number);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_TEXT_LAYOUT_H_
