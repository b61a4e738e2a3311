// Objective-C++: compiled for GNU's runtime. The answers are a paravirtual device's in a guest as shipped.
#include "shim/metal/testing/double.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::atomic<unsigned long> g_questions{0};

void count() {
  g_questions.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

struct FakeSize {
  unsigned long width;
  unsigned long height;
  unsigned long depth;
};

@interface FakeRoot {
  Class isa;
}
- (id)init;
- (BOOL)respondsToSelector:(SEL)selector;
@end

@implementation FakeRoot
- (id)init {
  return self;
}
- (BOOL)respondsToSelector:(SEL)selector {
  return class_getInstanceMethod(object_getClass(self), selector) != nullptr;
}
+ (id)initialize {
  return self;
}
@end

@interface FakeText : FakeRoot
- (const char*)UTF8String;
@end

@implementation FakeText
- (const char*)UTF8String {
  const char* name = std::getenv("FAKE_METAL_NAME");
  return name == nullptr ? "Apple Paravirtual device" : name;
}
@end

@interface FakeDevice : FakeRoot
- (id)name;
- (BOOL)supportsFamily:(long)family;
- (unsigned long)maxThreadgroupMemoryLength;
- (unsigned long long)recommendedMaxWorkingSetSize;
- (unsigned long)maxBufferLength;
- (BOOL)hasUnifiedMemory;
- (BOOL)supportsRaytracing;
- (FakeSize)maxThreadsPerThreadgroup;
@end

@implementation FakeDevice
- (id)name {
  return fake_metal_object("FakeText");
}
- (BOOL)supportsFamily:(long)family {
  count();
  return (family >= 1001 && family <= 1003) || (family >= 3001 && family <= 3003) || family == 4001;
}
- (unsigned long)maxThreadgroupMemoryLength {
  count();
  return 32768;
}
- (unsigned long long)recommendedMaxWorkingSetSize {
  count();
  return 12009603072ULL;
}
- (unsigned long)maxBufferLength {
  count();
  return 9663676416UL;
}
- (BOOL)hasUnifiedMemory {
  count();
  return YES;
}
- (BOOL)supportsRaytracing {
  count();
  return NO;
}
- (FakeSize)maxThreadsPerThreadgroup {
  count();
  return FakeSize{1024, 1024, 1024};
}
@end

@interface FakeSibling : FakeDevice
@end

@implementation FakeSibling
@end

@interface FakeParavirtual : FakeDevice
- (BOOL)supportsBfloat16Format;
@end

@implementation FakeParavirtual
- (BOOL)supportsFamily:(long)family {
  return [super supportsFamily:family] || family == 1004 || family == 1005;
}
- (BOOL)supportsBfloat16Format {
  count();
  return NO;
}
@end

@interface FakeChild : FakeParavirtual
@end

@implementation FakeChild
- (BOOL)supportsFamily:(long)family {
  return [super supportsFamily:family] || family == 1006;
}
- (unsigned long)maxThreadgroupMemoryLength {
  return [super maxThreadgroupMemoryLength] * 2;
}
@end

@interface FakeHeir : FakeParavirtual
@end

@implementation FakeHeir
@end

@interface FakeBare : FakeRoot
- (id)name;
- (BOOL)supportsFamily:(long)family;
@end

@implementation FakeBare
- (id)name {
  return fake_metal_object("FakeText");
}
- (BOOL)supportsFamily:(long)family {
  count();
  return family == 3001;
}
@end

namespace {

std::vector<std::string> device_kinds() {
  const char* variable = std::getenv("FAKE_METAL_DEVICES");
  const std::string list = variable == nullptr ? "paravirtual" : variable;
  std::vector<std::string> kinds;
  std::size_t begin = 0;
  while (list != "none" && begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    kinds.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return kinds;
}

// A subclass of FakeDevice made while the program runs, as a driver's bundle would bring it.
Class made_class(const std::string& name) {
  const Class existing = objc_lookUpClass(name.c_str());
  if (existing != Nil) return existing;
  const Class made = objc_allocateClassPair(objc_lookUpClass("FakeDevice"), name.c_str(), 0);
  objc_registerClassPair(made);
  return made;
}

id object_of(Class cls) {
  FakeRoot* const made = (FakeRoot*)class_createInstance(cls, 0);
  return [made init];
}

id device_of(const std::string& kind) {
  if (kind == "paravirtual") return fake_metal_object("FakeParavirtual");
  if (kind == "child") return fake_metal_object("FakeChild");
  if (kind == "heir") return fake_metal_object("FakeHeir");
  if (kind == "bare") return fake_metal_object("FakeBare");
  return object_of(made_class(kind));
}

}  // namespace

@interface FakeArray : FakeRoot
- (unsigned long)count;
- (id)objectAtIndex:(unsigned long)index;
@end

// There is one array, as all are alike.
static const std::vector<id>& all_devices() {
  static const std::vector<id> devices = [] {
    std::vector<id> made;
    for (const std::string& kind : device_kinds()) made.push_back(device_of(kind));
    return made;
  }();
  return devices;
}

@implementation FakeArray
- (unsigned long)count {
  return all_devices().size();
}
- (id)objectAtIndex:(unsigned long)index {
  return all_devices().at(index);
}
@end

extern "C" {

id fake_metal_object(const char* class_name) {
  return object_of(objc_lookUpClass(class_name));
}

unsigned long fake_metal_questions() {
  return g_questions.load();
}

id MTLCreateSystemDefaultDevice() {
  return all_devices().empty() ? nullptr : all_devices().front();
}

id MTLCopyAllDevices() {
  return fake_metal_object("FakeArray");
}
}
