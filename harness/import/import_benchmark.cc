// How fast llama-bench's JSONL is read: the parsing alone, and with the digest of every row and of the whole.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "harness/import/llama_bench.h"

namespace capbench::imports {
namespace {

class CountingSink : public RowSink {
 public:
  void row(ImportedRow& row) override { samples += row.result.samples_ns.size(); }
  void quarantine(QuarantinedRow) override { ++quarantined; }
  void note(Note) override {}

  std::uint64_t samples = 0;
  std::uint64_t quarantined = 0;
};

const std::string& input(const char* path) {
  static const std::string kBytes = read_file(path, 1U << 30U).value();
  return kBytes;
}

void parse(benchmark::State& state, const char* path, bool with_digest) {
  const std::string& bytes = input(path);
  constexpr std::size_t kChunk = 1U << 20U;
  for (auto iteration : state) {
    CountingSink sink;
    LlamaBenchReader reader(sink);
    Sha256 digest;
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const std::string_view chunk = std::string_view(bytes).substr(at, kChunk);
      if (with_digest) digest.update(chunk);
      reader.feed(chunk);
    }
    reader.finish();
    if (sink.quarantined != 0 || sink.samples == 0)
      state.SkipWithError("it holds rows that cannot be trusted, or none");
    benchmark::DoNotOptimize(digest);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
}

}  // namespace
}  // namespace capbench::imports

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: import_benchmark FILE.jsonl   (write one with jsonl_generator)\n", stderr);
    return 2;
  }
  const char* path = argv[1];
  benchmark::RegisterBenchmark("parse", [path](auto& state) {
    capbench::imports::parse(state, path, false);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("parse_and_digest", [path](auto& state) {
    capbench::imports::parse(state, path, true);
  })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
