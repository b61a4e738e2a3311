#include "harness/import/evidence/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/path.h"
#include "harness/import/evidence/names.h"
#include "models/catalog.h"

namespace capbench::imports::evidence {
namespace {

// Metadata, vocabulary included, is at most this share of a file.
constexpr double kMostMetadata = 0.01;

bool fits(const models::PinnedFile& file, const Launch& launch) {
  if (launch.runtime == kMlxLm) {
    return !launch.model_file.empty() && file.repository == launch.model_file && file.revision == launch.model_revision;
  }
  if (file.file_name.empty() || lower(file.file_name) != lower(foreign_base_name(launch.model_file))) return false;
  const auto size = static_cast<double>(launch.model_size);
  const auto whole = static_cast<double>(file.size);
  return size <= whole && size >= whole * (1 - kMostMetadata);
}

const models::CatalogEntry* find_entry(const Launch& launch) {
  for (const models::CatalogEntry& entry : models::catalog()) {
    if (entry.file && fits(*entry.file, launch)) return &entry;
  }
  return nullptr;
}

// What tells models apart that no catalog knows.
std::string own_name(const Launch& launch) {
  std::string name(foreign_base_name(launch.model_file));
  if (lower(name).ends_with(".gguf")) name.resize(name.size() - 5);
  return safe_name(name.empty() ? launch.model_type : name, "unnamed model");
}

class Namer {
 public:
  explicit Namer(std::vector<std::string>& notes) : notes_(notes) {}

  void by_file(Launch& launch) {
    NamedModel named;
    if (const models::CatalogEntry* entry = find_entry(launch)) {
      named.model.name = entry->name;
      named.model.catalog = entry->name;
      named.about = entry->title;
    } else {
      named.model.name = own_name(launch);
      // Two files of one name and different sizes are two models.
      const auto sizes = sizes_.emplace(std::pair(launch.runtime, named.model.name), launch.model_size).first;
      if (sizes->second != launch.model_size) named.model.name += fmt::format(" ({} bytes)", launch.model_size);
      named.model.file = safe_name(foreign_base_name(launch.model_file), named.model.name);
    }
    named.about += fmt::format(" {} {} {} {}", named.model.name, foreign_base_name(launch.model_file),
                               launch.model_type, launch.runtime == kMlxLm ? "mlx lm" : "llama cpp");
    launch.model = named.model.name;
    types_[{launch.runtime, launch.model_type}].insert(launch.model);
    models_.emplace(std::pair(launch.runtime, launch.model), std::move(named));
  }

  void by_type(Launch& launch, const std::string& name) {
    const auto same = types_.find({launch.runtime, launch.model_type});
    if (same != types_.end() && same->second.size() == 1) {
      launch.model = *same->second.begin();
      notes_.push_back(fmt::format("{} names no model file; taken for {}, the folder's only \"{}\"", name, launch.model,
                                   launch.model_type));
      return;
    }
    by_file(launch);
    notes_.push_back(
        fmt::format("{} names no model file; its model is called by its type, \"{}\"", name, launch.model_type));
  }

  // A launch that printed nothing.
  void by_runtime(Launch& launch, const std::string& name) {
    std::set<std::string> of_runtime;
    for (const auto& [key, model] : models_) {
      if (key.first == launch.runtime) of_runtime.insert(key.second);
    }
    if (of_runtime.size() == 1) {
      launch.model = *of_runtime.begin();
      notes_.push_back(fmt::format("{} does not say which model it ran; taken for {}, the folder's only one of {}",
                                   name, launch.model, launch.runtime));
    }
  }

  Models take() { return std::move(models_); }

 private:
  std::vector<std::string>& notes_;
  Models models_;
  std::map<std::pair<std::string, std::string>, std::int64_t> sizes_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> types_;
};

}  // namespace

Models name_models(std::vector<Launch>& launches, const std::vector<std::string>& names,
                   std::vector<std::string>& notes) {
  Namer namer(notes);
  for (Launch& launch : launches) {
    if (!launch.rows.empty() && !launch.model_file.empty()) namer.by_file(launch);
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (!launches[i].rows.empty() && launches[i].model_file.empty()) namer.by_type(launches[i], names[i]);
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].rows.empty()) namer.by_runtime(launches[i], names[i]);
  }
  return namer.take();
}

}  // namespace capbench::imports::evidence
