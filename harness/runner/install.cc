#include "harness/runner/install.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/file.h"
#include "shim/common/toggles.h"
#include "shim/vulkan/injection.h"

namespace capbench::runner {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

constexpr std::string_view kGetLlamaBench = "`scripts/setup` (builds it), or name one in $CAPBENCH_LLAMA_BENCH";

}  // namespace

fs::path models_folder(const Install& install) {
  return install.cache / "models";
}

std::optional<fs::path> find_on_path(std::string_view name) {
  const std::string path = variable("PATH");
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (folder.empty()) continue;
    const fs::path candidate = fs::path(folder) / name;
    if (is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

Install find_install(std::string_view argv0) {
  Install install;
  std::error_code error;
  install.program = fs::read_symlink("/proc/self/exe", error);
  fs::path invoked(argv0);
  if (!invoked.has_parent_path()) {
    if (const auto found = find_on_path(argv0)) invoked = *found;
  }
  install.invoked_dir = fs::absolute(invoked, error).parent_path();
  fs::path name = fs::absolute(invoked, error);
  constexpr int kMostLinks = 40;  // as the kernel follows
  for (int links = 0; links < kMostLinks && fs::is_symlink(name, error); ++links) {
    name = (name.parent_path() / fs::read_symlink(name, error)).lexically_normal();
    install.linked_dirs.push_back(name.parent_path());
  }
  const std::string cache = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (!cache.empty()) {
    install.cache = fs::path(cache) / "capbench";
  } else if (!home.empty()) {
    install.cache = fs::path(home) / ".cache" / "capbench";
  } else {
    install.cache = fs::temp_directory_path(error) / ("capbench-" + std::to_string(::getuid()));
  }
  return install;
}

Result<fs::path> find_llama_bench(const Install& install, const std::string& wanted, const fs::path& suite_dir) {
  const auto missing = [](const std::string& what, const std::string& cause) {
    return Error{ErrorKind::kMachine, what, cause, std::string(kGetLlamaBench)};
  };
  if (wanted.find('/') != std::string::npos) {
    const fs::path path = (suite_dir / wanted).lexically_normal();
    if (is_program(path)) return fs::absolute(path);
    return missing(path.string(), "no such program");
  }
  if (!wanted.empty()) {
    if (const auto found = find_on_path(wanted)) return fs::absolute(*found);
    return missing(wanted, "not on the PATH");
  }
  if (!install.llama_bench.empty()) {
    if (is_program(install.llama_bench)) return fs::absolute(install.llama_bench);
    return missing(install.llama_bench.string(), "no such program");
  }
  if (const std::string named = variable("CAPBENCH_LLAMA_BENCH"); !named.empty()) {
    if (is_program(named)) return fs::absolute(named);
    return missing(named, "$CAPBENCH_LLAMA_BENCH names no program");
  }
  if (const auto found = find_on_path("llama-bench")) return fs::absolute(*found);
  std::vector<fs::path> folders{install.invoked_dir};
  folders.insert(folders.end(), install.linked_dirs.begin(), install.linked_dirs.end());
  for (const fs::path& folder : folders) {
    const fs::path built = (folder / ".." / "build" / "llama" / "llama-bench").lexically_normal();
    if (is_program(built)) return built;
  }
  return missing("llama-bench", "not found");
}

Result<fs::path> find_runtime_program(const Install& install, std::string_view kind, const std::string& wanted,
                                      const fs::path& suite_dir) {
  if (kind == "llama-bench") return find_llama_bench(install, wanted, suite_dir);
  const std::string name = wanted.empty() && kind == "mlx-lm" ? "mlx_lm.benchmark" : wanted;
  if (name.empty()) {
    return Error{ErrorKind::kUsage, "$.runtime.executable", "absent; a google-benchmark suite must name its program",
                 R"("executable": "./my_benchmark")"};
  }
  if (name.find('/') != std::string::npos) {
    const fs::path path = fs::absolute(suite_dir / name).lexically_normal();
    if (is_program(path)) return path;
    return Error{ErrorKind::kMachine, path.string(), "no such program", "build it, or correct \"executable\""};
  }
  if (const auto found = find_on_path(name)) return fs::absolute(*found);
  return Error{ErrorKind::kMachine, name, "not on the PATH",
               kind == "mlx-lm" ? "`pip install mlx-lm` on a Mac, or name it in \"executable\""
                                : "a path with a slash, relative to the suite file"};
}

Result<fs::path> find_metal_probe(const Install& install) {
  auto shim = find_shim(install, "metal");
  if (!shim) return std::move(shim).error();
  fs::path probe = shim->parent_path() / "metal-capabilities";
  std::error_code error;
  if (fs::is_regular_file(probe, error)) return probe;
  return Error{ErrorKind::kMachine, probe.string(), "the Metal probe is not built", "`scripts/shim-metal`"};
}

Result<fs::path> find_shim(const Install& install, std::string_view domain) {
  const auto* const info = std::find_if(shim::kDomains.begin(), shim::kDomains.end(),
                                        [&](const shim::DomainInfo& d) { return d.name == domain; });
  if (info == shim::kDomains.end() || info->library.empty()) {
    return Error{ErrorKind::kMachine, std::string(domain) + " shim", "not in this build", "another domain"};
  }
  // What must lie in one folder. The loader finds a Vulkan layer through its manifest.
  std::vector<std::string_view> files{info->library};
  if (info->domain == shim::Domain::kVulkan) {
    files.push_back(shim::vulkan::kShimManifest);
    files.push_back(shim::vulkan::kGuestManifest);
  }
  std::vector<fs::path> folders;
  const std::string named = variable("CAPBENCH_SHIM_DIR");
  if (!named.empty()) {
    folders.emplace_back(named);
  } else {
    const fs::path program_dir = install.program.parent_path();
    folders.push_back(program_dir / ".." / ".." / "shim" / domain);
    folders.push_back(program_dir / ".." / "lib" / "capbench");
  }
  std::error_code error;
  for (const fs::path& folder : folders) {
    const bool all_here = std::all_of(files.begin(), files.end(),
                                      [&](std::string_view file) { return fs::is_regular_file(folder / file, error); });
    // The folder's own links are followed, those of the files are not: the manifests must stay beside the library.
    if (all_here) return fs::canonical(folder, error) / info->library;
  }
  return Error{ErrorKind::kMachine, std::string(info->library),
               named.empty() ? "the shim library is not built" : "not in $CAPBENCH_SHIM_DIR (" + named + ")",
               named.empty() ? "`scripts/setup`, or name its folder in $CAPBENCH_SHIM_DIR"
                             : "name the folder that holds it, or unset the variable"};
}

}  // namespace capbench::runner
