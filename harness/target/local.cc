#include "harness/target/local.h"

#include <system_error>
#include <utility>

#include "harness/target/hooks.h"
#include "harness/target/kept_run.h"

namespace capbench::target {
namespace {

class LocalTarget : public Target {
 public:
  LocalTarget(const TargetSpec& spec, std::string name) : name_(std::move(name)), spec_(spec) {}

  std::string_view name() const override { return name_; }
  std::string_view kind() const override { return "local"; }
  const Traits& traits() const override { return local_traits(); }

  Result<JobResult> run(const Job& job, const JobWatch& watch) override {
    KeptCommand command;
    command.argv = job.argv;
    command.environment = environment_with(job.set_env, job.unset_env);
    command.working_dir = job.working_dir;
    command.keep_fds = job.keep_fds;
    Fd input;
    if (!job.stdin_file.empty()) {
      auto opened = open_input(job.stdin_file, job.stdin_offset);
      if (!opened) return std::move(opened).error();
      input = std::move(*opened);
      command.stdin_fd = input.get();
    }
    KeptRun run;
    run.time_limit = job.time_limit;
    run.max_output_bytes = job.max_output_bytes;
    run.look_at_maps = true;
    return run_kept(std::move(command), run, watch);
  }

  Result<std::string> put(const std::filesystem::path& local, const DigestOf& /*digest_of*/, int /*stop_fd*/) override {
    return local.string();
  }

  Status get(const std::string& remote, const std::filesystem::path& local, int /*stop_fd*/) override {
    std::error_code problem;
    if (std::filesystem::equivalent(remote, local, problem)) return {};
    const std::filesystem::path part = local.string() + ".part";
    std::filesystem::copy_file(remote, part, std::filesystem::copy_options::overwrite_existing, problem);
    if (!problem) std::filesystem::rename(part, local, problem);
    if (!problem) return {};
    return Error{ErrorKind::kMachine, remote, "cannot be copied to " + local.string() + ": " + problem.message(),
                 "check both paths"};
  }

  Result<ToolOutput> script(const std::string& text, const ToolLimits& limits) override {
    return tools_->run({{"/bin/sh", "-c", text}, "", 0, "", {}}, limits);
  }

  Result<State> state() override { return State::kRunning; }
  Result<std::string> address() override { return std::string(); }
  Result<ImageIdentity> image() override { return stated_image(spec_); }
  Result<GuestFacts> guest() override { return GuestFacts{}; }
  Result<std::string> frontend_version() override { return std::string(); }

  Result<std::string> os() override {
#if defined(__APPLE__)
    return std::string("macos");
#else
    return std::string("linux");
#endif
  }

  Status bring_up(int stop_fd) override {
    return run_hook(spec_, "start", name_, *tools_, stop_fd);
  }
  Status take_down(int stop_fd) override {
    return run_hook(spec_, "stop", name_, *tools_, stop_fd);
  }
  PutCount put_count() const override {
    return {};
  }

 private:
  std::string name_;
  TargetSpec spec_;
  std::unique_ptr<ToolRunner> tools_ = make_local_tools();
};

}  // namespace

const Traits& local_traits() {
  static constexpr Traits kTraits{ArgvPassing::kExact,
                                  EnvironmentPassing::kFlag,
                                  StreamPassing::kSeparate,
                                  ExitPassing::kExact,
                                  {},
                                  {},
                                  true,
                                  CopyMeans::kPipe,
                                  false};
  return kTraits;
}

std::unique_ptr<Target> make_local_target(const TargetSpec& spec, std::string name) {
  return std::make_unique<LocalTarget>(spec, std::move(name));
}

}  // namespace capbench::target
