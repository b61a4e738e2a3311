// Strict readers of what the formats write, for the tests of this room.
#ifndef CAPBENCH_REPORTS_TEST_FORMATS_H_
#define CAPBENCH_REPORTS_TEST_FORMATS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace capbench::reports::testing {

std::vector<std::string> lines_of(const std::string& text, const std::string& end = "\n");

// The tags of a page in order, without their attributes; fails on a tag that is not closed.
std::vector<std::string> tags_of(const std::string& html);
void expect_balanced(const std::vector<std::string>& tags);

// RFC 4180, read strictly.
std::vector<std::vector<std::string>> parse_csv(const std::string& csv);

// Bars of a Markdown table's line that are not escaped.
std::size_t bars_in(const std::string& line);

// Checks the parts of JSON Schema that the reports' schemas use.
void expect_keeps_to_schema(const std::string& document, const std::string& schema_path);

}  // namespace capbench::reports::testing

#endif  // CAPBENCH_REPORTS_TEST_FORMATS_H_
