#include "harness/runner/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/runner/injection.h"
#include "harness/runner/place.h"
#include "harness/runtime/runtime.h"
#include "harness/target/shell.h"
#include "harness/target/target.h"
#include "shim/common/toggles.h"

namespace capbench::runner {
namespace {

namespace fs = std::filesystem;

// What the target's program is told to load where nobody has looked yet.
fs::path symbolic_shim(std::string_view domain, const std::string& folder) {
  const auto* const info = std::find_if(shim::kDomains.begin(), shim::kDomains.end(),
                                        [&](const shim::DomainInfo& d) { return d.name == domain; });
  return fs::path(folder) / (info == shim::kDomains.end() ? std::string(domain) : std::string(info->library));
}

std::string program_name(const std::string& kind, const std::string& wanted) {
  if (!wanted.empty()) return fs::path(wanted).filename().string();
  return kind == "mlx-lm" ? "mlx_lm.benchmark" : kind;
}

// The system of a target that nobody has asked: what the suite says, else what its kind of VM is made for.
std::string os_of(const suite::TargetSpec& spec, const suite::Arm& arm) {
  if (const std::string os = target::option(spec, "os"); !os.empty()) return os;
  if (const std::string os = target::option(spec, "require.os"); !os.empty()) return os.substr(0, os.find(' '));
  const bool is_metal =
      std::any_of(arm.set.begin(), arm.set.end(), [](const auto& level) { return level.first.starts_with("metal."); });
  return is_metal ? "macos" : std::string(this_os());
}

}  // namespace

Result<std::vector<CellCommands>> describe_commands(const suite::Suite& suite, const fs::path& suite_dir,
                                                    const Install& install) {
  if (auto status = check_targets(suite); !status) return std::move(status).error();
  std::vector<CellCommands> cells;
  for (const suite::Arm& arm : suite.arms) {
    const auto spec = suite.targets.find(arm.target);
    const bool is_local = spec == suite.targets.end();
    const suite::TargetSpec here;
    const suite::TargetSpec& target = is_local ? here : spec->second;
    const std::string os = is_local ? std::string(this_os()) : os_of(target, arm);
    InjectionPlaces places;
    places.os = os;
    places.find_shim = [&](std::string_view domain) -> Result<fs::path> {
      if (is_local && shim_acts_on(shim::Domain::kMetal, os) == (domain == "metal")) {
        if (auto found = find_shim(install, domain)) return found;
      }
      const std::string folder = target::option(target, "shim_dir");
      return symbolic_shim(domain, !folder.empty() ? folder : is_local ? "<shim>" : "<sent>");
    };
    places.harmless_path = [&](const fs::path& path, std::string_view) -> Result<std::string> {
      if (is_local || path.string().starts_with("<")) return path.string();
      return "<sent>/" + path.filename().string();
    };
    auto injection = make_injection(arm, suite_dir, places);
    if (!injection) return std::move(injection).error();
    target::Job job;
    for (const auto& [name, value] : injection->env) job.set_env.push_back(name + "=" + value);
    for (const auto& [name, value] : arm.env) job.set_env.push_back(name + "=" + value);

    const std::string& wanted = arm.executable.empty() ? suite.runtime.executable : arm.executable;
    std::string executable = arm.executable.empty() ? target::option(target, "executable") : "";
    if (executable.empty() && is_local) {
      auto found = find_runtime_program(install, suite.runtime.kind, wanted, suite_dir);
      executable = found ? found->string() : fmt::format("<{}>", program_name(suite.runtime.kind, wanted));
    }
    if (executable.empty()) executable = "<sent>/" + program_name(suite.runtime.kind, wanted);

    for (const suite::Model& model : suite.models) {
      std::string path;
      if (!model.file.empty()) path = (suite_dir / model.file).lexically_normal().string();
      if (!model.like.empty()) path = fmt::format("<twin of {}>", model.like);
      if (!model.catalog.empty()) path = fmt::format("<{} of the catalog>", model.catalog);
      if (!is_local && !path.empty() && !path.starts_with("<")) path = "<sent>/" + fs::path(path).filename().string();
      for (const suite::Workload& workload : suite.workloads) {
        job.argv = runtime::make_argv(suite.runtime.kind, executable, path, workload, arm);
        CellCommands cell;
        cell.cell = fmt::format("{}/{}/{}", model.name, workload.name, arm.name);
        cell.target = arm.target;
        if (is_local) {
          std::string command;
          for (const std::string& setting : job.set_env) {
            const std::size_t equals = setting.find('=');
            // An assignment is one only if its name and sign are not quoted.
            command += setting.substr(0, equals + 1) + target::quote(setting.substr(equals + 1)) + " ";
          }
          cell.commands.push_back(command + target::quote_all(job.argv));
        } else {
          cell.commands = target::describe_job(arm.target, target, job);
        }
        cells.push_back(std::move(cell));
      }
    }
  }
  return cells;
}

}  // namespace capbench::runner
