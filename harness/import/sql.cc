#include "harness/import/sql.h"

#include <algorithm>

#include "harness/import/text.h"

namespace capbench::imports {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word_char(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_';
}

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  std::size_t at() const { return at_; }
  void move_to(std::size_t at) { at_ = at; }
  std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }

  bool take(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  // A keyword, in lower case.
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.size() - at_ < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (lower(text_[at_ + i]) != word[i]) return false;
    }
    if (at_ + word.size() < text_.size() && is_word_char(text_[at_ + word.size()])) return false;
    at_ += word.size();
    return true;
  }

  // A name, bare or in any of the quotes that SQLite takes.
  std::optional<std::string> name() {
    skip_space();
    const char open = peek();
    if (open == '"' || open == '`' || open == '[' || open == '\'') {
      const char close = open == '[' ? ']' : open;
      const std::size_t end = text_.find(close, at_ + 1);
      if (end == std::string_view::npos) return std::nullopt;
      std::string quoted(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return quoted;
    }
    const std::size_t start = at_;
    while (!at_end() && is_word_char(peek())) ++at_;
    if (at_ == start) return std::nullopt;
    return std::string(text_.substr(start, at_ - start));
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Whether a value ends here, as seen from behind its closing quote.
bool is_value_end(std::string_view rest) {
  Cursor cursor(rest);
  if (cursor.take(')')) {
    cursor.skip_space();
    return cursor.at_end() || cursor.peek() == ';' || cursor.peek() == ',';
  }
  if (!cursor.take(',')) return false;
  cursor.skip_space();
  const char c = cursor.peek();
  return c == '\'' || c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9') || cursor.take_word("null");
}

// Behind an opening quote. With `doubled`, two quotes are one of the text; without, a quote ends the text only where
// another value or the end of the row follows.
std::optional<std::string> quoted_value(Cursor& cursor, bool doubled) {
  const std::string_view rest = cursor.rest();
  std::string text;
  std::size_t at = 0;
  while (true) {
    const std::size_t quote = rest.find('\'', at);
    if (quote == std::string_view::npos) return std::nullopt;
    text.append(rest.substr(at, quote - at));
    at = quote + 1;
    if (doubled && at < rest.size() && rest[at] == '\'') {
      text.push_back('\'');
      ++at;
    } else if (doubled || is_value_end(rest.substr(at))) {
      cursor.move_to(cursor.at() + at);
      return text;
    } else {
      text.push_back('\'');
    }
  }
}

// The values between the parentheses; the cursor stands behind the opening one.
std::optional<std::vector<SqlValue>> tuple(Cursor& cursor, bool doubled) {
  std::vector<SqlValue> values;
  while (true) {
    SqlValue& value = values.emplace_back();
    if (cursor.take('\'')) {
      std::optional<std::string> text = quoted_value(cursor, doubled);
      if (!text) return std::nullopt;
      value.text = std::move(*text);
    } else {
      cursor.skip_space();
      const std::string_view rest = cursor.rest();
      const std::size_t end = rest.find_first_of(",)'");
      if (end == std::string_view::npos || rest[end] == '\'') return std::nullopt;
      const std::string_view word = trim(rest.substr(0, end));
      if (word.empty()) return std::nullopt;
      value.is_null = word == "NULL" || word == "null";
      if (!value.is_null) value.text = word;
      cursor.move_to(cursor.at() + end);
    }
    if (cursor.take(',')) continue;
    if (cursor.take(')')) return values;
    return std::nullopt;
  }
}

}  // namespace

bool begins_create(std::string_view line) {
  Cursor cursor(line);
  return cursor.take_word("create") && cursor.take_word("table");
}

bool begins_insert(std::string_view line) {
  Cursor cursor(line);
  return cursor.take_word("insert") && cursor.take_word("into");
}

std::optional<SqlTable> parse_create(std::string_view statement) {
  Cursor cursor(statement);
  if (!cursor.take_word("create") || !cursor.take_word("table")) return std::nullopt;
  if (cursor.take_word("if") && (!cursor.take_word("not") || !cursor.take_word("exists"))) return std::nullopt;
  SqlTable table;
  std::optional<std::string> name = cursor.name();
  if (!name || !cursor.take('(')) return std::nullopt;
  table.name = std::move(*name);
  while (true) {
    std::optional<std::string> column = cursor.name();
    if (!column) return std::nullopt;
    table.columns.push_back(std::move(*column));
    // Type and constraints, up to the comma; llama-bench's have no parentheses.
    const std::size_t end = cursor.rest().find_first_of(",)");
    if (end == std::string_view::npos) return std::nullopt;
    cursor.move_to(cursor.at() + end);
    if (cursor.take(')')) return table;
    cursor.take(',');
  }
}

std::optional<SqlInsert> parse_insert(std::string_view statement) {
  Cursor cursor(statement);
  if (!cursor.take_word("insert") || !cursor.take_word("into")) return std::nullopt;
  SqlInsert insert;
  std::optional<std::string> table = cursor.name();
  if (!table) return std::nullopt;
  insert.table = std::move(*table);
  if (cursor.take('(')) {
    do {
      std::optional<std::string> column = cursor.name();
      if (!column) {
        insert.problem = "the list of its columns is cut short";
        return insert;
      }
      insert.columns.push_back(std::move(*column));
    } while (cursor.take(','));
    if (!cursor.take(')')) {
      insert.problem = "the list of its columns is cut short";
      return insert;
    }
  }
  if (!cursor.take_word("values")) {
    insert.problem = "the statement has no VALUES";
    return insert;
  }
  do {
    if (!cursor.take('(')) {
      insert.problem = "expected the values of a row in parentheses";
      return insert;
    }
    const std::size_t start = cursor.at();
    std::optional<std::vector<SqlValue>> values = tuple(cursor, true);
    const std::string_view behind = trim(cursor.rest());
    if (!values || (!behind.empty() && behind[0] != ';' && behind[0] != ',')) {
      cursor.move_to(start);
      values = tuple(cursor, false);
      insert.has_bare_quotes |= values.has_value();
    }
    if (!values) {
      insert.problem = "the values of the row are cut short or not SQL";
      return insert;
    }
    insert.rows.push_back(std::move(*values));
  } while (cursor.take(','));
  cursor.skip_space();
  if (!cursor.at_end() && cursor.peek() != ';') insert.problem = "expected the end of the statement behind its values";
  return insert;
}

bool is_llama_bench_table(std::string_view name) {
  return name == "test" || name == "llama_bench";
}

std::string quote_sql(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted.push_back('\'');
    quoted.push_back(c);
  }
  quoted.push_back('\'');
  return quoted;
}

}  // namespace capbench::imports
