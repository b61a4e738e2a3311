// The few things that the shim and the probe need of an Objective-C runtime: Apple's, or GNU's where the tests run.
// Everything else of them is the same for both.
#ifndef CAPBENCH_SHIM_METAL_OBJC_H_
#define CAPBENCH_SHIM_METAL_OBJC_H_

#include <cstdint>

#if defined(__APPLE__)

// Declared here, so that a build needs no SDK. These are the runtime's public C functions and types.
extern "C" {
struct objc_object;
struct objc_class;
struct objc_selector;
struct objc_method;
using id = objc_object*;
using Class = objc_class*;
using SEL = objc_selector*;
using Method = objc_method*;
using IMP = void (*)();

void objc_msgSend();
SEL sel_registerName(const char* name);
Class object_getClass(id object);
const char* class_getName(Class cls);
Method class_getInstanceMethod(Class cls, SEL name);
bool class_addMethod(Class cls, SEL name, IMP imp, const char* types);
IMP method_getImplementation(Method method);
IMP method_setImplementation(Method method, IMP imp);
const char* method_getTypeEncoding(Method method);
}

#else

#include <objc/message.h>
#include <objc/runtime.h>

#endif

namespace capbench::shim::metal {

#if defined(__APPLE__)
using Boolean = bool;  // BOOL on arm64
#else
using Boolean = BOOL;
#endif

// A method's function, called with the signature that the method has.
template <class Result, class... Arguments>
Result call(IMP function, id receiver, SEL selector, Arguments... arguments) {
  using Function = Result (*)(id, SEL, Arguments...);
  return reinterpret_cast<Function>(reinterpret_cast<void*>(function))(receiver, selector, arguments...);
}

// A message, answered by whatever the receiver's class has for it now. A receiver of nullptr is not allowed.
template <class Result, class... Arguments>
Result send(id receiver, SEL selector, Arguments... arguments) {
#if defined(__APPLE__)
  return call<Result>(&objc_msgSend, receiver, selector, arguments...);
#else
  return call<Result>(objc_msg_lookup(receiver, selector), receiver, selector, arguments...);
#endif
}

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_OBJC_H_
