#include "harness/runner/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>

#include "base/file.h"
#include "harness/runner/injection.h"
#include "models/catalog.h"
#include "models/inspect.h"
#include "models/synth.h"
#include "schema/identity.h"
#include "shim/cpu/detect.h"
#include "shim/cpu/levels.h"

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
  const fs::path folder = install.cache / "models";
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

Result<ModelInput> prepare_model(const suite::Model& model, const fs::path& suite_dir, const Install& install,
                                 schema::DigestCache& digests, StageDir& stage, const Say& say) {
  auto inspected = model.like.empty() ? inspect_model(fs::absolute(suite_dir / model.file).lexically_normal())
                                      : prepare_twin(model, install, say);
  if (!inspected) return std::move(inspected).error();
  ModelInput input;
  input.path = std::move(inspected->path);
  input.kind = std::string(models::kind_of(inspected->info));
  auto artifact = digests.digest(input.path);
  if (!artifact) return std::move(artifact).error();
  input.artifact = std::move(*artifact);
  if (!model.sha256.empty() && model.sha256 != input.artifact.sha256) {
    return Error{ErrorKind::kUsage, input.path.string(),
                 fmt::format("SHA-256 is {}, the suite pins {}", input.artifact.sha256, model.sha256),
                 "fetch the pinned file, or correct the pin"};
  }
  auto argument = stage.harmless_path(input.path, ",");
  if (!argument) return std::move(argument).error();
  input.argument = std::move(*argument);
  return input;
}

Result<ArmInput> prepare_arm(const suite::Arm& arm, const fs::path& suite_dir, const Install& install,
                             StageDir& stage) {
  auto injection = make_injection(
      arm, suite_dir,
      {[&](std::string_view domain) { return find_shim(install, domain); },
       [&](const fs::path& target, std::string_view forbidden) { return stage.harmless_path(target, forbidden); }});
  if (!injection) return std::move(injection).error();
  ArmInput input;
  if (!arm.guest.empty()) input.guest = "stand-in";
  for (const auto& [name, value] : injection->env) input.set_env.push_back(name + "=" + value);
  for (const auto& [name, value] : arm.env) input.set_env.push_back(name + "=" + value);
  input.injected_files = std::move(injection->files);
  input.injection_problem = std::move(injection->problem);
  for (const std::string& domain : injection->domains) {
    if (domain != "cpu") input.probe_domain = domain;  // ggml names its CPU library itself
  }
  return input;
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

Result<Inputs> prepare_inputs(const suite::Suite& suite, const fs::path& suite_dir, const Install& install,
                              schema::DigestCache& digests, const Say& say) {
  Inputs inputs;
  auto executable = find_llama_bench(install, suite.runtime.executable, suite_dir);
  if (!executable) return std::move(executable).error();
  inputs.executable = std::move(*executable);
  inputs.cpu_variants = variants_beside(inputs.executable);
  inputs.hardware_features = shim::cpu::detect_cpu().usable();
  auto stage = StageDir::make();
  if (!stage) return std::move(stage).error();
  inputs.stage = std::move(*stage);
  for (const suite::Arm& arm : suite.arms) {
    auto input = prepare_arm(arm, suite_dir, install, *inputs.stage);
    if (!input) return std::move(input).error();
    inputs.arms.push_back(std::move(*input));
  }
  for (const suite::Model& model : suite.models) {
    auto input = prepare_model(model, suite_dir, install, digests, *inputs.stage, say);
    if (!input) {
      Error error = std::move(input).error();
      error.what = fmt::format("model \"{}\": {}", model.name, error.what);
      return error;
    }
    inputs.models.push_back(std::move(*input));
  }
  return inputs;
}

schema::ClosureRecord make_closure(const Inputs& inputs, const ModelInput& model, const ArmInput& arm,
                                   const std::vector<std::string>& mapped_files, schema::DigestCache& digests) {
  schema::ClosureRecord closure;
  std::error_code error;
  const fs::path executable = fs::canonical(inputs.executable, error);
  std::set<fs::path> injected;
  for (const fs::path& file : arm.injected_files) injected.insert(fs::weakly_canonical(file, error));
  const auto add = [&](const char* role, const fs::path& path) {
    if (auto artifact = digests.digest(path)) closure.members.push_back({role, std::move(*artifact), path.string()});
  };
  add("executable", executable);
  // Again, since a file can be replaced during a run; the cache makes it one look.
  schema::ArtifactRecord weights = model.artifact;
  if (auto now = digests.digest(model.path); now && now->sha256 != weights.sha256) {
    weights.sha256 = now->sha256;
    weights.size = now->size;
  }
  closure.members.push_back({"model", std::move(weights), model.path.string()});
  for (const std::string& file : mapped_files) {
    if (fs::path(file) == executable || injected.contains(file)) continue;
    add(is_driver(fs::path(file).filename().string()) ? "driver" : "library", file);
  }
  // A manifest is never mapped, and a library was read by the loader even when it was unloaded again before anyone
  // looked.
  for (const fs::path& file : injected) add("shim", file);
  closure.id = schema::closure_id(closure);
  return closure;
}

}  // namespace capbench::runner
