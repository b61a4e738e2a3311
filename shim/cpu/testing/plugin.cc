// Loaded with RTLD_LOCAL: its own names are in the default scope of its own calls only.
#include <dlfcn.h>

extern "C" {

int only_in_plugin() {
  return 1;
}

// True if a lookup in the default scope, made from here, finds what only this library has.
bool plugin_finds_itself() {
  return dlsym(RTLD_DEFAULT, "only_in_plugin") == reinterpret_cast<void*>(&only_in_plugin);
}
}
