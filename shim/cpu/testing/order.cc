// Built twice, as `first` and `second`, both linked into fake_host in that order.
#include <dlfcn.h>

#include <cstdlib>

#define ORDER_TEXT_OF(name) #name
#define ORDER_TEXT(name) ORDER_TEXT_OF(name)
#define ORDER_JOIN_OF(a, b) a##b
#define ORDER_JOIN(a, b) ORDER_JOIN_OF(a, b)

namespace {

int g_early_score = -1;

// Looks a score up in the library that EARLY_LIBRARY names, while the process still initialises its libraries.
[[gnu::constructor]] void look_up_early() {
  const char* path = std::getenv("EARLY_LIBRARY");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* score = library == nullptr ? nullptr : dlsym(library, "ggml_backend_score");
  if (score != nullptr) g_early_score = reinterpret_cast<int (*)()>(score)();
}

}  // namespace

extern "C" {

int ORDER_JOIN(early_score_of_, ORDER_NAME)() {
  return g_early_score;
}

const char* which_library() {
  return ORDER_TEXT(ORDER_NAME);
}

// What comes after this library: next_of_first() gives "second".
const char* ORDER_JOIN(next_of_, ORDER_NAME)() {
  void* next = dlsym(RTLD_NEXT, "which_library");
  return next == nullptr ? "none" : reinterpret_cast<const char* (*)()>(next)();
}
}
