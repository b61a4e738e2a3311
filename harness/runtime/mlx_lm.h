// MLX-LM's benchmark: the command line it is given and what it prints. Pure.
#ifndef CAPBENCH_HARNESS_RUNTIME_MLX_LM_H_
#define CAPBENCH_HARNESS_RUNTIME_MLX_LM_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/suite/suite.h"
#include "schema/records.h"

namespace capbench::runtime {

// The arguments for one trial of `mlx_lm.benchmark` (a console script of MLX-LM; `model` is a folder or a repository's
// name). It measures one prompt length and one generation length together, so a workload with more than one of either,
// without one, or at a depth is an error.
Result<std::vector<std::string>> mlx_lm_argv(const std::string& executable, const std::string& model,
                                             const suite::Workload& workload);

struct MlxLmOutput {
  std::vector<schema::ResultRecord> results;  // pp and tg of the same repetitions
  std::string problem;                        // what is wrong; empty: nothing. Results before it are kept
};

// Reads what mlx_lm.benchmark prints ("Timing with prompt_tokens=512, ...", "Trial 1:  prompt_tps=..., ...") and the
// JSON of published evidence (`runtime`, `model`, `configuration`, `samples`). Times are computed from the rates:
// MLX-LM gives no others. Takes any bytes.
MlxLmOutput parse_mlx_lm(std::string_view output);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_MLX_LM_H_
