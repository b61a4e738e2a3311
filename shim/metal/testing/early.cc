// A library whose constructor asks for a device: preloaded after the shim, it does so before the shim's own constructor
// runs.
#include <dlfcn.h>

#include <cstdio>

#include "shim/metal/objc.h"

namespace {

[[gnu::constructor]] void ask() {
  using Create = id (*)();
  const auto create = reinterpret_cast<Create>(dlsym(RTLD_DEFAULT, "MTLCreateSystemDefaultDevice"));
  if (create == nullptr) return;
  const id device = create();
  const bool answer =
      capbench::shim::metal::send<capbench::shim::metal::Boolean>(device, sel_registerName("supportsFamily:"), 1009L);
  std::printf("early 1009=%d\n", answer ? 1 : 0);
}

}  // namespace
