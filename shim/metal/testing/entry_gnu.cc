// The shim for tests: the same hooks, reached through LD_PRELOAD instead of dyld's interposing.
#include <dlfcn.h>

#include "shim/metal/hooks.h"

namespace capbench::shim::metal {
namespace {

using Function = id (*)();

// The function behind the one of this library.
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void on_load() {
  start();
}

}  // namespace
}  // namespace capbench::shim::metal

extern "C" [[gnu::visibility("default")]] id MTLCreateSystemDefaultDevice() {
  namespace metal = capbench::shim::metal;
  const auto behind = metal::next("MTLCreateSystemDefaultDevice");
  return behind == nullptr ? nullptr : metal::answer_device(behind());
}

extern "C" [[gnu::visibility("default")]] id MTLCopyAllDevices() {
  namespace metal = capbench::shim::metal;
  const auto behind = metal::next("MTLCopyAllDevices");
  return behind == nullptr ? nullptr : metal::answer_devices(behind());
}
