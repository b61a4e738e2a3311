// What ggml uses of Foundation.
#include <fmt/format.h>

#include <algorithm>

#include "shim/emulate/c_format.h"
#include "shim/emulate/process.h"

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kMaxText = 64U << 20U;

void define_class(Process& process, std::string_view name, std::string_view superclass) {
  process.define_at("_OBJC_CLASS_$_" + std::string(name), process.objc().define_class(name, superclass));
}

template <class T>
T* payload_as(ObjcRuntime& objc, Address object) {
  Payload* const payload = objc.payload(object);
  if (payload == nullptr) return nullptr;
  if (std::holds_alternative<std::monostate>(*payload)) *payload = T{};
  return std::get_if<T>(payload);
}

void add_object(Process& process) {
  ObjcRuntime& objc = process.objc();
  objc.class_method("NSObject", "alloc", [&objc](Call& call) { call.result(objc.create(call.integer(0))); });
  objc.class_method("NSObject", "new",
                    [&objc](Call& call) { call.result(objc.send(objc.create(call.integer(0)), "init")); });
  objc.class_method("NSObject", "class", [](Call&) {});
  objc.method("NSObject", "init", [](Call&) {});
  objc.method("NSObject", "self", [](Call&) {});
  objc.method("NSObject", "class", [&objc](Call& call) { call.result(objc.class_of(call.integer(0))); });
  objc.method("NSObject", "retain", [&objc](Call& call) { objc.retain(call.integer(0)); });
  objc.method("NSObject", "release", [&objc](Call& call) { objc.release(call.integer(0)); });
  objc.method("NSObject", "autorelease", [](Call&) {});
  objc.method("NSObject", "description",
              [&objc](Call& call) { call.result(objc.string(objc.describe(call.integer(0)))); });
  objc.method("NSObject", "respondsToSelector:", [&objc](Call& call) {
    call.result(objc.find_method(objc.class_of(call.integer(0)), call.integer(2)) != 0 ? 1 : 0);
  });
}

void add_string(Process& process) {
  ObjcRuntime& objc = process.objc();
  define_class(process, "NSString", "NSObject");
  process.define_at("___CFConstantStringClassReference", objc.define_class("__NSCFConstantString", "NSString"));
  const Stub from_c = [&objc](Call& call) {
    call.result(call.integer(2) == 0 ? 0 : objc.string(call.machine().c_string(call.integer(2))));
  };
  objc.class_method("NSString", "stringWithUTF8String:", from_c);
  objc.class_method("NSString", "stringWithCString:encoding:", from_c);
  objc.class_method("NSString", "stringWithFormat:", [&objc](Call& call) {
    const ObjectText describe = [&objc](Address object) { return objc.describe(object); };
    call.result(objc.string(format_c(call.machine(), objc.text(call.integer(2)), call.variadic(), describe)));
  });
  objc.method("NSString", "initWithBytes:length:encoding:", [&objc](Call& call) {
    auto* const text = payload_as<std::string>(objc, call.integer(0));
    if (text != nullptr && call.integer(3) <= kMaxText)
      *text = call.machine().read_bytes(call.integer(2), call.integer(3));
  });
  objc.method("NSString", "UTF8String",
              [&objc](Call& call) { call.result(objc.c_text(call.integer(0), objc.text(call.integer(0)))); });
  objc.method("NSString", "length", [&objc](Call& call) { call.result(objc.text(call.integer(0)).size()); });
  objc.method("NSString", "containsString:", [&objc](Call& call) {
    const std::string text = objc.text(call.integer(0));
    call.result(text.find(objc.text(call.integer(2))) != std::string::npos ? 1 : 0);
  });
  objc.method("NSString", "isEqualToString:", [&objc](Call& call) {
    call.result(objc.text(call.integer(0)) == objc.text(call.integer(2)) ? 1 : 0);
  });
  objc.method("NSString", "substringToIndex:", [&objc](Call& call) {
    call.result(objc.string(objc.text(call.integer(0)).substr(0, call.integer(2))));
  });
  objc.method("NSString", "stringByDeletingLastPathComponent", [&objc](Call& call) {
    const std::string text = objc.text(call.integer(0));
    const std::size_t slash = text.rfind('/');
    call.result(objc.string(slash == std::string::npos ? "" : text.substr(0, std::max<std::size_t>(slash, 1))));
  });
  objc.class_method("NSString", "pathWithComponents:", [&objc](Call& call) {
    std::string path;
    if (const auto* const parts = payload_as<ObjectList>(objc, call.integer(2)); parts != nullptr) {
      for (const Address part : *parts) path += (path.empty() || path.ends_with('/') ? "" : "/") + objc.text(part);
    }
    call.result(objc.string(path));
  });
}

void add_number(Process& process) {
  ObjcRuntime& objc = process.objc();
  define_class(process, "NSNumber", "NSObject");
  const Stub make = [&objc](Call& call) {
    call.result(objc.create("NSNumber", static_cast<std::int64_t>(call.integer32(2))));
  };
  for (const char* const name : {"numberWithInt:", "numberWithBool:"}) objc.class_method("NSNumber", name, make);
  const Stub value = [&objc](Call& call) {
    const auto* const number = payload_as<std::int64_t>(objc, call.integer(0));
    call.result(number == nullptr ? 0 : static_cast<std::uint64_t>(*number));
  };
  for (const char* const name : {"intValue", "integerValue", "boolValue"}) objc.method("NSNumber", name, value);
}

void add_array(Process& process) {
  ObjcRuntime& objc = process.objc();
  define_class(process, "NSArray", "NSObject");
  define_class(process, "NSMutableArray", "NSArray");
  const auto list = [&objc](Call& call) { return payload_as<ObjectList>(objc, call.integer(0)); };
  objc.class_method("NSArray", "array", [&objc](Call& call) { call.result(objc.create(call.integer(0))); });
  objc.class_method("NSArray", "arrayWithObjects:count:", [&objc](Call& call) {
    ObjectList objects;
    for (std::uint64_t i = 0; i < call.integer(3) && !call.machine().failed(); ++i) {
      objects.push_back(call.machine().read<Address>(call.integer(2) + 8 * i));
    }
    call.result(objc.create("NSArray", std::move(objects)));
  });
  objc.method("NSArray", "count", [list](Call& call) {
    const ObjectList* const objects = list(call);
    call.result(objects == nullptr ? 0 : objects->size());
  });
  const Stub at = [list](Call& call) {
    const ObjectList* const objects = list(call);
    if (objects == nullptr) return;
    if (call.integer(2) < objects->size()) return call.result((*objects)[call.integer(2)]);
    call.machine().fail({ErrorKind::kUsage, "the library",
                         fmt::format("it reads element {} of an array of {}", call.integer(2), objects->size()),
                         "a release that is known to run"});
  };
  objc.method("NSArray", "objectAtIndexedSubscript:", at);
  objc.method("NSArray", "objectAtIndex:", at);
  objc.method("NSArray", "containsObject:", [list](Call& call) {
    const ObjectList* const objects = list(call);
    const bool found =
        objects != nullptr && std::find(objects->begin(), objects->end(), call.integer(2)) != objects->end();
    call.result(found ? 1 : 0);
  });
  objc.method("NSMutableArray", "addObject:", [list](Call& call) {
    if (ObjectList* const objects = list(call); objects != nullptr) objects->push_back(call.integer(2));
  });
  objc.method("NSMutableArray", "removeObject:", [list](Call& call) {
    if (ObjectList* const objects = list(call); objects != nullptr) std::erase(*objects, call.integer(2));
  });
  objc.method("NSMutableArray", "removeAllObjects", [list](Call& call) {
    if (ObjectList* const objects = list(call); objects != nullptr) objects->clear();
  });
  // for (x in array): state is {state, items, mutations, ...}; the answer is how many objects are in `buffer`.
  objc.method("NSArray", "countByEnumeratingWithState:objects:count:", [&process, list](Call& call) {
    const ObjectList* const objects = list(call);
    if (objects == nullptr) return;
    Machine& machine = call.machine();
    const Address state = call.integer(2);
    const auto done = machine.read<std::uint64_t>(state);
    const std::uint64_t size = objects->size();
    const std::uint64_t count = done < size ? std::min(call.integer(4), size - done) : 0;
    for (std::uint64_t i = 0; i < count; ++i) machine.write(call.integer(3) + 8 * i, (*objects)[done + i]);
    machine.write(state, done + count);
    machine.write(state + 8, call.integer(3));
    // Where to see whether the array changed meanwhile: a word that never does.
    machine.write(state + 16, *process.system_symbol("___stack_chk_guard"));
    call.result(count);
  });
  process.define("_objc_enumerationMutation", [](Call& call) {
    call.machine().fail({ErrorKind::kUsage, "the library", "it changes an array while it walks through it",
                         "a release that is known to run"});
  });
}

void add_dictionary(Process& process) {
  ObjcRuntime& objc = process.objc();
  define_class(process, "NSDictionary", "NSObject");
  define_class(process, "NSMutableDictionary", "NSDictionary");
  const auto entries = [&objc](Call& call) { return payload_as<ObjectMap>(objc, call.integer(0)); };
  // Keys are strings here; any other object is equal to itself only.
  const auto key_text = [&objc](Address key) {
    return objc.is_kind_of(key, "NSString") ? objc.text(key) : fmt::format("{:#x}", key);
  };
  objc.class_method("NSDictionary", "dictionary", [&objc](Call& call) { call.result(objc.create(call.integer(0))); });
  const Stub set = [entries, key_text](Call& call) {
    if (ObjectMap* const map = entries(call); map != nullptr) (*map)[key_text(call.integer(3))] = call.integer(2);
  };
  objc.method("NSMutableDictionary", "setObject:forKey:", set);
  objc.method("NSMutableDictionary", "setObject:forKeyedSubscript:", set);
  const Stub get = [entries, key_text](Call& call) {
    const ObjectMap* const map = entries(call);
    if (map == nullptr) return;
    const auto found = map->find(key_text(call.integer(2)));
    call.result(found == map->end() ? 0 : found->second);
  };
  objc.method("NSDictionary", "objectForKeyedSubscript:", get);
  objc.method("NSDictionary", "objectForKey:", get);
  objc.method("NSDictionary", "count", [entries](Call& call) {
    const ObjectMap* const map = entries(call);
    call.result(map == nullptr ? 0 : map->size());
  });
}

// Files, bundles and the process: a machine with nothing on its disk.
void add_surroundings(Process& process) {
  ObjcRuntime& objc = process.objc();
  for (const char* const name : {"NSError", "NSURL", "NSLock", "NSBundle", "NSProcessInfo", "NSFileManager"}) {
    define_class(process, name, "NSObject");
  }
  const Stub error_text = [&objc](Call& call) { call.result(objc.string(objc.describe(call.integer(0)))); };
  objc.method("NSError", "localizedDescription", error_text);
  objc.class_method("NSURL", "fileURLWithPath:", [&objc](Call& call) {
    call.result(objc.create("NSURL", objc.text(call.integer(2))));
  });
  // One thread: the lock is free.
  objc.method("NSLock", "lock", [](Call&) {});
  objc.method("NSLock", "unlock", [](Call&) {});

  objc.class_method("NSBundle", "bundleForClass:", [&objc](Call& call) { call.result(objc.create("NSBundle")); });
  objc.class_method("NSBundle", "mainBundle", [&objc](Call& call) { call.result(objc.create("NSBundle")); });
  objc.method("NSBundle", "pathForResource:ofType:", [](Call& call) { call.result(0); });
  objc.class_method("NSProcessInfo", "processInfo", [&objc](Call& call) { call.result(objc.create("NSProcessInfo")); });
  objc.method("NSProcessInfo", "arguments", [&process, &objc](Call& call) {
    call.result(objc.create("NSArray", ObjectList{objc.string(process.options().program)}));
  });
  objc.method("NSProcessInfo", "processName",
              [&process, &objc](Call& call) { call.result(objc.string(process.options().program)); });
  objc.class_method("NSFileManager", "defaultManager",
                    [&objc](Call& call) { call.result(objc.create("NSFileManager")); });
  for (const char* const name : {"isReadableFileAtPath:", "attributesOfItemAtPath:error:",
                                 "destinationOfSymbolicLinkAtPath:error:", "fileExistsAtPath:"}) {
    objc.method("NSFileManager", name, [](Call& call) { call.result(0); });
  }
  for (const char* const name : {"_NSFileType", "_NSFileTypeSymbolicLink"}) {
    process.machine().write(process.define_data(name, 8), objc.string(name + 1));
  }
}

}  // namespace

void add_foundation(Process& process) {
  add_object(process);
  add_string(process);
  add_number(process);
  add_array(process);
  add_dictionary(process);
  add_surroundings(process);
}

}  // namespace capbench::emulate
