// How to reach a host by ssh.
#ifndef CAPBENCH_HARNESS_TARGET_SSH_OPTIONS_H_
#define CAPBENCH_HARNESS_TARGET_SSH_OPTIONS_H_

#include <string>
#include <vector>

namespace capbench::target {

struct SshOptions {
  std::string address;
  std::string port;         // empty: ssh's own choice
  std::string user;         // empty: ssh's own choice
  std::string identity;     // private key file; empty: ssh's own choice
  std::string known_hosts;  // empty: the user's own. Guests are cloned again and again, so a file per target is wise
  int lost_after_s = 30;    // a silent connection is given up after so many seconds
};

// The argv up to and including the host; the command follows. No prompt, no terminal, strict host keys.
std::vector<std::string> ssh_argv(const SshOptions& options);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_SSH_OPTIONS_H_
