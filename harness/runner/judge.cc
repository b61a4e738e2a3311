#include "harness/runner/judge.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "base/error.h"
#include "harness/observe/device.h"
#include "harness/observe/ggml_log.h"
#include "harness/runner/journal.h"
#include "harness/runtime/runtime.h"

namespace capbench::runner {
namespace {

using target::Ending;
using target::JobResult;

struct Verdict {
  std::string status;
  std::string reason;
};

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// What happened, the program's own last words, and the remedy.
std::string with_last_words(const std::string& what, const JobResult& job, const std::string& remedy) {
  const std::string words = observe::last_words(job.err);
  return what + (words.empty() ? "" : ": " + words) + "; try: " + remedy;
}

std::string signal_remedy(int signal) {
  if (signal == SIGKILL) return "free some memory (the kernel kills what asks for too much), see `dmesg`";
  if (signal == SIGILL) return "a lower level of cpu.isa, this machine does not execute what was chosen";
  return "the command by hand with -v";
}

// How the process ended, before anything it printed is believed.
Verdict verdict_of_end(const JobResult& job, const runtime::ParsedOutput& parsed, const JudgeContext& context,
                       double limit_s) {
  switch (job.ending) {
    case Ending::kNotStarted:
      return {"failed", fmt::format("could not be started: {}; try: `capbench doctor`", job.reason)};
    case Ending::kTimedOut:
      return {"timeout",
              with_last_words(fmt::format("ran past the limit of {:g} s", limit_s), job, "a larger time_limit_s")};
    case Ending::kInterrupted:
      return {"killed", "interrupted; try: `capbench run --resume`"};
    case Ending::kLost:
      return {"failed", fmt::format("{}: {}; try: `capbench run --resume`", kLostPrefix, job.reason)};
    case Ending::kFlooded:
      return {"failed", "printed more than is kept; try: leave -v and --progress out of args"};
    case Ending::kSignaled:
      return {"killed",
              with_last_words(fmt::format("ended by {}", signal_name(job.signal)), job, signal_remedy(job.signal))};
    case Ending::kExited:
      break;
  }
  if (job.exit_status != 0) {
    return {"failed", with_last_words(fmt::format("exited {}", job.exit_status), job, "the command by hand with -v")};
  }
  if (!parsed.problem.empty()) return {"failed", parsed.problem + "; try: the command by hand"};
  if (job.out.find_first_not_of(" \t\r\n") == std::string::npos) {
    return {"failed", with_last_words("exited 0 but printed nothing", job, "the command by hand with -v")};
  }
  const std::string wrong = runtime::check_output(context.runtime, parsed.results, context.workload);
  if (!wrong.empty()) return {"failed", wrong + "; try: another version of " + std::string(context.runtime)};
  return {"ok", ""};
}

// What the end and the output alone do not show: the wrong device, the wrong treatment. A process that ended by itself
// and failed may have done so because of them; one that was stopped tells nothing.
Verdict verdict_of_arm(Verdict end, const JobResult& job, const std::string& missing_device,
                       const observe::TreatmentVerdict& treatment, const JudgeContext& context) {
  const bool by_itself = job.ending == Ending::kExited || job.ending == Ending::kSignaled;
  if (!by_itself) return end;
  const std::string also = end.status == "ok" ? "" : fmt::format("; and it {}", end.reason);
  if (!context.injection_problem.empty()) return {"invalid_treatment", treatment.reason + also};
  if (!missing_device.empty()) {
    return {"no_device",
            fmt::format("{}; try: `capbench doctor SUITE`, which lists what is missing{}", missing_device, also)};
  }
  const bool wrong = treatment.treatment == "invalid" && (end.status == "ok" || treatment.contradicted);
  return wrong ? Verdict{"invalid_treatment", treatment.reason + also} : end;
}

}  // namespace

void judge(const JobResult& job, const JudgeContext& context, double limit_s, schema::TrialRecord& trial) {
  judge(job, runtime::parse_output(context.runtime, job.out), context, limit_s, trial);
}

void judge(const JobResult& job, runtime::ParsedOutput parsed, const JudgeContext& context, double limit_s,
           schema::TrialRecord& trial) {
  trial.wall_ns = job.wall_ns;
  trial.user_ns = job.user_ns;
  trial.system_ns = job.system_ns;
  trial.max_rss_bytes = job.max_rss_bytes;
  if (job.ending == Ending::kExited) trial.exit_status = job.exit_status;
  if (job.ending == Ending::kSignaled) trial.signal = job.signal;
  observe::TreatmentVerdict treatment =
      observe::check_treatment(context.arm, {job.err, job.mapped_files, context.cpu_variants, context.hardware_features,
                                             context.probe, context.injection_problem, context.varied_variables});
  trial.treatment = treatment.treatment;
  trial.capabilities = std::move(treatment.capabilities);
  trial.quality = "unchecked";

  Verdict verdict = verdict_of_arm(verdict_of_end(job, parsed, context, limit_s), job,
                                   observe::missing_device(context.arm, parsed.results, job.err), treatment, context);
  trial.results = std::move(parsed.results);
  trial.status = std::move(verdict.status);
  trial.reason = std::move(verdict.reason);
}

}  // namespace capbench::runner
