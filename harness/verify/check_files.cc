// Digests of models and programs, against the suite, the catalog and each other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "harness/verify/checks.h"
#include "models/catalog.h"

namespace capbench::verify {
namespace {

std::string shortened(const std::string& digest) {
  return digest.substr(0, 12);
}

const models::PinnedFile* by_digest(const std::string& sha256) {
  for (const models::CatalogEntry& entry : models::catalog()) {
    if (entry.file && !entry.file->sha256.empty() && entry.file->sha256 == sha256) return &*entry.file;
  }
  return nullptr;
}

const models::PinnedFile* by_name(const std::string& name) {
  for (const models::CatalogEntry& entry : models::catalog()) {
    if (entry.file && !entry.file->sha256.empty() && entry.file->file_name == name) return &*entry.file;
  }
  return nullptr;
}

const models::PinnedFile* of_entry(const std::string& name) {
  for (const models::CatalogEntry& entry : models::catalog()) {
    if (entry.name == name && entry.file && !entry.file->sha256.empty()) return &*entry.file;
  }
  return nullptr;
}

// A model file that trials ran with.
struct ModelFile {
  const schema::ArtifactRecord* artifact = nullptr;
  const suite::Model* model = nullptr;
  std::string kind;  // "real" or "twin"
  std::string where;
};

void check_model(const ModelFile& file, Rows& rows) {
  const schema::ArtifactRecord& artifact = *file.artifact;
  const std::string name =
      fmt::format("model \"{:.40}\": {:.60} is {}", file.model->name, artifact.name, shortened(artifact.sha256));
  if (!file.model->sha256.empty() && file.model->sha256 != artifact.sha256) {
    rows.failed(file.where, fmt::format("{}, the suite pins {}", name, shortened(file.model->sha256)));
    return;
  }
  const models::PinnedFile* known = by_digest(artifact.sha256);
  if (!file.model->catalog.empty()) {
    const models::PinnedFile* pinned = of_entry(file.model->catalog);
    if (pinned != nullptr && pinned->sha256 != artifact.sha256) {
      rows.flagged(file.where,
                   fmt::format("{}, the catalog's {} is {}", name, file.model->catalog, shortened(pinned->sha256)));
      return;
    }
  }
  const models::PinnedFile* namesake = by_name(artifact.name);
  if (known == nullptr && namesake != nullptr) {
    rows.flagged(file.where,
                 fmt::format("{}, the catalog's file of that name is {}", name, shortened(namesake->sha256)));
  } else if (known != nullptr && file.kind == "twin") {
    rows.flagged(file.where, fmt::format("{}, a published file and no twin", name));
  } else if (known != nullptr) {
    rows.passed();
  } else if (file.kind == "twin") {
    rows.skipped(file.where, "a twin, whose digest no catalog has");
  } else {
    rows.skipped(file.where, "not in the catalog");
  }
}

// What it printed of the model cannot be more than its file holds.
void check_size(const TrialEntry& trial, const schema::ArtifactRecord& artifact, Rows& rows) {
  for (std::size_t i = 0; i < trial.record->results.size(); ++i) {
    const auto size = trial.record->results[i].model_size;
    if (size <= 0 || artifact.size == 0 || static_cast<std::uint64_t>(size) <= artifact.size) continue;
    rows.flagged(
        place(trial.member, fmt::format("results[{}].model_size", i)),
        fmt::format("{} bytes of weights, the file has {} (of several parts only one is named)", size, artifact.size));
    return;
  }
}

}  // namespace

void check_models(const Index& index, Rows& rows) {
  std::map<std::tuple<std::string, std::string, std::string>, ModelFile> files;  // by suite, model and digest
  std::map<std::pair<std::string, std::string>, std::set<std::string>> digests;  // by run and model
  for (const TrialEntry& trial : index.trials()) {
    if (trial.imported) {
      rows.skipped(trial.member, "imported: its model file is not known");
      continue;
    }
    if (trial.model == nullptr || trial.model->kind == "none") continue;
    const schema::ClosureMember* member = member_of(trial.closure, kModelRole);
    if (member == nullptr) {
      if (trial.counts()) rows.failed(trial.member, "no model is among its files");
      continue;
    }
    check_size(trial, member->artifact, rows);
    files.try_emplace(
        {trial.record->suite_id, trial.record->model, member->artifact.sha256},
        ModelFile{&member->artifact, trial.model, trial.record->model_kind, bundle::closure_member(*trial.closure)});
    if (trial.counts()) digests[{trial.record->run_id, trial.record->model}].insert(member->artifact.sha256);
  }
  for (const auto& [key, file] : files) check_model(file, rows);
  for (const auto& [key, found] : digests) {
    if (found.size() > 1) {
      rows.failed("", fmt::format("model \"{:.40}\" is {} different files in one run", key.second, found.size()));
    }
  }
}

void check_programs(const Index& index, Rows& rows) {
  std::map<std::string, std::map<std::string, std::string>> builds;  // by closure: build to where
  std::set<std::string> programs;
  for (const TrialEntry& trial : index.trials()) {
    if (trial.imported) {
      rows.skipped(trial.member, "imported: its program is not known");
      continue;
    }
    const schema::ClosureMember* program = member_of(trial.closure, kExecutableRole);
    if (program == nullptr) {
      if (trial.counts()) rows.failed(trial.member, "no program is among its files");
      continue;
    }
    programs.insert(program->artifact.sha256);
    for (std::size_t i = 0; i < trial.record->results.size(); ++i) {
      builds[trial.record->closure_id].emplace(trial.record->results[i].build,
                                               place(trial.member, fmt::format("results[{}].build", i)));
    }
  }
  for (const auto& [closure, found] : builds) {
    if (found.size() > 1) {
      rows.failed(found.rbegin()->second, fmt::format("the same files print the builds \"{:.40}\" and \"{:.40}\"",
                                                      found.begin()->first, found.rbegin()->first));
    } else {
      rows.passed();
    }
  }
  // Programs are compiled where they run, so there is nothing to hold their digests against but each other.
  if (!programs.empty()) {
    rows.skipped("", fmt::format("{} program{}: no list of published digests has {}", programs.size(),
                                 programs.size() == 1 ? "" : "s", programs.size() == 1 ? "it" : "them"));
  }
}

}  // namespace capbench::verify
