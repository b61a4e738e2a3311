#include "harness/runtime/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "harness/observe/log_lines.h"
#include "harness/runtime/perplexity_args.h"

namespace capbench::runtime {
namespace {

using observe::for_each_line;
using observe::trimmed;

// More chunks than any check asks for; a longer list is not llama-perplexity's.
constexpr std::int64_t kMaxChunks = 1'000'000;

// The number that the text starts with, "nan" and "inf" among them; nothing if there is none.
std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  std::array<char, 64> digits{};
  const std::size_t count = std::min(text.size(), digits.size() - 1);
  std::copy_n(text.begin(), count, digits.begin());
  char* end = nullptr;
  const double value = std::strtod(digits.data(), &end);
  if (end == digits.data()) return std::nullopt;
  return value;
}

// The value of a line of statistics: "Mean    KLD:   0.001618 ±   0.000076".
std::optional<double> statistic(std::string_view text, std::string_view label) {
  std::optional<double> found;
  for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with(label)) return;
    line.remove_prefix(label.size());
    line = trimmed(line);
    if (line.starts_with(':')) found = number(line.substr(1));
  });
  return found;
}

// What it says where it gives up and exits 0 all the same.
std::string known_problem(std::string_view out, std::string_view err) {
  struct Phrase {
    std::string_view text;
    std::string_view meaning;
  };
  constexpr auto kPhrases = std::to_array<Phrase>({
      {"the data file you provided tokenizes to only", "the text is too short for its context"},
      {"failed to decode", "llama.cpp could not decode a batch"},
      {"inconsistent vocabulary", "the base file is of a model with another vocabulary"},
      {"does not look like a file containing log-probabilities", "the base file is none"},
      {"has been computed with", "the base file was made with a larger context"},
      {"failed reading", "the base file ends early"},
      {"failed to open", "the base file cannot be opened"},
      {"you must provide a name of a file", "no base file was named"},
  });
  for (const Phrase& phrase : kPhrases) {
    if (err.find(phrase.text) != std::string_view::npos || out.find(phrase.text) != std::string_view::npos) {
      return std::string(phrase.meaning);
    }
  }
  return "";
}

PerplexityProblem incomplete(std::string_view out, std::string_view err) {
  const std::string known = known_problem(out, err);
  if (!known.empty()) return {known, false};
  return {"its output ends early", true};
}

// "[1]4.1590,[2]4.2336,": the perplexity up to and including each chunk.
void read_running_list(std::string_view text, BaseFigures& figures) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    const std::string_view entry = text.substr(at + 1);
    const auto chunk = observe::leading_number<std::int64_t>(entry);
    const std::size_t close = entry.find(']');
    // A list in order and nothing else: other brackets stand around it.
    if (!chunk || *chunk != figures.chunks + 1 || close > 8 || *chunk > kMaxChunks) continue;
    const std::string_view value = entry.substr(close + 1);
    const std::size_t comma = value.substr(0, 40).find(',');
    if (comma == std::string_view::npos) continue;
    const auto perplexity = number(value.substr(0, comma));
    if (!perplexity) continue;
    figures.chunks = *chunk;
    figures.perplexity = *perplexity;
  }
}

// The last number before the n-th "±" of a row: its columns are "value ± uncertainty", the chunk's number first.
std::optional<double> column(std::string_view row, int n) {
  constexpr std::string_view kPlusMinus = "\u00B1";
  for (;; --n) {
    const std::size_t end = row.find(kPlusMinus);
    if (end == std::string_view::npos) return std::nullopt;
    if (n > 0) {
      row.remove_prefix(end + kPlusMinus.size());
      continue;
    }
    const std::string_view cell = trimmed(row.substr(0, end));
    const std::size_t start = cell.rfind(' ');
    return number(start == std::string_view::npos ? cell : cell.substr(start + 1));
  }
}

void read_rows(std::string_view text, CompareFigures& figures) {
  for_each_line(text, [&](std::string_view line) {
    const std::string_view row = trimmed(line);
    const auto chunk = observe::leading_number<std::int64_t>(row);
    if (!chunk || *chunk != figures.chunks + 1 || *chunk > kMaxChunks) return;
    const auto perplexity = column(row, 0);
    const auto divergence = column(row, 2);
    if (!perplexity || !divergence) return;
    figures.chunks = *chunk;
    figures.perplexity = *perplexity;
    figures.mean_kl = *divergence;
    figures.finite = figures.finite && std::isfinite(*perplexity) && std::isfinite(*divergence);
  });
}

Result<std::vector<std::string>> common_argv(const PerplexityRun& run, const PerplexityTreatment& treatment,
                                             Batch batch) {
  auto translated = perplexity_args(treatment.llama_bench_args);
  if (!translated) return std::move(translated).error();
  const std::string ctx = std::to_string(run.ctx);
  std::vector<std::string> argv{run.executable, "-m", run.model, "-c", ctx, "-b", ctx};
  const auto add = [&](const char* option, std::string value) {
    argv.emplace_back(option);
    argv.push_back(std::move(value));
  };
  add("-ub", batch == Batch::kDecode ? "1" : ctx);
  if (treatment.threads) add("-t", std::to_string(*treatment.threads));
  // Always given: without it newer releases choose a number of layers that fits, which llama-bench does not.
  constexpr std::int64_t kAllLayers = 999;
  const std::int64_t layers = treatment.gpu_layers.value_or(-1);
  add("-ngl", std::to_string(layers < 0 ? kAllLayers : layers));
  if (!treatment.flash_attention.empty()) add("-fa", treatment.flash_attention);
  if (!treatment.device.empty()) {
    std::string devices = treatment.device;
    std::replace(devices.begin(), devices.end(), '/', ',');
    add("-dev", std::move(devices));
  }
  argv.insert(argv.end(), translated->begin(), translated->end());
  add("--kl-divergence-base", run.base);
  return argv;
}

}  // namespace

std::int64_t judged_positions(std::int64_t ctx, std::int64_t chunks) {
  return (ctx - ctx / 2 - 1) * chunks;
}

std::uint64_t base_file_size(std::int64_t ctx, std::int64_t chunks, std::uint64_t vocabulary) {
  const auto tokens = static_cast<std::uint64_t>(ctx * chunks);
  const auto positions = static_cast<std::uint64_t>(judged_positions(ctx, chunks));
  constexpr std::uint64_t kHead = 20;
  return kHead + 4 * tokens + 2 * positions * (2 * ((vocabulary + 1) / 2) + 4);
}

Result<std::vector<std::string>> perplexity_base_argv(const PerplexityRun& run, const PerplexityTreatment& treatment) {
  auto argv = common_argv(run, treatment, Batch::kPrompt);
  if (!argv) return argv;
  for (const std::string& argument :
       {std::string("-f"), run.text, std::string("--chunks"), std::to_string(run.chunks)}) {
    argv->push_back(argument);
  }
  return argv;
}

Result<std::vector<std::string>> perplexity_compare_argv(const PerplexityRun& run, const PerplexityTreatment& treatment,
                                                         Batch batch) {
  auto argv = common_argv(run, treatment, batch);
  if (!argv) return argv;
  argv->emplace_back("--kl-divergence");
  return argv;
}

BaseFigures parse_perplexity_base(std::string_view out, std::string_view err) {
  BaseFigures figures;
  read_running_list(out, figures);
  if (figures.chunks == 0) read_running_list(err, figures);
  bool whole = false;
  for (const std::string_view text : {out, err}) {
    if (const auto rest = observe::after(text, "Final estimate: PPL = ")) {
      figures.perplexity = number(*rest).value_or(figures.perplexity);
      whole = true;
    }
    // What it prints instead for constant logits and for what is not a number.
    whole = whole || text.find("Unexpected negative standard deviation") != std::string_view::npos;
  }
  if (const std::string known = known_problem(out, err); !known.empty()) {
    figures.problem = {known, false};
  } else if (!whole || figures.chunks == 0) {
    figures.problem = incomplete(out, err);
  }
  return figures;
}

CompareFigures parse_perplexity_compare(std::string_view out, std::string_view err) {
  CompareFigures figures;
  read_rows(out, figures);
  const auto read = [&](std::string_view label, double& into) {
    const auto value = statistic(out, label);
    if (value) into = *value;
    return value.has_value();
  };
  bool whole = read("Mean PPL(Q)", figures.perplexity);
  whole = read("Mean PPL(base)", figures.base_perplexity) && whole;
  whole = read("Mean    KLD", figures.mean_kl) && whole;
  whole = read("Maximum KLD", figures.max_kl) && whole;
  whole = read("Minimum KLD", figures.min_kl) && whole;
  read("99.0%   KLD", figures.p99_kl);
  read("Median  KLD", figures.median_kl);
  read("Same top p", figures.same_top_percent);
  if (whole) {
    figures.finite = figures.finite && std::isfinite(figures.perplexity) && std::isfinite(figures.base_perplexity) &&
                     std::isfinite(figures.mean_kl) && std::isfinite(figures.max_kl) && std::isfinite(figures.min_kl);
  } else {
    figures.problem = incomplete(out, err);
  }
  if (const std::string known = known_problem(out, err); whole && !known.empty()) figures.problem = {known, false};
  return figures;
}

}  // namespace capbench::runtime
