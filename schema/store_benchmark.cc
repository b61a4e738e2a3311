// What storing costs. The time of a put is that of one fsync and little else; the user's disk decides.
//   bazel run -c opt //schema:store_benchmark
#include <benchmark/benchmark.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/digest.h"
#include "schema/store.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using testing::Folder;
using testing::must;
using testing::Setting;

// A run's trial: two results of five samples, about 4 kB of stdout and 8 kB of stderr.
TrialRecord next_trial(const Setting& setting, std::int64_t block, std::string& out, std::string& err) {
  TrialRecord trial = testing::trial(setting, "stock", block);
  out.clear();
  while (out.size() < 4000)
    out += R"({"build_commit":"0ad4a86","n_prompt":512,"block":)" + std::to_string(block) + "}\n";
  err.clear();
  while (err.size() < 8000)
    err += "llama_model_loader: - kv " + std::to_string(err.size() + static_cast<std::size_t>(block)) + "\n";
  trial.stdout_sha256 = sha256(out);
  trial.stderr_sha256 = sha256(err);
  return trial;
}

void put_trial(benchmark::State& state) {
  const Folder folder;
  const Setting setting;
  std::optional<Store> store = must(Store::open(folder / "results.db", OpenMode::kCreate));
  if (!testing::put(*store, setting)) state.SkipWithError("cannot put the setting");
  std::int64_t block = 0;
  std::string out;
  std::string err;
  for (auto _ : state) {
    state.PauseTiming();
    const TrialRecord trial = next_trial(setting, block++, out, err);
    state.ResumeTiming();
    if (!store->put_trial(trial, out, err)) state.SkipWithError("cannot put a trial");
  }
  store.reset();  // so that everything is in the one file
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes_per_trial"] =
      static_cast<double>(std::filesystem::file_size(folder / "results.db")) / static_cast<double>(block);
}
BENCHMARK(put_trial)->Unit(benchmark::kMicrosecond)->UseRealTime();

void put_known_trial(benchmark::State& state) {
  const Folder folder;
  const Setting setting;
  Store store = must(Store::open(folder / "results.db", OpenMode::kCreate));
  std::string out;
  std::string err;
  const TrialRecord trial = next_trial(setting, 0, out, err);
  if (!testing::put(store, setting) || !store.put_trial(trial, out, err)) state.SkipWithError("cannot put");
  for (auto _ : state) {
    if (!store.put_trial(trial, out, err)) state.SkipWithError("cannot put a trial");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(put_known_trial)->Unit(benchmark::kMicrosecond)->UseRealTime();

void read_trials(benchmark::State& state) {
  const Folder folder;
  const Setting setting;
  Store store = must(Store::open(folder / "results.db", OpenMode::kCreate));
  if (!testing::put(store, setting)) state.SkipWithError("cannot put the setting");
  std::string out;
  std::string err;
  for (std::int64_t block = 0; block < state.range(0); ++block) {
    const TrialRecord trial = next_trial(setting, block, out, err);
    if (!store.put_trial(trial, out, err)) state.SkipWithError("cannot put a trial");
  }
  for (auto _ : state) benchmark::DoNotOptimize(must(store.trials({})).size());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_trials)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond)->UseRealTime();

void open_store(benchmark::State& state) {
  const Folder folder;
  { must(Store::open(folder / "results.db", OpenMode::kCreate)); }
  const OpenMode mode = state.range(0) == 0 ? OpenMode::kCreate : OpenMode::kReadOnly;
  for (auto _ : state) must(Store::open(folder / "results.db", mode));
}
BENCHMARK(open_store)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace capbench::schema

BENCHMARK_MAIN();
