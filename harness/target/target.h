// Where a command runs. This machine is one; every other kind is a Transport (transport.h) under a remote target.
#ifndef CAPBENCH_HARNESS_TARGET_TARGET_H_
#define CAPBENCH_HARNESS_TARGET_TARGET_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/target/info.h"
#include "harness/target/job.h"
#include "harness/target/spec.h"
#include "harness/target/tool.h"
#include "harness/target/traits.h"

namespace capbench::target {

// The size and SHA-256 of one file to send. The caller has them from its cache; the target never hashes a local file.
struct FileDigest {
  std::string sha256;
  std::uint64_t bytes = 0;
};
using DigestOf = std::function<Result<FileDigest>(const std::filesystem::path& file)>;

// What putting files has cost so far.
struct PutCount {
  std::uint64_t files_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t files_kept = 0;  // found there already
};

// One thread at a time for each object; different objects from different threads.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;  // as the suite names it
  virtual std::string_view kind() const = 0;
  virtual const Traits& traits() const = 0;

  // Runs one job to its end. Paths in it are the target's (see put). An Error means that the target itself failed
  // before the program was started; a program that fails, or whose target is lost while it runs, is a JobResult.
  virtual Result<JobResult> run(const Job& job, const JobWatch& watch) = 0;

  // Sends a file, or a folder with all files below it (links are followed), and returns its path there. A file is named
  // by its digest: one that is there already is checked and not sent again, and nothing lies under its final name
  // before its digest is verified there. All of it is executable and read-only. The path keeps the file's own name, and
  // has only letters, digits and `/._-+` before it. Locally: the path itself.
  virtual Result<std::string> put(const std::filesystem::path& local, const DigestOf& digest_of, int stop_fd = -1) = 0;

  // Copies one file from there to `local`, replacing it whole.
  virtual Status get(const std::string& remote, const std::filesystem::path& local, int stop_fd = -1) = 0;

  // Runs a POSIX sh script there, without a job directory and without injection: for facts and probes. Safe to repeat:
  // it is, once, when the connection fails. Its stdout (and stderr where the tool merges them) are in `out`.
  virtual Result<ToolOutput> script(const std::string& text, const ToolLimits& limits = {}) = 0;

  // What the tool tells; unknown is no error.
  virtual Result<State> state() = 0;
  virtual Result<std::string> address() = 0;
  virtual Result<ImageIdentity> image() = 0;
  virtual Result<GuestFacts> guest() = 0;
  virtual Result<std::string> frontend_version() = 0;

  // "linux", "macos", or what uname says, in small letters; asked once.
  virtual Result<std::string> os() = 0;

  // Runs the `start` hook unless the target already answers, and waits up to `wait_s` for it to answer; then the `stop`
  // hook. Without hooks: bring_up only checks that it answers.
  virtual Status bring_up(int stop_fd = -1) = 0;
  virtual Status take_down(int stop_fd = -1) = 0;

  virtual PutCount put_count() const = 0;
};

// A target by the name that the suite gives it. "local" needs no spec. `tools` runs the kind's tool and must outlive
// the target. The spec is checked first.
Result<std::unique_ptr<Target>> make_target(std::string_view name, const TargetSpec& spec, ToolRunner& tools);

// The built-in target "local"; an error lists the kinds for any other name.
Result<std::unique_ptr<Target>> make_target(std::string_view name);

// Runs the tools of targets that live on `host`, an ssh target's spec, there. `tools` must outlive it.
Result<std::unique_ptr<ToolRunner>> make_tools_on(std::string_view host_name, const TargetSpec& host,
                                                  ToolRunner& tools);

// The kinds of target, sorted.
std::vector<std::string_view> target_kinds();

// What a kind can do; null for an unknown one.
const Traits* kind_traits(std::string_view kind);

// The commands that a job on this target would run, for people to read; nothing is run. `program` is the job's argv as
// it would be there.
std::vector<std::string> describe_job(std::string_view name, const TargetSpec& spec, const Job& job);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TARGET_H_
