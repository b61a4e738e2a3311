// The keeper: a small process between the harness and a job, so that no job outlives its harness.
//
//   harness --(socket)-- keeper --(parent)-- program and all its descendants
//
// The keeper starts the program in a process group of its own, waits for it, and ends every descendant that is left. It
// does the same when the harness disappears (its end of the socket closes, even by SIGKILL). If the keeper itself is
// killed, the kernel kills the program (parent-death signal). A lock that the harness held stays held until the keeper
// is gone (KeptCommand::keep_fds), so the next harness never starts beside a job that is still dying. Of all other
// descriptors of the harness the keeper keeps none: another job's socket in its hands would hide the harness's death.
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

struct KeptCommand {
  std::vector<std::string> argv;         // argv[0] is the program's path
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::string working_dir;               // empty: the harness's
  int stdin_fd = -1;                     // -1: /dev/null
  int stdout_fd = -1;                    // -1: a pipe, KeptJob::out
  std::vector<int> keep_fds;             // stay open until the keeper is gone; the program does not get them
  // Run once after the job has been ended because the harness vanished, with the same environment, for up to 30
  // seconds; empty: nothing.
  std::vector<std::string> if_abandoned;
};

struct KeptJob {
  pid_t keeper = 0;
  Fd socket;  // readable: one KeeperMessage per packet, then end of file. Closing it ends the job
  Fd out;     // the program's stdout and stderr, non-blocking
  Fd err;
};

// Starts the program. May be called from several threads at once: what runs between fork and exec is async-signal-safe.
Result<KeptJob> start_kept_job(KeptCommand command);

// Asks the keeper to end the job: SIGTERM to its process group, SIGKILL a second later.
void end_kept_job(const KeptJob& job);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_KEEPER_H_
