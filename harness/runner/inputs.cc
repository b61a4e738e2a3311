#include "harness/runner/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>

#include "base/file.h"
#include "harness/observe/ggml_log.h"
#include "models/catalog.h"
#include "models/inspect.h"
#include "models/synth.h"
#include "schema/identity.h"
#include "shim/common/evidence.h"
#include "shim/common/settings.h"
#include "shim/common/toggles.h"

namespace capbench::runner {
namespace {

namespace fs = std::filesystem;
using Say = std::function<void(const std::string&)>;

Result<fs::path> twin_path(const suite::Model& model, const Install& install, const Say& say) {
  auto shape = models::find_shape(model.like);
  if (!shape) return std::move(shape).error();
  const fs::path folder = install.cache / "models";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return file_error(folder, error.value());
  const fs::path path = folder / fmt::format("{}-seed{}-v{}.gguf", model.like, model.seed, models::kTwinVersion);
  // A twin that was cut short never gets its name, so one that is here and readable is whole.
  if (models::inspect(path).ok()) return path;
  say(fmt::format("writing the twin of {} to {}", model.like, path.string()));
  auto report = models::synth(*shape, model.seed, models::Fill::kPlanted, path);
  if (!report) return std::move(report).error();
  return path;
}

Result<ModelInput> prepare_model(const suite::Model& model, const fs::path& suite_dir, const Install& install,
                                 schema::DigestCache& digests, StageDir& stage, const Say& say) {
  ModelInput input;
  if (model.like.empty()) {
    input.path = fs::absolute(suite_dir / model.file).lexically_normal();
  } else {
    auto path = twin_path(model, install, say);
    if (!path) return std::move(path).error();
    input.path = std::move(*path);
  }
  auto info = models::inspect(input.path);
  if (!info) return std::move(info).error();
  input.kind = std::string(models::kind_of(*info));
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

// The domains that the arm's settings touch must have a shim here, and their levels must exist.
Result<std::set<std::string>> domains_of(const suite::Arm& arm) {
  std::set<std::string> domains;
  for (const auto* settings : {&arm.guest, &arm.set}) {
    if (auto status = shim::check_settings(*settings); !status) {
      Error error = status.error();
      error.what = fmt::format("arm \"{}\": {}", arm.name, error.what);
      return error;
    }
    for (const auto& [name, value] : *settings) {
      const shim::Toggle& toggle = shim::kToggles[shim::find_toggle(name)];
      const shim::DomainInfo& domain = shim::domain_info(toggle.domain);
      if (!shim::has_shim(toggle.domain)) {
        return Error{
            ErrorKind::kMachine, fmt::format("arm \"{}\": {}", arm.name, name),
            fmt::format("there is no {} shim on this machine (it answers on {})", domain.name, domain.platform),
            "a cpu.* capability here, or run this suite there"};
      }
      domains.emplace(domain.name);
    }
  }
  return domains;
}

Result<ArmInput> prepare_arm(const suite::Arm& arm, const fs::path& suite_dir, const Install& install,
                             StageDir& stage) {
  ArmInput input;
  auto domains = domains_of(arm);
  if (!domains) return std::move(domains).error();
  if (!arm.guest.empty()) {
    input.guest = "stand-in";
    input.set_env.push_back(fmt::format("{}={}", shim::kGuestVariable, shim::format_settings(arm.guest)));
  }
  if (!arm.set.empty()) {
    input.set_env.push_back(fmt::format("{}={}", shim::kSetVariable, shim::format_settings(arm.set)));
  }
  if (!domains->empty()) {
    if (arm.shim.empty()) {
      auto shim = find_shim(install, *domains->begin());
      if (!shim) return std::move(shim).error();
      input.shim = std::move(*shim);
    } else {
      // A path that leads nowhere is not refused: what the loader makes of it is for the treatment check to find.
      input.shim = fs::absolute(suite_dir / arm.shim).lexically_normal();
    }
    auto preload = stage.harmless_path(input.shim, " :\t\n");
    if (!preload) return std::move(preload).error();
    input.set_env.push_back("LD_PRELOAD=" + *preload);
  }
  for (const auto& [name, value] : arm.env) input.set_env.push_back(name + "=" + value);
  return input;
}

std::vector<std::string> variants_beside(const fs::path& executable) {
  std::vector<std::string> variants;
  std::error_code error;
  const fs::path folder = fs::canonical(executable, error).parent_path();
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".so") continue;
    const std::string variant = observe::cpu_variant(it->path().string());
    if (!variant.empty()) variants.push_back(variant);
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

const std::vector<std::string>& foreign_injection_variables() {
  static const std::vector<std::string> kVariables{
      "LD_PRELOAD",
      "LD_AUDIT",
      "DYLD_INSERT_LIBRARIES",
      std::string(shim::kSetVariable),
      std::string(shim::kGuestVariable),
      "LUME_METAL_APPLE_FAMILY_MAX",
      "LUME_METAL_MAX_THREADGROUP_MEMORY",
      "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE",
      "TART_METAL_APPLE_FAMILY_MAX",
  };
  return kVariables;
}

Result<Inputs> prepare_inputs(const suite::Suite& suite, const fs::path& suite_dir, const Install& install,
                              schema::DigestCache& digests, const Say& say) {
  Inputs inputs;
  auto executable = find_llama_bench(install, suite.runtime.executable, suite_dir);
  if (!executable) return std::move(executable).error();
  inputs.executable = std::move(*executable);
  inputs.cpu_variants = variants_beside(inputs.executable);
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
  const fs::path shim = arm.shim.empty() ? fs::path() : fs::weakly_canonical(arm.shim, error);
  const auto add = [&](const char* role, const fs::path& path) {
    if (auto artifact = digests.digest(path)) closure.members.push_back({role, std::move(*artifact), path.string()});
  };
  add("executable", executable);
  closure.members.push_back({"model", model.artifact, model.path.string()});
  for (const std::string& file : mapped_files) {
    if (fs::path(file) == executable) continue;
    if (!shim.empty() && fs::path(file) == shim) {
      add("shim", file);
    } else {
      add(is_driver(fs::path(file).filename().string()) ? "driver" : "library", file);
    }
  }
  closure.id = schema::closure_id(closure);
  return closure;
}

}  // namespace capbench::runner
