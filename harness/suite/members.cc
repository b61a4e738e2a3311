#include "harness/suite/members.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/nearest.h"
#include "base/utf8.h"
#include "harness/suite/strict_json.h"

namespace capbench::suite {
namespace {

using nlohmann::json;

// What people write who know llama-bench's long options or its output.
constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kOtherNames = {{
    {"repetitions", "r"},
    {"n_prompt", "p"},
    {"n_gen", "n"},
    {"n_depth", "d"},
    {"depth", "d"},
    {"threads", "t"},
    {"n_threads", "t"},
    {"gpu_layers", "ngl"},
    {"n_gpu_layers", "ngl"},
    {"flash_attn", "fa"},
    {"flash_attention", "fa"},
    {"extra_args", "args"},
    {"path", "file"},
    {"dev", "device"},
    {"timeout", "time_limit_s"},
    {"environment", "env"},
    {"warmup", "warmup_trials"},
    {"warm_up_trials", "warmup_trials"},
    {"preload", "preload_s"},
    {"cooldown", "cooldown_s"},
    {"variable", "env"},
    {"argument", "arg"},
    {"capability", "name"},
    {"binary", "executable"},
    {"half_width", "ci_half_width"},
    {"shape", "like"},
}};

std::string remedy_for(std::string_view unknown, std::span<const std::string_view> keys) {
  const auto known = [&](std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  for (const auto& [other, key] : kOtherNames) {
    if (other == unknown && known(key)) return fmt::format("\"{}\"", key);
  }
  return nearest_or_all(unknown, keys);
}

}  // namespace

void Problem::report(const std::string& path, std::string cause, std::string remedy) {
  if (!error_) error_ = Error{ErrorKind::kUsage, path, std::move(cause), std::move(remedy)};
}

void Problem::expected(const std::string& path, const json& found, const std::string& what, std::string remedy) {
  if (!error_) report(path, shown(found) + "; expected " + what, std::move(remedy));
}

Members::Members(const json& node, std::string path, std::span<const std::string_view> keys, Problem& problem)
    : path_(std::move(path)), problem_(&problem) {
  if (!node.is_object()) {
    problem.expected(path_, node, "an object");
    return;
  }
  node_ = &node;
  for (const auto& [key, value] : node.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      problem.report(member_path(path_, key), "unknown key", remedy_for(key, keys));
      return;
    }
  }
}

std::string Members::path_of(std::string_view key) const {
  return member_path(path_, key);
}

const json* Members::find(std::string_view key) const {
  if (node_ == nullptr) return nullptr;
  const auto found = node_->find(key);
  return found == node_->end() ? nullptr : &*found;
}

bool Members::require(std::string_view key, const std::string& what) const {
  if (has(key)) return true;
  problem_->report(path_of(key), "missing; expected " + what);
  return false;
}

std::string Members::text(std::string_view key, std::size_t max_bytes, std::string absent) const {
  const json* value = find(key);
  if (value == nullptr) return absent;
  if (!value->is_string()) {
    problem_->expected(path_of(key), *value, "text in quotes");
    return absent;
  }
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > max_bytes || !is_printable(text)) {
    problem_->expected(path_of(key), *value, fmt::format("printable text of at most {} bytes", max_bytes));
    return absent;
  }
  return text;
}

std::string Members::one_of(std::string_view key, std::span<const std::string_view> choices,
                            std::string_view absent) const {
  const json* value = find(key);
  if (value == nullptr) return std::string(absent);
  if (value->is_string() &&
      std::find(choices.begin(), choices.end(), value->get_ref<const std::string&>()) != choices.end()) {
    return value->get<std::string>();
  }
  problem_->expected(path_of(key), *value, fmt::format("\"{}\"", fmt::join(choices, "\" or \"")));
  return std::string(absent);
}

std::optional<std::int64_t> as_integer(const json& value, IntegerRange range) {
  std::int64_t integer = 0;
  if (value.is_number_unsigned()) {
    if (!std::in_range<std::int64_t>(value.get<std::uint64_t>())) return std::nullopt;
    integer = value.get<std::int64_t>();
  } else if (value.is_number_integer()) {
    integer = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    constexpr double kExact = 0x1.0p53;  // above it not every integer is a double
    const auto number = value.get<double>();
    if (!(std::fabs(number) < kExact) || std::trunc(number) != number) return std::nullopt;
    integer = static_cast<std::int64_t>(number);
  } else {
    return std::nullopt;
  }
  if (integer < range.low || integer > range.high) return std::nullopt;
  return integer;
}

std::optional<std::int64_t> Members::optional_integer(std::string_view key, IntegerRange range) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> integer = as_integer(*value, range);
  if (!integer)
    problem_->expected(path_of(key), *value, fmt::format("an integer from {} to {}", range.low, range.high));
  return integer;
}

std::int64_t Members::integer(std::string_view key, IntegerRange range, std::int64_t absent) const {
  return optional_integer(key, range).value_or(absent);
}

std::optional<double> Members::optional_number(std::string_view key, double low, bool open, double high) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  // Written so that a NaN fails.
  if ((open ? number > low : number >= low) && number <= high) return number;
  problem_->expected(path_of(key), *value,
                     fmt::format("a number {} {:g} to {:.0f}", open ? "above" : "from", low, high));
  return std::nullopt;
}

double Members::number(std::string_view key, double low, bool open, double high, double absent) const {
  return optional_number(key, low, open, high).value_or(absent);
}

bool Members::boolean(std::string_view key, bool absent) const {
  const json* value = find(key);
  if (value == nullptr) return absent;
  if (value->is_boolean()) return value->get<bool>();
  problem_->expected(path_of(key), *value, "true or false");
  return absent;
}

std::vector<std::string> Members::texts(std::string_view key, std::size_t max_count, std::size_t max_bytes) const {
  const json* node = find(key);
  if (node == nullptr) return {};
  const std::string path = path_of(key);
  if (!node->is_array()) {
    problem_->expected(path, *node, "an array of texts");
    return {};
  }
  if (node->size() > max_count) {
    problem_->report(path, fmt::format("{} elements; expected at most {}", node->size(), max_count));
    return {};
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < node->size(); ++i) {
    const json& value = (*node)[i];
    const std::string element = fmt::format("{}[{}]", path, i);
    if (!value.is_string()) {
      problem_->expected(element, value, "text in quotes", value.is_number() ? "\"" + value.dump() + "\"" : "");
      continue;
    }
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > max_bytes || text.find('\0') != std::string::npos) {
      problem_->expected(element, value, fmt::format("text of at most {} bytes, none of them zero", max_bytes));
    }
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::int64_t> Members::integers(std::string_view key, IntegerRange range, std::size_t max_count,
                                            std::int64_t absent) const {
  const json* value = find(key);
  if (value == nullptr) return {absent};
  const std::string path = path_of(key);
  if (!value->is_array()) {
    const std::optional<std::int64_t> integer = as_integer(*value, range);
    if (!integer) {
      problem_->expected(path, *value,
                         fmt::format("an integer from {} to {}, or an array of them", range.low, range.high));
    }
    return {integer.value_or(absent)};
  }
  if (value->empty() || value->size() > max_count) {
    problem_->report(path, fmt::format("{} elements; expected 1 to {} integers", value->size(), max_count));
    return {absent};
  }
  std::vector<std::int64_t> integers;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string element = fmt::format("{}[{}]", path, i);
    const std::optional<std::int64_t> integer = as_integer((*value)[i], range);
    if (!integer) {
      problem_->expected(element, (*value)[i], fmt::format("an integer from {} to {}", range.low, range.high));
    } else if (std::find(integers.begin(), integers.end(), *integer) != integers.end()) {
      problem_->report(element, fmt::format("{} appears twice; each test runs once", *integer),
                       "remove one of the two");
    }
    integers.push_back(integer.value_or(absent));
  }
  return integers;
}

}  // namespace capbench::suite
