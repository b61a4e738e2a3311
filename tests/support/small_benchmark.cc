// A Google Benchmark program for the end-to-end test of that runtime.
#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

void add_up(benchmark::State& state) {
  std::int64_t sum = 0;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(sum += i);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(add_up)->Arg(100)->Arg(1000)->MinTime(0.01);

}  // namespace

BENCHMARK_MAIN();
