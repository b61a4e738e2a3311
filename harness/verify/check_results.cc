// Numbers: samples against the raw output, medians and rates against the samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/utf8.h"
#include "harness/stats/summary.h"
#include "harness/verify/checks.h"
#include "harness/verify/same_text.h"

namespace capbench::verify {
namespace {

using nlohmann::json;
using schema::ResultRecord;

// One JSON value against another: numbers and structure exactly, texts but for what was redacted.
bool same_json(const json& a, const json& b) {
  if (a.is_string() && b.is_string()) {
    return same_text(a.get_ref<const std::string&>(), b.get_ref<const std::string&>());
  }
  if (a.is_array() && b.is_array()) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_json);
  }
  return a == b;
}

// The first field that differs, as "fields.avg_ts: 1 recorded, 2 printed"; empty if none does.
std::string fields_difference(const std::string& recorded, const std::string& printed) {
  if (recorded == printed) return "";
  const json a = json::parse(recorded, nullptr, false);
  const json b = json::parse(printed, nullptr, false);
  if (!a.is_object() || !b.is_object()) return "fields: no JSON object";
  for (const auto& [key, value] : b.items()) {
    const auto found = a.find(key);
    if (found == a.end()) return fmt::format("fields: no {}, which was printed", in_quotes(key));
    if (same_json(*found, value)) continue;
    const auto text = [](const json& one) { return one.dump(-1, ' ', true, json::error_handler_t::replace); };
    return fmt::format("fields.{}: {:.80} recorded, {:.80} printed", key, text(*found), text(value));
  }
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key)) return fmt::format("fields: {}, which was not printed", in_quotes(key));
  }
  return "";
}

struct Difference {
  std::string field;  // empty: there is none
  std::string detail;
};

Difference samples_difference(const ResultRecord& recorded, const ResultRecord& printed) {
  const auto& a = recorded.samples_ns;
  const auto& b = printed.samples_ns;
  if (a.size() != b.size()) {
    return {"samples_ns", fmt::format("{} samples recorded, {} printed", a.size(), b.size())};
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) {
      return {fmt::format("samples_ns[{}]", i), fmt::format("{} ns recorded, {} printed", a[i], b[i])};
    }
  }
  return {};
}

Difference difference(const ResultRecord& recorded, const ResultRecord& printed) {
  if (recorded.test != printed.test) {
    return {"test", fmt::format("{} recorded, {} printed", in_quotes(recorded.test), in_quotes(printed.test))};
  }
  if (Difference samples = samples_difference(recorded, printed); !samples.field.empty()) return samples;
  struct Number {
    const char* name;
    std::int64_t recorded;
    std::int64_t printed;
  };
  for (const Number& number :
       {Number{"n_prompt", recorded.n_prompt, printed.n_prompt}, Number{"n_gen", recorded.n_gen, printed.n_gen},
        Number{"n_depth", recorded.n_depth, printed.n_depth},
        Number{"model_size", recorded.model_size, printed.model_size},
        Number{"model_n_params", recorded.model_n_params, printed.model_n_params}}) {
    if (number.recorded == number.printed) continue;
    return {number.name, fmt::format("{} recorded, {} printed", number.recorded, number.printed)};
  }
  struct Words {
    const char* name;
    std::string_view recorded;
    std::string_view printed;
  };
  for (const Words& text :
       {Words{"build", recorded.build, printed.build}, Words{"model_type", recorded.model_type, printed.model_type},
        Words{"backends", recorded.backends, printed.backends}, Words{"cpu_info", recorded.cpu_info, printed.cpu_info},
        Words{"gpu_info", recorded.gpu_info, printed.gpu_info}}) {
    if (same_text(text.recorded, text.printed)) continue;
    return {text.name, fmt::format("{} recorded, {} printed", in_quotes(text.recorded), in_quotes(text.printed))};
  }
  if (std::string fields = fields_difference(recorded.fields, printed.fields); !fields.empty()) {
    return {"fields", std::move(fields)};
  }
  return {};
}

void check_trial_samples(const TrialEntry& trial, Rows& rows) {
  const auto& recorded = trial.record->results;
  const auto& printed = trial.parsed->results;
  // A row that was more than the store takes was left out, and the trial failed for it.
  constexpr std::string_view kLeftOut = "its results cannot be stored";
  if (recorded.empty() && trial.status == "failed" && trial.record->reason.find(kLeftOut) != std::string::npos) return;
  if (recorded.size() != printed.size()) {
    rows.failed(place(trial.member, "results"),
                fmt::format("{} results recorded, {} in the raw output", recorded.size(), printed.size()));
    return;
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const Difference found = difference(recorded[i], printed[i]);
    if (found.field.empty()) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, fmt::format("results[{}].{}", i, found.field)),
                  recorded[i].test + ": " + found.detail);
    }
  }
}

bool near(double a, double b, double relative, double absolute) {
  return std::abs(a - b) <= absolute + relative * std::max(std::abs(a), std::abs(b));
}

// Arithmetic mean and (n-1) standard deviation.
struct Moments {
  double mean = 0;
  double deviation = 0;
};

template <class Values>
Moments moments(const Values& values) {
  Moments found;
  const auto n = static_cast<double>(values.size());
  for (const auto value : values) found.mean += static_cast<double>(value) / n;
  if (values.size() < 2) return found;
  double squares = 0;
  for (const auto value : values) squares += std::pow(static_cast<double>(value) - found.mean, 2);
  found.deviation = std::sqrt(squares / (n - 1));
  return found;
}

std::optional<double> number(const json& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// What llama-bench printed beside the samples; empty if all of it fits.
std::string rates_problem(const ResultRecord& result, const json& fields) {
  if (!fields.is_object()) return "";
  const std::vector<double> rates = stats::tokens_per_second(result.n_prompt + result.n_gen, result.samples_ns);
  const Moments of_times = moments(result.samples_ns);
  const Moments of_rates = moments(rates);
  struct Printed {
    const char* name;
    double expected;
    double relative;  // how it is rounded, with room
    double absolute;
  };
  // Rates are printed with six decimals; spreads of large numbers lose digits on the way. (Of times the spread is left
  // alone: llama-bench computes it in integers, which overflow for samples of some seconds.)
  for (const Printed& printed :
       {Printed{"avg_ns", of_times.mean, 1e-6, 1.5}, Printed{"avg_ts", of_rates.mean, 1e-5, 2e-6},
        Printed{"stddev_ts", of_rates.deviation, 1e-3, 1e-6 * of_rates.mean + 2e-6}}) {
    const auto value = number(fields, printed.name);
    if (!value || near(*value, printed.expected, printed.relative, printed.absolute)) continue;
    return fmt::format("{} says {:.9g}, its samples give {:.9g}", printed.name, *value, printed.expected);
  }
  if (const auto list = fields.find("samples_ts"); list != fields.end() && list->is_array()) {
    if (list->size() != rates.size()) {
      return fmt::format("samples_ts has {} values, samples_ns has {}", list->size(), rates.size());
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const json& one = (*list)[i];
      if (one.is_number() && near(one.get<double>(), rates[i], 1e-5, 1e-9)) continue;
      return fmt::format("samples_ts[{}] says {:.40}, samples_ns gives {:.6g}", i,
                         one.dump(-1, ' ', true, json::error_handler_t::replace), rates[i]);
    }
  }
  if (const auto list = fields.find("samples_ns"); list != fields.end() && *list != json(result.samples_ns)) {
    return "fields.samples_ns are not the result's samples";
  }
  return "";
}

}  // namespace

void check_samples(const Index& index, Rows& rows) {
  for (const TrialEntry& trial : index.trials()) {
    if (trial.imported) {
      if (!trial.record->results.empty()) rows.skipped(trial.member, "imported: its source is looked at instead");
    } else if (!trial.out) {
      rows.skipped(trial.member, why_no_raw(trial));
    } else if (!trial.parsed) {
      rows.skipped(trial.member, "its suite does not say what printed it");
    } else {
      check_trial_samples(trial, rows);
    }
  }
}

void check_medians(const Index& index, Rows& rows) {
  for (const TrialEntry& trial : index.trials()) {
    const auto& results = trial.record->results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ResultRecord& result = results[i];
      const std::string where = place(trial.member, fmt::format("results[{}].median_ts", i));
      const double median = stats::median(stats::tokens_per_second(result.n_prompt + result.n_gen, result.samples_ns));
      if (!std::isfinite(median)) {
        rows.skipped(where, "its samples are not of tokens");
      } else if (near(result.median_ts, median, 1e-9, 0)) {
        rows.passed();
      } else {
        rows.failed(where,
                    fmt::format("{}: {:.9g} recorded, its samples give {:.9g}", result.test, result.median_ts, median));
      }
    }
    for (std::size_t i = 0; i < trial.record->stated.size(); ++i) {
      rows.skipped(place(trial.member, fmt::format("stated[{}]", i)), "a mean that its source states, without samples");
    }
  }
}

void check_rates(const Index& index, Rows& rows) {
  for (const TrialEntry& trial : index.trials()) {
    const auto& results = trial.record->results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (const std::string problem = rates_problem(results[i], (*trial.fields)[i]); problem.empty()) {
        rows.passed();
      } else if (std::string where = place(trial.member, fmt::format("results[{}].fields", i)); trial.imported) {
        // Its file may have been rounded or put together by somebody.
        rows.flagged(std::move(where), results[i].test + ": " + problem);
      } else {
        rows.failed(std::move(where), results[i].test + ": " + problem);
      }
    }
  }
}

}  // namespace capbench::verify
