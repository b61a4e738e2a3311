#include "harness/matrix/slurm.h"

#include <fmt/format.h>

#include <string_view>

#include "harness/target/shell.h"

namespace capbench::matrix {
namespace {

// The variables of Slurm say which part this is. `exec` is not used for the run: its status decides about the bundle.
constexpr std::string_view kParts = R"sh(
capbench=${CAPBENCH:-capbench}
dir=${CAPBENCH_SHARDS:-$PWD/$name-shards}
mkdir -p "$dir"

# The script as it is here, for Slurm keeps its own copy of what it was given.
submit() {
  local array merge
  array=$(sbatch --parsable --array="1-$shards" --output="$dir/%x-%A-%a.log" \
    --export=ALL,CAPBENCH_SHARDS="$dir" "$@" "$script")
  array=${array%%;*}
  # afterany: what did run is merged, and the merge says what is missing.
  merge=$(sbatch --parsable --job-name="$name-merge" --dependency="afterany:$array" --output="$dir/merge-%j.log" \
    --export=ALL,CAPBENCH_SHARDS="$dir",CAPBENCH_MERGE=1 "$@" "$script")
  printf 'array job %s (%s shards), then merge job %s; everything in %s\n' "$array" "$shards" "${merge%%;*}" "$dir"
}

# The shard's store is its memory: a task that was killed and requeued runs only what is missing.
run_shard() {
  local shard=$1 status=0
  "$capbench" run "$suite" --shard "$shard/$shards" --db "$dir/shard-$shard.db" --resume || status=$?
  # 1: some trial is not ok, which is a row of the results like any other.
  if ((status > 1)); then return "$status"; fi
  "$capbench" submit --db "$dir/shard-$shard.db" --out "$dir/shard-$shard.capbundle" --force --yes
  return "$status"
}

merge() {
  local missing=0 shard
  for ((shard = 1; shard <= shards; ++shard)); do
    if [[ ! -s "$dir/shard-$shard.capbundle" ]]; then
      printf 'shard %s of %s left no bundle; see its log in %s\n' "$shard" "$shards" "$dir" >&2
      missing=1
    fi
  done
  "$capbench" ingest "$dir" --db "$dir/merged.db"
  "$capbench" report speedup --db "$dir/merged.db"
  return "$missing"
}

if [[ -n "${CAPBENCH_MERGE:-}" ]]; then
  merge
elif [[ -n "${SLURM_ARRAY_TASK_ID:-}" ]]; then
  run_shard "$SLURM_ARRAY_TASK_ID"
else
  submit "$@"
fi
)sh";

}  // namespace

std::string slurm_script(const MatrixJob& job) {
  const std::string name = job_name(job);
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# {} in {} shards of whole blocks, {} trials in all, as a job array of Slurm.\n"
      "# Suite {}\n"
      "#\n"
      "#   bash THIS [OPTIONS OF sbatch]   submits the array and, to run after it, the merge\n"
      "#\n"
      "# $CAPBENCH: the program [capbench, on the PATH of the nodes]. $CAPBENCH_SHARDS: where shards write, a folder\n"
      "# that all nodes see [{}-shards, here]. A task that failed: `scontrol requeue JOB_TASK`, then this with\n"
      "# CAPBENCH_MERGE=1. Comparisons stay within a node, whatever the number of nodes.\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --nodes=1\n"
      "#SBATCH --exclusive\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n",
      name, job.shards, job.trials, job.suite_id, name, name);
  if (const auto limit = time_limit(job)) text += fmt::format("#SBATCH --time={}\n", limit->count());
  text += fmt::format(
      "set -euo pipefail\n"
      "\n"
      "suite={}\n"
      "name={}\n"
      "shards={}\n"
      "script=${{BASH_SOURCE[0]}}\n",
      target::quote(job.suite_path), name, job.shards);
  text += kParts;
  return text;
}

}  // namespace capbench::matrix
