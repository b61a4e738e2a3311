// How fast a table's intervals are made.
//   bazel run -c opt //harness/stats:table_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "harness/stats/simulation.h"
#include "harness/stats/sufficiency.h"
#include "harness/stats/table.h"

namespace capbench::stats {
namespace {

// 64 arms, 2 tests, 20 trials of 10 samples.
std::vector<Test> large_table() {
  Random random(1);
  simulation::Noise noise;
  noise.samples = 10;
  std::vector<Test> tests;
  for (const char* name : {"pp512", "tg128"}) {
    tests.push_back({name, {}});
    for (int i = 0; i < 64; ++i) {
      tests.back().arms.push_back(
          {i == 0 ? "stock" : "arm " + std::to_string(i), simulation::trials(random, 100.0 + i, noise, 20), ""});
    }
  }
  return tests;
}

// Everything a table has, with 10,000 two-level resamples of every arm. To be under a second with two threads.
void table_with_bootstrap(benchmark::State& state) {
  const std::vector<Test> tests = large_table();
  TableOptions options;
  options.resample = true;
  options.threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(make_table(tests, {}, options));
}
BENCHMARK(table_with_bootstrap)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

void table_without(benchmark::State& state) {
  const std::vector<Test> tests = large_table();
  for (auto _ : state) benchmark::DoNotOptimize(make_table(tests, {}));
}
BENCHMARK(table_without)->Unit(benchmark::kMillisecond)->UseRealTime();

// Six factors: 64 arms, 192 simple effects and what they depend on, in two tests.
void dependence(benchmark::State& state) {
  Random random(2);
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  const auto speed = [](std::size_t cell) { return (cell & 3U) != 0 ? 100.0 : 50.0; };
  const std::vector<FactorialData> tests = {simulation::factorial(random, "pp512", names, speed, {}, 8),
                                            simulation::factorial(random, "tg128", names, speed, {}, 8)};
  const std::vector<double> margins = {0.02, 0.02};
  for (auto _ : state) benchmark::DoNotOptimize(find_dependence(tests, margins));
}
BENCHMARK(dependence)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace capbench::stats

BENCHMARK_MAIN();
