// Many texts as one value of a query of PostgreSQL: `= ANY (CAST(CAST(?1 AS text) AS text[]))`. One question
// instead of one for each.
#ifndef CAPBENCH_SCHEMA_TEXT_ARRAY_H_
#define CAPBENCH_SCHEMA_TEXT_ARRAY_H_

#include <string>
#include <string_view>
#include <utility>

namespace capbench::schema {

// Spells an array as PostgreSQL reads it (its manual, "Array Input and Output Syntax").
class TextArray {
 public:
  void add(std::string_view text) {
    spelled_ += spelled_.size() > 1 ? ",\"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') spelled_ += '\\';
      spelled_ += c;
    }
    spelled_ += '"';
  }
  std::string finish() && { return std::move(spelled_) + '}'; }

 private:
  std::string spelled_ = "{";
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_TEXT_ARRAY_H_
