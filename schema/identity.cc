#include "schema/identity.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/canonical.h"

namespace capbench::schema {

using nlohmann::json;

std::string suite_id(const SuiteRecord& suite) {
  return sha256(suite.json);
}

std::string environment_id(const EnvironmentRecord& environment) {
  return sha256(environment.json);
}

std::string closure_id(const ClosureRecord& closure) {
  std::vector<std::array<std::string, 3>> files;
  files.reserve(closure.members.size());
  for (const ClosureMember& member : closure.members) {
    files.push_back({to_utf8(member.role), to_utf8(member.artifact.name), to_utf8(member.artifact.sha256)});
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  // Spelled without a tree, as trials are.
  std::string text;
  for (const auto& file : files) {
    for (std::size_t i = 0; i < file.size(); ++i) {
      if (i > 0) {
        text += ',';
      } else {
        text += text.empty() ? "[[" : ",[";
      }
      append_canonical(text, file[i]);
    }
    text += ']';
  }
  text += text.empty() ? "[]" : "]";
  return sha256(text);
}

std::string run_id(const RunRecord& run) {
  return sha256(canonical({
      {"machine", to_utf8(run.machine_id)},
      {"seed", run.seed},
      {"started_at", to_utf8(run.started_at)},
      {"suite", to_utf8(run.suite_id)},
  }));
}

std::string trial_id(const TrialRecord& trial) {
  // Spelled without a tree: whoever opens a bundle names every trial in it again.
  std::string text;
  const auto member = [&](std::string_view key, std::string_view value) {
    text += key;
    append_canonical(text, to_utf8(value));
  };
  member("{\"arm\":", trial.arm);
  text += ",\"attempt\":";
  append_canonical(text, trial.attempt);
  text += ",\"block\":";
  append_canonical(text, trial.block);
  member(",\"closure\":", trial.closure_id);
  member(",\"model\":", trial.model);
  member(",\"run\":", trial.run_id);
  text += ",\"samples\":[";
  for (std::size_t i = 0; i < trial.results.size(); ++i) {
    member(i == 0 ? "[" : ",[", trial.results[i].test);
    text += ",[";
    for (std::size_t k = 0; k < trial.results[i].samples_ns.size(); ++k) {
      if (k > 0) text += ',';
      append_canonical(text, trial.results[i].samples_ns[k]);
    }
    text += "]]";
  }
  member("],\"status\":", trial.status);
  member(",\"workload\":", trial.workload);
  text += '}';
  return sha256(text);
}

}  // namespace capbench::schema
