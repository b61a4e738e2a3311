#include "harness/watch/build_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/utf8.h"

namespace capbench::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBuilds = 10'000;
constexpr std::size_t kLongestName = 80;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Part of a file name, and never a hidden one.
std::string safe_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kLongestName)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    name += plain ? c : '_';
  }
  if (!name.empty() && name.front() == '.') name.front() = '_';
  return name;
}

// The folder that holds the program says which build it is; llama.cpp's own builds put it into build/bin.
std::string name_from(const fs::path& program) {
  fs::path folder = program.filename() == "llama-bench" ? program.parent_path() : program;
  if (folder.filename().empty()) folder = folder.parent_path();
  while (folder.has_parent_path() && (folder.filename() == "bin" || folder.filename() == "build")) {
    folder = folder.parent_path();
  }
  return safe_name(folder.filename().string());
}

}  // namespace

Result<std::vector<ListedBuild>> parse_build_list(std::string_view text) {
  std::vector<ListedBuild> builds;
  std::set<fs::path> paths;
  std::map<std::string, std::size_t> line_of;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const auto wrong = [&](const std::string& cause, const std::string& remedy) {
      return Error{ErrorKind::kUsage, fmt::format("line {} of the builds, {}", number, in_quotes(line)), cause, remedy};
    };

    const std::size_t tab = line.find('\t');
    ListedBuild build;
    const std::string_view path = tab == std::string_view::npos ? line : line.substr(tab + 1);
    if (path.empty()) return wrong("has no path", "NAME, a tab and the path of a llama-bench");
    if (std::any_of(path.begin(), path.end(), is_control))
      return wrong("its path has control characters", "one build a line");
    build.program = fs::path(path).lexically_normal();
    build.name = tab == std::string_view::npos ? name_from(build.program) : safe_name(line.substr(0, tab));
    if (build.name.empty()) return wrong("has no name", "NAME, a tab and the path of a llama-bench");
    if (!paths.insert(build.program).second) continue;
    const auto [named, is_new] = line_of.emplace(build.name, number);
    if (!is_new) {
      return wrong(fmt::format("\"{}\" is also the name of line {}, whose path is another", build.name, named->second),
                   "a name of its own before a tab");
    }
    if (builds.size() == kMostBuilds)
      return wrong(fmt::format("there are more than {} builds", kMostBuilds), "list the newest");
    builds.push_back(std::move(build));
  }
  return builds;
}

}  // namespace capbench::watch
