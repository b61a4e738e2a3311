// How near a measured speed comes to what the device could do at most. Pure, thread-safe.
//
//   generation  bytes of weights read per token x tokens per second, over the memory's bandwidth
//   prompt      2 x parameters that a token is multiplied by x tokens per second, over the arithmetic rate in float16
//
// What the cache of keys and values adds is left out, so a share is a little low, and lower the deeper the context. A
// share over 100 % is impossible unless a figure is wrong: of the device, of the model, or of the measurement.
#ifndef CAPBENCH_REPORTS_ROOFLINE_H_
#define CAPBENCH_REPORTS_ROOFLINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "models/gguf.h"
#include "models/shape.h"
#include "reports/devices.h"
#include "schema/records.h"

namespace capbench::reports {

// What one token takes.
struct ModelReads {
  double generation_bytes = 0;   // of weights read for one generated token
  double prompt_parameters = 0;  // that a prompt's token is multiplied by; the output matrix sees only the last token
  bool exact = false;            // from the tensors; else from the whole file's size and parameters
};

// From the tensors: one row of the token embedding, unless the output uses it; of experts those that are active;
// nothing of what multiplies no token.
ModelReads reads_of(const models::Gguf& gguf);

// Of a twin, whose tensors its shape decides. Nothing for an impossible shape.
std::optional<ModelReads> reads_of(const models::Shape& shape);

// As llama-bench prints size and parameters: everything counts as read. Nothing if it printed none.
std::optional<ModelReads> reads_of(const schema::ResultRecord& result);

struct RooflineShare {
  std::optional<double> percent;  // nothing: `why` says what is missing
  std::string bound;              // "bandwidth", "arithmetic", or empty
  std::string why;                // "unknown device", "the weights fit the cache", ...
  bool approximate = false;       // the whole file counted as read
  bool over = false;              // more than 100 %
  bool compared = false;          // the device's figure, with the document named in `source` or what quotes it
  std::string source;             // of the device's figure
};

// `tokens_per_second` of a test of so many prompt and generated tokens.
RooflineShare roofline_share(double tokens_per_second, std::int64_t n_prompt, std::int64_t n_gen,
                             const std::optional<DeviceLimits>& device, const std::optional<ModelReads>& reads);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ROOFLINE_H_
