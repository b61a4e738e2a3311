// A real OpenSSH server for tests: its own host key, user key, known-hosts file and port, all in a folder of the test.
// It runs as the test's user and ends with the test, even by SIGKILL.
#ifndef CAPBENCH_HARNESS_TARGET_TESTING_SSHD_H_
#define CAPBENCH_HARNESS_TARGET_TESTING_SSHD_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "harness/target/keeper.h"
#include "harness/target/spec.h"

namespace capbench::target::testing {

class Link;

// How the test reaches the server.
enum class Route {
  kRelay,      // on loopback, through a relay in the test's process that can fall silent
  kNamespace,  // in a network namespace of its own, over a pair of virtual links that can go down; needs root
};

class Sshd {
 public:
  // An error says what is missing (no sshd, no namespaces): the test skips with it. `folder` must exist.
  static Result<std::unique_ptr<Sshd>> start(const std::string& folder, Route route = Route::kRelay);
  ~Sshd();
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;

  // Kind ssh, with `work_dir` in the folder. The connection counts as lost after 4 silent seconds.
  TargetSpec spec() const;
  // The same as a member of a suite's "targets": {"kind": "ssh", ...}.
  std::string spec_json() const;

  // Nothing gets through any more, in either direction, and nobody is told. Connections of before stay dead.
  void cut();
  // New connections get through again.
  void restore();

  // From now on about 10 MB a second get through (a relay only).
  void slow_down();

  // Where the server believes itself to be: a folder on its side, which is on this machine too.
  const std::string& work_dir() const { return work_dir_; }

 private:
  Sshd() = default;

  std::string folder_;
  std::string work_dir_;
  std::string address_;
  int port_ = 0;
  std::unique_ptr<Link> link_;
  KeptJob server_;
};

}  // namespace capbench::target::testing

#endif  // CAPBENCH_HARNESS_TARGET_TESTING_SSHD_H_
