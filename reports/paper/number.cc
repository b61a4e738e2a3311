#include "reports/paper/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/lines.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

using OrderedJson = nlohmann::ordered_json;
using nlohmann::json;

constexpr std::string_view kKind = "capbench.paper";

Error malformed(std::string cause) {
  return {ErrorKind::kUsage, "numbers.json", std::move(cause), "`capbench report paper --out DIR` writes it again"};
}

bool is_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

const json* text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? &*found : nullptr;
}

Result<Number> parse_number(const std::string& key, const json& entry) {
  if (!is_key(key)) return malformed(fmt::format("\"{:.60}\" is no key of a number", valid_utf8(key)));
  const auto wrong = [&](const char* what) { return malformed(fmt::format("{}: {}", key, what)); };
  if (!entry.is_object()) return wrong("expected an object");
  Number number;
  number.key = key;
  const json* text = text_in(entry, "text");
  const json* query = text_in(entry, "query");
  const auto value = entry.find("value");
  const auto results = entry.find("results");
  if (text == nullptr || query == nullptr) return wrong("expected the texts \"text\" and \"query\"");
  if (value == entry.end() || !(value->is_null() || value->is_number())) {
    return wrong("expected a number or null as \"value\"");
  }
  if (results == entry.end() || !results->is_array()) return wrong("expected a list \"results\"");
  number.text = text->get<std::string>();
  number.query = query->get<std::string>();
  if (value->is_number()) number.value = value->get<double>();
  for (const json& id : *results) {
    if (!id.is_string()) return wrong("an entry of \"results\" is no text");
    number.result_ids.push_back(id.get<std::string>());
  }
  return number;
}

std::string printed(const Number& number) {
  return number.value && format_exact(*number.value) != number.text
             ? fmt::format("{} ({})", number.text, format_exact(*number.value))
             : number.text;
}

// The same code over the same store gives the same bits; another processor may differ in the last of them.
bool same_value(const std::optional<double>& a, const std::optional<double>& b) {
  constexpr double kLastBits = 1e-12;
  if (!a || !b) return a.has_value() == b.has_value();
  return *a == *b || std::abs(*a - *b) <= kLastBits * std::max(std::abs(*a), std::abs(*b));
}

}  // namespace

std::string Numbers::add(Number number) {
  std::sort(number.result_ids.begin(), number.result_ids.end());
  number.result_ids.erase(std::unique(number.result_ids.begin(), number.result_ids.end()), number.result_ids.end());
  std::string key = number.key;
  by_key_.emplace(key, std::move(number));
  return key;
}

const Number* Numbers::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

std::string numbers_json(const Numbers& numbers, std::string_view suite, const WrittenFiles& files) {
  OrderedJson entries = OrderedJson::object();
  for (const auto& [key, number] : numbers.all()) {
    OrderedJson results = OrderedJson::array();
    for (const std::string& id : number.result_ids) results.push_back(valid_utf8(id));
    entries[key] = {{"text", valid_utf8(number.text)},
                    {"value", number.value ? OrderedJson(*number.value) : OrderedJson(nullptr)},
                    {"query", valid_utf8(number.query)},
                    {"results", std::move(results)}};
  }
  OrderedJson texts = OrderedJson::object();
  for (const auto& [name, sha256] : files) texts[name] = sha256;
  const OrderedJson document = {
      {"kind", kKind}, {"suite", valid_utf8(suite)}, {"files", std::move(texts)}, {"numbers", std::move(entries)}};
  return document.dump(1) + "\n";
}

Result<RecordedNumbers> parse_numbers(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return malformed("is no JSON object");
  const json* kind = text_in(document, "kind");
  const json* suite = text_in(document, "suite");
  const auto entries = document.find("numbers");
  if (kind == nullptr || kind->get<std::string>() != kKind) {
    return malformed(fmt::format("is no list of a paper's numbers: no \"kind\": \"{}\"", kKind));
  }
  if (suite == nullptr || entries == document.end() || !entries->is_object()) {
    return malformed("lacks its text \"suite\" or its object \"numbers\"");
  }
  RecordedNumbers recorded;
  recorded.suite = suite->get<std::string>();
  // Without it: written by an earlier capbench.
  if (const auto files = document.find("files"); files != document.end()) {
    if (!files->is_object()) return malformed("has another \"files\" than an object");
    for (const auto& [name, sha256] : files->items()) {
      if (!sha256.is_string()) return malformed("has a digest that is no text in \"files\"");
      recorded.files[name] = sha256.get<std::string>();
    }
  }
  for (const auto& [key, entry] : entries->items()) {
    auto number = parse_number(key, entry);
    if (!number) return std::move(number).error();
    recorded.numbers.add(std::move(*number));
  }
  return recorded;
}

std::vector<std::string> differences(const Numbers& recorded, const Numbers& now) {
  std::vector<std::string> out;
  for (const auto& [key, was] : recorded.all()) {
    const Number* is = now.find(key);
    if (is == nullptr) {
      out.push_back(fmt::format("{}: {} in the paper, nothing in the store", key, printed(was)));
    } else if (was.text != valid_utf8(is->text) || !same_value(was.value, is->value)) {
      out.push_back(fmt::format("{}: {} in the paper, {} in the store", key, printed(was), printed(*is)));
    } else if (was.result_ids != is->result_ids) {
      out.push_back(fmt::format("{}: {} as in the paper, but from other results: {} there, {} in the store", key,
                                printed(was), was.result_ids.size(), is->result_ids.size()));
    }
  }
  return out;
}

std::vector<std::string> changed_lines(std::string_view written, std::string_view found) {
  std::map<std::string_view, std::size_t> there;
  for (const std::string_view line : lines_of(found)) ++there[line];
  std::vector<std::string> out;
  for (const std::string_view line : lines_of(written)) {
    if (line.find_first_of("0123456789") == std::string_view::npos) continue;
    std::size_t& left = there[line];
    if (left == 0) {
      out.emplace_back(line);
    } else {
      --left;
    }
  }
  return out;
}

}  // namespace capbench::reports::paper
