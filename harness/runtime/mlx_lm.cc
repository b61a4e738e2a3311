#include "harness/runtime/mlx_lm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/runtime/llama_bench.h"
#include "harness/stats/summary.h"

namespace capbench::runtime {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxTokens = 1'000'000'000;
constexpr std::size_t kMaxSamples = 100'000;
constexpr int kMaxNesting = 16;

// Both tests of one process: the same repetitions measured prompt and generation.
struct Tests {
  std::int64_t prompt_tokens = 0;
  std::int64_t generation_tokens = 0;
  std::int64_t batch = 1;
  std::vector<std::int64_t> prompt_ns;
  std::vector<std::int64_t> generation_ns;
};

// The time of `tokens` at that rate in whole nanoseconds; nothing for what no rate can be.
std::optional<std::int64_t> time_ns(std::int64_t tokens, double rate) {
  if (!std::isfinite(rate) || rate <= 0) return std::nullopt;
  const double ns = std::round(1e9 * static_cast<double>(tokens) / rate);
  if (ns < 1 || ns > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(ns);
}

// The problem with the repetition, or empty.
std::string add_repetition(Tests& tests, double prompt_rate, double generation_rate) {
  const auto prompt = time_ns(tests.prompt_tokens * tests.batch, prompt_rate);
  const auto generation = time_ns(tests.generation_tokens * tests.batch, generation_rate);
  if (!prompt) return fmt::format("impossible prompt_tps: {}", prompt_rate);
  if (!generation) return fmt::format("impossible generation_tps: {}", generation_rate);
  if (tests.prompt_ns.size() == kMaxSamples) return fmt::format("more than {} repetitions", kMaxSamples);
  tests.prompt_ns.push_back(*prompt);
  tests.generation_ns.push_back(*generation);
  return "";
}

std::vector<schema::ResultRecord> to_results(const Tests& tests, const schema::ResultRecord& common, json fields) {
  std::vector<schema::ResultRecord> results;
  if (tests.prompt_ns.empty()) return results;
  for (const bool is_prompt : {true, false}) {
    schema::ResultRecord result = common;
    result.n_prompt = is_prompt ? tests.prompt_tokens * tests.batch : 0;
    result.n_gen = is_prompt ? 0 : tests.generation_tokens * tests.batch;
    result.test = is_prompt ? test_name(tests.prompt_tokens, 0, 0) : test_name(0, tests.generation_tokens, 0);
    if (tests.batch > 1) result.test += fmt::format(" x{}", tests.batch);
    result.samples_ns = is_prompt ? tests.prompt_ns : tests.generation_ns;
    result.median_ts = stats::median(stats::tokens_per_second(result.n_prompt + result.n_gen, result.samples_ns));
    fields["n_prompt"] = result.n_prompt;
    fields["n_gen"] = result.n_gen;
    result.fields = fields.dump(-1, ' ', false, json::error_handler_t::replace);
    results.push_back(std::move(result));
  }
  return results;
}

std::optional<std::int64_t> count_member(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  if (it->is_number_unsigned() && it->get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxTokens)) {
    return std::nullopt;
  }
  const auto value = it->get<std::int64_t>();
  return value > 0 && value <= kMaxTokens ? std::optional(value) : std::nullopt;
}

std::string text_member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

double number_member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number() ? it->get<double>() : std::nan("");
}

MlxLmOutput parse_document(std::string_view text) {
  MlxLmOutput parsed;
  bool is_too_deep = false;
  const auto check = [&](int depth, json::parse_event_t, json&) {
    is_too_deep |= depth > kMaxNesting;
    return !is_too_deep;
  };
  json document = json::parse(text, check, false);
  if (is_too_deep || document.is_discarded() || !document.is_object()) {
    parsed.problem = is_too_deep ? "JSON nested deeper than 16 levels" : "the JSON is cut short or damaged";
    return parsed;
  }
  const json empty = json::object();
  const auto object = [&](const char* name) -> const json& {
    const auto it = document.find(name);
    return it != document.end() && it->is_object() ? *it : empty;
  };
  const json& configuration = object("configuration");
  Tests tests;
  const auto prompt = count_member(configuration, "prompt_tokens");
  const auto generation = count_member(configuration, "generation_tokens");
  if (!prompt || !generation) {
    parsed.problem = "its configuration has no prompt_tokens or no generation_tokens";
    return parsed;
  }
  tests.prompt_tokens = *prompt;
  tests.generation_tokens = *generation;
  const auto samples = document.find("samples");
  if (samples == document.end() || !samples->is_array() || samples->empty()) {
    parsed.problem = "it has no samples";
    return parsed;
  }
  for (std::size_t i = 0; i < samples->size(); ++i) {
    const json& sample = (*samples)[i];
    std::string problem;
    if (!sample.is_object()) {
      problem = "not an object";
    } else if (count_member(sample, "prompt_tokens") != prompt ||
               count_member(sample, "generation_tokens") != generation) {
      problem = "not of the configuration's token counts";
    } else {
      problem = add_repetition(tests, number_member(sample, "prompt_tps"), number_member(sample, "generation_tps"));
    }
    if (!problem.empty()) {
      parsed.problem = fmt::format("sample {}: {}", i + 1, problem);
      return parsed;
    }
  }
  const json& runtime = object("runtime");
  const json& model = object("model");
  schema::ResultRecord common;
  common.model_type = text_member(model, "id");
  common.backends = "MLX";
  const std::string mlx = text_member(runtime, "mlx");
  const std::string mlx_lm = text_member(runtime, "mlx_lm");
  if (!mlx_lm.empty() && !mlx.empty()) common.build = fmt::format("MLX-LM {} (MLX {})", mlx_lm, mlx);
  parsed.results = to_results(tests, common, std::move(document));
  return parsed;
}

std::optional<double> number_behind(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + name.size());
  const std::size_t end = rest.find_first_not_of("0123456789.eE+-");
  const std::string text(rest.substr(0, std::min<std::size_t>(end, 40)));
  char* stop = nullptr;
  const double value = std::strtod(text.c_str(), &stop);
  if (text.empty() || stop == text.c_str()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> count_behind(std::string_view line, std::string_view name) {
  const auto value = number_behind(line, name);
  if (!value || *value < 1 || *value > static_cast<double>(kMaxTokens) || *value != std::floor(*value)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*value);
}

MlxLmOutput parse_lines(std::string_view output) {
  MlxLmOutput parsed;
  Tests tests;
  bool has_heading = false;
  std::size_t number = 0;
  while (!output.empty() && parsed.problem.empty()) {
    const std::size_t end = output.find('\n');
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    ++number;
    if (line.starts_with("Timing with ")) {
      const auto prompt = count_behind(line, "prompt_tokens=");
      const auto generation = count_behind(line, "generation_tokens=");
      const auto batch = count_behind(line, "batch_size=");
      has_heading = prompt && generation && (!batch || *prompt * *batch <= kMaxTokens);
      if (!has_heading) {
        parsed.problem = fmt::format("line {} of its output: impossible token counts", number);
        break;
      }
      tests = {*prompt, *generation, batch.value_or(1), {}, {}};
    } else if (line.starts_with("Trial ")) {
      const auto prompt = number_behind(line, "prompt_tps=");
      const auto generation = number_behind(line, "generation_tps=");
      std::string problem;
      if (!has_heading) {
        problem = "a trial before the line \"Timing with ...\"";
      } else if (!prompt || !generation) {
        problem = "a trial without prompt_tps or generation_tps";
      } else {
        problem = add_repetition(tests, *prompt, *generation);
      }
      if (!problem.empty()) parsed.problem = fmt::format("line {} of its output: {}", number, problem);
    }
  }
  schema::ResultRecord common;
  common.backends = "MLX";
  parsed.results = to_results(tests, common, json::object());
  if (parsed.results.empty() && parsed.problem.empty()) parsed.problem = "it printed no trial";
  return parsed;
}

}  // namespace

Result<std::vector<std::string>> mlx_lm_argv(const std::string& executable, const std::string& model,
                                             const suite::Workload& workload) {
  const auto only = [](const std::vector<std::int64_t>& counts) {
    return counts.size() == 1 && counts[0] > 0 ? std::optional(counts[0]) : std::nullopt;
  };
  const auto prompt = only(workload.n_prompt);
  const auto generation = only(workload.n_gen);
  const bool is_deep =
      std::any_of(workload.n_depth.begin(), workload.n_depth.end(), [](auto depth) { return depth > 0; });
  if (!prompt || !generation || is_deep) {
    return Error{ErrorKind::kUsage, fmt::format("workload \"{}\"", workload.name),
                 "mlx_lm.benchmark measures one prompt length and one generation length together, at no depth",
                 "give the workload one number above 0 for p and for n, and a workload to each further length"};
  }
  std::vector<std::string> argv{executable,
                                "--model",
                                model,
                                "--prompt-tokens",
                                std::to_string(*prompt),
                                "--generation-tokens",
                                std::to_string(*generation),
                                "--num-trials",
                                std::to_string(workload.repetitions)};
  argv.insert(argv.end(), workload.extra_args.begin(), workload.extra_args.end());
  return argv;
}

MlxLmOutput parse_mlx_lm(std::string_view output) {
  const std::size_t start = output.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start != std::string_view::npos && output[start] == '{') return parse_document(output.substr(start));
  return parse_lines(output);
}

}  // namespace capbench::runtime
