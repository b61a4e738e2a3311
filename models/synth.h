// Writes structural twins: a real model's architecture, shapes and types with weights from a seed.
#ifndef CAPBENCH_MODELS_SYNTH_H_
#define CAPBENCH_MODELS_SYNTH_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "models/shape.h"
#include "models/twin_plan.h"

namespace capbench::models {

struct SynthOptions {
  unsigned threads = 0;  // 0: one per processor, at most 8; does not change the bytes
  // Called on the calling thread after every MiB or so; returning false stops with ErrorKind::kInterrupted.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

struct SynthReport {
  std::filesystem::path path;
  std::string like;
  std::uint64_t seed = 0;
  Fill fill = Fill::kPlanted;
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t size = 0;  // bytes
  std::string sha256;
};

// The file appears at `path` whole or not at all; an existing file is replaced. The same shape, seed and fill give the
// same bytes on every platform. Memory: a few MiB per thread. Errors: an impossible shape, and what GgufWriter reports.
Result<SynthReport> synth(const Shape& shape, std::uint64_t seed, Fill fill, const std::filesystem::path& path,
                          const SynthOptions& options = {});

// One line for people, and an object.
std::string synth_text(const SynthReport& report);
std::string synth_json(const SynthReport& report);

// The text that a planted twin continues well: runs of ascending printable ASCII characters, `bytes` long, always the
// same. For llama-perplexity, which wants at least twice its context.
std::string sequence_text(std::size_t bytes);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_SYNTH_H_
