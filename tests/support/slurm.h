// A whole Slurm on the loopback address for one test: munged, slurmctld and one slurmd, in a folder of their own.
#ifndef CAPBENCH_TESTS_SUPPORT_SLURM_H_
#define CAPBENCH_TESTS_SUPPORT_SLURM_H_

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace capbench::testing {

class Slurm {
 public:
  // Why it cannot start here, for a skipped test; empty if it can be tried.
  static std::string missing();

  // Starts the three daemons and waits until the node is idle. Null: `why` has the end of their logs.
  static std::unique_ptr<Slurm> start(std::string& why);
  ~Slurm();
  Slurm(const Slurm&) = delete;
  Slurm& operator=(const Slurm&) = delete;

  // What clients need in their environment.
  std::map<std::string, std::string> env() const;
  // A client: squeue, scontrol, sbatch...
  CommandResult client(std::vector<std::string> argv) const;
  // "RUNNING", "PENDING", "COMPLETED", ... of a job or an array's task ("7_3"); empty if Slurm does not know it.
  std::string state(const std::string& job) const;

 private:
  explicit Slurm(std::filesystem::path folder) : folder_(std::move(folder)) {}
  bool launch(const std::vector<std::string>& argv, const std::string& name);
  std::string logs() const;

  std::filesystem::path folder_;
  std::vector<pid_t> daemons_;
};

}  // namespace capbench::testing

#endif  // CAPBENCH_TESTS_SUPPORT_SLURM_H_
