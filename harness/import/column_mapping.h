// What the columns of somebody's own CSV mean.
#ifndef CAPBENCH_HARNESS_IMPORT_COLUMN_MAPPING_H_
#define CAPBENCH_HARNESS_IMPORT_COLUMN_MAPPING_H_

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::imports {

struct ColumnMapping {
  std::map<std::string, std::string> fields;     // by column: a field of llama-bench, "test" or "t/s"
  std::map<std::string, std::string> constants;  // by field: a value that every row has

  bool empty() const { return fields.empty() && constants.empty(); }
};

// "n_prompt=Prompt tokens;avg_ts=tok/s;n_gen:=0": FIELD=COLUMN for a column, FIELD:=VALUE for a constant. A field is a
// name that llama-bench prints, `test` for a column of names such as "pp512", or `t/s` for rates such as "10.5 ± 0.2".
// It must be enough for a row: n_prompt and n_gen, or test; and avg_ts, avg_ns, t/s or samples.
Result<ColumnMapping> parse_column_mapping(std::string_view text);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_COLUMN_MAPPING_H_
