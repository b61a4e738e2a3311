#include "harness/runtime/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/stats/summary.h"

namespace capbench::runtime {
namespace {

using nlohmann::json;

constexpr int kMaxNesting = 16;
constexpr double kMaxExact = 9007199254740992.0;  // 2^53

// The document, or why there is none.
json parse_document(std::string_view output, std::string& problem) {
  const std::size_t start = output.find('{');
  if (start == std::string_view::npos) {
    problem = "it printed no JSON";
    return {};
  }
  bool is_too_deep = false;
  const auto check = [&](int depth, json::parse_event_t, json&) {
    is_too_deep |= depth > kMaxNesting;
    return !is_too_deep;
  };
  json document = json::parse(output.substr(start), check, false);
  if (is_too_deep) {
    problem = fmt::format("JSON nested deeper than {} levels", kMaxNesting);
  } else if (document.is_discarded() || !document.is_object()) {
    problem = "the JSON is cut short or damaged";
  } else if (!document.contains("benchmarks") || !document["benchmarks"].is_array()) {
    problem = "its JSON has no list \"benchmarks\"";
  } else {
    return document;
  }
  return {};
}

std::string text_member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<double> number_member(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  const double value = it->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool is_true(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Nanoseconds in one of the entry's unit; nothing if it is unknown.
std::optional<double> unit_ns(const json& entry) {
  const std::string unit = text_member(entry, "time_unit");
  if (unit.empty() || unit == "ns") return 1.0;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  return std::nullopt;
}

struct Repetition {
  double ns = 0;  // of one iteration
  double iterations = 0;
  double items = 1;  // per iteration
};

// Items of one iteration. items_per_second is per CPU time, unless the benchmark asked for another clock.
double items_per_iteration(const json& entry, const std::string& name, double unit) {
  const auto rate = number_member(entry, "items_per_second");
  const bool is_wall = name.find("/real_time") != std::string::npos || name.find("/manual_time") != std::string::npos;
  const auto time = number_member(entry, is_wall ? "real_time" : "cpu_time");
  if (!rate || !time || *rate <= 0 || *time <= 0) return 1;
  const double items = std::round(*rate * *time * unit * 1e-9);
  return items >= 1 && items <= kMaxExact ? items : 1;
}

// The problem with the entry, or empty.
std::string read_repetition(const json& entry, const std::string& name, Repetition& repetition) {
  if (is_true(entry, "error_occurred")) {
    const std::string message = text_member(entry, "error_message");
    return message.empty() ? "the benchmark reports an error" : "the benchmark reports: " + message;
  }
  const auto unit = unit_ns(entry);
  if (!unit) return fmt::format("unknown time_unit \"{}\"", text_member(entry, "time_unit"));
  const auto time = number_member(entry, "real_time");
  const auto iterations = number_member(entry, "iterations");
  if (!time || *time <= 0) return "no real_time above 0";
  if (!iterations || *iterations < 1 || *iterations > kMaxExact) return "no iterations";
  repetition.ns = *time * *unit;
  repetition.iterations = *iterations;
  repetition.items = items_per_iteration(entry, name, *unit);
  if (repetition.ns * repetition.iterations > kMaxExact || repetition.items * repetition.iterations > kMaxExact) {
    return "impossible real_time or iterations";
  }
  return "";
}

std::string run_name(const json& entry) {
  const std::string name = text_member(entry, "run_name");
  return name.empty() ? text_member(entry, "name") : name;
}

// One benchmark with its repetitions.
struct Run {
  std::string name;
  json first;  // its first entry
  std::vector<Repetition> repetitions;
  json mean;  // aggregates
  json stddev;
  std::string failure;
  json failed_entry;
};

schema::ResultRecord to_result(const Run& run) {
  schema::ResultRecord result;
  const Repetition& first = run.repetitions.front();
  result.test = run.name;
  result.n_gen = static_cast<std::int64_t>(first.iterations * first.items);
  for (const Repetition& repetition : run.repetitions) {
    const double ns = std::round(repetition.ns * first.iterations);
    result.samples_ns.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(ns)));
  }
  result.median_ts = stats::median(stats::tokens_per_second(result.n_gen, result.samples_ns));
  result.fields = dump(run.first);
  return result;
}

std::optional<schema::StatedResultRecord> to_stated(const Run& run) {
  const auto unit = unit_ns(run.mean);
  const auto mean = number_member(run.mean, "real_time");
  if (!unit || !mean || *mean <= 0) return std::nullopt;
  schema::StatedResultRecord stated;
  stated.test = run.name;
  const double items = items_per_iteration(run.mean, run.name, *unit);
  stated.n_gen = static_cast<std::int64_t>(items);
  stated.mean_ts = items * 1e9 / (*mean * *unit);
  // To first order the relative deviation of a rate is that of its time.
  if (const auto deviation = number_member(run.stddev, "real_time"); deviation && *deviation >= 0) {
    stated.stddev_ts = stated.mean_ts * *deviation / *mean;
  }
  if (const auto repetitions = number_member(run.mean, "iterations"); repetitions && *repetitions >= 1) {
    stated.repetitions = static_cast<std::int64_t>(std::min(*repetitions, kMaxExact));
  }
  stated.fields = dump(run.mean);
  return stated;
}

void add_notes(const json& document, std::vector<std::string>& notes) {
  const auto context = document.find("context");
  if (context == document.end() || !context->is_object()) return;
  if (text_member(*context, "library_build_type") == "debug") {
    notes.emplace_back("Google Benchmark itself was built without optimisation");
  }
  if (is_true(*context, "cpu_scaling_enabled")) notes.emplace_back("the CPU's frequency scaling was on");
}

void add_entry(const json& entry, Run& run) {
  if (text_member(entry, "run_type") == "aggregate") {
    const std::string aggregate = text_member(entry, "aggregate_name");
    if (aggregate == "mean") run.mean = entry;
    if (aggregate == "stddev") run.stddev = entry;
    return;
  }
  if (run.first.is_null()) run.first = entry;
  Repetition repetition;
  if (std::string problem = read_repetition(entry, run.name, repetition); !problem.empty()) {
    if (run.failure.empty()) {
      run.failure = std::move(problem);
      run.failed_entry = entry;
    }
    return;
  }
  run.repetitions.push_back(repetition);
}

}  // namespace

std::vector<std::string> google_benchmark_argv(const std::string& executable, const suite::Workload& workload) {
  std::vector<std::string> argv{executable, "--benchmark_format=json",
                                fmt::format("--benchmark_repetitions={}", workload.repetitions),
                                "--benchmark_report_aggregates_only=false"};
  argv.insert(argv.end(), workload.extra_args.begin(), workload.extra_args.end());
  return argv;
}

GoogleBenchmarkOutput parse_google_benchmark(std::string_view output) {
  GoogleBenchmarkOutput parsed;
  const json document = parse_document(output, parsed.problem);
  if (!parsed.problem.empty()) return parsed;
  add_notes(document, parsed.notes);
  std::vector<Run> runs;
  std::map<std::string, std::size_t> by_name;
  for (const json& entry : document["benchmarks"]) {
    const std::string name = entry.is_object() ? run_name(entry) : "";
    if (name.empty()) {
      parsed.failed.push_back({"", "an entry without a name", dump(entry)});
      continue;
    }
    const auto [it, is_new] = by_name.emplace(name, runs.size());
    if (is_new) runs.push_back({name, {}, {}, {}, {}, "", {}});
    add_entry(entry, runs[it->second]);
  }
  for (const Run& run : runs) {
    if (!run.failure.empty()) {
      parsed.failed.push_back({run.name, run.failure, dump(run.failed_entry)});
    } else if (!run.repetitions.empty()) {
      parsed.results.push_back(to_result(run));
    } else if (const auto stated = run.mean.is_object() ? to_stated(run) : std::nullopt) {
      parsed.stated.push_back(*stated);
    } else {
      parsed.failed.push_back({run.name, "neither repetitions nor a mean", dump(run.mean)});
    }
  }
  if (runs.empty()) parsed.problem = "no benchmark matched, or its list is empty";
  return parsed;
}

}  // namespace capbench::runtime
