// A target as one run uses it: which machine it is on, what it is, and which files lie where on it.
#ifndef CAPBENCH_HARNESS_RUNNER_PLACE_H_
#define CAPBENCH_HARNESS_RUNNER_PLACE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/observe/hygiene.h"
#include "harness/suite/suite.h"
#include "harness/target/target.h"
#include "schema/digest_cache.h"
#include "schema/records.h"
#include "shim/cpu/levels.h"

namespace capbench::runner {

// The cache of digests, for several threads. A large file keeps the others waiting.
class SharedDigests {
 public:
  explicit SharedDigests(schema::DigestCache cache) : cache_(std::move(cache)) {}
  Result<schema::ArtifactRecord> digest(const std::filesystem::path& path);
  // As target::Target::put asks.
  target::DigestOf asker();

 private:
  std::mutex mutex_;
  schema::DigestCache cache_;
};

// Which machines this run drives, by their ids: two names for one machine would wait for each other. For several
// threads.
class MachineRegister {
 public:
  // The name that has the id already, or nothing: then it is `name`'s now.
  std::optional<std::string> enter(const std::string& machine_id, const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> names_;
};

// One thread at a time for each place; different places from different threads.
class Place {
 public:
  // Connects, and learns what it is. `machine` is the place that is its physical host, or nullptr if it is that itself;
  // it must be open already and outlive this. An error means that no trial can run there.
  static Result<std::unique_ptr<Place>> open(const std::string& name, const suite::Suite& suite, Place* machine,
                                             target::ToolRunner& tools, int stop_fd);

  const std::string& name() const { return name_; }
  bool is_local() const { return name_ == "local"; }
  target::Target& target() { return *target_; }
  const std::string& os() const { return os_; }  // "linux", "macos"
  // The facts of this place. A guest has its host's machine_id.
  const schema::EnvironmentRecord& environment() const { return environment_; }
  const std::string& image() const { return image_; }  // JSON; empty: no image, or not known
  // The same as a file of the closure, where it is named by a SHA-256.
  const std::optional<schema::ArtifactRecord>& image_artifact() const { return image_artifact_; }
  // What results of this place carry as `guest`: "vm", "container", or nothing for a host.
  const std::string& guest() const { return guest_; }
  // What its CPU executes; nothing where no level is known.
  shim::cpu::FeatureSet cpu_features() const { return cpu_features_; }
  // Logical CPUs; 0: not known.
  std::int64_t cpus() const { return cpus_; }
  // The physical host, as a place: itself, or the one it was opened with.
  Place& host() { return machine_ != nullptr ? *machine_ : *this; }

  // The program's path there, where the suite gives it; else empty.
  std::string executable_there() const;
  // The CPU libraries beside a program there: "haswell", "x64", ... sorted.
  std::vector<std::string> cpu_variants_beside(const std::string& executable);

  // Sends a file or folder there. Locally: the path itself.
  Result<std::string> put(const std::filesystem::path& local, SharedDigests& digests);
  // The digests of files there; files that cannot be read are left out. Asked once for each path.
  std::map<std::string, schema::ArtifactRecord> digests_there(const std::vector<std::string>& paths,
                                                              SharedDigests& digests);
  // How it is now. Nothing if it cannot be asked.
  std::optional<observe::Hygiene> look();

 private:
  Place() = default;
  Status learn(int stop_fd);

  std::string name_;
  suite::TargetSpec spec_;
  std::unique_ptr<target::ToolRunner> far_tools_;  // for a tool that lives on another machine
  std::unique_ptr<target::Target> target_;
  Place* machine_ = nullptr;
  std::string os_;
  schema::EnvironmentRecord environment_;
  std::string image_;
  std::optional<schema::ArtifactRecord> image_artifact_;
  std::string guest_;
  shim::cpu::FeatureSet cpu_features_ = 0;
  std::int64_t cpus_ = 0;
  std::map<std::string, std::optional<schema::ArtifactRecord>> known_;
  int stop_fd_ = -1;
};

// Whether every target of the suite is one that can be used: its kind, the kind's keys and what it requires. Pure.
// Errors name the target: "$.targets.vm: ...".
Status check_targets(const suite::Suite& suite);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_PLACE_H_
