#include "harness/matrix/github_actions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace capbench::matrix {
namespace {

// A JSON string is a double-quoted scalar of YAML. `${{` would begin an expression, wherever it stands.
std::string scalar(std::string text) {
  for (std::size_t at = text.find("${{"); at != std::string::npos; at = text.find("${{", at)) text.erase(at, 1);
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string github_workflow(const MatrixJob& job) {
  const std::string name = job_name(job);
  std::string shards;
  for (std::size_t shard = 1; shard <= job.shards; ++shard)
    shards += fmt::format("{}{}", shard == 1 ? "" : ", ", shard);
  std::string limit;
  if (const auto minutes = time_limit(job)) limit = fmt::format("    timeout-minutes: {}\n", minutes->count());
  // Values reach the commands through the environment, so that no text of the suite becomes part of a script.
  return fmt::format(
      R"yaml(# {0} in {1} shards of whole blocks, {2} trials in all.
# Suite {3}
#
# Hosted runners are virtual machines of many kinds: each is a machine of its own in the results, and comparisons stay
# within it. For steady numbers name your own runners in `runs-on`.
name: {0}
on:
  workflow_dispatch:
permissions:
  contents: read
env:
  CAPBENCH_SUITE: {4}
  CAPBENCH_SHARDS: "{1}"
jobs:
  shard:
    runs-on: ubuntu-latest
{5}    strategy:
      fail-fast: false
      matrix:
        shard: [{6}]
    env:
      SHARD: ${{{{ matrix.shard }}}}
    steps:
      - uses: actions/checkout@v4
      - name: Set up
        run: scripts/setup
      - name: Run the shard
        run: |
          mkdir -p shards
          status=0
          bin/capbench run "$CAPBENCH_SUITE" --shard "$SHARD/$CAPBENCH_SHARDS" --db shard.db --resume || status=$?
          # 1: some trial is not ok, which is a row of the results like any other.
          if [ "$status" -gt 1 ]; then exit "$status"; fi
          bin/capbench submit --db shard.db --out "shards/shard-$SHARD.capbundle" --force --yes
      - uses: actions/upload-artifact@v4
        with:
          name: shard-${{{{ matrix.shard }}}}
          path: shards/
          if-no-files-found: error
          overwrite: true
  merge:
    needs: shard
    # What did run is merged; a shard that failed shows as failed.
    if: ${{{{ !cancelled() }}}}
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Set up
        run: scripts/setup --no-llama
      - uses: actions/download-artifact@v4
        with:
          pattern: shard-*
          path: shards
          merge-multiple: true
      - name: Merge
        run: |
          bin/capbench ingest shards --db merged.db
          bin/capbench report speedup --db merged.db --format md >>"$GITHUB_STEP_SUMMARY"
      - uses: actions/upload-artifact@v4
        with:
          name: merged
          path: merged.db
          if-no-files-found: error
          overwrite: true
)yaml",
      name, job.shards, job.trials, job.suite_id, scalar(job.suite_path), limit, shards);
}

}  // namespace capbench::matrix
