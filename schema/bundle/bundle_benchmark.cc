// What a bundle costs whoever takes it, and whoever makes it. Times are of the CPU; a commit also waits for the disk.
//   bazel run -c opt //schema/bundle:bundle_benchmark
#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "schema/bundle/exchange.h"
#include "schema/bundle/test_bundles.h"
#include "schema/identity.h"

namespace capbench::bundle {
namespace {

using schema::testing::Folder;
using schema::testing::must;
using schema::testing::Setting;

// Text that shrinks as output does: words of a log, and numbers that differ.
std::string log_text(std::uint64_t seed, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    text +=
        "llama_model_loader: - kv " + std::to_string(seed >> 48U) + ": value = " + std::to_string(seed >> 36U) + "\n";
  }
  return text;
}

// A run of three arms in five blocks, one stdout a trial and one stderr an arm: an archive of about 20 KB, like those
// that are sent.
Bundle typical(std::uint64_t number) {
  Setting setting;
  setting.run.seed = number;
  setting.run.id = schema::run_id(setting.run);
  Bundle bundle;
  bundle.created_by = "capbench 0.1.0";
  bundle.suites = {setting.suite};
  bundle.environments = {setting.environment};
  bundle.closures = {setting.closure};
  bundle.runs = {setting.run};
  for (const std::string arm : {"bare-metal", "stock", "unlocked"}) {
    const std::string err = log_text(number * 31 + arm.size(), 12000);
    bundle.raw.emplace(sha256(err), err);
    for (std::int64_t block = 0; block < 5; ++block) {
      schema::TrialRecord trial = schema::testing::trial(setting, arm, block, arm == "stock" ? 8 : 1);
      const std::string out = log_text(number * 77 + static_cast<std::uint64_t>(block) * 5 + arm.size(), 2500);
      bundle.raw.emplace(sha256(out), out);
      trial.stdout_sha256 = sha256(out);
      trial.stderr_sha256 = sha256(err);
      bundle.trials.push_back(schema::testing::named(trial));
    }
  }
  return bundle;
}

void seal_typical(benchmark::State& state) {
  const Bundle bundle = typical(1);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = must(seal(bundle)).archive.size();
  state.counters["archive_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(seal_typical)->Unit(benchmark::kMicrosecond);

void open_typical(benchmark::State& state) {
  const Sealed sealed = must(seal(typical(1)));
  for (auto _ : state) benchmark::DoNotOptimize(must(open_bundle(sealed.archive)));
  state.counters["archive_bytes"] = static_cast<double>(sealed.archive.size());
  state.counters["members"] = static_cast<double>(testing::entries(sealed).size());
  state.counters["unpacked_bytes"] = static_cast<double>(testing::unzstd(sealed.archive).size());
}
BENCHMARK(open_typical)->Unit(benchmark::kMicrosecond);

void refuse_damaged(benchmark::State& state) {
  std::string archive = must(seal(typical(1))).archive;
  archive[archive.size() / 2] = static_cast<char>(archive[archive.size() / 2] ^ 1);
  for (auto _ : state) benchmark::DoNotOptimize(open_bundle(archive).ok());
}
BENCHMARK(refuse_damaged)->Unit(benchmark::kMicrosecond);

constexpr int kBundles = 200;

// Opened and stored, each another bundle, as a server does it.
void open_and_ingest(benchmark::State& state) {
  const Folder folder;
  schema::Store store = must(schema::Store::open(folder / "results.db", schema::OpenMode::kCreate));
  std::vector<std::string> archives;
  for (std::uint64_t number = 0; number < kBundles; ++number) archives.push_back(must(seal(typical(number))).archive);
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string& archive = archives[next++];
    const Opened opened = must(open_bundle(archive));
    if (must(ingest(store, opened, archive, {})).added != 15) state.SkipWithError("nothing was added");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(open_and_ingest)->Iterations(kBundles)->Unit(benchmark::kMicrosecond);

// The same, 20 bundles to a commit: what is left when nobody waits for the disk alone.
void open_and_ingest_together(benchmark::State& state) {
  const Folder folder;
  schema::Store store = must(schema::Store::open(folder / "results.db", schema::OpenMode::kCreate));
  std::vector<std::string> archives;
  for (std::uint64_t number = 0; number < kBundles; ++number) archives.push_back(must(seal(typical(number))).archive);
  std::size_t next = 0;
  std::optional<schema::Batch> batch;
  for (auto _ : state) {
    if (next % 20 == 0) batch.emplace(must(store.begin_batch()));
    const std::string& archive = archives[next++];
    const Opened opened = must(open_bundle(archive));
    if (must(ingest(store, opened, archive, {})).added != 15) state.SkipWithError("nothing was added");
    if (next % 20 == 0 && !batch->commit()) state.SkipWithError("no commit");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(open_and_ingest_together)->Iterations(kBundles)->Unit(benchmark::kMicrosecond);

void open_and_ingest_known(benchmark::State& state) {
  const Folder folder;
  schema::Store store = must(schema::Store::open(folder / "results.db", schema::OpenMode::kCreate));
  const std::string archive = must(seal(typical(1))).archive;
  must(ingest(store, must(open_bundle(archive)), archive, {}));
  for (auto _ : state) benchmark::DoNotOptimize(must(ingest(store, must(open_bundle(archive)), archive, {})));
}
BENCHMARK(open_and_ingest_known)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace capbench::bundle

BENCHMARK_MAIN();
