// Writes JSONL as llama-bench v0.5.0 prints it, for benchmarks of the importer: ROWS rows of 10 samples, 1.15 KB each.
// usage: jsonl_generator [ROWS] [BUILDS]   (default: 20000 rows of 2 builds)
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/stats/random.h"

namespace {

// Rates are printed as C++ streams print doubles: six significant digits.
std::string six_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

// One build after the other, as two runs write them; every row of a build at a depth of its own.
std::string row(std::uint64_t index, std::uint64_t build, capbench::stats::Random& random) {
  const bool is_prompt = index % 2 == 0;
  const std::int64_t tokens = is_prompt ? 512 : 128;
  const double mean_ns = is_prompt ? 1.2e8 : 2.1e9;
  std::string times;
  std::string rates;
  double sum_ns = 0;
  double sum_ts = 0;
  double squares = 0;
  constexpr int kSamples = 10;
  for (int i = 0; i < kSamples; ++i) {
    const auto ns = static_cast<std::int64_t>(mean_ns * (1 + 0.001 * static_cast<double>(random.below(100))));
    const double ts = 1e9 * static_cast<double>(tokens) / static_cast<double>(ns);
    times += fmt::format("{}{}", i == 0 ? "" : ", ", ns);
    rates += (i == 0 ? "" : ", ") + six_digits(ts);
    sum_ns += static_cast<double>(ns);
    sum_ts += ts;
    squares += ts * ts;
  }
  const double avg_ts = sum_ts / kSamples;
  const double deviation = std::sqrt(std::fmax(0, squares - kSamples * avg_ts * avg_ts) / (kSamples - 1));
  return fmt::format(
      R"({{"build_commit": "{:07x}", "build_number": {}, "cpu_info": "AMD Ryzen 7 7800X3D 8-Core Processor", )"
      R"("gpu_info": "NVIDIA GeForce RTX 4080", "backends": "CUDA", "model_filename": "models/Qwen2.5-7B-Q4_K_M.gguf", )"
      R"("model_type": "qwen2 7B Q4_K - Medium", "model_size": 4677120000, "model_n_params": 7615616512, )"
      R"("n_batch": 2048, "n_ubatch": 512, "n_threads": 8, "cpu_mask": "0x0", "cpu_strict": false, "poll": 50, )"
      R"("type_k": "f16", "type_v": "f16", "n_gpu_layers": -1, "n_cpu_moe": 0, "split_mode": "layer", "main_gpu": 0, )"
      R"("no_kv_offload": false, "flash_attn": -1, "devices": "auto", "tensor_split": "0.00", )"
      R"("tensor_buft_overrides": "none", "load_mode": "auto", "lazy_mode": "auto", "embeddings": false, )"
      R"("no_op_offload": 0, "no_host": false, "fit_target": 0, "fit_min_ctx": 0, "n_prompt": {}, "n_gen": {}, )"
      R"("n_depth": {}, "test_time": "2026-11-30T{:02}:{:02}:{:02}Z", "avg_ns": {}, "stddev_ns": {}, "avg_ts": {:.6f}, )"
      R"("stddev_ts": {:.6f}, "samples_ns": [ {} ],"samples_ts": [ {} ]}})"
      "\n",
      0xabc1000 + build, 5000 + build, is_prompt ? tokens : 0, is_prompt ? 0 : tokens, index / 2 * 8, index / 3600 % 24,
      index / 60 % 60, index % 60, static_cast<std::int64_t>(sum_ns / kSamples), 12345, avg_ts, deviation, times,
      rates);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  const std::uint64_t builds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2;
  if (rows == 0 || builds == 0 || argc > 3) {
    std::fputs("usage: jsonl_generator [ROWS] [BUILDS]\n", stderr);
    return 2;
  }
  capbench::stats::Random random(1);
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t build = i * builds / rows;
    const std::string line = row(i - (build * rows + builds - 1) / builds, build, random);
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
      std::perror("jsonl_generator: standard output");
      return 3;
    }
  }
  return std::fflush(stdout) == 0 ? 0 : 3;
}
