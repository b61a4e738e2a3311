// A host that is reached by ssh.
#ifndef CAPBENCH_HARNESS_TARGET_SSH_H_
#define CAPBENCH_HARNESS_TARGET_SSH_H_

#include <memory>

#include "harness/target/ssh_options.h"
#include "harness/target/transport.h"

namespace capbench::target {

const KindInfo& ssh_kind();

// Also for kinds whose tools copy nothing (CopyMeans::kSsh). Files go through `cat`: it can go on where a broken copy
// ended, which scp cannot.
std::unique_ptr<Transport> make_ssh_transport(const SshOptions& options);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_SSH_H_
