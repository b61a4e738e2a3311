#include "harness/target/remote.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "harness/target/far_files.h"
#include "harness/target/far_shell.h"
#include "harness/target/file_scripts.h"
#include "harness/target/hooks.h"
#include "harness/target/job_script.h"
#include "harness/target/shell.h"
#include "harness/target/ssh.h"

namespace capbench::target {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// What the far side needs beyond the job's own limit to end it and to write its end.
constexpr seconds kGrace(15);

std::string small_letters(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_harmless_path(std::string_view path) {
  return path.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+") ==
         std::string_view::npos;
}

// How the files go when the kind's own way is not to be had.
enum class Way { kPipe, kOwnCommand, kSsh };

class RemoteTarget : public Target {
 public:
  RemoteTarget(std::string name, const TargetSpec& spec, const KindInfo& kind, ToolRunner& tools)
      : name_(std::move(name)),
        spec_(spec),
        kind_(kind),
        tools_(tools),
        transport_(kind.make(spec)),
        traits_(transport_->own_traits().value_or(kind.traits)),
        shell_("target \"" + name_ + "\" (" + std::string(kind.name) + ")", *transport_, tools) {}
  RemoteTarget(const RemoteTarget&) = delete;
  RemoteTarget& operator=(const RemoteTarget&) = delete;

  ~RemoteTarget() override {
    if (last_place_.folder.empty()) return;
    // Only tidiness: the next job removes it as well.
    ToolLimits limits;
    limits.time_limit = seconds(10);
    (void)shell_.run_once("rm -rf " + quote(last_place_.folder), limits).ok();
  }

  std::string_view name() const override { return name_; }
  std::string_view kind() const override { return kind_.name; }
  const Traits& traits() const override { return traits_; }

  Result<JobResult> run(const Job& job, const JobWatch& watch) override;
  Result<std::string> put(const std::filesystem::path& local, const DigestOf& digest_of, int stop_fd) override;
  Status get(const std::string& remote, const std::filesystem::path& local, int stop_fd) override;
  Result<ToolOutput> script(const std::string& text, const ToolLimits& limits) override;
  Result<State> state() override;
  Result<std::string> address() override;
  Result<ImageIdentity> image() override;
  Result<GuestFacts> guest() override;
  Result<std::string> frontend_version() override;
  Result<std::string> os() override;
  Status bring_up(int stop_fd) override;
  Status take_down(int stop_fd) override;
  PutCount put_count() const override { return files_ ? files_->count() : PutCount{}; }

 private:
  Status make_ready(int stop_fd);
  Status make_files(int stop_fd);
  Status prepare(const JobPlace& place, const std::string& launch, const std::string& job, int stop_fd);
  JobResult collect(const JobPlace& place, const Job& job, const JobResult& session);
  Result<TargetInfo> ask(Aspect aspect);
  std::string tool() const { return transport_->execute("true", false).argv.front(); }

  std::string name_;
  TargetSpec spec_;
  const KindInfo& kind_;
  ToolRunner& tools_;
  std::unique_ptr<Transport> transport_;
  Traits traits_;
  FarShell shell_;
  std::optional<Ready> ready_;
  std::unique_ptr<Transport> ssh_;  // for the files of kinds that copy nothing
  std::optional<FarShell> ssh_shell_;
  std::optional<FarFiles> files_;
  JobPlace last_place_;
};

Status RemoteTarget::make_ready(int stop_fd) {
  if (ready_) return {};
  ToolLimits limits;
  limits.stop_fd = stop_fd;
  const std::string stated = option(spec_, "work_dir", kind_.work_dir);
  auto answer = shell_.run(ready_script(stated), limits);
  if (!answer) return std::move(answer).error();
  auto ready = read_ready(answer->text);
  if (answer->exit_status != 0 || !ready) {
    return Error{ErrorKind::kMachine, shell_.who(), "its work folder cannot be made",
                 "set `work_dir` to a folder there that the user can write"};
  }
  // Libraries to inject are named in variables that a space or a colon would cut.
  if (stated.empty() && !is_harmless_path(ready->work_dir)) {
    return Error{ErrorKind::kMachine, shell_.who(),
                 "the user's home folder there has a name that the loader's variables cannot carry",
                 "set `work_dir` to a folder with plain letters"};
  }
  ready_ = std::move(*ready);
  return {};
}

Status RemoteTarget::make_files(int stop_fd) {
  if (files_) return {};
  if (auto status = make_ready(stop_fd); !status) return status;
  Way way = Way::kPipe;
  if (traits_.copy == CopyMeans::kOwnCommand) way = Way::kOwnCommand;
  if (traits_.copy == CopyMeans::kSsh) way = Way::kSsh;
  const bool can_pipe = traits_.standard_input && traits_.streams == StreamPassing::kSeparate;
  if (way == Way::kOwnCommand && !tools_.shares_files()) {
    if (!can_pipe) {
      return Error{ErrorKind::kMachine, shell_.who(),
                   "its copy command works on the machine of the VM only, and that is another one",
                   "run capbench on that machine"};
    }
    way = Way::kPipe;
  }
  if (way == Way::kSsh) {
    auto where = address();
    if (!where) return std::move(where).error();
    const auto options = transport_->ssh(*where);
    if (where->empty() || !options) {
      return Error{ErrorKind::kMachine, shell_.who(), "has no address yet, and its files go through ssh",
                   "wait until it has started, and let it run sshd"};
    }
    ssh_ = make_ssh_transport(*options);
    ssh_shell_.emplace(shell_.who(), *ssh_, tools_);
  }
  const FarShell* pipe = way == Way::kPipe ? &shell_ : nullptr;
  if (way == Way::kSsh) pipe = &*ssh_shell_;
  files_.emplace(shell_, pipe, ready_->work_dir);
  return {};
}

Result<std::string> RemoteTarget::put(const std::filesystem::path& local, const DigestOf& digest_of, int stop_fd) {
  if (auto status = make_files(stop_fd); !status) return std::move(status).error();
  return files_->put(local, digest_of, stop_fd);
}

Status RemoteTarget::get(const std::string& remote, const std::filesystem::path& local, int stop_fd) {
  if (auto status = make_files(stop_fd); !status) return status;
  return files_->get(remote, local, stop_fd);
}

Result<ToolOutput> RemoteTarget::script(const std::string& text, const ToolLimits& limits) {
  auto answer = shell_.run(text, limits);
  if (!answer) return std::move(answer).error();
  return ToolOutput{answer->exit_status, std::move(answer->text), {}};
}

Status RemoteTarget::prepare(const JobPlace& place, const std::string& launch, const std::string& job, int stop_fd) {
  ToolLimits limits;
  limits.stop_fd = stop_fd;
  // A job whose harness was lost ends by itself after a while; one of somebody else's does not, and is not ours to end.
  const auto until = Clock::now() + seconds(3 * lost_after_seconds(spec_));
  for (const std::string& script : prepare_scripts(ready_->work_dir, place, launch, job)) {
    for (;;) {
      auto answer = shell_.run(script, limits);
      if (!answer) return std::move(answer).error();
      if (answer->exit_status == 0) break;
      if (answer->exit_status != kBusyStatus) {
        return Error{ErrorKind::kMachine, shell_.who(), "the job's folder cannot be made",
                     "check the free space and the permissions of " + ready_->work_dir + " there"};
      }
      if (Clock::now() >= until) {
        return Error{ErrorKind::kMachine, shell_.who(), "another job of capbench is running there",
                     "wait for its end, or end the capbench that started it"};
      }
      if (!pause_unless_stopped(seconds(2), stop_fd)) {
        return Error{ErrorKind::kInterrupted, shell_.who(), "stopped", ""};
      }
    }
  }
  return {};
}

// What became of a job whose session has ended. Ends it first should it still run.
JobResult RemoteTarget::collect(const JobPlace& place, const Job& job, const JobResult& session) {
  ToolLimits limits;  // no stop_fd: it may be raised already, and this is what it asks for
  limits.max_output_bytes = job.max_output_bytes * 3 + (16U << 20U);
  std::string problem;
  std::optional<JobResult> found;
  constexpr int kAttempts = 2;
  for (int attempt = 0; attempt < kAttempts && !found; ++attempt) {
    auto answer = shell_.run_once(collect_script(place), limits);
    if (!answer) {
      problem = answer.error().cause;
      continue;
    }
    if (const auto files = read_files(answer->text)) found = read_job(*files, place, job);
    if (!found) problem = "its results did not arrive whole";
  }
  JobResult result = found.value_or(JobResult{});
  if (!found) {
    result.ending = Ending::kLost;
    result.reason = problem;
  }
  const bool ended_by_us = result.ending == Ending::kInterrupted || !found || result.ending == Ending::kLost;
  if (!ended_by_us) return result;
  if (session.ending == Ending::kInterrupted) {
    result.ending = Ending::kInterrupted;
  } else if (session.ending == Ending::kTimedOut && result.ending == Ending::kInterrupted) {
    result.ending = Ending::kTimedOut;
  } else if (session.ending == Ending::kTimedOut && !found) {
    result.reason = shell_.who() + " did not end the job at its time limit, and does not answer: " + problem;
  } else {
    // The tool was gone before the job: what it said is the reason.
    result.ending = Ending::kLost;
    const ToolOutput said{session.exit_status, session.out, session.err};
    std::string reason = shell_.failure(said).cause;
    if (session.ending == Ending::kSignaled)
      reason = "`" + tool() + "` was killed by signal " + std::to_string(session.signal);
    result.reason = "lost " + shell_.who() + " while the job ran: " + reason;
    if (!found) result.reason += "; and then: " + problem;
  }
  return result;
}

Result<JobResult> RemoteTarget::run(const Job& job, const JobWatch& watch) {
  if (auto status = make_ready(watch.stop_fd); !status) return std::move(status).error();
  JobPlace place;
  place.nonce = make_nonce();
  place.folder = ready_->work_dir + "/jobs/" + place.nonce;
  auto launch = launch_script(job, place);
  if (!launch) return std::move(launch).error();
  const int lost_after = lost_after_seconds(spec_);
  const bool beats = traits_.standard_input;
  const std::string supervisor = job_script(job, place, beats, lost_after);
  if (auto status = prepare(place, *launch, supervisor, watch.stop_fd); !status) return std::move(status).error();
  last_place_ = place;

  ToolSession session;
  session.command = transport_->execute(start_script(place), beats);
  session.keep_fds = job.keep_fds;
  session.time_limit = job.time_limit + kGrace;
  if (beats) {
    session.beat = std::max(milliseconds(lost_after * 1000) / 4, milliseconds(200));
  } else {
    session.if_abandoned = transport_->execute(end_script(place), false);
  }
  auto ended = tools_.run_session(session, watch);
  if (!ended) return std::move(ended).error();
  if (ended->ending == Ending::kNotStarted) {
    return Error{ErrorKind::kMachine, shell_.who(), "`" + tool() + "` cannot be executed: " + ended->reason,
                 "install it again"};
  }
  JobResult result = collect(place, job, *ended);
  if (result.ending == Ending::kLost) last_place_ = {};  // a host that is lost is not asked to be tidy
  return result;
}

Result<TargetInfo> RemoteTarget::ask(Aspect aspect) {
  TargetInfo info;
  ToolLimits limits;
  if (aspect == Aspect::kImage) limits.time_limit = std::chrono::hours(1);  // the digest of a disk takes its time
  for (const Query& query : transport_->queries(aspect)) {
    auto output = tools_.run(query.command, limits);
    if (!output) return std::move(output).error();
    if (auto status = query.parse(*output, info); !status) {
      Error error = std::move(status).error();
      error.what = shell_.who() + ": " + error.what;
      return error;
    }
  }
  return info;
}

Result<State> RemoteTarget::state() {
  auto info = ask(Aspect::kState);
  if (!info) return std::move(info).error();
  return info->state;
}

Result<std::string> RemoteTarget::address() {
  auto info = ask(Aspect::kAddress);
  if (!info) return std::move(info).error();
  return info->address.empty() ? option(spec_, "address") : info->address;
}

// What the tool knows counts; what the user states fills the gap.
Result<ImageIdentity> RemoteTarget::image() {
  auto info = ask(Aspect::kImage);
  if (!info) return std::move(info).error();
  if (!info->image.digest.empty()) return info->image;
  ImageIdentity stated = stated_image(spec_);
  if (stated.source.empty()) return info->image;
  stated.cloned_from = info->image.cloned_from;
  return stated;
}

Result<GuestFacts> RemoteTarget::guest() {
  auto info = ask(Aspect::kGuest);
  if (!info) return std::move(info).error();
  return info->guest;
}

Result<std::string> RemoteTarget::frontend_version() {
  auto info = ask(Aspect::kVersion);
  if (!info) return std::move(info).error();
  return info->frontend_version;
}

Result<std::string> RemoteTarget::os() {
  if (auto status = make_ready(-1); !status) return std::move(status).error();
  const std::string system = small_letters(ready_->system);
  return system == "darwin" ? std::string("macos") : system;
}

Status RemoteTarget::bring_up(int stop_fd) {
  ToolLimits limits;
  limits.time_limit = seconds(20);
  limits.stop_fd = stop_fd;
  const auto until = Clock::now() + seconds(wait_seconds(spec_));
  auto answer = shell_.run_once("true", limits);
  if (answer) return {};
  const auto hook = spec_.lists.find("start");
  if (hook == spec_.lists.end() || hook->second.empty()) return std::move(answer).error();
  // It may have another address, and other files, than before.
  ready_.reset();
  files_.reset();
  if (auto status = run_hook(spec_, "start", name_, tools_, stop_fd); !status) return status;
  for (;;) {
    answer = shell_.run_once("true", limits);
    if (answer) return {};
    if (answer.error().kind == ErrorKind::kInterrupted || Clock::now() >= until) return std::move(answer).error();
    if (!pause_unless_stopped(seconds(1), stop_fd)) return Error{ErrorKind::kInterrupted, shell_.who(), "stopped", ""};
  }
}

Status RemoteTarget::take_down(int stop_fd) {
  const auto hook = spec_.lists.find("stop");
  if (hook == spec_.lists.end() || hook->second.empty()) return {};
  last_place_ = {};
  ready_.reset();
  files_.reset();
  return run_hook(spec_, "stop", name_, tools_, stop_fd);
}

class RemoteTools : public ToolRunner {
 public:
  RemoteTools(std::unique_ptr<Transport> host, const Traits& traits, ToolRunner& tools)
      : host_(std::move(host)), traits_(traits), tools_(tools) {}

  Result<ToolOutput> run(const ToolCommand& command, const ToolLimits& limits) override {
    return tools_.run(there(command, !command.stdin_file.empty()), limits);
  }

  Result<JobResult> run_session(const ToolSession& session, const JobWatch& watch) override {
    ToolSession outer = session;
    outer.command = there(session.command, session.beat.count() > 0);
    if (!session.if_abandoned.argv.empty()) outer.if_abandoned = there(session.if_abandoned, false);
    return tools_.run_session(outer, watch);
  }

  bool shares_files() const override { return false; }

 private:
  ToolCommand there(const ToolCommand& command, bool with_stdin) const {
    std::string script;
    for (const std::string& entry : command.set_env) {
      const std::size_t at = entry.find('=');
      if (at != std::string::npos) script += entry.substr(0, at) + "=" + quote(entry.substr(at + 1)) + " ";
    }
    // Tools of a Mac's package managers are on no path that ssh gives.
    script =
        "PATH=\"$PATH:/usr/local/bin:/opt/homebrew/bin\"\nexport PATH\n" + script + "exec " + quote_all(command.argv);
    ToolCommand outer = host_->execute(script, with_stdin && traits_.standard_input);
    outer.stdin_file = command.stdin_file;
    outer.stdin_offset = command.stdin_offset;
    outer.stdout_file = command.stdout_file;
    return outer;
  }

  std::unique_ptr<Transport> host_;
  Traits traits_;
  ToolRunner& tools_;
};

}  // namespace

int lost_after_seconds(const TargetSpec& spec) {
  int value = SshOptions{}.lost_after_s;
  const std::string text = option(spec, "lost_after_s");
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::clamp(value, 3, 3600);
}

std::unique_ptr<Target> make_remote_target(std::string name, const TargetSpec& spec, const KindInfo& kind,
                                           ToolRunner& tools) {
  return std::make_unique<RemoteTarget>(std::move(name), spec, kind, tools);
}

std::unique_ptr<ToolRunner> make_remote_tools(std::unique_ptr<Transport> host, const Traits& traits,
                                              ToolRunner& tools) {
  return std::make_unique<RemoteTools>(std::move(host), traits, tools);
}

}  // namespace capbench::target
