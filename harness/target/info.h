// What a tool tells of its target.
#ifndef CAPBENCH_HARNESS_TARGET_INFO_H_
#define CAPBENCH_HARNESS_TARGET_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capbench::target {

enum class State {
  kUnknown,  // the tool does not tell
  kAbsent,   // there is no such VM or container
  kStopped,
  kStarting,  // or being provisioned, pulled, resumed
  kRunning,
};

std::string_view state_name(State state);

// Which image the target runs.
struct ImageIdentity {
  std::string digest;       // "sha256:HEX" where it is one; empty: unknown
  std::string source;       // "oci manifest", "bundle", "stated", or "" for unknown
  std::string name;         // as the tool names it
  std::string cloned_from;  // what it was cloned from, where the tool tells

  friend bool operator==(const ImageIdentity&, const ImageIdentity&) = default;
};

// The size of a guest as its host set it; what is not told stays empty.
struct GuestFacts {
  std::optional<std::int64_t> vcpus;
  std::optional<std::int64_t> memory_bytes;
  std::string os;

  friend bool operator==(const GuestFacts&, const GuestFacts&) = default;
};

struct TargetInfo {
  State state = State::kUnknown;
  std::string address;  // for ssh; empty: unknown
  ImageIdentity image;
  GuestFacts guest;
  std::string frontend_version;  // of the tool
};

// What can be asked. A kind may answer several by one command.
enum class Aspect { kState, kAddress, kImage, kGuest, kVersion };

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_INFO_H_
