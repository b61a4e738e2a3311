// One line of CSV (RFC 4180).
#ifndef CAPBENCH_REPORTS_CSV_TEXT_H_
#define CAPBENCH_REPORTS_CSV_TEXT_H_

#include <string>
#include <vector>

namespace capbench::reports {

// Appends the values, quoted where they need it, and CR LF. Bytes that are not UTF-8 become U+FFFD.
void write_csv_line(const std::vector<std::string>& values, std::string& out);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_CSV_TEXT_H_
