// From fields by name to a row that can be trusted, or the reason why it cannot. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_ROW_BUILDER_H_
#define CAPBENCH_HARNESS_IMPORT_ROW_BUILDER_H_

#include <array>
#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/fields.h"
#include "harness/import/json_scan.h"
#include "harness/import/row.h"

namespace capbench::imports {

// A test as llama-bench names or named it: "pp512", "pp 512", "tg128", "pp512+tg128", "pp512 @ d4096".
struct TestName {
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::int64_t n_depth = 0;
};
std::optional<TestName> parse_test_name(std::string_view text);

// One row at a time: begin(), its fields in any order, finish(). Texts and members are views and must live until
// finish().
class RowBuilder {
 public:
  void begin();
  // begin(), and json() for each of `same`: the first members of the last row that was read from JSON.
  void begin(std::span<const JsonMember> same);

  void json(const JsonMember& member);
  // A field of a format without types (CSV, SQL): read as the field's type. Unknown names are texts.
  void text(std::string_view name, std::string_view value);
  void text(Field field, std::string_view value);

  // How many fields llama-bench is known to print were among them.
  std::size_t known() const { return position_; }

  // Fills everything of the row but place and raw. Empty, or why the row cannot be trusted: a clause.
  std::string finish(ImportedRow& row);

 private:
  void set(Field field, const JsonValue& value);
  void append_name(std::string_view name);
  const JsonValue* find(Field field) const;
  std::optional<Field> known_field(std::string_view name);

  std::string read_counts(ImportedRow& row) const;
  std::string check_settings() const;
  std::string read_texts(ImportedRow& row);
  std::string read_samples(ImportedRow& row);
  std::string check_rates(const ImportedRow& row) const;
  std::string read_averages(ImportedRow& row);
  void add_derived_fields(ImportedRow& row);

  std::array<JsonValue, kAllFields> values_;
  std::bitset<kAllFields> is_set_;
  // What each member of the last row did, for begin().
  struct Step {
    std::optional<Field> field;
    std::size_t position = 0;  // position_, behind it
    std::size_t size = 0;      // of fields_, behind it
    bool repaired = false;
  };
  std::optional<Field> add(const JsonMember& member);
  std::vector<Step> steps_;
  bool has_steps_ = false;  // every member so far is in steps_
  struct Expected {
    std::string_view name;
    Field field;
  };
  std::vector<Expected> expected_;  // the known fields of earlier rows, in order: mostly those of this one
  std::size_t position_ = 0;        // how many known fields this row has so far
  bool is_json_ = false;            // texts are as a JSON scanner leaves them
  std::string fields_;              // the JSON object so far, open
  std::string twice_;               // the name of a field that stood twice
  bool repaired_ = false;
  std::vector<double> rates_;
  std::optional<double> avg_ns_;
  std::optional<double> avg_ts_;
};

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_ROW_BUILDER_H_
