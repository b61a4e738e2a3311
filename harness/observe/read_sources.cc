#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>

#include "base/fd.h"
#include "harness/observe/source_table.h"
#include "harness/observe/sources.h"
#include "harness/observe/variables.h"

#if defined(__APPLE__)
extern char** environ;  // no header of macOS declares it
#endif

namespace capbench::observe {
namespace {

namespace fs = std::filesystem;

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

std::string below(const fs::path& root, std::string_view pattern) {
  std::string path = pattern.starts_with("~/") ? home_folder() + std::string(pattern.substr(1)) : std::string(pattern);
  return root == "/" ? path : root.string() + path;
}

// Its first bytes, or its first line of at most so many. Nothing if it is no readable file.
std::optional<std::string> read_start(const std::string& path, std::size_t max_bytes, bool only_line) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string text;
  std::array<char, 1U << 14U> buffer;  // NOLINT: read() fills it
  while (text.size() < max_bytes) {
    const ssize_t n = ::read(fd.get(), buffer.data(), std::min(buffer.size(), max_bytes - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && text.empty()) return std::nullopt;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (!only_line) continue;
    if (const std::size_t end = text.find('\n'); end != std::string::npos) {
      text.resize(end);
      break;
    }
  }
  return text;
}

// `f` gets every path that a pattern matches, in order.
template <class F>
void for_each_match(const std::vector<std::string>& patterns, const fs::path& root, const F& f) {
  for (const std::string& pattern : patterns) {
    const std::string whole = below(root, pattern);
    if (whole.find_first_of("*?[") == std::string::npos) {
      f(whole);
      continue;
    }
    glob_t found = {};
    if (::glob(whole.c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) f(std::string(found.gl_pathv[i]));
    }
    ::globfree(&found);
  }
}

// As the script would print it: without the root.
std::string_view shown(const std::string& path, const fs::path& root) {
  return root == "/" ? std::string_view(path) : std::string_view(path).substr(root.string().size());
}

SourceText first_lines(const Source& source, const fs::path& root) {
  SourceText result;
  for_each_match(source.patterns, root, [&](const std::string& path) {
    if (result.text.size() >= source.max_bytes) return;
    const auto line = read_start(path, 1U << 14U, true);
    if (line && !line->empty()) result.text.append(shown(path, root)).append("\t").append(*line).append("\n");
  });
  return result;
}

SourceText existing_paths(const Source& source, const fs::path& root) {
  SourceText result;
  for_each_match(source.patterns, root, [&](const std::string& path) {
    if (::access(path.c_str(), F_OK) != 0) return;
    std::string access = ::access(path.c_str(), R_OK) == 0 ? "r" : "";
    if (::access(path.c_str(), W_OK) == 0) access += "w";
    result.text.append(access.empty() ? "-" : access).append(" ").append(shown(path, root)).append("\n");
  });
  return result;
}

SourceText steering_variables() {
  SourceText result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t at = text.find('=');
    if (at != std::string_view::npos && at + 1 < text.size() && is_steering_variable(text.substr(0, at))) {
      result.text.append(text).append("\n");
    }
  }
  return result;
}

SourceText system_name() {
  utsname system = {};
  if (::uname(&system) != 0) return {"", 1};
  return {std::string(system.sysname) + " " + system.release + " " + system.machine + "\n", 0};
}

SourceText personal() {
  utsname system = {};
  ::uname(&system);
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 1U << 14U> buffer{};
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return {std::string("user=") + (found == nullptr ? "" : found->pw_name) + "\nhome=" + home_folder() +
              "\nhost=" + system.nodename + "\n",
          0};
}

// Where a program is, in the script's order.
std::optional<fs::path> find_program(const std::string& name) {
  std::vector<std::string> folders(kToolFolders.begin(), kToolFolders.end());
  const char* path = std::getenv("PATH");
  std::string_view rest(path == nullptr ? "" : path);
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  folders.push_back(home_folder() + "/.local/bin");
  for (const std::string& folder : folders) {
    const std::string candidate = folder + "/" + name;
    struct stat info = {};
    if (!folder.empty() && ::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return std::nullopt;
}

SourceText first_that_works(const Source& source, const RunCommand& run) {
  SourceText result{"", 127};
  for (const std::vector<std::string>& argv : source.commands) {
    if (argv.empty()) continue;
    const auto program = find_program(argv.front());
    if (!program || !run) continue;
    SourceText one = run(*program, argv, source);
    result.text += one.text;
    result.status = one.status;
    if (result.status == 0) break;
  }
  return result;
}

// Is any of its programs there, and what it asks about?
bool exists(const Source& source) {
  bool is_wanted = source.only_with.empty();
  for_each_match(source.only_with, "/",
                 [&](const std::string& path) { is_wanted |= ::access(path.c_str(), F_OK) == 0; });
  return is_wanted &&
         std::any_of(source.commands.begin(), source.commands.end(),
                     [](const std::vector<std::string>& argv) { return !argv.empty() && find_program(argv.front()); });
}

SourceText read_source(const Source& source, const RunCommand& run, const fs::path& root) {
  const bool here = root == "/";
  switch (source.kind) {
    case SourceKind::kFile: {
      auto text = read_start(below(root, source.patterns.front()), source.max_bytes, false);
      return text ? SourceText{std::move(*text), 0} : SourceText{"", 1};
    }
    case SourceKind::kFirstLines:
      return first_lines(source, root);
    case SourceKind::kPaths:
      return existing_paths(source, root);
    case SourceKind::kCommand:
      return here && exists(source) ? first_that_works(source, run) : SourceText{"", 127};
    case SourceKind::kVariables:
      return here ? steering_variables() : SourceText{};
    case SourceKind::kUname:
      return system_name();
    case SourceKind::kPersonal:
      return here ? personal() : SourceText{};
  }
  return {"", 1};
}

}  // namespace

SourceTexts read_sources_locally(const std::vector<Source>& sources, const RunCommand& run_command,
                                 const fs::path& root) {
  SourceTexts texts;
  // Commands run side by side: together they take as long as the slowest.
  std::vector<std::pair<std::string, std::future<SourceText>>> running;
  for (const Source& source : sources) {
    if (source.os != this_os() || texts.contains(source.name)) continue;
    SourceText& text = texts[source.name];
    if (source.kind == SourceKind::kCommand && root == "/" && exists(source)) {
      running.emplace_back(source.name,
                           std::async(std::launch::async, first_that_works, std::cref(source), std::cref(run_command)));
    } else {
      text = read_source(source, run_command, root);
    }
  }
  for (auto& [name, text] : running) texts[name] = text.get();
  return texts;
}

}  // namespace capbench::observe
