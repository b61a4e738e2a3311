// What a kind of target implements: which local command does what, and how to read the tool's output. Pure: nothing
// here runs anything, reads a clock or touches a file, so all of it can be tested on recorded output.
//
// Everything else (job directories, quoting, framing, digests, limits, second attempts) is the same for all kinds and
// lives in remote.h. In particular a kind need not worry about quoting for the far shell: with ArgvPassing::kJoined it
// passes `far_shell_words(script)` (shell.h), which every login shell reads alike; with kExact `{"/bin/sh", "-c",
// script}`. Nor about noise around a command's output, merged streams or a status that is lost: what the scripts print
// is framed.
#ifndef CAPBENCH_HARNESS_TARGET_TRANSPORT_H_
#define CAPBENCH_HARNESS_TARGET_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/target/info.h"
#include "harness/target/spec.h"
#include "harness/target/ssh_options.h"
#include "harness/target/tool.h"
#include "harness/target/traits.h"

namespace capbench::target {

// A question to the tool and the reader of its answer. `parse` adds what it found to `info`; an error says what the
// tool answered instead. It must survive any bytes.
struct Query {
  ToolCommand command;
  std::function<Status(const ToolOutput& output, TargetInfo& info)> parse;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // The command that runs `script` by /bin/sh in the target. `with_stdin`: our stdin must reach it (only asked of kinds
  // with Traits::standard_input).
  virtual ToolCommand execute(const std::string& script, bool with_stdin) const = 0;

  // One file, for CopyMeans::kOwnCommand. Both paths are absolute; the folder is there; no shell reads them.
  virtual ToolCommand copy_in(const std::string& local, const std::string& remote) const;
  virtual ToolCommand copy_out(const std::string& remote, const std::string& local) const;

  // For CopyMeans::kSsh: how to reach the address that the tool tells.
  virtual std::optional<SshOptions> ssh(const std::string& address) const;

  // What to do about a failure of the tool itself, and whether a second attempt is pointless (a wrong key).
  struct Advice {
    std::string remedy;
    bool is_final = false;
  };
  virtual Advice advise(const ToolOutput& output) const;

  // For a kind whose traits depend on its options; otherwise the kind's.
  virtual std::optional<Traits> own_traits() const;

  // The questions that answer `aspect`, in order; none: the tool cannot tell.
  virtual std::vector<Query> queries(Aspect aspect) const;
};

// One option of a kind, beyond those that every kind takes.
struct OptionRule {
  enum class Type {
    kText,     // not empty, no NUL, no newline, no leading dash
    kInteger,  // from 0
    kBoolean,  // "true" or "false"
    kPath,     // on this machine; `~/` is the user's home
    kList,     // an argv list
  };
  std::string_view key;
  Type type = Type::kText;
  bool required = false;
  std::string_view meaning;  // for error messages: "the VM's name, as `tart list` prints it"
};

// A kind of target. One object each, in the kind's own file, and one line in kinds.cc.
struct KindInfo {
  std::string_view name;
  std::string_view summary;
  Traits traits;
  std::span<const OptionRule> options;
  // The work folder in the target, unless the suite states one; empty: in the user's cache folder there.
  std::string_view work_dir;
  // What only this kind can check (two options that exclude each other); null: nothing.
  Status (*check)(const TargetSpec& spec) = nullptr;
  // Never fails for a spec that passed check_spec.
  std::unique_ptr<Transport> (*make)(const TargetSpec& spec) = nullptr;
};

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TRANSPORT_H_
