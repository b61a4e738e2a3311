#include "harness/verify/reproduced.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "harness/stats/distribution.h"
#include "harness/stats/elementary.h"
#include "harness/suite/suite.h"
#include "harness/verify/index.h"
#include "schema/canonical.h"

namespace capbench::verify {
namespace {

using nlohmann::json;
using stats::Trial;

constexpr double kTail = 0.05;  // of each of the two tests
constexpr std::size_t kFewestTrials = 3;

// What decides how fast a machine is, as far as facts tell; not its name, its size of memory or its versions.
std::string machine_kind(const schema::EnvironmentRecord& environment) {
  const json facts = json::parse(environment.json, nullptr, false);
  json kind = json::object();
  if (!facts.is_object()) return kind.dump();
  for (const char* name : {"os", "arch", "cpu", "cpus", "cpu_cores", "performance_cores", "efficiency_cores", "guest",
                           "hypervisor", "gpu"}) {
    if (facts.contains(name)) kind[name] = facts[name];
  }
  if (facts.contains("gpus") && facts["gpus"].is_array()) {
    for (const json& gpu : facts["gpus"]) {
      if (!gpu.is_object()) continue;
      json one = json::object();
      for (const char* name : {"name", "cores"}) {
        if (gpu.contains(name)) one[name] = gpu[name];
      }
      kind["gpus"].push_back(std::move(one));
    }
  }
  auto text = schema::try_canonical(kind);
  return text ? std::move(*text) : "";
}

// What was asked for, without names and paths: those are each suite's own.
json workload_json(const suite::Suite& suite, const suite::Workload& workload, const std::string& test) {
  json asked = {{"runtime", suite.runtime.kind},
                {"test", test},
                {"args", workload.extra_args},
                {"fa", workload.flash_attention},
                {"filter", workload.filter}};
  if (workload.threads) asked["t"] = *workload.threads;
  if (workload.gpu_layers) asked["ngl"] = *workload.gpu_layers;
  return asked;
}

json treatment_json(const suite::Arm& arm, const std::string& guest) {
  return {{"guest", arm.guest},   {"set", arm.set},   {"env", arm.env},
          {"device", arm.device}, {"args", arm.args}, {"place", guest}};
}

std::string text_of(const json& value) {
  auto text = schema::try_canonical(value);
  return text ? std::move(*text) : "";
}

bool usable(const TrialEntry& trial) {
  const schema::TrialRecord& record = *trial.record;
  return trial.counts() && !trial.imported && record.block >= 0 && record.treatment == "proven" &&
         record.quality == "passed" && trial.arm != nullptr && trial.workload != nullptr &&
         trial.environment != nullptr && trial.run != nullptr;
}

// One arm's trials of one test, in one run.
struct Series {
  const TrialEntry* any = nullptr;
  std::string model;  // digest
  std::string build;
  std::map<std::int64_t, std::pair<std::int64_t, Trial>> by_block;  // attempt, samples
};
using SeriesKey =
    std::tuple<std::string, std::string, std::string, std::string, std::string>;  // run model workload test arm

std::map<SeriesKey, Series> all_series(const Index& index) {
  std::map<SeriesKey, Series> all;
  for (const TrialEntry& trial : index.trials()) {
    if (!usable(trial)) continue;
    const schema::TrialRecord& record = *trial.record;
    const schema::ClosureMember* model = member_of(trial.closure, kModelRole);
    for (const schema::ResultRecord& result : record.results) {
      Series& series = all[{record.run_id, record.model, record.workload, result.test, record.arm}];
      series.any = &trial;
      series.model = model == nullptr ? "" : model->artifact.sha256;
      series.build = result.build;
      auto& [attempt, samples] = series.by_block[record.block];
      if (record.attempt < attempt) continue;
      attempt = record.attempt;
      samples = {record.block, stats::tokens_per_second(result.n_prompt + result.n_gen, result.samples_ns)};
    }
  }
  return all;
}

std::vector<Trial> trials_of(const Series& series) {
  std::vector<Trial> trials;
  for (const auto& [block, attempt] : series.by_block) trials.push_back(attempt.second);
  return trials;
}

// Logs of trial medians: mean, and variance of the mean.
struct LogMean {
  double mean = 0;
  double variance = 0;
  std::size_t n = 0;
};

LogMean log_mean(const std::vector<Trial>& trials) {
  std::vector<double> logs;
  for (const double median : stats::trial_medians(trials)) logs.push_back(stats::log_of(median));
  LogMean found;
  found.n = logs.size();
  const auto n = static_cast<double>(logs.size());
  for (const double one : logs) found.mean += one / n;
  double squares = 0;
  for (const double one : logs) squares += (one - found.mean) * (one - found.mean);
  if (logs.size() > 1) found.variance = squares / (n - 1) / n;
  return found;
}

bool are_strangers(const Party& a, const Party& b) {
  return !a.signer.empty() && !b.signer.empty() && a.signer != b.signer && a.bundle_id != b.bundle_id;
}

}  // namespace

std::vector<MeasuredRatio> measured_ratios(const bundle::Bundle& bundle) {
  const Index index(bundle, Reading::kRecords);
  const std::map<SeriesKey, Series> all = all_series(index);
  std::vector<MeasuredRatio> ratios;
  // Series of one run, model, workload and test stand together; `begin` is the first of them.
  for (auto begin = all.begin(); begin != all.end();) {
    const auto same_cell = [&](const SeriesKey& key) {
      return std::tie(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key)) ==
             std::tie(std::get<0>(begin->first), std::get<1>(begin->first), std::get<2>(begin->first),
                      std::get<3>(begin->first));
    };
    const auto end = std::find_if_not(begin, all.end(), [&](const auto& entry) { return same_cell(entry.first); });
    const Series* reference = nullptr;
    for (const std::string_view mode : {"stock", "bare-metal"}) {
      for (auto it = begin; it != end && reference == nullptr; ++it) {
        if (it->second.any->record->mode == mode) reference = &it->second;
      }
    }
    for (auto it = begin; it != end && reference != nullptr; ++it) {
      const Series& series = it->second;
      if (&series == reference) continue;
      const TrialEntry& trial = *series.any;
      MeasuredRatio ratio;
      ratio.key.machine_kind = machine_kind(*trial.environment) + machine_kind(*reference->any->environment);
      ratio.key.model = series.model;
      ratio.key.workload = text_of(workload_json(*trial.suite->suite, *trial.workload, std::get<3>(it->first)));
      ratio.key.treatment = text_of({treatment_json(*trial.arm, trial.record->guest),
                                     treatment_json(*reference->any->arm, reference->any->record->guest), series.build,
                                     reference->build});
      ratio.label = fmt::format("{} over {}, {} {}", trial.record->arm, reference->any->record->arm,
                                trial.record->model, std::get<3>(it->first));
      ratio.machine_id = trial.run->machine_id;
      ratio.arm = trials_of(series);
      ratio.reference = trials_of(*reference);
      ratios.push_back(std::move(ratio));
    }
    begin = end;
  }
  std::stable_sort(ratios.begin(), ratios.end(), [](const MeasuredRatio& a, const MeasuredRatio& b) {
    return std::tie(a.key, a.machine_id) < std::tie(b.key, b.machine_id);
  });
  return ratios;
}

Result<Equivalence> compare_ratios(const MeasuredRatio& a, const MeasuredRatio& b, double margin) {
  if (!(margin > 0) || !std::isfinite(margin)) {
    return Error{ErrorKind::kUsage, fmt::format("a margin of {}", margin), "is none", "a number above 0, as 0.05"};
  }
  const std::array<const std::vector<Trial>*, 4> arms{&a.arm, &a.reference, &b.arm, &b.reference};
  std::array<LogMean, 4> means;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (auto status = stats::check_trials(*arms[i], i < 2 ? a.label : b.label); !status) return status.error();
    means[i] = log_mean(*arms[i]);
  }
  Equivalence found;
  const double difference = means[0].mean - means[1].mean - means[2].mean + means[3].mean;
  found.quotient = stats::exp_of(difference);
  double variance = 0;
  double freedom = 0;  // Satterthwaite's
  for (const LogMean& mean : means) {
    if (mean.n < kFewestTrials) return found;
    variance += mean.variance;
    freedom += mean.variance * mean.variance / static_cast<double>(mean.n - 1);
  }
  double half = 0;
  if (variance > 0) {
    half = stats::student_t_quantile(1 - kTail, variance * variance / freedom) * std::sqrt(variance);
  }
  found.lo = stats::exp_of(difference - half);
  found.hi = stats::exp_of(difference + half);
  const double bound = stats::log_of(1 + margin);
  found.equivalent = difference - half > -bound && difference + half < bound;
  return found;
}

Reproduction find_reproduction(const Party& mine, std::span<const Party> others, double margin) {
  Reproduction found;
  if (mine.signer.empty()) found.why = "it is not signed, so nobody can be another signer";
  if (mine.ratios.empty()) found.why = "it holds no ratio of trials that are proven and whose output passed";
  if (!found.why.empty()) return found;
  std::size_t equivalent = 0;
  std::size_t unknown = 0;
  std::set<std::string> by;
  for (const MeasuredRatio& ratio : mine.ratios) {
    Reproduction::Row row;
    row.label = ratio.label;
    double nearest = 0;
    for (const Party& other : others) {
      if (!are_strangers(mine, other)) continue;
      for (const MeasuredRatio& theirs : other.ratios) {
        if (theirs.key != ratio.key || theirs.machine_id == ratio.machine_id) continue;
        const auto compared = compare_ratios(ratio, theirs, margin);
        if (!compared) continue;
        const double distance = std::abs(stats::log_of(compared->quotient));
        const bool is_better = row.by.empty() || (compared->equivalent && !row.found.equivalent) ||
                               (compared->equivalent == row.found.equivalent && distance < nearest);
        if (!is_better) continue;
        row.by = other.bundle_id;
        row.found = *compared;
        nearest = distance;
      }
    }
    if (row.by.empty()) ++unknown;
    if (row.found.equivalent) {
      ++equivalent;
      by.insert(row.by);
    }
    found.rows.push_back(std::move(row));
  }
  found.reproduced = equivalent == mine.ratios.size();
  if (found.reproduced) {
    found.why = fmt::format("every one of {} ratios is within {:g} % of {} other bundle{}'", mine.ratios.size(),
                            margin * 100, by.size(), by.size() == 1 ? "" : "s");
  } else {
    found.why = fmt::format(
        "of {} ratios {} are shown to be within {:g} % of another signer's on another machine of the same kind, {} "
        "were "
        "measured by nobody else",
        mine.ratios.size(), equivalent, margin * 100, unknown);
  }
  return found;
}

}  // namespace capbench::verify
