// Status, treatment and capabilities, judged again from the raw output as the runner judged them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/runner/journal.h"
#include "harness/runner/judge.h"
#include "harness/suite/variables.h"
#include "harness/verify/checks.h"
#include "harness/verify/same_text.h"
#include "shim/cpu/levels.h"

namespace capbench::verify {
namespace {

using schema::TrialRecord;

// How the process ended, as the record says it.
target::JobResult job_of(const TrialEntry& trial) {
  const TrialRecord& record = *trial.record;
  target::JobResult job;
  job.out = std::string(*trial.out);
  job.err = std::string(*trial.err);
  job.wall_ns = record.wall_ns;
  if (trial.closure != nullptr) {
    // Names, not paths: those are part of what the closure is named by.
    for (const schema::ClosureMember& member : trial.closure->members) {
      if (member.role != kModelRole && member.role != "image") job.mapped_files.push_back(member.artifact.name);
    }
  }
  if (record.exit_status) {
    job.ending = target::Ending::kExited;
    job.exit_status = *record.exit_status;
  } else if (record.signal) {
    job.ending = target::Ending::kSignaled;
    job.signal = *record.signal;
  } else if (trial.status == "timeout") {
    job.ending = target::Ending::kTimedOut;
  } else if (trial.status == "killed") {
    job.ending = target::Ending::kInterrupted;
  } else if (record.reason.find(runner::kLostPrefix) != std::string::npos) {
    job.ending = target::Ending::kLost;
  } else if (trial.status == "failed" && !(job.out.empty() && job.err.empty())) {
    job.ending = target::Ending::kFlooded;
  } else {
    job.ending = target::Ending::kNotStarted;
  }
  return job;
}

// Which CPU libraries lay beside the program is not recorded, only which were loaded. Likely sets, the likeliest first:
// every one, as releases have them; those that trials of this bundle loaded from the same program's folder.
std::vector<std::vector<std::string>> possible_variants(const Index& index, const TrialEntry& trial) {
  std::vector<std::string> all;
  for (const shim::cpu::Variant& variant : shim::cpu::kVariants) all.emplace_back(variant.name);
  std::set<std::string> loaded;
  if (const auto* program = member_of(trial.closure, kExecutableRole)) {
    loaded = index.cpu_variants(program->artifact.sha256);
  }
  return {std::move(all), {loaded.begin(), loaded.end()}};
}

std::string capabilities_difference(const TrialRecord& recorded, const TrialRecord& judged, std::string& field) {
  const auto& a = recorded.capabilities;
  const auto& b = judged.capabilities;
  const auto text = [](const schema::CapabilityRecord& one) {
    return fmt::format("{} requested \"{:.40}\", observed \"{:.40}\" by {}{}", one.name, one.requested, one.observed,
                       one.source.empty() ? "nothing" : one.source, one.agrees ? "" : ", which does not agree");
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    field = fmt::format("capabilities[{}]", i);
    if (i >= a.size()) return fmt::format("not recorded: {}", text(b[i]));
    if (i >= b.size()) return fmt::format("recorded, and nothing shows it: {}", text(a[i]));
    if (a[i].name == b[i].name && a[i].requested == b[i].requested && same_text(a[i].observed, b[i].observed) &&
        a[i].source == b[i].source && a[i].agrees == b[i].agrees) {
      continue;
    }
    return fmt::format("recorded {}; the raw output gives {}", text(a[i]), text(b[i]));
  }
  field.clear();
  return "";
}

bool observes_known_cpu_library(const TrialRecord& trial) {
  return std::any_of(trial.capabilities.begin(), trial.capabilities.end(), [](const auto& capability) {
    return capability.name == "cpu.isa" && shim::cpu::find_variant(capability.observed) != shim::cpu::kVariantCount;
  });
}

// What stands in the way of a judgement; empty if nothing does.
std::string obstacle(const TrialEntry& trial) {
  if (trial.imported) return "imported: what its process said is not there";
  if (trial.arm == nullptr || trial.workload == nullptr) return "not of its suite's plan";
  if (!trial.out || !trial.err || !trial.probe) return why_no_raw(trial);
  return "";
}

// Judged with the quality that is recorded, as the runner does it in the end.
std::string final_status(const TrialRecord& judged, const TrialRecord& recorded) {
  return judged.status == "ok" && recorded.quality == "wrong" ? "wrong_output" : judged.status;
}

// Statuses that are not of the process.
bool is_of_the_harness(const std::string& status) {
  return status == "not_run";
}

void compare_status(const TrialEntry& trial, const TrialRecord& judged, Rows& rows) {
  const TrialRecord& recorded = *trial.record;
  const std::string expected = final_status(judged, recorded);
  if (is_of_the_harness(trial.status)) {
    if (recorded.results.empty()) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, "status"), "has not run, and has results");
    }
  } else if (trial.status == expected) {
    rows.passed();
  } else if (trial.status == "invalid_treatment" && judged.treatment != "proven") {
    rows.skipped(trial.member, "why its shim could not be put in place is not in the bundle");
  } else if (trial.status == "failed" && recorded.results.empty() && !judged.results.empty() && expected == "ok") {
    rows.skipped(trial.member, "its results could not be stored");
  } else {
    rows.failed(place(trial.member, "status"), fmt::format("{} recorded, the raw output says {}{}{:.300}", trial.status,
                                                           expected, judged.reason.empty() ? "" : ": ", judged.reason));
  }
}

void compare_treatment(const TrialEntry& trial, const TrialRecord& judged, const std::string& why, Rows& rows) {
  const TrialRecord& recorded = *trial.record;
  if (recorded.treatment == judged.treatment) {
    rows.passed();
  } else if (recorded.treatment == "invalid" && judged.treatment != "proven") {
    rows.skipped(trial.member, "why its shim could not be put in place is not in the bundle");
  } else {
    rows.failed(place(trial.member, "treatment"),
                fmt::format("{} recorded, the raw output shows {}{}{:.300}", recorded.treatment, judged.treatment,
                            why.empty() ? "" : ": ", why));
  }
}

struct Judgement {
  TrialRecord trial;
  std::string why;    // of the treatment
  std::string field;  // of the capability that differs; empty: none does
  std::string difference;
  bool fits = false;
};

Judgement judge_with(const TrialEntry& trial, const target::JobResult& job, const std::vector<std::string>& variants,
                     shim::cpu::FeatureSet features) {
  const suite::Suite& suite = *trial.suite->suite;
  Judgement found;
  const std::vector<std::string> varied = suite::varied_variables(suite, *trial.arm);
  runner::judge(job, *trial.parsed,
                {suite.runtime.kind, *trial.workload, *trial.arm, variants, features, *trial.probe, {}, varied},
                suite.protocol.time_limit_s, found.trial);
  if (found.trial.treatment != "proven") {
    found.why =
        observe::check_treatment(*trial.arm, {job.err, job.mapped_files, variants, features, *trial.probe, {}, varied})
            .reason;
  }
  found.difference = capabilities_difference(*trial.record, found.trial, found.field);
  found.fits = found.field.empty() && found.trial.treatment == trial.record->treatment &&
               final_status(found.trial, *trial.record) == trial.status;
  return found;
}

// What a judgement of the treatment takes and the bundle does not have; empty if nothing.
std::string gap_of(const TrialEntry& trial, bool has_features, const TrialRecord& judged) {
  if (!has_features && observes_known_cpu_library(judged)) {
    return "the facts of its machine do not say what its CPU executes";
  }
  const auto& capabilities = trial.record->capabilities;
  const bool was_probed = std::any_of(capabilities.begin(), capabilities.end(),
                                      [](const auto& capability) { return capability.source == "probe"; });
  if (was_probed && trial.record->probe_sha256.empty()) return "what its probe printed was not kept";
  return "";
}

void check_trial(const Index& index, const TrialEntry& trial, Rows& status, Rows& treatment, Rows& capabilities) {
  const target::JobResult job = job_of(trial);
  const bool has_features = trial.facts != nullptr && trial.facts->cpu_features.has_value();
  const shim::cpu::FeatureSet features = has_features ? *trial.facts->cpu_features : 0;
  const auto sets = possible_variants(index, trial);
  Judgement best = judge_with(trial, job, sets.front(), features);
  bool by_what_was_loaded = false;
  if (!best.fits) {
    Judgement other = judge_with(trial, job, sets.back(), features);
    by_what_was_loaded = other.fits;
    if (other.fits) best = std::move(other);
  }
  if (const std::string gap = best.fits ? "" : gap_of(trial, has_features, best.trial); !gap.empty()) {
    if (best.trial.status == "invalid_treatment") {
      status.skipped(trial.member, gap);
    } else {
      compare_status(trial, best.trial, status);
    }
    treatment.skipped(trial.member, gap);
    capabilities.skipped(trial.member, gap);
    return;
  }
  compare_status(trial, best.trial, status);
  compare_treatment(trial, best.trial, best.why, treatment);
  if (!best.field.empty()) {
    capabilities.failed(place(trial.member, best.field), best.difference);
  } else if (by_what_was_loaded) {
    capabilities.flagged(trial.member,
                         "cpu.isa agrees only if no better CPU library lay beside the program, which is not recorded");
  } else {
    capabilities.passed();
  }
}

}  // namespace

void check_judgement(const Index& index, Rows& status, Rows& treatment, Rows& capabilities) {
  for (const TrialEntry& trial : index.trials()) {
    if (const std::string why = obstacle(trial); !why.empty()) {
      for (Rows* rows : {&status, &treatment, &capabilities}) rows->skipped(trial.member, why);
    } else {
      check_trial(index, trial, status, treatment, capabilities);
    }
  }
}

}  // namespace capbench::verify
