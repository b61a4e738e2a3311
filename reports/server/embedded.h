// Files that are part of the program.
#ifndef CAPBENCH_REPORTS_SERVER_EMBEDDED_H_
#define CAPBENCH_REPORTS_SERVER_EMBEDDED_H_

#include <string_view>

namespace capbench::server {

extern const std::string_view kOpenApi;  // openapi.json

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_EMBEDDED_H_
