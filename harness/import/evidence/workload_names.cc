#include "harness/import/evidence/workload_names.h"

#include <algorithm>
#include <set>

#include "harness/import/evidence/names.h"

namespace capbench::imports::evidence {
namespace {

std::string tests_text(const Launch& launch) {
  std::string text;
  std::set<std::string> seen;
  for (const ImportedRow& row : launch.rows) {
    if (!seen.insert(row.result.test).second) continue;
    text += (text.empty() ? "" : "+") + row.result.test;
  }
  return safe_name(text, "workload");
}

std::string settings_text(const Launch& launch) {
  const suite::Workload& workload = launch.workload;
  std::string text = "r=" + std::to_string(workload.repetitions);
  const auto add = [&](const std::string& setting) { text += " " + setting; };
  if (workload.threads) add("t=" + std::to_string(*workload.threads));
  if (workload.gpu_layers) add("ngl=" + std::to_string(*workload.gpu_layers));
  if (!workload.flash_attention.empty()) add("fa=" + workload.flash_attention);
  for (std::size_t i = 0; i + 1 < workload.extra_args.size(); i += 2) {
    add(workload.extra_args[i].substr(1) + "=" + workload.extra_args[i + 1]);
  }
  for (const std::string& odd : launch.odd_settings) add(odd);
  return text;
}

struct Candidate {
  std::size_t launches = 0;
  suite::Workload workload;
};

}  // namespace

Workloads name_workloads(std::vector<Launch>& launches) {
  // runtime, tests -> settings.
  std::map<std::pair<std::string, std::string>, std::map<std::string, Candidate>> groups;
  for (const Launch& launch : launches) {
    if (launch.rows.empty()) continue;
    Candidate& candidate = groups[{launch.runtime, tests_text(launch)}][settings_text(launch)];
    ++candidate.launches;
    candidate.workload = launch.workload;
  }
  Workloads workloads;
  std::map<std::string, Candidate> most;  // by runtime
  for (auto& [place, candidates] : groups) {
    const auto first = std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
      return a.second.launches < b.second.launches;
    });
    std::set<std::string> taken;
    for (auto& [settings, candidate] : candidates) {
      std::string name = &candidate == &first->second ? place.second : safe_name(place.second + " " + settings, "");
      // Settings too long to tell apart.
      for (int i = 2; !taken.insert(name).second; ++i) name = place.second + " #" + std::to_string(i);
      candidate.workload.name = name;
      workloads.emplace(std::pair(place.first, name), candidate.workload);
      Candidate& held = most[place.first];
      if (candidate.launches > held.launches) held = candidate;
    }
  }
  for (Launch& launch : launches) {
    if (launch.rows.empty()) {
      launch.workload_name = most[launch.runtime].workload.name;
    } else {
      launch.workload_name = groups[{launch.runtime, tests_text(launch)}][settings_text(launch)].workload.name;
    }
  }
  return workloads;
}

}  // namespace capbench::imports::evidence
