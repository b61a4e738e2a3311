// Numbers of things in sentences.
#ifndef CAPBENCH_BASE_COUNTED_H_
#define CAPBENCH_BASE_COUNTED_H_

#include <concepts>
#include <string>
#include <string_view>

namespace capbench {

// The noun after so many: "row", "rows"; "series", whose plural is no other.
inline std::string noun_of(std::integral auto number, std::string_view noun) {
  return std::string(noun) + (number == 1 || noun.ends_with("series") ? "" : "s");
}

// "1 row", "2 rows", "0 rows".
inline std::string counted(std::integral auto number, std::string_view noun) {
  return std::to_string(number) + " " + noun_of(number, noun);
}

}  // namespace capbench

#endif  // CAPBENCH_BASE_COUNTED_H_
