// Records as canonical JSON (schema/canonical.h says what that is). For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_CANONICAL_WRITER_H_
#define CAPBENCH_SCHEMA_BUNDLE_CANONICAL_WRITER_H_

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/bundle/fields.h"

namespace capbench::bundle {

// The fewest digits that read back as the same number.
std::string spelled(double value);

// Whether the text can be in a bundle: UTF-8 without NUL.
bool is_clean_text(std::string_view text);

class CanonicalWriter {
 public:
  // `member` is for errors.
  explicit CanonicalWriter(std::string_view member) : member_(member) {}

  template <class Record>
  Result<std::string> write(const Record& record) {
    value(record);
    if (error_) return *std::move(error_);
    return std::move(out_);
  }

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  void decimal(std::string_view name, std::uint64_t content) {
    key(name);
    out_ += '"';
    integer(content);
    out_ += '"';
  }

 private:
  void key(std::string_view name) {
    out_ += out_.back() == '{' ? "\"" : ",\"";
    out_ += name;
    out_ += "\":";
    key_ = name;
  }

  template <class T>
  void integer(T content) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, content).ptr);
  }

  void value(bool content) { out_ += content ? "true" : "false"; }
  void value(int content) { integer(content); }
  void value(std::int64_t content) { integer(content); }
  void value(std::uint64_t content) {
    if (content > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(std::to_string(content) + " is more than a store can hold");
    }
    integer(content);
  }
  void value(double content) {
    if (!std::isfinite(content)) return fail("not a finite number");
    out_ += spelled(content);
  }
  void value(const std::string& content);

  template <class T>
  void value(const std::optional<T>& content) {
    if (content) {
      value(*content);
    } else {
      out_ += "null";
    }
  }

  template <class T>
  void value(const std::vector<T>& content) {
    out_ += '[';
    for (std::size_t i = 0; i < content.size(); ++i) {
      if (i > 0) out_ += ',';
      value(content[i]);
    }
    out_ += ']';
  }

  template <class Record>
  requires requires(CanonicalWriter& io, const Record& record) { fields(io, record); }
  void value(const Record& record) {
    out_ += '{';
    fields(*this, record);
    out_ += '}';
  }

  void fail(std::string cause);

  std::string_view member_;
  std::string_view key_;
  std::string out_;
  std::optional<Error> error_;  // the first
};

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_CANONICAL_WRITER_H_
