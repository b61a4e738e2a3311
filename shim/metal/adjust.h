// Changes what the devices of a class answer, by the Objective-C runtime's public functions.
#ifndef CAPBENCH_SHIM_METAL_ADJUST_H_
#define CAPBENCH_SHIM_METAL_ADJUST_H_

#include <cstddef>

#include "shim/metal/facts.h"
#include "shim/metal/objc.h"
#include "shim/metal/policy.h"

namespace capbench::shim::metal {

// A process has one class of devices, or a few with a debug layer or a second GPU. The methods of more are left alone.
inline constexpr std::size_t kMaxClasses = 8;

enum class Adjustment {
  kNew,    // the class is adjusted now
  kKnown,  // it was before
  kFull,   // there are kMaxClasses already, and this one is left as it is
};

// Makes the concrete class of `device` answer by `policy`; the methods become the class's own and its superclass keeps
// its answers. Methods whose capabilities the policy does not name, and those that the class does not have, stay as
// they are. All calls of a process give the same policy, one at a time (the caller locks); the methods may be called
// by any thread meanwhile.
Adjustment adjust_class_of(id device, const Policy& policy);

// What the device would answer without this shim. Its class must be adjusted.
Facts read_device(id device);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_ADJUST_H_
