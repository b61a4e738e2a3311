#include "schema/bundle/canonical_writer.h"

#include "base/utf8.h"
#include "schema/bundle/refuse.h"
#include "schema/canonical.h"

namespace capbench::bundle {

std::string spelled(double value) {
  std::string digits;
  schema::append_canonical(digits, value);
  return digits;
}

bool is_clean_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos && is_utf8(text);
}

void CanonicalWriter::value(const std::string& content) {
  if (!is_clean_text(content)) return fail("not UTF-8 without NUL");
  schema::append_canonical(out_, content);
}

void CanonicalWriter::fail(std::string cause) {
  if (error_) return;
  error_ = refuse(member_, "its " + std::string(key_) + ": " + std::move(cause), "leave that record out");
}

}  // namespace capbench::bundle
