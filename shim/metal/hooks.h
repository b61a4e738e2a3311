// What happens to the devices that Metal hands out. The entry points call this: entry_darwin.cc through dyld's
// interposing, the tests' through LD_PRELOAD. Thread-safe.
#ifndef CAPBENCH_SHIM_METAL_HOOKS_H_
#define CAPBENCH_SHIM_METAL_HOOKS_H_

#include "shim/metal/objc.h"

namespace capbench::shim::metal {

// Reads the settings, once; writes a line if they are refused. Called when the library is loaded.
void start();

// The device with its class adjusted; nullptr stays nullptr. The first one writes the shim's line. Ownership is the
// caller's as before.
id answer_device(id device);

// The same for every device in an NSArray.
id answer_devices(id devices);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_HOOKS_H_
