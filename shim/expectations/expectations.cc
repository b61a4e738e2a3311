#include "shim/expectations/expectations.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "shim/common/evidence.h"
#include "shim/common/toggles.h"

namespace capbench::shim {
namespace {

using nlohmann::json;

// Reads a document with a known shape; the first problem is kept and every read gives a usable default.
class Reader {
 public:
  bool failed() const { return error_.has_value(); }
  Error error() const { return *error_; }

  void fail(const std::string& path, std::string cause) {
    if (!error_) {
      error_ =
          Error{ErrorKind::kUsage, "expectations: " + path, std::move(cause), "correct the file in shim/expectations"};
    }
  }

  void check_keys(const json& node, const std::string& path, std::initializer_list<std::string_view> keys) {
    if (!node.is_object()) return fail(path, "expected an object");
    for (const auto& [key, value] : node.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) fail(path, "unknown key \"" + key + "\"");
    }
  }

  std::string text(const json& node, const std::string& path, const char* key, bool may_be_empty) {
    const json* value = member(node, path, key);
    if (value == nullptr) return "";
    if (!value->is_string()) {
      fail(path + "." + key, "expected text");
      return "";
    }
    auto read = value->get<std::string>();
    if (read.empty() && !may_be_empty) fail(path + "." + key, "is empty");
    return read;
  }

  const json& list(const json& node, const std::string& path, const char* key) {
    static const json kNone = json::array();
    const json* value = member(node, path, key);
    if (value == nullptr) return kNone;
    if (value->is_array()) return *value;
    fail(path + "." + key, "expected a list");
    return kNone;
  }

  std::vector<std::string> texts(const json& node, const std::string& path, const char* key) {
    std::vector<std::string> read;
    for (const json& value : list(node, path, key)) {
      if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
        read.push_back(value.get<std::string>());
      } else {
        fail(path + "." + key, "expected a list of texts");
      }
    }
    return read;
  }

 private:
  const json* member(const json& node, const std::string& path, const char* key) {
    const auto it = node.is_object() ? node.find(key) : node.end();
    if (it != node.end()) return &*it;
    fail(path, std::string("no key \"") + key + "\"");
    return nullptr;
  }

  std::optional<Error> error_;
};

Need read_need(const json& node, const std::string& path, Reader& reader) {
  reader.check_keys(node, path, {"capability", "is", "at_least"});
  Need need;
  need.capability = reader.text(node, path, "capability", false);
  const bool has_number = node.is_object() && node.contains("at_least");
  std::string level;
  if (has_number == (node.is_object() && node.contains("is"))) {
    reader.fail(path, "expected either \"is\" or \"at_least\"");
  } else if (!has_number) {
    need.is = reader.text(node, path, "is", false);
    level = need.is;
  } else if (node["at_least"].is_number_integer()) {
    need.at_least = node["at_least"].get<std::int64_t>();
    level = std::to_string(*need.at_least);
  } else {
    reader.fail(path + ".at_least", "expected a whole number");
  }
  if (reader.failed()) return need;
  const std::size_t index = find_toggle(need.capability);
  if (index == kToggleCount) {
    reader.fail(path + ".capability", "no such capability: " + need.capability);
  } else if (has_number && kToggles[index].kind != ValueKind::kInteger) {
    reader.fail(path + ".at_least", need.capability + " is no number");
  } else if (auto status = check_settings({{need.capability, level}}); !status) {
    reader.fail(path, status.error().cause);
  }
  return need;
}

Expectation read_flag(const json& node, const std::string& path, Reader& reader) {
  reader.check_keys(node, path, {"flag", "needs", "also_needs", "opens", "without", "log", "off_switch", "source"});
  Expectation flag;
  flag.flag = reader.text(node, path, "flag", false);
  const json& groups = reader.list(node, path, "needs");
  for (std::size_t i = 0; i < groups.size() && !reader.failed(); ++i) {
    const std::string group_path = path + ".needs[" + std::to_string(i) + "]";
    if (!groups[i].is_array() || groups[i].empty()) reader.fail(group_path, "expected a list of answers");
    std::vector<Need> group;
    for (std::size_t j = 0; j < groups[i].size() && !reader.failed(); ++j) {
      group.push_back(read_need(groups[i][j], group_path + "[" + std::to_string(j) + "]", reader));
    }
    flag.needs.push_back(std::move(group));
  }
  flag.also_needs = reader.texts(node, path, "also_needs");
  flag.opens = reader.texts(node, path, "opens");
  flag.without = reader.text(node, path, "without", false);
  flag.log = reader.text(node, path, "log", true);
  flag.off_switch = reader.text(node, path, "off_switch", true);
  flag.source = reader.text(node, path, "source", false);
  if (flag.needs.empty() && flag.also_needs.empty()) reader.fail(path, "nothing is needed for it");
  if (flag.opens.empty()) reader.fail(path + ".opens", "opens nothing");
  return flag;
}

}  // namespace

bool Expectation::mentions(std::string_view capability) const {
  return std::any_of(needs.begin(), needs.end(), [&](const std::vector<Need>& group) {
    return std::any_of(group.begin(), group.end(), [&](const Need& need) { return need.capability == capability; });
  });
}

Result<ExpectationMap> parse_expectations(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  Reader reader;
  if (document.is_discarded()) {
    reader.fail("$", "not JSON");
    return reader.error();
  }
  reader.check_keys(document, "$", {"application", "version", "backend", "flags"});
  ExpectationMap map;
  map.application = reader.text(document, "$", "application", false);
  map.version = reader.text(document, "$", "version", false);
  map.backend = reader.text(document, "$", "backend", false);
  const json& flags = reader.list(document, "$", "flags");
  if (flags.empty()) reader.fail("$.flags", "is empty");
  for (std::size_t i = 0; i < flags.size() && !reader.failed(); ++i) {
    map.flags.push_back(read_flag(flags[i], "$.flags[" + std::to_string(i) + "]", reader));
  }
  if (reader.failed()) return reader.error();
  return map;
}

Result<std::vector<ExpectationMap>> load_expectations() {
  std::vector<ExpectationMap> maps;
  for (const EmbeddedExpectations& file : embedded_expectations()) {
    auto map = parse_expectations(file.json);
    if (!map) {
      Error error = std::move(map).error();
      error.what = std::string(file.name) + ": " + error.what;
      return error;
    }
    maps.push_back(std::move(*map));
  }
  return maps;
}

}  // namespace capbench::shim
