#include "models/synth.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "models/format.h"
#include "models/gguf_writer.h"
#include "models/twin_stream.h"
#include "models/weights.h"

namespace capbench::models {

Result<SynthReport> synth(const Shape& shape, std::uint64_t seed, Fill fill, const std::filesystem::path& path,
                          const SynthOptions& options) {
  const auto plan = plan_twin(shape, seed, fill);
  if (!plan) return plan.error();
  auto writer = GgufWriter::create(path, plan->head);
  if (!writer) return writer.error();
  SynthReport report{path, shape.name, seed, fill, plan->head.layout.tensors.size(), 0, 0, {}};
  for (const GgufTensor& tensor : plan->head.layout.tensors) report.parameters += tensor.elements;

  std::uint64_t done = plan->head.bytes.size();
  const Status streamed = stream_twin(*plan, options.threads, [&](const TwinPiece& piece) -> Status {
    done += piece.bytes.size();
    if (options.progress && !options.progress(done, plan->head.size)) {
      return Error{ErrorKind::kInterrupted, path.string(), "stopped; nothing was written", ""};
    }
    return writer->write(piece.bytes);
  });
  if (!streamed) return streamed.error();
  auto written = writer->finish();
  if (!written) return written.error();
  report.size = written->size;
  report.sha256 = std::move(written->sha256);
  return report;
}

std::string synth_text(const SynthReport& report) {
  return fmt::format("{}: {} twin of {}, seed {}, {}, {} parameters\nsha256 {}\n", report.path.string(),
                     fill_name(report.fill), report.like, report.seed, size_text(report.size),
                     count_text(report.parameters), report.sha256);
}

std::string synth_json(const SynthReport& report) {
  const nlohmann::ordered_json object{{"file", report.path.string()},
                                      {"kind", "twin"},
                                      {"like", report.like},
                                      {"seed", report.seed},
                                      {"fill", fill_name(report.fill)},
                                      {"tensors", report.tensors},
                                      {"parameters", report.parameters},
                                      {"size", report.size},
                                      {"sha256", report.sha256}};
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string sequence_text(std::size_t bytes) {
  constexpr unsigned kFirst = '!';
  constexpr unsigned kCount = '~' - '!' + 1;
  constexpr unsigned kShortestRun = 16;
  std::string text;
  text.reserve(bytes);
  for (std::uint64_t run = 0; text.size() < bytes; ++run) {
    const std::uint64_t bits = draw(0, run);
    const unsigned length = kShortestRun + static_cast<unsigned>((bits >> 32U) % kShortestRun);
    // No run passes the last printable character.
    const unsigned start = static_cast<unsigned>((bits & 0xFFFFFFFFU) % (kCount - length + 1));
    for (unsigned i = 0; i < length && text.size() < bytes; ++i) {
      text += static_cast<char>(static_cast<unsigned char>(kFirst + start + i));
    }
  }
  return text;
}

}  // namespace capbench::models
