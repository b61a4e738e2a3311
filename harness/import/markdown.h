// llama-bench's Markdown tables, as printed and as pasted into issues and posts. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_MARKDOWN_H_
#define CAPBENCH_HARNESS_IMPORT_MARKDOWN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports {

// The cells of a line, without outer pipes, emphasis and code marks. Nothing for a line without a pipe.
std::optional<std::vector<std::string>> split_cells(std::string_view line);

// A line of dashes and colons: "| --- | ---: |".
bool is_separator(const std::vector<std::string>& cells);

// The heading of a table of llama-bench: it has `test`, `t/s` and the model.
bool is_llama_bench_heading(const std::vector<std::string>& cells);

struct Rate {
  double mean = 0;
  std::string mean_text;            // as a plain decimal number
  std::optional<double> deviation;  // behind the plus-minus sign
  std::string deviation_text;
};

// "132.19 ± 0.55", also with a decimal comma, a sign mangled by a wrong code page, or no deviation.
std::optional<Rate> parse_rate(std::string_view cell);

// "3.56 GiB", "770.94 MiB": bytes, as exact as two decimals are.
std::optional<std::int64_t> parse_size(std::string_view cell);

// "6.74 B", "494.03 M": a count.
std::optional<std::int64_t> parse_parameters(std::string_view cell);

struct BuildLine {
  std::string commit;
  std::string number;  // digits
};

// "build: 8cf427ff (5163)".
std::optional<BuildLine> parse_build_line(std::string_view line);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_MARKDOWN_H_
