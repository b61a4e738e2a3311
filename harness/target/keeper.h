// The keeper: a small process between the harness and a job, so that no job outlives its harness.
//
//   harness --(socket)-- keeper --(parent)-- program and all its descendants
//
// The keeper starts the program in a process group of its own, waits for it, and ends every descendant that is left. It
// does the same when the harness disappears (its end of the socket closes, even by SIGKILL). If the keeper itself is
// killed, the kernel kills the program (parent-death signal). A lock that the harness held stays held until the keeper
// is gone, so the next harness never starts beside a job that is still dying.
#ifndef CAPBENCH_HARNESS_TARGET_KEEPER_H_
#define CAPBENCH_HARNESS_TARGET_KEEPER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace capbench::target {

// What the keeper tells the harness.
struct KeeperMessage {
  enum class Kind : std::uint32_t { kStarted, kEnded, kNotStarted };
  Kind kind = Kind::kStarted;
  pid_t pid = 0;        // of the program
  int wait_status = 0;  // as waitpid gives it
  int error = 0;        // errno of a failed exec
  std::int64_t wall_ns = 0;
  std::int64_t user_ns = 0;
  std::int64_t system_ns = 0;
  std::int64_t max_rss_bytes = 0;
};

struct KeptJob {
  pid_t keeper = 0;
  Fd socket;  // readable: one KeeperMessage per packet, then end of file. Closing it ends the job
  Fd out;     // the program's stdout and stderr, non-blocking
  Fd err;
};

// Starts `argv[0]` with exactly this environment; stdin is /dev/null.
// The calling process must have one thread (it forks without an exec in between).
Result<KeptJob> start_kept_job(std::vector<std::string> argv, std::vector<std::string> environment);

// Asks the keeper to end the job: SIGTERM to its process group, SIGKILL a second later.
void end_kept_job(const KeptJob& job);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_KEEPER_H_
