// The functions of libobjc.
#include "shim/emulate/process.h"

namespace capbench::emulate {
namespace {

void add_objects(Process& process) {
  ObjcRuntime& objc = process.objc();
  process.define("_objc_msgSend", [&objc](Call& call) { objc.send(call); });
  const auto new_object = [&objc](Call& call, std::string_view initialiser) {
    const Address object = objc.send(call.integer(0), "alloc");
    call.result(object == 0 || initialiser.empty() ? object : objc.send(object, initialiser));
  };
  process.define("_objc_alloc", [new_object](Call& call) { new_object(call, ""); });
  process.define("_objc_alloc_init", [new_object](Call& call) { new_object(call, "init"); });
  process.define("_objc_opt_new", [new_object](Call& call) { new_object(call, "init"); });
  process.define("_objc_opt_class", [&objc](Call& call) {
    const Address object = call.integer(0);
    call.result(objc.is_class(object) ? object : objc.class_of(object));
  });
  process.define("_objc_opt_self", [](Call&) {});

  // Each returns its argument, which is in place already.
  const Stub retain = [&objc](Call& call) { objc.retain(call.integer(0)); };
  for (const char* const name : {"_objc_retain", "_objc_retainAutorelease", "_objc_retainAutoreleasedReturnValue",
                                 "_objc_claimAutoreleasedReturnValue", "_objc_retainAutoreleaseReturnValue"}) {
    process.define(name, retain);
  }
  process.define("_objc_release", [&objc](Call& call) { objc.release(call.integer(0)); });
  for (const char* const name : {"_objc_autorelease", "_objc_autoreleaseReturnValue"})
    process.define(name, [](Call&) {});
  process.define("_objc_storeStrong", [&objc](Call& call) {
    objc.retain(call.integer(1));
    call.machine().write(call.integer(0), call.integer(1));
  });
  process.define_harmless("_objc_autoreleasePoolPush", "no object is freed while the process lives");
  process.define_harmless("_objc_autoreleasePoolPop", "no object is freed while the process lives");
  process.define_data("__objc_empty_cache", 64);
}

// The reflection that a shim uses: enough to add, replace and call methods.
void add_reflection(Process& process) {
  ObjcRuntime& objc = process.objc();
  Heap& heap = process.heap();
  process.define("_sel_registerName",
                 [&objc](Call& call) { call.result(objc.selector(call.machine().c_string(call.integer(0)))); });
  process.define("_sel_getName", [](Call&) {});  // a selector is its name's address
  const Stub find = [&objc](Call& call) { call.result(objc.find_class(call.machine().c_string(call.integer(0)))); };
  for (const char* const name : {"_objc_getClass", "_objc_lookUpClass"}) process.define(name, find);
  process.define("_object_getClass", [&objc](Call& call) { call.result(objc.class_of(call.integer(0))); });
  process.define("_class_getSuperclass", [&objc](Call& call) { call.result(objc.superclass(call.integer(0))); });
  process.define("_class_getName",
                 [&objc](Call& call) { call.result(objc.c_text(call.integer(0), objc.class_name(call.integer(0)))); });
  process.define("_class_getInstanceMethod",
                 [&objc](Call& call) { call.result(objc.find_method(call.integer(0), call.integer(1))); });
  process.define("_class_getMethodImplementation", [&objc](Call& call) {
    const Address method = objc.find_method(call.integer(0), call.integer(1));
    call.result(method == 0 ? 0 : objc.implementation(method));
  });
  process.define("_class_respondsToSelector",
                 [&objc](Call& call) { call.result(objc.find_method(call.integer(0), call.integer(1)) != 0 ? 1 : 0); });
  process.define("_class_addMethod", [&objc](Call& call) {
    if (objc.own_method(call.integer(0), call.integer(1)) != 0) return call.result(0);
    const std::string types = call.integer(3) == 0 ? "" : call.machine().c_string(call.integer(3));
    objc.set_method(call.integer(0), call.integer(1), call.integer(2), types);
    call.result(1);
  });
  process.define("_class_replaceMethod", [&objc](Call& call) {
    const std::string types = call.integer(3) == 0 ? "" : call.machine().c_string(call.integer(3));
    call.result(objc.set_method(call.integer(0), call.integer(1), call.integer(2), types));
  });
  process.define("_class_copyMethodList", [&objc, &heap](Call& call) {
    const std::vector<Address> methods = objc.methods_of(call.integer(0));
    const Address count = call.integer(1);
    if (count != 0) call.machine().write(count, static_cast<std::uint32_t>(methods.size()));
    if (methods.empty()) return call.result(0);
    const Address list = heap.allocate(8 * (methods.size() + 1));
    for (std::size_t i = 0; i < methods.size(); ++i) call.machine().write(list + 8 * i, methods[i]);
    call.result(list);
  });
  // A method is selector, types, implementation.
  const auto field = [&process](std::string name, std::uint64_t offset) {
    process.define(std::move(name), [offset](Call& call) {
      call.result(call.integer(0) == 0 ? 0 : call.machine().read<Address>(call.integer(0) + offset));
    });
  };
  field("_method_getName", 0);
  field("_method_getTypeEncoding", 8);
  field("_method_getImplementation", 16);
  process.define("_method_setImplementation", [](Call& call) {
    const Address at = call.integer(0) + 16;
    const auto old = call.machine().read<Address>(at);
    call.machine().write(at, call.integer(1));
    call.result(old);
  });
}

}  // namespace

void add_objc(Process& process) {
  ObjcRuntime& objc = process.objc();
  objc.define_class("NSObject", "");
  const Address root = objc.find_class("NSObject");
  process.define_at("_OBJC_CLASS_$_NSObject", root);
  process.define_at("_OBJC_METACLASS_$_NSObject", objc.class_of(root));
  add_objects(process);
  add_reflection(process);
}

}  // namespace capbench::emulate
