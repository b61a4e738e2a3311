// llama-bench's arguments in llama-perplexity's words. Pure.
#ifndef CAPBENCH_HARNESS_RUNTIME_PERPLEXITY_ARGS_H_
#define CAPBENCH_HARNESS_RUNTIME_PERPLEXITY_ARGS_H_

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace capbench::runtime {

// Those that decide what is computed are translated, those that only decide how it is measured or loaded are left out
// (sizes of batches too: a quality check chooses its own). An error names the first that cannot be translated.
Result<std::vector<std::string>> perplexity_args(std::span<const std::string> llama_bench_args);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_PERPLEXITY_ARGS_H_
