#include "harness/suite/strict_json.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

constexpr std::size_t kShownBytes = 60;

std::string line_and_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  if (const std::size_t newline = before.rfind('\n'); newline != std::string_view::npos) {
    before.remove_prefix(newline + 1);
  }
  std::size_t column = 1;
  for (; !before.empty(); ++column) take_character(before);
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(column);
}

// The library's "[json.exception...] parse error at line 1, column 2: syntax error while parsing value - unexpected
// '}'; expected ...; last read: '...'", without its head and without the quoted input at its end.
std::string reason(std::string message) {
  if (const std::size_t dash = message.find(" - "); dash != std::string::npos) {
    message.erase(0, dash + 3);
  } else if (const std::size_t bracket = message.find("] "); bracket != std::string::npos) {
    message.erase(0, bracket + 2);
  }
  if (const std::size_t last = message.find("; last read"); last != std::string::npos) {
    const std::size_t next = message.find("'; expected", last);
    message.erase(last, next == std::string::npos ? std::string::npos : next + 1 - last);
  }
  return is_printable(message) ? message : "unexpected bytes";
}

// Builds the document and knows where it is: the path of open containers, each with its next key or index.
class Builder {
 public:
  Builder(std::string_view text, std::size_t max_depth) : text_(text), max_depth_(max_depth) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // not in text
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Level& level = open_.back();
    if (level.value.contains(name)) {
      error_ = Error{ErrorKind::kUsage, member_path(path(), name), "the key appears twice in the same object",
                     "remove one of the two"};
      return false;
    }
    level.key = name;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& exception) {
    // The position counts the bytes read; the last of them is the one that did not fit.
    error_ =
        Error{ErrorKind::kUsage, line_and_column(text_, position == 0 ? 0 : position - 1),
              "not JSON: " + reason(exception.what()), "check the quotes, commas and brackets there and just before"};
    return false;
  }

  Result<json> finish() && {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  struct Level {
    json value;
    std::string key;  // of an object: whose value comes next
  };

  std::string path() const {
    std::string result = "$";
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Level& level = open_[i];
      if (level.value.is_array()) {
        result.append("[").append(std::to_string(level.value.size())).append("]");
      } else {
        result = member_path(result, level.key);
      }
    }
    return result;
  }

  bool add(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Level& level = open_.back(); level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else {
      level.value[level.key] = std::move(value);
    }
    return true;
  }

  bool open(json container) {
    open_.push_back({std::move(container), {}});
    if (open_.size() <= max_depth_) return true;
    error_ = Error{ErrorKind::kUsage, path(), "nested deeper than " + std::to_string(max_depth_) + " levels",
                   "check the brackets"};
    return false;
  }

  bool close() {
    json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  std::string_view text_;
  std::size_t max_depth_;
  std::vector<Level> open_;
  json root_;
  std::optional<Error> error_;
};

}  // namespace

Result<json> parse_strict_json(std::string_view text, const StrictJsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return Error{ErrorKind::kUsage, "$", "larger than " + std::to_string(limits.bytes) + " bytes",
                 "check that this is the right file"};
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  // The library takes a zero byte for the end and would not look at what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Error{ErrorKind::kUsage, line_and_column(text, zero), "not JSON: a zero byte",
                 "save the file as UTF-8 text"};
  }
  Builder builder(text, limits.depth);
  json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).finish();
}

std::string member_path(const std::string& path, std::string_view key) {
  const bool word = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '$';
  });
  if (word && key.size() <= kShownBytes) return path + "." + std::string(key);
  return path + "[" + in_quotes(key) + "]";
}

std::string shown(const json& value) {
  if (value.is_object()) return value.empty() ? "{}" : "an object";
  if (value.is_array()) return value.empty() ? "[]" : "an array";
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return value.dump();
}

}  // namespace capbench::suite
