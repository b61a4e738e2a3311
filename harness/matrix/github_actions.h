// A suite as a workflow of GitHub Actions. Pure.
#ifndef CAPBENCH_HARNESS_MATRIX_GITHUB_ACTIONS_H_
#define CAPBENCH_HARNESS_MATRIX_GITHUB_ACTIONS_H_

#include <string>

#include "harness/matrix/matrix_job.h"

namespace capbench::matrix {

// A workflow for .github/workflows/ of a repository that holds capbench and the suite: a matrix of shards whose bundles
// are artifacts, and a merge that takes them all in and writes the table into the summary.
std::string github_workflow(const MatrixJob& job);

}  // namespace capbench::matrix

#endif  // CAPBENCH_HARNESS_MATRIX_GITHUB_ACTIONS_H_
