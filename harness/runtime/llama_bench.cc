#include "harness/runtime/llama_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/stats/summary.h"

namespace capbench::runtime {
namespace {

using nlohmann::json;

std::string join(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
  }
  return text.empty() ? "0" : text;
}

// llama-bench has used bool, int and string for the same field in different years; a wrong type counts as absent.
std::string string_field(const json& row, const char* name) {
  const auto it = row.find(name);
  return it != row.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<std::int64_t> integer(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::int64_t integer_field(const json& row, const char* name) {
  const auto it = row.find(name);
  return it != row.end() ? integer(*it).value_or(0) : 0;
}

// The largest counts that a row may claim: beyond them a product with a rate would lose digits.
constexpr std::int64_t kMaxTokens = 1'000'000'000;
constexpr std::size_t kMaxSamples = 1'000'000;

// The problem with the row, or empty and the result.
std::string read_row(const json& row, schema::ResultRecord& result) {
  if (!row.is_object()) return "not a JSON object";
  for (const char* name : {"n_prompt", "n_gen", "samples_ns"}) {
    if (!row.contains(name)) return fmt::format("no field \"{}\"", name);
  }
  const auto n_prompt = integer(row["n_prompt"]);
  const auto n_gen = integer(row["n_gen"]);
  const std::int64_t n_depth = integer_field(row, "n_depth");
  if (!n_prompt || !n_gen || *n_prompt < 0 || *n_gen < 0 || n_depth < 0 || *n_prompt > kMaxTokens ||
      *n_gen > kMaxTokens || n_depth > kMaxTokens || *n_prompt + *n_gen == 0) {
    return "impossible n_prompt, n_gen or n_depth";
  }
  const json& samples = row["samples_ns"];
  if (!samples.is_array() || samples.empty() || samples.size() > kMaxSamples)
    return "samples_ns is not a list of numbers";
  for (const json& sample : samples) {
    const auto ns = integer(sample);
    if (!ns || *ns <= 0)
      return fmt::format("a sample of {} ns", sample.dump(-1, ' ', true, json::error_handler_t::replace));
    result.samples_ns.push_back(*ns);
  }
  result.n_prompt = *n_prompt;
  result.n_gen = *n_gen;
  result.n_depth = n_depth;
  result.test = test_name(*n_prompt, *n_gen, n_depth);
  const std::string commit = string_field(row, "build_commit");
  if (!commit.empty()) result.build = fmt::format("{} ({})", commit, integer_field(row, "build_number"));
  result.model_type = string_field(row, "model_type");
  result.model_size = integer_field(row, "model_size");
  result.model_n_params = integer_field(row, "model_n_params");
  result.backends = string_field(row, "backends");
  result.cpu_info = string_field(row, "cpu_info");
  result.gpu_info = string_field(row, "gpu_info");
  result.median_ts = stats::median(stats::tokens_per_second(*n_prompt + *n_gen, result.samples_ns));
  result.fields = row.dump(-1, ' ', false, json::error_handler_t::replace);
  return "";
}

// Deeper than any llama-bench ever printed, and far from what a recursive reader survives.
constexpr int kMaxNesting = 16;
constexpr std::size_t kMaxRows = 1000;

bool is_too_deep(std::string_view line) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> llama_bench_argv(const std::string& executable, const std::string& model_path,
                                          const suite::Workload& workload, const suite::Arm& arm) {
  // Both -p and -n are always given: llama-bench's defaults would add tests nobody asked for.
  std::vector<std::string> argv{executable,          "-m", model_path, "-p", join(workload.n_prompt), "-n",
                                join(workload.n_gen)};
  const auto add = [&](const char* option, std::string value) {
    argv.emplace_back(option);
    argv.push_back(std::move(value));
  };
  // llama-bench runs every value of an option that is given twice, so the arm's own takes the workload's place.
  const auto arm_has = [&](std::string_view option) {
    return std::find(arm.args.begin(), arm.args.end(), option) != arm.args.end();
  };
  if (!workload.n_depth.empty()) add("-d", join(workload.n_depth));
  add("-r", std::to_string(workload.repetitions));
  if (workload.threads && !arm_has("-t")) add("-t", std::to_string(*workload.threads));
  if (workload.gpu_layers && !arm_has("-ngl")) add("-ngl", std::to_string(*workload.gpu_layers));
  // 0 and 1 are understood by every release, on and off only by newer ones.
  if (!arm_has("-fa")) {
    if (workload.flash_attention == "on") add("-fa", "1");
    if (workload.flash_attention == "off") add("-fa", "0");
    if (workload.flash_attention == "auto") add("-fa", "auto");
  }
  if (!arm.device.empty()) add("-dev", arm.device);
  argv.insert(argv.end(), workload.extra_args.begin(), workload.extra_args.end());
  argv.insert(argv.end(), arm.args.begin(), arm.args.end());
  // The only format that keeps the samples and stays whole when the program dies half-way.
  add("-o", "jsonl");
  return argv;
}

std::string test_name(std::int64_t n_prompt, std::int64_t n_gen, std::int64_t n_depth) {
  std::string name;
  if (n_prompt > 0) name = fmt::format("pp{}", n_prompt);
  if (n_gen > 0) name += fmt::format("{}tg{}", name.empty() ? "" : "+", n_gen);
  if (n_depth > 0) name += fmt::format(" @ d{}", n_depth);
  return name;
}

std::vector<std::string> expected_tests(const suite::Workload& workload) {
  std::vector<std::string> names;
  const std::vector<std::int64_t> shallow{0};
  const auto& depths = workload.n_depth.empty() ? shallow : workload.n_depth;
  for (const bool prompt : {true, false}) {
    for (const std::int64_t n : prompt ? workload.n_prompt : workload.n_gen) {
      for (const std::int64_t depth : depths) {
        if (n > 0) names.push_back(prompt ? test_name(n, 0, depth) : test_name(0, n, depth));
      }
    }
  }
  return names;
}

ParsedOutput parse_jsonl(std::string_view output) {
  ParsedOutput parsed;
  std::size_t number = 0;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const bool whole = end != std::string_view::npos;
    std::string_view line = output.substr(0, end);
    output.remove_prefix(whole ? end + 1 : output.size());
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const auto problem = [&](std::string_view what) {
      // The first problem is the cause; later ones are its consequences.
      if (parsed.problem.empty()) parsed.problem = fmt::format("line {} of its output: {}", number, what);
    };
    if (parsed.results.size() >= kMaxRows) {
      problem(fmt::format("more than {} rows", kMaxRows));
      break;
    }
    if (is_too_deep(line)) {
      problem(fmt::format("JSON nested deeper than {} levels", kMaxNesting));
      continue;
    }
    const json row = json::parse(line, nullptr, false);
    if (row.is_discarded()) {
      problem(whole ? "not JSON" : "the JSON ends in the middle");
      continue;
    }
    schema::ResultRecord result;
    const std::string wrong = read_row(row, result);
    if (wrong.empty()) {
      parsed.results.push_back(std::move(result));
    } else {
      problem(wrong);
    }
  }
  return parsed;
}

std::string check_results(const std::vector<schema::ResultRecord>& results, const suite::Workload& workload) {
  const std::vector<std::string> asked = expected_tests(workload);
  std::vector<std::string> missing = asked;
  for (const schema::ResultRecord& result : results) {
    const auto repetitions = static_cast<std::int64_t>(result.samples_ns.size());
    if (repetitions != workload.repetitions) {
      return fmt::format("{} has {} samples instead of {}", result.test, repetitions, workload.repetitions);
    }
    // A user's own arguments may add tests (-pg); what the workload names must be there, once.
    const auto it = std::find(missing.begin(), missing.end(), result.test);
    if (it != missing.end()) {
      missing.erase(it);
    } else if (std::find(asked.begin(), asked.end(), result.test) != asked.end()) {
      return fmt::format("it printed {} twice", result.test);
    } else if (workload.extra_args.empty()) {
      return fmt::format("it printed a test that was not asked for: {}", result.test);
    }
  }
  if (missing.empty()) return "";
  return fmt::format("it printed no result for {}", fmt::join(missing, ", "));
}

}  // namespace capbench::runtime
