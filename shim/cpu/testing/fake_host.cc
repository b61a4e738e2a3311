// Plays ggml's loader, and other programs that use dlsym. Exit status 0: all as it must be.
//   fake_host load FOLDER...     choose as ggml_backend_load_best does and print its line
//   fake_host threads FOLDER     the same lookups from several threads at once
//   fake_host scopes PLUGIN      RTLD_NEXT, RTLD_DEFAULT, dlerror
//   fake_host early SCORE        what both linked libraries saw in their constructors (order.cc)
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

extern "C" const char* next_of_first();
extern "C" const char* next_of_second();
extern "C" int early_score_of_first();
extern "C" int early_score_of_second();

namespace {

using Score = int (*)();

std::vector<std::string> variants_in(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().rfind("libggml-cpu-", 0) == 0) paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// -1: no such library, -2: no score in it.
int score_of(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return -1;
  const auto score = reinterpret_cast<Score>(dlsym(handle, "ggml_backend_score"));
  const int value = score == nullptr ? -2 : score();
  dlclose(handle);
  return value;
}

int load(const std::vector<std::string>& folders) {
  std::string best;
  int best_score = 0;
  for (const std::string& path : variants_in(folders)) {
    const int score = score_of(path);
    if (score < 0) return 1;
    if (score > best_score) {
      best_score = score;
      best = path;
    }
  }
  if (best.empty() || score_of(best) == 0) return 2;
  std::fprintf(stderr, "load_backend: loaded CPU backend from %s\n", best.c_str());
  return 0;
}

int threads(const std::vector<std::string>& folders) {
  const std::vector<std::string> paths = variants_in(folders);
  std::vector<int> expected;
  for (const std::string& path : paths) expected.push_back(score_of(path));
  std::atomic<int> wrong{0};
  std::vector<std::thread> workers;
  for (std::size_t worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      for (std::size_t i = 0; i < 50 * paths.size(); ++i) {
        const std::size_t at = (i + worker) % paths.size();
        if (score_of(paths[at]) != expected[at]) ++wrong;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  return wrong == 0 && !paths.empty() ? 0 : 1;
}

bool expect(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "wrong: %s\n", what);
  return holds;
}

int scopes(const char* plugin_path) {
  bool good = expect(std::strcmp(next_of_first(), "second") == 0, "RTLD_NEXT in the first library gives the second");
  good &= expect(std::strcmp(next_of_second(), "none") == 0, "RTLD_NEXT in the last library gives nothing");
  dlerror();
  void* from_default = dlsym(RTLD_DEFAULT, "which_library");
  good &= expect(from_default != nullptr, "RTLD_DEFAULT finds a linked library's function");
  good &= expect(from_default == dlsym(RTLD_NEXT, "which_library"), "RTLD_NEXT in the program gives the first");
  good &= expect(dlsym(RTLD_DEFAULT, "only_in_plugin") == nullptr, "a name that is nowhere is not found");
  good &= expect(dlerror() != nullptr && dlerror() == nullptr, "a failed lookup leaves one error");

  void* plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
  if (!expect(plugin != nullptr, "the plugin loads")) return 1;
  const auto finds_itself = reinterpret_cast<bool (*)()>(dlsym(plugin, "plugin_finds_itself"));
  good &= expect(finds_itself != nullptr && finds_itself(), "RTLD_DEFAULT in a local library sees its own names");
  good &= expect(dlsym(RTLD_DEFAULT, "only_in_plugin") == nullptr, "the program does not see them");
  dlerror();
  good &= expect(dlsym(plugin, "ggml_backend_score") == nullptr, "a library without a score has none");
  const char* error = dlerror();
  good &= expect(error != nullptr && std::strstr(error, "ggml_backend_score") != nullptr, "and the error names it");
  good &= expect(dlsym(RTLD_DEFAULT, "ggml_backend_score") == nullptr, "nor is there one in the default scope");
  dlerror();
  dlclose(plugin);
  good &= expect(dlsym(RTLD_DEFAULT, "printf") != nullptr && dlerror() == nullptr, "a good lookup leaves no error");
  return good ? 0 : 1;
}

int early(const std::string& score) {
  const std::string first = std::to_string(early_score_of_first());
  const std::string second = std::to_string(early_score_of_second());
  return expect(first == score && second == score, (first + " and " + second).c_str()) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return 64;
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "load") return load(rest);
  if (arguments[0] == "threads") return threads(rest);
  if (arguments[0] == "scopes") return scopes(rest[0].c_str());
  if (arguments[0] == "early") return early(rest[0]);
  return 64;
}
