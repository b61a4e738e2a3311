// Reads JSON values with a known shape. The first problem is kept, later ones are not looked at; every read gives a
// usable default, so callers go on and ask once at the end.
#ifndef CAPBENCH_HARNESS_SUITE_MEMBERS_H_
#define CAPBENCH_HARNESS_SUITE_MEMBERS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace capbench::suite {

// The first problem found. One thread at a time.
class Problem {
 public:
  bool found() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  void report(const std::string& path, std::string cause, std::string remedy = "");
  // "FOUND; expected EXPECTED".
  void expected(const std::string& path, const nlohmann::json& found, const std::string& what, std::string remedy = "");

 private:
  std::optional<Error> error_;
};

struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// One object whose keys are known. A key that is not, is a problem, with the nearest known one as the remedy.
class Members {
 public:
  Members(const nlohmann::json& node, std::string path, std::span<const std::string_view> keys, Problem& problem);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;
  // nullptr if absent.
  const nlohmann::json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Reports an absent key.
  bool require(std::string_view key, const std::string& what) const;

  // Each returns `absent` where the key is missing or wrong.
  std::string text(std::string_view key, std::size_t max_bytes, std::string absent = "") const;
  std::string one_of(std::string_view key, std::span<const std::string_view> choices, std::string_view absent) const;
  std::int64_t integer(std::string_view key, IntegerRange range, std::int64_t absent) const;
  std::optional<std::int64_t> optional_integer(std::string_view key, IntegerRange range) const;
  // A number, not below `low` (or above it if `open`), not above `high`.
  double number(std::string_view key, double low, bool open, double high, double absent) const;
  std::optional<double> optional_number(std::string_view key, double low, bool open, double high) const;
  bool boolean(std::string_view key, bool absent) const;
  // An array of at most `max_count` texts of at most `max_bytes` each, in the order written.
  std::vector<std::string> texts(std::string_view key, std::size_t max_count, std::size_t max_bytes) const;
  // An integer or an array of 1 .. max_count different ones.
  std::vector<std::int64_t> integers(std::string_view key, IntegerRange range, std::size_t max_count,
                                     std::int64_t absent) const;

 private:
  const nlohmann::json* node_ = nullptr;  // nullptr if it is no object
  std::string path_;
  Problem* problem_;
};

// A whole number within the range, also one written as 5.0 or 1e3.
std::optional<std::int64_t> as_integer(const nlohmann::json& value, IntegerRange range);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_MEMBERS_H_
