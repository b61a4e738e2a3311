// What a process is told about its CPU, decided from the settings and the machine. Pure: the preload library only asks.
#ifndef CAPBENCH_SHIM_CPU_DECISION_H_
#define CAPBENCH_SHIM_CPU_DECISION_H_

#include <cstddef>
#include <optional>

#include "shim/common/settings.h"
#include "shim/cpu/levels.h"

namespace capbench::shim::cpu {

// What this machine can do.
struct Machine {
  FeatureSet usable = 0;    // CPUID and the kernel both say so
  FeatureSet executed = 0;  // CPUID hides it, the kernel saves its registers, and a child process has run it
};

// The levels asked for, as indices into kCpuIsaLevels.
struct Request {
  std::optional<std::size_t> guest;  // CAPSHIM_GUEST: the stand-in guest's answer
  std::optional<std::size_t> set;    // CAPSHIM_SET: what the shim tells; it has the last word

  bool any() const { return guest.has_value() || set.has_value(); }
};

Request request_of(const Roles& roles);

// Features that the settings ask for, that CPUID does not show and that the kernel has enabled: those to try in a child
// process. Only the shim's role raises, so none without CAPSHIM_SET.
FeatureSet features_to_try(const Request& request, FeatureSet usable, FeatureSet enabled);

// What the answers are made from.
struct Policy {
  bool active = false;        // false: every answer is the library's own
  bool unrestricted = false;  // the last word is `best`: libraries this table does not know keep their own answer
  FeatureSet device = 0;      // what the device answers
  FeatureSet guest = 0;       // what the stand-in guest answers
  FeatureSet reported = 0;    // what this process is told
};

// A level never admits more than the machine can execute, in either role.
Policy make_policy(const Request& request, const Machine& machine);

enum class Answer {
  kOwn,     // the library's own score
  kHidden,  // 0: not for this CPU
  kRaised,  // the score it has on a CPU that shows its features, if its own is 0
};

// For the variant with that index; kVariantCount stands for a library that the table does not know. Such a library is
// hidden under any level but `best`, since nobody can say that its features are within the level.
Answer answer_for(const Policy& policy, std::size_t variant);

}  // namespace capbench::shim::cpu

#endif  // CAPBENCH_SHIM_CPU_DECISION_H_
