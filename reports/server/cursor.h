// Places in a list, as clients carry them: opaque text.
#ifndef CAPBENCH_REPORTS_SERVER_CURSOR_H_
#define CAPBENCH_REPORTS_SERVER_CURSOR_H_

#include <optional>
#include <string>
#include <string_view>

namespace capbench::server {

// Letters, digits, '-' and '_' only. `list` names the list, so that no other takes it.
std::string encode_cursor(std::string_view list, std::string_view place);
// Nothing if that list gave no such cursor.
std::optional<std::string> decode_cursor(std::string_view list, std::string_view cursor);

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_CURSOR_H_
