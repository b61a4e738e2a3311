// Numbers of a paper, each with what it was read from. Pure; not thread-safe while numbers are added.
#ifndef CAPBENCH_REPORTS_PAPER_NUMBER_H_
#define CAPBENCH_REPORTS_PAPER_NUMBER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::reports::paper {

// A number, or a finding in words, as the paper prints it.
struct Number {
  std::string key;                      // "speedup-1-ratio": small letters, digits and hyphens
  std::string text;                     // as printed: "11.08"
  std::optional<double> value;          // not rounded; nothing for words
  std::string query;                    // a command line that prints it again, unrounded; $DB is the store
  std::vector<std::string> result_ids;  // trials whose results it follows from, sorted, each once

  friend bool operator==(const Number&, const Number&) = default;
};

// The numbers of one paper, by key.
class Numbers {
 public:
  // The key, to be put into the text. A key that is there already keeps its first number.
  std::string add(Number number);

  const Number* find(std::string_view key) const;
  const std::map<std::string, Number, std::less<>>& all() const { return by_key_; }

 private:
  std::map<std::string, Number, std::less<>> by_key_;
};

// SHA-256 of the texts that people may go on with, by file name, as they were written.
using WrittenFiles = std::map<std::string, std::string>;

// numbers.json: described by reports/json/paper-numbers.schema.json. `suite`: the filter that the paper was made with.
std::string numbers_json(const Numbers& numbers, std::string_view suite, const WrittenFiles& files);

struct RecordedNumbers {
  std::string suite;  // the filter; empty: every suite of the store
  Numbers numbers;
  WrittenFiles files;
};

// Untrusted text. Anything but what numbers_json writes is an error that names what is wrong.
Result<RecordedNumbers> parse_numbers(std::string_view text);

// What of the recorded numbers the store does not give any more, a sentence each, by key: it is gone, it has another
// value, or it follows from other results. Numbers that are new are no difference.
std::vector<std::string> differences(const Numbers& recorded, const Numbers& now);

// The lines with figures of `written` that `found` does not have: somebody changed a number, or a sentence around it.
std::vector<std::string> changed_lines(std::string_view written, std::string_view found);

}  // namespace capbench::reports::paper

#endif  // CAPBENCH_REPORTS_PAPER_NUMBER_H_
