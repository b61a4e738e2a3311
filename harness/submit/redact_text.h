// observe::redact() for texts in which JSON stands: raw output, logs, JSON columns of records.
//
// A string of JSON is judged as what it stands for ("\/Users\/jo", "\u002fhome\u002fjo", JSON within the string), with
// its key in front of it ("serial": "...", "driver_version": "..."), and spelled again only where something was
// replaced. So JSON stays JSON, numbers stay numbers (but for a serial number or password that is written as one), and
// whatever reads the text by its keys finds the same. Outside of JSON the text is also looked at without backslash
// escapes and without percent encoding, so that a line of JSON that is cut short gives nothing away. Redacting twice
// changes nothing more.
//
// One object a thread.
#ifndef CAPBENCH_HARNESS_SUBMIT_REDACT_TEXT_H_
#define CAPBENCH_HARNESS_SUBMIT_REDACT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/observe/redact.h"
#include "harness/submit/json_text.h"

namespace capbench::submit {

// Known names that are no words of benchmarks' own output. A user called "metal" would else take the "metal" out of
// every log, which proves what was measured.
struct UsableDetails {
  observe::PersonalDetails details;
  std::vector<std::string> left;  // names that stay where they stand alone: they are such words, or short numbers
};
UsableDetails usable(const observe::PersonalDetails& details);

struct Find {
  std::string kind;  // as observe::Replacement's
  std::string key;   // the member of JSON that held it; empty: none
  std::string text;  // what stood there, cut if it is long
};

class TextRedactor {
 public:
  // What is in `keep` stays wherever it stands alone as a find, whatever its case.
  TextRedactor(observe::PersonalDetails details, std::vector<std::string> keep);

  // The text with "<KIND>" at every place. `key`: the name of the field that holds it, where that says what it is.
  std::string redact(std::string_view text, std::string_view key = {},
                     observe::Addresses addresses = observe::Addresses::kReplace);

  // Whether this text as a whole may stay.
  bool keeps(std::string_view text) const;

  // Of the calls since the last take_counts(): places by kind.
  std::map<std::string, std::uint64_t> take_counts();
  // And the first of them, at most kMostFinds.
  std::vector<Find> take_finds();
  static constexpr std::size_t kMostFinds = 20;

 private:
  struct Span {
    std::size_t offset;
    std::size_t length;
    std::string kind;
  };
  class Json;

  std::string mixed(std::string_view text, std::string_view key, int depth);
  std::string plain(std::string_view text, std::string_view key);
  std::string value(std::string_view text, std::string_view key, int depth);
  bool is_secret_number(std::string_view number, std::string_view key) const;
  std::vector<Span> find(std::string_view text, std::string_view key) const;
  void find_in(std::string_view text, std::string_view key, const View* view, std::vector<Span>& spans) const;
  bool stays(std::string_view around, std::size_t offset, std::size_t length, std::string_view kind) const;
  void note(std::string_view kind, std::string_view key, std::string_view text);

  observe::PersonalDetails details_;
  std::vector<std::string> keep_;  // in lower case
  observe::Addresses addresses_ = observe::Addresses::kReplace;
  std::map<std::string, std::uint64_t> counts_;
  std::vector<Find> finds_;
};

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_REDACT_TEXT_H_
