// llama-perplexity: the command lines of a quality check and what it prints. Pure.
//
// The reference arm writes a base file (the text's tokens and its log-probabilities at every judged position); every
// arm then runs over the tokens of that file and prints how far its own distribution is from it: the Kullback-Leibler
// divergence sum(p_base * ln(p_base / p)), in nats per position.
//
// What it prints must be read with care (seen with llama.cpp v0.5.0): it exits 0 for a text that is too short, for a
// batch that could not be decoded, for a base file that is missing or of another model, and for logits that are
// constant or not numbers; and it may lose its last lines, since it ends without waiting for the thread that prints.
#ifndef CAPBENCH_HARNESS_RUNTIME_PERPLEXITY_H_
#define CAPBENCH_HARNESS_RUNTIME_PERPLEXITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::runtime {

// How the arm runs llama-bench, as far as it decides which kernels compute.
struct PerplexityTreatment {
  std::string device;                         // -dev as llama-bench takes it ("Vulkan0", "none"); empty: no choice
  std::optional<std::int64_t> gpu_layers;     // -ngl; nothing or negative: all
  std::optional<std::int64_t> threads;        // -t
  std::string flash_attention;                // "", "on", "off", "auto"
  std::vector<std::string> llama_bench_args;  // further arguments of the workload and the arm, for llama-bench
};

// Which kernels are put to the test: those for many tokens at once, or those for one.
enum class Batch { kPrompt, kDecode };

// Paths where the program runs, and the extent of the text.
struct PerplexityRun {
  std::string executable;
  std::string model;
  std::string text;  // only read for the base
  std::string base;  // written for the base, read to compare
  std::int64_t ctx = 128;
  std::int64_t chunks = 4;
};

// Positions that are judged: the later half of every chunk but its last token. llama-perplexity wants at least
// kFewestPositions.
std::int64_t judged_positions(std::int64_t ctx, std::int64_t chunks);
inline constexpr std::int64_t kFewestPositions = 100;

// Bytes of the base file for a vocabulary of that many tokens.
std::uint64_t base_file_size(std::int64_t ctx, std::int64_t chunks, std::uint64_t vocabulary);

// The reference arm's run that writes the base file, and any arm's run that is compared with it. An error (kUsage) for
// a llama-bench argument that llama-perplexity cannot be given: the output would be that of another treatment.
Result<std::vector<std::string>> perplexity_base_argv(const PerplexityRun& run, const PerplexityTreatment& treatment);
Result<std::vector<std::string>> perplexity_compare_argv(const PerplexityRun& run, const PerplexityTreatment& treatment,
                                                         Batch batch);

// How far the output could be read.
struct PerplexityProblem {
  std::string text;        // empty: everything was there
  bool cut_short = false;  // its last lines are missing and nothing says why: running it again may bring them
};

struct BaseFigures {
  std::int64_t chunks = 0;  // that were printed
  double perplexity = 0;    // over all of them; may be NaN or infinite
  PerplexityProblem problem;
};

struct CompareFigures {
  std::int64_t chunks = 0;
  bool finite = true;          // no chunk had a perplexity or divergence that is not a number
  double perplexity = 0;       // this arm's
  double base_perplexity = 0;  // the reference's, from the base file
  double mean_kl = 0;          // nats, over the judged positions
  double max_kl = 0;
  double min_kl = 0;  // a little below 0 is rounding
  double median_kl = 0;
  double p99_kl = 0;            // 99th percentile
  double same_top_percent = 0;  // positions where both prefer the same token
  PerplexityProblem problem;
};

// Both streams as they came; they may also be one text in `out`. Any bytes.
BaseFigures parse_perplexity_base(std::string_view out, std::string_view err);
CompareFigures parse_perplexity_compare(std::string_view out, std::string_view err);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_PERPLEXITY_H_
