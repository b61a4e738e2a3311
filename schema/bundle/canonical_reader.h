// Canonical JSON back into records. The form of a record is fixed, so the reader knows at every byte what must come:
// there is no tree, no recursion that the input could drive, and one spelling only. For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_CANONICAL_READER_H_
#define CAPBENCH_SCHEMA_BUNDLE_CANONICAL_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/bundle/fields.h"

namespace capbench::bundle {

class CanonicalReader {
 public:
  // `member` is for errors; `list_items` is the most that a list may hold.
  CanonicalReader(std::string_view member, std::string_view text, std::size_t list_items)
      : member_(member), text_(text), list_items_(list_items) {}

  template <class Record>
  Result<Record> read() {
    Record record;
    value(record);
    if (!error_ && at_ != text_.size()) fail("something follows its end");
    if (error_) return *std::move(error_);
    return record;
  }

  template <class T>
  void field(std::string_view name, T& content) {
    key(name);
    value(content);
  }

  void decimal(std::string_view name, std::uint64_t& content);

 private:
  // After the first error nothing more is read.
  void fail(std::string_view cause);
  void expect(std::string_view literal);
  bool take(char c);
  void key(std::string_view name);
  // Characters that a number may have; empty if there is none.
  std::string_view number();
  template <class T>
  void integer(T& content);

  void value(bool& content);
  void value(int& content);
  void value(std::int64_t& content);
  void value(std::uint64_t& content);
  void value(double& content);
  void value(std::string& content);
  void escape(std::string& content);

  template <class T>
  void value(std::optional<T>& content) {
    if (error_) return;
    if (text_.substr(at_, 4) == "null") {
      at_ += 4;
      return;
    }
    value(content.emplace());
  }

  template <class T>
  void value(std::vector<T>& content) {
    expect("[");
    if (error_ || take(']')) return;
    do {
      if (content.size() == list_items_) {
        return fail("a list of more than " + std::to_string(list_items_) + " entries");
      }
      value(content.emplace_back());
    } while (!error_ && take(','));
    expect("]");
  }

  template <class Record>
  requires requires(CanonicalReader& io, Record& record) { fields(io, record); }
  void value(Record& record) {
    expect("{");
    first_ = true;
    fields(*this, record);
    expect("}");
    first_ = false;
  }

  std::string_view member_;
  std::string_view text_;
  std::size_t list_items_;
  std::size_t at_ = 0;
  bool first_ = false;  // the next key is the first of its record
  std::optional<Error> error_;
};

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_CANONICAL_READER_H_
