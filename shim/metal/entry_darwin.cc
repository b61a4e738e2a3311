// libcapshim_metal.dylib: put into a process by DYLD_INSERT_LIBRARIES, it answers for Metal devices what the settings
// say. dyld's interposing sends every other image's calls of the two functions that hand out devices to this one.
#include "shim/metal/hooks.h"

extern "C" {
id MTLCreateSystemDefaultDevice();
id MTLCopyAllDevices();
}

namespace capbench::shim::metal {
namespace {

// Calls made in here reach Metal: dyld leaves the interposing image's own alone.
id create_system_default_device() {
  return answer_device(MTLCreateSystemDefaultDevice());
}

id copy_all_devices() {
  return answer_devices(MTLCopyAllDevices());
}

struct Interposed {
  id (*replacement)();
  id (*original)();
};

[[gnu::used, gnu::section("__DATA,__interpose,interposing")]] const Interposed kInterposed[] = {
    {&create_system_default_device, &MTLCreateSystemDefaultDevice},
    {&copy_all_devices, &MTLCopyAllDevices},
};

[[gnu::constructor]] void on_load() {
  start();
}

}  // namespace
}  // namespace capbench::shim::metal
