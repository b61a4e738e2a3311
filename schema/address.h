// Where a store is: a file, or a PostgreSQL address. Pure.
#ifndef CAPBENCH_SCHEMA_ADDRESS_H_
#define CAPBENCH_SCHEMA_ADDRESS_H_

#include <string>
#include <string_view>

namespace capbench::schema {

// Whether it begins with postgresql:// or postgres://. Such a text is never a file's name, and must not be treated as
// one.
bool is_address(std::string_view place);

// As it may be shown and written down: an address without its password and its options, which may hold one; a file's
// name as it is.
std::string shown(std::string_view place);

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_ADDRESS_H_
