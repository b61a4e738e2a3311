#include "harness/runner/quality_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/file.h"
#include "harness/observe/environment.h"
#include "harness/runner/injection.h"
#include "harness/target/shell.h"
#include "models/gguf.h"

namespace capbench::runner {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr const char* kKind = "output";

runtime::PerplexityTreatment treatment_of(const suite::Workload& workload, const suite::Arm& arm) {
  runtime::PerplexityTreatment treatment;
  treatment.device = arm.device;
  treatment.gpu_layers = workload.gpu_layers;
  treatment.threads = workload.threads;
  treatment.flash_attention = workload.flash_attention;
  treatment.llama_bench_args = workload.extra_args;
  treatment.llama_bench_args.insert(treatment.llama_bench_args.end(), arm.args.begin(), arm.args.end());
  return treatment;
}

bool any_above_zero(const std::vector<std::int64_t>& counts) {
  return std::any_of(counts.begin(), counts.end(), [](std::int64_t n) { return n > 0; });
}

// Workloads that compute alike need one check only.
std::vector<std::size_t> different_workloads(const suite::Suite& suite) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < suite.workloads.size(); ++i) {
    const suite::Workload& a = suite.workloads[i];
    const bool is_known = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t j) {
      const suite::Workload& b = suite.workloads[j];
      return a.threads == b.threads && a.gpu_layers == b.gpu_layers && a.flash_attention == b.flash_attention &&
             a.extra_args == b.extra_args;
    });
    if (!is_known) chosen.push_back(i);
  }
  return chosen;
}

quality::Scope scope_of(const suite::Suite& suite) {
  quality::Scope scope{false, false};
  for (const suite::Workload& workload : suite.workloads) {
    scope.prompt = scope.prompt || any_above_zero(workload.n_prompt);
    scope.decode = scope.decode || any_above_zero(workload.n_gen);
  }
  return scope;
}

std::string ending_text(const target::JobResult& job) {
  switch (job.ending) {
    case target::Ending::kExited:
      return "";
    case target::Ending::kSignaled:
      return fmt::format("ended by signal {}", job.signal);
    case target::Ending::kTimedOut:
      return "ran past its limit";
    case target::Ending::kInterrupted:
      return "interrupted";
    case target::Ending::kFlooded:
      return "printed more than is kept";
    case target::Ending::kNotStarted:
      return "could not be started: " + job.reason;
    case target::Ending::kLost:
      return "lost its target: " + job.reason;
  }
  return "ended unexpectedly";
}

// "wrong" is the worst, then "unchecked".
std::string worse(const std::string& a, const std::string& b) {
  for (const char* status : {"wrong", "unchecked"}) {
    if (a == status || b == status) return status;
  }
  return "passed";
}

const suite::Arm* reference_arm(const suite::Suite& suite, const QualityGate::PlacesInputs& inputs) {
  for (const char* mode : {"bare-metal", "stock", ""}) {
    for (const suite::Arm& arm : suite.arms) {
      const bool fits = *mode == '\0' || arm.mode == mode;
      if (fits && !arm.expected_to_fail && inputs.contains(arm.target)) return &arm;
    }
  }
  return nullptr;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

// Only facts decide; the file was inspected when the run began.
Result<quality::ModelFacts> model_facts(const fs::path& path) {
  auto gguf = models::read_gguf(path);
  if (!gguf) return std::move(gguf).error();
  return quality::facts_of(*gguf);
}

// A folder for the base file on a place, removed at the end.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> make(Place& place) {
    auto printed = place.target().script(
        "d=$(mktemp -d \"${TMPDIR:-/tmp}/capbench-quality-XXXXXX\") && printf 'capbench-folder:%s\\n' \"$d\"");
    if (!printed) return std::move(printed).error();
    constexpr std::string_view kMark = "capbench-folder:";
    const std::size_t at = printed->out.find(kMark);
    if (at == std::string::npos) {
      return Error{ErrorKind::kMachine, fmt::format("target \"{}\"", place.name()), "makes no temporary folder",
                   "free some space there"};
    }
    const std::size_t begin = at + kMark.size();
    std::string path = printed->out.substr(begin, printed->out.find_first_of("\r\n", begin) - begin);
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(place, std::move(path)));
  }
  ~ScratchFolder() { (void)place_.target().script("rm -rf " + target::quote(path_)); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  ScratchFolder(Place& place, std::string path) : place_(place), path_(std::move(path)) {}
  Place& place_;
  std::string path_;
};

}  // namespace

QualityGate::Done QualityGate::run(Place& place, const ArmInput& arm, const quality::Job& job,
                                   const std::string& doing) {
  Done done;
  for (int attempt = 0; attempt < quality::kMostAttempts; ++attempt) {
    target::Job wanted;
    wanted.argv = job.argv;
    wanted.set_env = arm.set_env;
    wanted.unset_env = foreign_injection_variables();
    wanted.keep_fds = {lock_fd_};
    wanted.time_limit = nanoseconds(static_cast<std::int64_t>(context_.suite.protocol.time_limit_s * 1e9));
    target::JobWatch watch;
    watch.stop_fd = context_.stop.fd();
    if (context_.progress.wants_ticks()) watch.on_tick = [&] { context_.progress.show(place.name(), doing); };
    context_.progress.show(place.name(), doing);
    auto result = place.target().run(wanted, watch);
    done.step = job.step;
    if (!result) {
      done.ended = to_string(result.error());
      return done;
    }
    done.ended = ending_text(*result);
    done.exit_status = result->exit_status;
    done.out = std::move(result->out);
    done.err = std::move(result->err);
    if (!quality::worth_repeating(done.seen()) || context_.stop.raised()) break;
  }
  return done;
}

quality::Places QualityGate::paths(const ArmInput& arm, const std::string& model, const std::string& folder) const {
  const std::string programs = folder_of(arm.executable);
  return {programs + "llama-perplexity", programs + "test-backend-ops", model, folder + "/text", folder + "/base"};
}

Status QualityGate::keep(const suite::Arm& arm, const suite::Model& model, const ArmQuality& found,
                         const std::string& figures, const std::vector<quality::Job>& jobs,
                         const std::vector<Done>& done, QualityByArm& quality) {
  schema::QualityRecord record;
  record.run_id = run_.id;
  record.arm = arm.name;
  record.model = model.name;
  record.kind = kKind;
  record.status = found.status;
  record.reason = found.why;
  record.figures = figures;
  std::string out;
  std::string err;
  for (std::size_t i = 0; i < done.size(); ++i) {
    const std::string head =
        fmt::format("==> {}: {}\n", quality::step_name(jobs[i].step), fmt::join(jobs[i].argv, " "));
    out += head + done[i].out;
    err += head + done[i].err;
    if (!record.argv.empty()) record.argv.emplace_back(";");
    record.argv.insert(record.argv.end(), jobs[i].argv.begin(), jobs[i].argv.end());
  }
  record.checked_at = observe::utc_now();
  quality[{arm.name, model.name}] = found;
  return context_.journal.put_quality(record, out, err);
}

Status QualityGate::check_model(std::size_t index, const std::set<std::size_t>& planned_arms, const Places& places,
                                const PlacesInputs& inputs, QualityByArm& quality) {
  const suite::Suite& suite = context_.suite;
  const suite::Model& model = suite.models[index];
  std::vector<const suite::Arm*> arms;
  for (const suite::Arm& arm : suite.arms) {
    const bool is_planned = planned_arms.contains(static_cast<std::size_t>(&arm - suite.arms.data()));
    const bool is_ours = is_planned && inputs.contains(arm.target) && !arm.expected_to_fail;
    if (is_ours && !quality.contains({arm.name, model.name})) arms.push_back(&arm);
  }
  if (arms.empty()) return {};
  const auto all_unchecked = [&](const std::string& why) -> Status {
    for (const suite::Arm* arm : arms) {
      if (auto status = keep(*arm, model, {"unchecked", why}, "{}", {}, {}, quality); !status) return status;
    }
    return {};
  };
  if (suite.runtime.kind != "llama-bench") return all_unchecked("only llama-bench's output can be checked");

  auto facts = model_facts(context_.inputs.models[index].path);
  if (!facts) return all_unchecked(to_string(facts.error()));
  quality::Settings settings{suite.quality->text,   suite.quality->max_mean_kl, suite.quality->max_kl,
                             suite.quality->chunks, suite.quality->ctx,         suite.quality->ops};
  std::optional<std::string> own_text;
  if (settings.text != "builtin") {
    auto bytes = read_file(context_.suite_dir / settings.text);
    if (!bytes) return std::move(bytes).error();
    own_text = std::move(*bytes);
  }
  auto plan = quality::make_plan(settings, *facts, own_text);
  if (!plan) return std::move(plan).error();
  if (!plan->impossible.empty()) return all_unchecked(plan->impossible);

  const suite::Arm& reference_arm_of_lane = *reference_arm(suite, inputs);
  Place& reference_place = *places.at(reference_arm_of_lane.target);
  const auto input_of = [&](const suite::Arm& arm) -> const ArmInput& {
    return inputs.at(arm.target).arms[static_cast<std::size_t>(&arm - suite.arms.data())];
  };
  // The text and the base file on each place; here they pass through a folder of this machine.
  auto here = StageDir::make();
  if (!here) return std::move(here).error();
  const fs::path text_here = (*here)->path() / "text";
  const fs::path base_here = (*here)->path() / "base";
  if (auto status = replace_file(text_here, plan->text.bytes); !status) return status;

  struct Found {
    ArmQuality quality{"passed", ""};
    std::vector<std::string> figures;
    std::vector<quality::Job> jobs;
    std::vector<Done> done;
  };
  std::map<const suite::Arm*, Found> found;
  const quality::Scope scope = scope_of(suite);
  for (const std::size_t w : different_workloads(suite)) {
    const suite::Workload& workload = suite.workloads[w];
    auto scratch = ScratchFolder::make(reference_place);
    if (!scratch) return std::move(scratch).error();
    quality::Places reference_paths =
        paths(input_of(reference_arm_of_lane), inputs.at(reference_arm_of_lane.target).model_argument[index],
              (*scratch)->path());
    auto text_there = reference_place.put(text_here, context_.digests);
    if (!text_there) return std::move(text_there).error();
    reference_paths.text = *text_there;
    auto base_job = quality::base_job(*plan, reference_paths, treatment_of(workload, reference_arm_of_lane));
    if (!base_job) return all_unchecked(base_job.error().cause);
    const Done base = run(reference_place, input_of(reference_arm_of_lane), *base_job,
                          fmt::format("output of {} with {}", reference_arm_of_lane.name, model.name));
    if (context_.stop.raised()) return {};
    const quality::Reference reference = quality::judge_reference(*plan, base.seen());
    std::map<std::string, std::string> base_at;  // by place
    if (reference.usable) {
      base_at[reference_place.name()] = reference_paths.base;
      if (places.size() > 1 && !reference_place.is_local()) {
        if (auto status = reference_place.target().get(reference_paths.base, base_here, context_.stop.fd()); !status) {
          return status;
        }
      }
    }
    for (const suite::Arm* arm : arms) {
      Found& of_arm = found[arm];
      if (!reference.usable) {
        of_arm.quality = {worse(of_arm.quality.status, "unchecked"),
                          fmt::format("the reference arm {} gave nothing to compare with: {}",
                                      reference_arm_of_lane.name, reference.why)};
        if (arm == &reference_arm_of_lane && reference.wrong) of_arm.quality = {"wrong", reference.why};
        of_arm.figures.push_back(quality::verdict_json(*plan, reference, {}));
        of_arm.jobs.push_back(*base_job);
        of_arm.done.push_back(base);
        continue;
      }
      Place& place = *places.at(arm->target);
      auto at = base_at.find(place.name());
      if (at == base_at.end()) {
        auto sent =
            place.put(reference_place.is_local() ? fs::path(reference_paths.base) : base_here, context_.digests);
        if (!sent) return std::move(sent).error();
        at = base_at.emplace(place.name(), *sent).first;
      }
      quality::Places there = paths(input_of(*arm), inputs.at(arm->target).model_argument[index], "");
      there.base = at->second;
      auto jobs = quality::arm_jobs(*plan, there, treatment_of(workload, *arm), scope);
      if (!jobs) {
        of_arm.quality = {worse(of_arm.quality.status, "unchecked"), jobs.error().cause};
        continue;
      }
      std::vector<Done> done;
      for (const quality::Job& job : *jobs) {
        done.push_back(run(place, input_of(*arm), job, fmt::format("output of {} with {}", arm->name, model.name)));
        if (context_.stop.raised()) return {};
      }
      std::vector<quality::Output> outputs;
      for (const Done& one : done) outputs.push_back(one.seen());
      const quality::Verdict verdict =
          quality::judge_arm(*plan, reference, *jobs, outputs, arm == &reference_arm_of_lane);
      of_arm.quality.status = worse(of_arm.quality.status, verdict.status);
      if (verdict.status != "passed") of_arm.quality.why += (of_arm.quality.why.empty() ? "" : "; ") + verdict.why;
      of_arm.figures.push_back(quality::verdict_json(*plan, reference, verdict));
      of_arm.jobs.insert(of_arm.jobs.end(), jobs->begin(), jobs->end());
      std::move(done.begin(), done.end(), std::back_inserter(of_arm.done));
    }
  }
  for (const suite::Arm* arm : arms) {
    Found& of_arm = found[arm];
    const std::string figures =
        of_arm.figures.size() == 1 ? of_arm.figures.front() : fmt::format("[{}]", fmt::join(of_arm.figures, ","));
    if (auto status = keep(*arm, model, of_arm.quality, figures, of_arm.jobs, of_arm.done, quality); !status) {
      return status;
    }
    if (of_arm.quality.status != "passed") {
      context_.progress.message(fmt::format("output of {} with {} is {}: {}", arm->name, model.name,
                                            of_arm.quality.status, of_arm.quality.why));
    }
  }
  return {};
}

Status QualityGate::check(const Places& places, const PlacesInputs& inputs,
                          const std::vector<suite::PlannedTrial>& plan, QualityByArm& quality) {
  auto earlier = context_.journal.quality(run_.id);
  if (!earlier) return std::move(earlier).error();
  for (const schema::QualityRecord& check : *earlier) {
    if (check.kind == kKind) quality[{check.arm, check.model}] = {check.status, check.reason};
  }
  std::map<std::size_t, std::set<std::size_t>> arms_by_model;
  for (const suite::PlannedTrial& planned : plan) arms_by_model[planned.model].insert(planned.arm);
  for (const auto& [model, arms] : arms_by_model) {
    if (context_.stop.raised()) return {};
    if (auto status = check_model(model, arms, places, inputs, quality); !status) return status;
  }
  return {};
}

}  // namespace capbench::runner
