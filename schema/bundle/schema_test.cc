// The JSON Schema and the program describe one format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "base/file.h"
#include "schema/bundle/test_bundles.h"

namespace capbench::bundle {
namespace {

using nlohmann::json;
using schema::testing::must;

// The part of JSON Schema that the file uses; any other keyword is a failure.
class Validator {
 public:
  explicit Validator(json schema) : schema_(std::move(schema)) {}

  // The first place that does not fit; empty: all fits.
  std::string misfit(const json& value) { return check(schema_, value, "$"); }

 private:
  static bool has_type(const json& value, const std::string& type) {
    if (type == "integer")
      return value.is_number_integer() ||
             (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
    if (type == "number") return value.is_number();
    return type == value.type_name();  // object, array, string, boolean, null
  }

  static bool fits_type(const json& value, const json& type) {
    if (type.is_string()) return has_type(value, type);
    for (const auto& one : type) {
      if (has_type(value, one)) return true;
    }
    return false;
  }

  std::string check(const json& node, const json& value, const std::string& where) {
    for (const auto& [keyword, rule] : node.items()) {
      if (keyword == "$schema" || keyword == "title" || keyword == "description" || keyword == "$defs" ||
          keyword == "contentMediaType" || keyword == "additionalProperties") {
        continue;
      }
      if (keyword == "$ref") {
        const std::string name = rule.get<std::string>().substr(std::string("#/$defs/").size());
        if (auto m = check(schema_.at("$defs").at(name), value, where); !m.empty()) return m;
      } else if (keyword == "type") {
        if (!fits_type(value, rule)) return where + " is no " + rule.dump();
      } else if (keyword == "const") {
        if (value != rule) return where + " is not " + rule.dump();
      } else if (keyword == "enum") {
        if (std::find(rule.begin(), rule.end(), value) == rule.end()) return where + " is none of " + rule.dump();
      } else if (keyword == "minimum") {
        if (value.is_number() && value < rule) return where + " is too small";
      } else if (keyword == "pattern") {
        if (value.is_string() && !std::regex_search(value.get<std::string>(), regex(rule)))
          return where + " has no such form";
      } else if (keyword == "required") {
        for (const auto& name : rule) {
          if (!value.contains(name.get<std::string>())) return where + " lacks " + name.dump();
        }
      } else if (keyword == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
          if (auto m = check(rule, value[i], where + "[" + std::to_string(i) + "]"); !m.empty()) return m;
        }
      } else if (keyword == "properties" || keyword == "patternProperties") {
        if (auto m = members(node, value, where); !m.empty()) return m;
      } else {
        ADD_FAILURE() << "keyword " << keyword;
      }
    }
    return {};
  }

  std::string members(const json& node, const json& value, const std::string& where) {
    if (!value.is_object()) return {};  // its type is another keyword's concern
    const json none = json::object();
    for (const auto& [name, member] : value.items()) {
      const std::string here = where + "." + name;
      bool known = false;
      if (node.contains("properties") && node["properties"].contains(name)) {
        known = true;
        if (auto m = check(node["properties"][name], member, here); !m.empty()) return m;
      }
      const json patterns = node.value("patternProperties", none);
      for (const auto& [pattern, rule] : patterns.items()) {
        if (!std::regex_search(name, regex(pattern))) continue;
        known = true;
        if (auto m = check(rule, member, here); !m.empty()) return m;
      }
      if (!known && node.contains("additionalProperties") && node["additionalProperties"] == json(false))
        return here + " is not described";
    }
    return {};
  }

  const std::regex& regex(const std::string& pattern) { return regexes_.try_emplace(pattern, pattern).first->second; }

  json schema_;
  std::map<std::string, std::regex> regexes_;
};

class Schema : public ::testing::Test {
 protected:
  Validator validator_{json::parse(must(read_file("schema/json/bundle.schema.json")))};

  static json members() {
    json all = json::object();
    for (const testing::Entry& entry : testing::entries(testing::sealed(testing::example()))) {
      if (entry.name.ends_with(".json")) all[entry.name] = json::parse(entry.bytes);
    }
    return all;
  }
};

TEST_F(Schema, DescribesABundle) {
  const json all = members();
  std::set<std::string> kinds;
  for (const auto& [name, content] : all.items()) kinds.insert(name.substr(0, name.find('/')));
  EXPECT_EQ(kinds.size(), 8U);  // every kind of record, and the manifest
  EXPECT_EQ(validator_.misfit(all), "");
}

// Whatever is missing, added, or of another type somewhere is seen: the schema describes all of it.
TEST_F(Schema, DescribesNothingElse) {
  const json all = members();
  std::size_t tried = 0;
  const auto misfits = [&](const json& changed) {
    ++tried;
    return !validator_.misfit(changed).empty();
  };
  std::function<void(const json::json_pointer&)> walk = [&](const json::json_pointer& at) {
    const json& node = all.at(at);
    json changed = all;
    changed[at] = node.is_string() ? json(1) : json("text");
    EXPECT_TRUE(misfits(changed)) << at.to_string();
    if (node.is_object()) {
      changed = all;
      changed[at]["added"] = 1;
      EXPECT_TRUE(misfits(changed)) << at.to_string();
      for (const auto& [name, child] : node.items()) {
        if (!at.empty()) {
          changed = all;
          changed[at].erase(name);
          EXPECT_TRUE(misfits(changed)) << at.to_string() << " without " << name;
        }
        walk(at / name);
      }
    } else if (node.is_array() && !node.empty()) {
      walk(at / std::size_t{0});
    }
  };
  // One member of each kind is enough.
  std::set<std::string> seen;
  for (const auto& [name, content] : all.items()) {
    if (seen.insert(name.substr(0, name.find('/'))).second) walk(json::json_pointer() / name);
  }
  EXPECT_GT(tried, 150U);
  json empty = all;
  empty.erase("manifest.json");
  EXPECT_TRUE(misfits(empty));
  json other = all;
  other["README"] = json::object();
  EXPECT_TRUE(misfits(other));
}

}  // namespace
}  // namespace capbench::bundle
