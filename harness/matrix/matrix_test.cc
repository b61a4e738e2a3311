#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "harness/matrix/github_actions.h"
#include "harness/matrix/matrix_job.h"
#include "harness/matrix/slurm.h"

namespace capbench::matrix {
namespace {

MatrixJob job_of(const std::string& name, const std::string& path) {
  MatrixJob job;
  job.suite_name = name;
  job.suite_path = path;
  job.suite_id = std::string(64, 'a');
  job.shards = 3;
  job.trials = 15;
  return job;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(MatrixJob, NamesAreSafeEverywhere) {
  EXPECT_EQ(job_name(job_of("quickstart", "")), "quickstart");
  EXPECT_EQ(job_name(job_of("a b/c;$(d)\n#SBATCH x", "")), "a_b_c___d___SBATCH_x");
  EXPECT_EQ(job_name(job_of("", "")), "suite");
  EXPECT_EQ(job_name(job_of(std::string(500, 'x'), "")).size(), 40U);
}

TEST(MatrixJob, ALimitLeavesRoomAndNeedsAnEstimate) {
  MatrixJob job = job_of("q", "q.json");
  EXPECT_FALSE(time_limit(job).has_value());
  job.estimate = std::chrono::seconds(5);
  EXPECT_EQ(time_limit(job), std::chrono::minutes(10));
  job.estimate = std::chrono::seconds(601);
  EXPECT_EQ(time_limit(job), std::chrono::minutes(31));
}

TEST(Slurm, TheScriptIsBashWhateverTheSuiteIsCalled) {
  for (const char* path :
       {"suites/quickstart.json", "it's; rm -rf \"$HOME\" `x`.json", "new\nline.json", "-leading.json"}) {
    const std::string script = slurm_script(job_of("it's $(a) name", path));
    const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "matrix.sh";
    std::ofstream(file, std::ios::binary) << script;
    // What the suite's variable holds when the script is read up to it.
    const std::string command = "bash -n '" + file.string() + "' && eval \"$(sed -n '/^suite=/,/^name=/p' '" +
                                file.string() + "')\" && printf %s \"$suite\" >'" + file.string() + ".out'";
    ASSERT_EQ(std::system(("bash -c '" + std::regex_replace(command, std::regex("'"), "'\\''") + "'").c_str()), 0)
        << script;
    std::ifstream out(file.string() + ".out", std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(out), {}), path);
  }
}

TEST(Slurm, AsksForWholeNodesAndForALimitOnlyIfOneIsKnown) {
  MatrixJob job = job_of("q", "q.json");
  const std::string without = slurm_script(job);
  EXPECT_EQ(count_of(without, "#SBATCH --time"), 0U);
  EXPECT_EQ(count_of(without, "\n#SBATCH --exclusive\n"), 1U);
  EXPECT_EQ(count_of(without, "\n#SBATCH --requeue\n"), 1U);
  EXPECT_NE(without.find("\nshards=3\n"), std::string::npos);
  job.estimate = std::chrono::minutes(20);
  EXPECT_NE(slurm_script(job).find("\n#SBATCH --time=60\n"), std::string::npos);
}

TEST(GithubActions, HoldsEveryShardOnceAndNoTextOfTheSuiteInAScript) {
  const std::string workflow = github_workflow(job_of("q", "a\"b\n${{ secrets.X }}.json"));
  EXPECT_NE(workflow.find("        shard: [1, 2, 3]\n"), std::string::npos);
  EXPECT_NE(workflow.find("  CAPBENCH_SUITE: \"a\\\"b\\n{{ secrets.X }}.json\"\n"), std::string::npos) << workflow;
  // Three of ours: the matrix value twice, and the condition of the merge.
  EXPECT_EQ(count_of(workflow, "${{"), 3U);
  EXPECT_EQ(count_of(workflow, "\t"), 0U);
  EXPECT_EQ(count_of(workflow, "timeout-minutes"), 0U);
}

}  // namespace
}  // namespace capbench::matrix
