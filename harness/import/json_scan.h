// Reads one JSON object at a time out of a growing text, strictly, in one pass, without building a tree. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_JSON_SCAN_H_
#define CAPBENCH_HARNESS_IMPORT_JSON_SCAN_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports {

enum class JsonKind {
  kString,
  kNumber,
  kTrue,
  kFalse,
  kNull,
  kArray,
  kObject,
  kWord,  // no JSON, but what printf makes of a double that is no number: nan, -nan, inf
};

struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  std::string_view text;  // of a string: what stands between the quotes; else the whole token. Views of the input
  bool plain = true;      // a string of ASCII without escapes: `text` is its value
};

struct JsonMember {
  std::string_view name;  // as it stands between the quotes
  bool plain_name = true;
  JsonValue value;
};

struct JsonScan {
  enum class State { kWhole, kNeedsMore, kWrong };
  State state = State::kNeedsMore;
  std::size_t end = 0;             // kWhole: behind the closing brace. kWrong: the byte that is wrong
  std::string_view what;           // kWrong: a clause
  std::size_t first_log_line = 0;  // lines of a log between the members were skipped, from here; 0: none
};

// Scans the object that `text` begins with ('{'). Members before the end of the text or the error are in `members`.
// Whole lines that cannot be JSON are skipped where a member may begin or end: stdout and stderr of one process often
// share a file. Values nested deeper than 16 levels are wrong. A flat list under `samples_ns` or `samples_ts` may hold
// malformed numbers: whoever reads it meets each of them anyway.
JsonScan scan_object(std::string_view text, std::vector<JsonMember>& members);

// The same for objects that follow each other and mostly begin with the same bytes, as the rows of one process do: what
// an object has in common with the one before it is compared and not scanned again.
class ObjectScanner {
 public:
  JsonScan scan(std::string_view text, std::vector<JsonMember>& members);
  // How many members of the last object stood, byte for byte, at the beginning of the whole one before it.
  std::size_t same() const { return same_; }

 private:
  // A member of the object before, as places in it.
  struct Known {
    std::size_t name = 0;
    std::size_t value = 0;
    std::size_t end = 0;  // behind its comma
    JsonMember member;    // only the sizes of its views hold
  };
  void remember(std::string_view text, const JsonScan& scan, const std::vector<JsonMember>& members);

  std::string last_;
  std::vector<Known> known_;
  std::vector<std::size_t> ends_;
  std::size_t same_ = 0;
};

// The value of a string, escapes resolved; wrong escapes of signed bytes are repaired (true then), see text.h.
bool decode_string(const JsonValue& value, std::string& out);

// Appends a value without white space, its strings valid UTF-8 and repaired (true if one was). Words become null, and
// a number that no double holds the text of it (true as well).
bool append_compact(std::string& out, const JsonValue& value);

// One JSON number and nothing else.
bool is_json_number(std::string_view text);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_JSON_SCAN_H_
