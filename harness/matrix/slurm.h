// A suite as a Slurm job array. Pure.
#ifndef CAPBENCH_HARNESS_MATRIX_SLURM_H_
#define CAPBENCH_HARNESS_MATRIX_SLURM_H_

#include <string>

#include "harness/matrix/matrix_job.h"

namespace capbench::matrix {

// One bash script of three parts: run by hand it submits itself as an array and, after that, as the merge of what the
// array wrote. A task writes its shard's store and bundle; one that is requeued goes on where it was, and merging twice
// adds nothing.
std::string slurm_script(const MatrixJob& job);

}  // namespace capbench::matrix

#endif  // CAPBENCH_HARNESS_MATRIX_SLURM_H_
