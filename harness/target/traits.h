// What a kind of target can and cannot do, as data.
#ifndef CAPBENCH_HARNESS_TARGET_TRAITS_H_
#define CAPBENCH_HARNESS_TARGET_TRAITS_H_

#include <span>
#include <string_view>

namespace capbench::target {

enum class ArgvPassing {
  kExact,   // each argument reaches execve as it was given
  kJoined,  // the arguments are joined by spaces and read by a shell there, of whatever kind the user has
};

enum class EnvironmentPassing {
  kFlag,    // by an option of the tool
  kPrefix,  // by words in front of the command
  kNone,    // not at all
};

enum class StreamPassing {
  kSeparate,       // stdout and stderr apart, as they come
  kMerged,         // both in one
  kSeparateAtEnd,  // apart, printed when the command has ended
  kMergedAtEnd,    // both in one, printed when the command has ended
};

enum class ExitPassing {
  kExact,  // the command's own
  kLossy,  // may be 0 for a command that failed
  kWraps,  // the command's own, but the `tool_codes` mean the tool itself
};

// How files get there and back.
enum class CopyMeans {
  kPipe,        // through the command's stdin and stdout, which pass bytes unchanged
  kOwnCommand,  // by a command of the tool
  kSsh,         // through ssh to the address that the tool tells
};

struct Traits {
  ArgvPassing argv = ArgvPassing::kJoined;
  EnvironmentPassing environment = EnvironmentPassing::kNone;
  StreamPassing streams = StreamPassing::kSeparate;
  ExitPassing exit = ExitPassing::kWraps;
  std::span<const int> tool_codes;       // exit statuses that mean the tool itself failed (ssh: 255)
  std::string_view time_limit_override;  // what lifts a limit that the tool has by default ("-t 0"); empty: it has none
  bool standard_input = true;            // whether stdin reaches the command
  CopyMeans copy = CopyMeans::kPipe;
  bool may_be_preinjected = false;  // images of this kind may come with a shim that is on by default
};

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TRAITS_H_
