#include "reports/test_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace capbench::reports::testing {
namespace {

using Json = nlohmann::json;

// Checks `value` against the parts of JSON Schema that the report's schema uses.
void check(const Json& value, Json schema, const Json& root, const std::string& path) {
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"];
    schema = root.at(Json::json_pointer(ref.substr(1)));
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema["const"]) << path;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end()) << path << value;
  }
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    bool fits = false;
    for (const std::string& type : types.get<std::vector<std::string>>()) {
      fits = fits || (type == "integer" ? value.is_number_integer() : type == value.type_name());
    }
    EXPECT_TRUE(fits) << path << " is " << value.type_name() << ", not " << types;
  }
  if (value.is_object()) {
    for (const std::string& name : schema["required"].get<std::vector<std::string>>())
      EXPECT_TRUE(value.contains(name)) << path << "." << name;
    for (const auto& [name, member] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) {
        check(member, schema["properties"][name], root, path + "." + name);
      } else {
        ASSERT_TRUE(schema["additionalProperties"].is_object()) << path << "." << name << " is not in the schema";
        check(member, schema["additionalProperties"], root, path + "." + name);
      }
    }
  }
  if (value.is_array()) {
    EXPECT_GE(value.size(), schema.value("minItems", std::size_t{0})) << path;
    EXPECT_LE(value.size(), schema.value("maxItems", value.size())) << path;
    for (const Json& item : value) check(item, schema["items"], root, path + "[]");
  }
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text, const std::string& end) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(end, from), text.size());
    lines.push_back(text.substr(from, to - from));
    from = to + end.size();
  }
  return lines;
}

// The tags of a page in order, without their attributes; fails on a tag that is not closed.
std::vector<std::string> tags_of(const std::string& html) {
  std::vector<std::string> tags;
  const std::size_t style_end = html.find("</style>");
  for (std::size_t at = html.find('<', style_end); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    EXPECT_NE(end, std::string::npos);
    const std::string tag = html.substr(at + 1, end - at - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
    tags.push_back(tag.substr(0, tag.find(' ')));
  }
  return tags;
}

void expect_balanced(const std::vector<std::string>& tags) {
  std::vector<std::string> open;
  for (const std::string& tag : tags) {
    const bool empty = tag.back() == '/' || tag == "rect" || tag == "line";
    if (tag.front() == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else if (!empty) {
      open.push_back(tag);
    }
  }
  // The walk starts inside html and head, at the end of the style sheet.
  EXPECT_TRUE(open.empty());
}

// RFC 4180, read strictly.
std::vector<std::vector<std::string>> parse_csv(const std::string& csv) {
  std::vector<std::vector<std::string>> lines(1);
  std::size_t i = 0;
  while (i < csv.size()) {
    std::string value;
    if (csv[i] == '"') {
      for (++i;; ++i) {
        EXPECT_LT(i, csv.size());
        if (i >= csv.size()) return lines;
        if (csv[i] != '"') {
          value += csv[i];
        } else if (i + 1 < csv.size() && csv[i + 1] == '"') {
          value += csv[i++];
        } else {
          ++i;
          break;
        }
      }
    } else {
      while (i < csv.size() && csv[i] != ',' && csv[i] != '\r') {
        EXPECT_NE(csv[i], '"');
        value += csv[i++];
      }
    }
    lines.back().push_back(value);
    if (csv[i] == ',') {
      ++i;
    } else {
      EXPECT_EQ(csv.substr(i, 2), "\r\n");
      i += 2;
      if (i < csv.size()) lines.emplace_back();
    }
  }
  return lines;
}

std::size_t bars_in(const std::string& line) {
  std::size_t bars = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '|') {
      ++bars;
    }
  }
  return bars;
}

void expect_keeps_to_schema(const std::string& document, const std::string& schema_path) {
  const auto text = read_file(schema_path);
  ASSERT_TRUE(text.ok()) << to_string(text.error());
  const Json schema = Json::parse(*text);
  check(Json::parse(document), schema, schema, "$");
}

}  // namespace capbench::reports::testing
