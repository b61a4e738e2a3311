#include "harness/runner/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>
#include <system_error>

#include "base/digest.h"
#include "base/file.h"
#include "harness/runner/injection.h"
#include "harness/target/shell.h"
#include "models/catalog.h"
#include "models/inspect.h"
#include "models/synth.h"
#include "schema/identity.h"
#include "shim/cpu/levels.h"
#include "shim/vulkan/injection.h"

namespace capbench::runner {
namespace {

namespace fs = std::filesystem;
using Say = std::function<void(const std::string&)>;

// A model file and what it says of itself.
struct InspectedModel {
  fs::path path;
  models::ModelInfo info;
};

Result<InspectedModel> inspect_model(fs::path path) {
  auto info = models::inspect(path);
  if (!info) return std::move(info).error();
  return InspectedModel{std::move(path), std::move(*info)};
}

Result<InspectedModel> prepare_twin(const suite::Model& model, const Install& install, const Say& say) {
  auto shape = models::find_shape(model.like);
  if (!shape) return std::move(shape).error();
  const fs::path folder = models_folder(install);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return file_error(folder, error.value());
  const fs::path path = folder / fmt::format("{}-seed{}-v{}.gguf", model.like, model.seed, models::kTwinVersion);
  // A twin that was cut short never gets its name, so one that is here and readable is whole.
  if (auto here = inspect_model(path)) return here;
  say(fmt::format("writing the twin of {} to {}", model.like, path.string()));
  auto report = models::synth(*shape, model.seed, models::Fill::kPlanted, path);
  if (!report) return std::move(report).error();
  return inspect_model(path);
}

// Where the file of a catalog entry is looked for once it was fetched.
Result<fs::path> fetched_path(const models::CatalogEntry& entry, const Install& install) {
  if (!entry.file) {
    return Error{ErrorKind::kUsage, entry.name, "exists as a twin only",
                 "name it with \"like\" in place of \"catalog\""};
  }
  const bool is_folder = entry.file->file_name.empty();
  fs::path path = models_folder(install) / (is_folder ? entry.name : entry.file->file_name);
  std::error_code error;
  if (is_folder ? fs::is_directory(path, error) : fs::is_regular_file(path, error)) return path;
  return Error{ErrorKind::kMachine, path.string(), "not fetched yet",
               is_folder ? fmt::format("`hf download {} --revision {} --local-dir {}`", entry.file->repository,
                                       entry.file->revision, target::quote(path.string()))
                         : fmt::format("`capbench models fetch {}`", entry.name)};
}

// A folder's name is the digest of its files' names and digests, sorted.
Result<schema::ArtifactRecord> folder_artifact(const fs::path& folder, SharedDigests& digests) {
  std::map<std::string, schema::ArtifactRecord> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    // What begins with a dot is the notes of whoever downloaded it, with times in them.
    if (it->path().filename().native().starts_with('.')) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(error)) continue;
    auto artifact = digests.digest(it->path());
    if (!artifact) return std::move(artifact).error();
    files.emplace(it->path().lexically_relative(folder).generic_string(), std::move(*artifact));
  }
  if (error) return file_error(folder, error.value());
  schema::ArtifactRecord whole;
  std::string list;
  for (const auto& [name, artifact] : files) {
    list += artifact.sha256 + "  " + name + "\n";
    whole.size += artifact.size;
  }
  whole.sha256 = sha256(list);
  whole.name = folder.filename().string();
  return whole;
}

Result<ModelInput> prepare_model(const suite::Model& model, const fs::path& suite_dir, const Install& install,
                                 SharedDigests& digests, const Say& say) {
  ModelInput input;
  input.kind = model.kind;
  if (model.kind == "none") return input;
  std::string pin = model.sha256;
  if (model.like.empty()) {
    auto wanted = wanted_file(model, suite_dir, install);
    if (!wanted) return std::move(wanted).error();
    input.path = std::move(wanted->path);
    pin = std::move(wanted->sha256);
  }
  std::error_code error;
  // A folder is what mlx-lm loads; llama-bench's own check says what it thinks of one.
  const bool is_folder = !input.path.empty() && fs::is_directory(input.path, error);
  if (!is_folder) {
    auto inspected = model.like.empty() ? inspect_model(input.path) : prepare_twin(model, install, say);
    if (!inspected) return std::move(inspected).error();
    input.path = std::move(inspected->path);
    input.kind = std::string(models::kind_of(inspected->info));
  }
  auto artifact = is_folder ? folder_artifact(input.path, digests) : digests.digest(input.path);
  if (!artifact) return std::move(artifact).error();
  input.artifact = std::move(*artifact);
  if (!pin.empty() && pin != input.artifact.sha256) {
    return Error{ErrorKind::kUsage, input.path.string(),
                 fmt::format("SHA-256 is {}, the {} pins {}", input.artifact.sha256,
                             model.sha256.empty() ? "catalog" : "suite", pin),
                 "fetch the pinned file, or correct the pin"};
  }
  return input;
}

// The program and the libraries beside it, which is where ggml looks for its backends.
std::vector<fs::path> with_libraries(const fs::path& executable, bool with_quality) {
  std::vector<fs::path> files{executable};
  if (with_quality) {
    std::error_code ignored;
    for (const char* name : {"llama-perplexity", "test-backend-ops"}) {
      const fs::path program = executable.parent_path() / name;
      if (fs::is_regular_file(program, ignored)) files.push_back(program);
    }
  }
  std::error_code error;
  const fs::path folder = fs::canonical(executable, error).parent_path();
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_library = name.find(".so") != std::string::npos || name.ends_with(".dylib");
    if (is_library || name.ends_with(".metal") || name.ends_with(".metallib")) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> variants_beside(const fs::path& executable) {
  std::vector<std::string> variants;
  std::error_code error;
  const fs::path folder = fs::canonical(executable, error).parent_path();
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".so") continue;
    std::string variant(shim::cpu::variant_in_path(it->path().string()));
    if (!variant.empty()) variants.push_back(std::move(variant));
  }
  std::sort(variants.begin(), variants.end());
  return variants;
}

bool is_driver(std::string_view name) {
  constexpr std::string_view kDrivers[] = {"libvulkan_", "libnvidia-", "libGLX_nvidia", "libcuda.so",
                                           "amdvlk",     "libamdhip",  "libhsa-"};
  return std::any_of(std::begin(kDrivers), std::end(kDrivers), [&](auto prefix) { return name.starts_with(prefix); });
}

}  // namespace

Result<std::unique_ptr<StageDir>> StageDir::make() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "capbench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) return file_error(path, errno);
  return std::unique_ptr<StageDir>(new StageDir(path));
}

StageDir::~StageDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<std::string> StageDir::harmless_path(const fs::path& target, std::string_view forbidden) {
  if (target.string().find_first_of(forbidden) == std::string::npos) return target.string();
  const fs::path link = path_ / fmt::format("{}{}", links_++, target.extension().string());
  if (link.string().find_first_of(forbidden) != std::string::npos) {
    return Error{ErrorKind::kUsage, target.string(), "the path holds a character that cannot be passed on",
                 "a folder without commas, colons and spaces; $TMPDIR as well"};
  }
  std::error_code error;
  fs::create_symlink(target, link, error);
  if (error) return file_error(link, error.value());
  return link.string();
}

Result<fs::path> StageDir::folder_of(const std::vector<fs::path>& files) {
  const fs::path folder = path_ / fmt::format("f{}", links_++);
  std::error_code error;
  if (!fs::create_directory(folder, error)) return file_error(folder, error.value());
  for (const fs::path& file : files) {
    const fs::path link = folder / file.filename();
    fs::create_symlink(fs::absolute(file), link, error);
    if (error) return file_error(link, error.value());
  }
  return folder;
}

namespace {

// Before anything takes time: is every program here that is run here or sent?
Status find_programs(const suite::Suite& suite, const fs::path& suite_dir, const Install& install) {
  for (const suite::Arm& arm : suite.arms) {
    const auto target = suite.targets.find(arm.target);
    const bool lies_there = target != suite.targets.end() && target->second.options.contains("executable");
    if (arm.executable.empty() && lies_there) continue;
    const std::string& wanted = arm.executable.empty() ? suite.runtime.executable : arm.executable;
    auto found = find_runtime_program(install, suite.runtime.kind, wanted, suite_dir);
    if (!found) return std::move(found).error();
  }
  return {};
}

}  // namespace

Result<WantedFile> wanted_file(const suite::Model& model, const fs::path& suite_dir, const Install& install) {
  if (model.catalog.empty()) return WantedFile{fs::absolute(suite_dir / model.file).lexically_normal(), model.sha256};
  auto entry = models::find_model(model.catalog);
  if (!entry) return std::move(entry).error();
  auto path = fetched_path(*entry, install);
  if (!path) return std::move(path).error();
  return WantedFile{std::move(*path), model.sha256.empty() ? entry->file->sha256 : model.sha256};
}

Result<Inputs> prepare_inputs(const suite::Suite& suite, const fs::path& suite_dir, const Install& install,
                              SharedDigests& digests, const Say& say) {
  Inputs inputs;
  if (auto status = find_programs(suite, suite_dir, install); !status) return std::move(status).error();
  for (const suite::Model& model : suite.models) {
    auto input = prepare_model(model, suite_dir, install, digests, say);
    if (!input) {
      Error error = std::move(input).error();
      error.what = fmt::format("model \"{}\": {}", model.name, error.what);
      return error;
    }
    inputs.models.push_back(std::move(*input));
  }
  return inputs;
}

namespace {

// One place's inputs while they are put together.
class Preparation {
 public:
  Preparation(const suite::Suite& suite, const fs::path& suite_dir, const Install& install, Place& place,
              SharedDigests& digests, StageDir& stage)
      : suite_(suite), suite_dir_(suite_dir), install_(install), place_(place), digests_(digests), stage_(stage) {}

  Result<ArmInput> arm(const suite::Arm& arm) {
    ArmInput input;
    if (auto status = find_executable(arm, input); !status) return std::move(status).error();
    std::vector<fs::path> there;
    auto injection = make_injection(
        arm, suite_dir_,
        {[&](std::string_view domain) { return shim(domain); },
         [&](const fs::path& target, std::string_view forbidden) { return harmless_path(target, forbidden); },
         place_.os()});
    if (!injection) return std::move(injection).error();
    input.guest = arm.guest.empty() ? place_.guest() : "stand-in";
    for (const auto& [name, value] : injection->env) input.set_env.push_back(name + "=" + value);
    for (const auto& [name, value] : arm.env) input.set_env.push_back(name + "=" + value);
    input.injection_problem = std::move(injection->problem);
    for (const fs::path& file : injection->files) {
      auto sent = path_there(file);
      if (!sent) return std::move(sent).error();
      input.injected_there.push_back(std::move(*sent));
      input.injected_files.push_back(file);
    }
    for (const std::string& domain : injection->domains) {
      if (domain != "cpu") input.probe = probe(domain);  // ggml names its CPU library itself
    }
    return input;
  }

  Result<std::string> model(const ModelInput& model) {
    if (model.path.empty()) return std::string();
    if (!place_.is_local()) return place_.put(model.path, digests_);
    return stage_.harmless_path(model.path, ",");
  }

 private:
  Status find_executable(const suite::Arm& arm, ArmInput& input) {
    const std::string& wanted = arm.executable.empty() ? suite_.runtime.executable : arm.executable;
    if (const std::string there = place_.executable_there(); !there.empty() && arm.executable.empty()) {
      input.executable = there;
      const auto found = place_.digests_there({there}, digests_);
      const auto it = found.find(there);
      if (it == found.end()) {
        return Error{ErrorKind::kMachine, fmt::format("target \"{}\": {}", place_.name(), there),
                     "no such program there",
                     "correct \"executable\" of the target, or leave it out to have ours sent"};
      }
      input.executable_artifact = it->second;
      input.cpu_variants = place_.cpu_variants_beside(there);
      return {};
    }
    auto found = find_runtime_program(install_, suite_.runtime.kind, wanted, suite_dir_);
    if (!found) return std::move(found).error();
    auto artifact = digests_.digest(*found);
    if (!artifact) return std::move(artifact).error();
    input.executable_artifact = std::move(*artifact);
    input.cpu_variants = variants_beside(*found);
    if (place_.is_local()) {
      input.executable = found->string();
      return {};
    }
    if (place_.os() != this_os()) {
      return Error{ErrorKind::kUsage, fmt::format("target \"{}\"", place_.name()),
                   fmt::format("runs {}, so this machine's {} is of no use there", place_.os(), found->string()),
                   "\"executable\" of the target: the program's path there"};
    }
    auto sent = sent_programs_.find(*found);
    if (sent == sent_programs_.end()) {
      auto folder = stage_.folder_of(with_libraries(*found, suite_.quality.has_value()));
      if (!folder) return std::move(folder).error();
      auto there = place_.put(*folder, digests_);
      if (!there) return std::move(there).error();
      sent = sent_programs_.emplace(*found, *there + "/" + found->filename().string()).first;
    }
    input.executable = sent->second;
    return {};
  }

  // Where the shim of a domain is; for another place in a folder that holds nothing else.
  Result<fs::path> shim(std::string_view domain) {
    auto found = find_shim(install_, domain);
    if (!found || place_.is_local()) return found;
    auto staged = staged_shims_.find(std::string(domain));
    if (staged == staged_shims_.end()) {
      std::vector<fs::path> files{*found};
      if (domain == "vulkan") {
        files.push_back(found->parent_path() / shim::vulkan::kShimManifest);
        files.push_back(found->parent_path() / shim::vulkan::kGuestManifest);
      }
      auto folder = stage_.folder_of(files);
      if (!folder) return std::move(folder).error();
      staged = staged_shims_.emplace(domain, *folder / found->filename()).first;
    }
    return staged->second;
  }

  // Places beyond this machine get files under harmless names anyway.
  Result<std::string> harmless_path(const fs::path& target, std::string_view forbidden) {
    if (place_.is_local()) return stage_.harmless_path(target, forbidden);
    return path_there(target);
  }

  Result<std::string> path_there(const fs::path& path) {
    if (place_.is_local()) return path.string();
    std::error_code error;
    if (!fs::exists(path, error)) return path.string();  // for the treatment check to find
    // A file of a staged folder is sent with its neighbours: a manifest names its library by a relative path.
    const auto is_staged = [&](const auto& entry) { return entry.second.parent_path() == path.parent_path(); };
    if (std::any_of(staged_shims_.begin(), staged_shims_.end(), is_staged)) {
      auto folder = put_once(path.parent_path());
      if (!folder) return folder;
      return *folder + "/" + path.filename().string();
    }
    return put_once(path);
  }

  Result<std::string> put_once(const fs::path& path) {
    const auto it = put_.find(path);
    if (it != put_.end()) return it->second;
    auto there = place_.put(path, digests_);
    if (there) put_.emplace(path, *there);
    return there;
  }

  // A process of our own asks the same questions under the same injection.
  std::vector<std::string> probe(const std::string& domain) {
    if (place_.is_local()) return {install_.program.string(), "probe", domain, "--format", "json"};
    if (domain == "metal") {
      auto program = find_metal_probe(install_);
      if (!program) return {};
      auto there = path_there(*program);
      if (!there) return {};
      return {*there, "--format", "json"};
    }
    if (place_.os() != this_os()) return {};
    auto there = path_there(install_.program);
    if (!there) return {};
    return {*there, "probe", domain, "--format", "json"};
  }

  const suite::Suite& suite_;
  const fs::path& suite_dir_;
  const Install& install_;
  Place& place_;
  SharedDigests& digests_;
  StageDir& stage_;
  std::map<fs::path, std::string> sent_programs_;  // here -> there
  std::map<std::string, fs::path> staged_shims_;   // by domain
  std::map<fs::path, std::string> put_;
};

}  // namespace

Result<PlaceInputs> prepare_place(const suite::Suite& suite, const fs::path& suite_dir, const Install& install,
                                  const Inputs& inputs, Place& place, SharedDigests& digests) {
  PlaceInputs prepared;
  auto stage = StageDir::make();
  if (!stage) return std::move(stage).error();
  prepared.stage = std::move(*stage);
  Preparation preparation(suite, suite_dir, install, place, digests, *prepared.stage);
  for (const suite::Arm& arm : suite.arms) {
    prepared.arms.emplace_back();
    if (arm.target != place.name()) continue;
    auto input = preparation.arm(arm);
    if (!input) return std::move(input).error();
    prepared.arms.back() = std::move(*input);
  }
  for (const ModelInput& model : inputs.models) {
    auto there = preparation.model(model);
    if (!there) return std::move(there).error();
    prepared.model_argument.push_back(std::move(*there));
  }
  return prepared;
}

schema::ClosureRecord make_closure(const ModelInput& model, const ArmInput& arm,
                                   const std::vector<std::string>& mapped_files, Place& place, SharedDigests& digests) {
  schema::ClosureRecord closure;
  std::error_code error;
  const std::string executable = place.is_local() ? fs::canonical(arm.executable, error).string() : arm.executable;
  std::set<std::string> injected;
  for (std::size_t i = 0; i < arm.injected_there.size(); ++i) {
    injected.insert(place.is_local() ? fs::weakly_canonical(arm.injected_files[i], error).string()
                                     : arm.injected_there[i]);
  }
  // Again, since a file can be replaced during a run; the cache makes it one look.
  std::vector<std::string> paths{executable};
  paths.insert(paths.end(), injected.begin(), injected.end());
  paths.insert(paths.end(), mapped_files.begin(), mapped_files.end());
  const auto known = place.digests_there(paths, digests);
  const auto add = [&](const char* role, const std::string& path) {
    if (const auto it = known.find(path); it != known.end()) closure.members.push_back({role, it->second, path});
  };
  add("executable", executable);
  if (!model.path.empty()) {
    schema::ArtifactRecord weights = model.artifact;
    if (auto now =
            fs::is_directory(model.path, error) ? folder_artifact(model.path, digests) : digests.digest(model.path);
        now && now->sha256 != weights.sha256) {
      weights.sha256 = now->sha256;
      weights.size = now->size;
    }
    closure.members.push_back({"model", std::move(weights), model.path.string()});
  }
  for (const std::string& file : mapped_files) {
    if (file == executable || injected.contains(file)) continue;
    add(is_driver(fs::path(file).filename().string()) ? "driver" : "library", file);
  }
  // A manifest is never mapped, and a library was read by the loader even when it was unloaded again before anyone
  // looked.
  for (const std::string& file : injected) add("shim", file);
  if (place.image_artifact()) closure.members.push_back({"image", *place.image_artifact(), ""});
  closure.id = schema::closure_id(closure);
  return closure;
}

}  // namespace capbench::runner
