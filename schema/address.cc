#include "schema/address.h"

namespace capbench::schema {

bool is_address(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

std::string shown(std::string_view place) {
  if (!is_address(place)) return std::string(place);
  const std::size_t begin = place.find("://") + 3;
  std::string result(place.substr(0, begin));
  std::string_view rest = place.substr(begin);
  const std::string_view plain = rest.substr(0, rest.find_first_of("?#"));
  // A password may hold any character, perhaps unescaped; the last @ is the one before the host.
  if (const std::size_t at = plain.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = plain.substr(0, at);
    result += user.substr(0, user.find(':'));
    return result.append(plain.substr(at));
  }
  // Perhaps the first half of one that holds a question mark.
  if (rest.find('@') != std::string_view::npos) return result + "...";
  result += plain;
  return result;
}

}  // namespace capbench::schema
