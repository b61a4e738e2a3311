// A stand-in for Metal on machines without it: devices of the tests' own, as Objective-C classes. Which ones there are
// is FAKE_METAL_DEVICES, a list of kinds separated by commas; unset it is "paravirtual", and "none" means none.
//
//   paravirtual  a guest's device, with a method of its own and the others inherited
//   child        of a subclass of it that asks super
//   heir         of a subclass of it without any method
//   bare         of a class that has a name and supportsFamily: only
//   CLASSn       one of twelve classes of their own, n from 0 to 11
#ifndef CAPBENCH_SHIM_METAL_TESTING_DOUBLE_H_
#define CAPBENCH_SHIM_METAL_TESTING_DOUBLE_H_

#include "shim/metal/objc.h"

extern "C" {
id MTLCreateSystemDefaultDevice();
id MTLCopyAllDevices();

// An object of the class, not handed out as a device: the shim never sees it. The superclass of all is "FakeDevice";
// "FakeSibling" inherits from it too.
id fake_metal_object(const char* class_name);

// How often a device was asked anything.
unsigned long fake_metal_questions();
}

#endif  // CAPBENCH_SHIM_METAL_TESTING_DOUBLE_H_
