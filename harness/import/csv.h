// Comma-separated values (RFC 4180), with other delimiters for those whose comma is a decimal point. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_CSV_H_
#define CAPBENCH_HARNESS_IMPORT_CSV_H_

#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports {

// The values of one record, which may hold line breaks inside quotes. False if a quote is not closed; `values` then
// has what there is.
bool split_csv(std::string_view record, char delimiter, std::vector<std::string>& values);

// The value as one field of a record, quoted as llama-bench quotes.
std::string quote_csv(std::string_view value);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_CSV_H_
