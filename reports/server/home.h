// The page at "/".
#ifndef CAPBENCH_REPORTS_SERVER_HOME_H_
#define CAPBENCH_REPORTS_SERVER_HOME_H_

#include <string>

#include "base/result.h"
#include "reports/server/readers.h"

namespace capbench::server {

// The newest submissions and where to find more. No script, no inline style; every text of a bundle is escaped.
Result<std::string> home_page(Reader& reader);

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_HOME_H_
