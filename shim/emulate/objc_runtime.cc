#include "shim/emulate/objc_runtime.h"

#include <fmt/format.h>

#include <algorithm>

namespace capbench::emulate {
namespace {

// What compiled code and the layout of class_t put first: isa, superclass, cache (2), data.
constexpr std::uint64_t kClassBytes = 40;
constexpr std::uint64_t kObjectBytes = 64;
constexpr int kMaxInheritance = 64;

}  // namespace

Address ObjcRuntime::selector(std::string_view name) {
  const auto known = state_.selectors.find(name);
  if (known != state_.selectors.end()) return known->second;
  const Address address = heap_.text(name);
  state_.selectors.emplace(name, address);
  return address;
}

Address ObjcRuntime::new_class(std::string_view name, Address superclass, Address metaclass) {
  const Address address = heap_.allocate(kClassBytes);
  if (address == 0) return 0;
  machine_.write(address, metaclass);
  machine_.write(address + 8, superclass);
  state_.classes[address] = {std::string(name), superclass, metaclass, {}};
  return address;
}

Address ObjcRuntime::define_class(std::string_view name, std::string_view superclass) {
  if (const Address known = find_class(name); known != 0) return known;
  const Address super = superclass.empty() ? 0 : find_class(superclass);
  if (!superclass.empty() && super == 0) {
    machine_.fail(
        {ErrorKind::kMachine, std::string(name), fmt::format("its superclass {} is unknown", superclass), ""});
    return 0;
  }
  const Class* const parent = class_at(super);
  const Address metaclass = new_class(name, parent == nullptr ? 0 : parent->metaclass, 0);
  const Address cls = new_class(name, super, metaclass);
  // The metaclass of a root inherits from the root itself.
  if (super == 0 && metaclass != 0) state_.classes[metaclass].superclass = cls;
  state_.names.emplace(name, cls);
  return cls;
}

void ObjcRuntime::adopt_class(std::string_view name, Address cls) {
  const auto metaclass = machine_.read<Address>(cls);
  const auto super = machine_.read<Address>(cls + 8);
  state_.classes[metaclass] = {std::string(name), machine_.read<Address>(metaclass + 8), 0, {}};
  state_.classes[cls] = {std::string(name), super, metaclass, {}};
  state_.names.emplace(name, cls);
}

Address ObjcRuntime::find_class(std::string_view name) const {
  const auto found = state_.names.find(name);
  return found == state_.names.end() ? 0 : found->second;
}

const ObjcRuntime::Class* ObjcRuntime::class_at(Address cls) const {
  const auto found = state_.classes.find(cls);
  return found == state_.classes.end() ? nullptr : &found->second;
}

std::string ObjcRuntime::class_name(Address cls) const {
  const Class* const found = class_at(cls);
  return found == nullptr ? std::string() : found->name;
}

void ObjcRuntime::method(std::string_view class_name, std::string_view selector_name, Stub stub,
                         std::string_view types) {
  const Address implementation = machine_.add_stub(fmt::format("-[{} {}]", class_name, selector_name), std::move(stub));
  set_method(find_class(class_name), selector(selector_name), implementation, types);
}

void ObjcRuntime::class_method(std::string_view class_name, std::string_view selector_name, Stub stub) {
  const Address implementation = machine_.add_stub(fmt::format("+[{} {}]", class_name, selector_name), std::move(stub));
  const Class* const cls = class_at(find_class(class_name));
  if (cls != nullptr) set_method(cls->metaclass, selector(selector_name), implementation, "@16@0:8");
}

Address ObjcRuntime::set_method(Address cls, Address selector_address, Address implementation, std::string_view types) {
  const auto found = state_.classes.find(cls);
  if (found == state_.classes.end()) {
    machine_.fail({ErrorKind::kUsage, "the emulated program",
                   fmt::format("gives a method to {:#x}, which is no class", cls), "a library as published"});
    return 0;
  }
  if (const Address method = own_method(cls, selector_address); method != 0) {
    const Address old = this->implementation(method);
    machine_.write(method + 16, implementation);
    return old;
  }
  const Address method = heap_.allocate(24);
  machine_.write(method, selector_address);
  machine_.write(method + 8, heap_.text(types));
  machine_.write(method + 16, implementation);
  found->second.methods.emplace_back(selector_address, method);
  return 0;
}

Address ObjcRuntime::own_method(Address cls, Address selector_address) const {
  const Class* const found = class_at(cls);
  if (found == nullptr) return 0;
  for (const auto& [selector, method] : found->methods) {
    if (selector == selector_address) return method;
  }
  return 0;
}

Address ObjcRuntime::find_method(Address cls, Address selector_address) const {
  for (int i = 0; i < kMaxInheritance && cls != 0; ++i, cls = superclass(cls)) {
    if (const Address method = own_method(cls, selector_address); method != 0) return method;
  }
  return 0;
}

std::vector<Address> ObjcRuntime::methods_of(Address cls) const {
  std::vector<Address> methods;
  const Class* const found = class_at(cls);
  if (found == nullptr) return methods;
  for (const auto& entry : found->methods) methods.push_back(entry.second);
  return methods;
}

Address ObjcRuntime::superclass(Address cls) const {
  const Class* const found = class_at(cls);
  return found == nullptr ? 0 : found->superclass;
}

Address ObjcRuntime::class_of(Address object) const {
  return object == 0 ? 0 : machine_.read<Address>(object);
}

bool ObjcRuntime::is_kind_of(Address object, std::string_view name) const {
  Address cls = class_of(object);
  for (int i = 0; i < kMaxInheritance && cls != 0; ++i, cls = superclass(cls)) {
    if (class_name(cls) == name) return true;
  }
  return false;
}

Address ObjcRuntime::create(std::string_view name, Payload payload) {
  const Address object = create(find_class(name));
  if (object != 0) state_.objects[object].payload = std::move(payload);
  return object;
}

Address ObjcRuntime::create(Address cls) {
  if (class_at(cls) == nullptr) {
    machine_.fail({ErrorKind::kUsage, "the emulated program",
                   fmt::format("makes an object of {:#x}, which is no class", cls), "a library as published"});
    return 0;
  }
  const Address object = heap_.allocate(kObjectBytes);
  if (object == 0) return 0;
  machine_.write(object, cls);
  state_.objects[object] = {};
  return object;
}

Payload* ObjcRuntime::payload(Address object) {
  const auto found = state_.objects.find(object);
  if (found != state_.objects.end()) return &found->second.payload;
  machine_.fail({ErrorKind::kUsage, "the emulated program", fmt::format("uses {:#x} as an object", object),
                 "a library as published"});
  return nullptr;
}

void ObjcRuntime::retain(Address object) {
  const auto found = state_.objects.find(object);
  if (found != state_.objects.end()) ++found->second.retained;
}

void ObjcRuntime::release(Address object) {
  const auto found = state_.objects.find(object);
  if (found != state_.objects.end()) --found->second.retained;
}

std::int64_t ObjcRuntime::retain_count(Address object) const {
  const auto found = state_.objects.find(object);
  return found == state_.objects.end() ? 1 : found->second.retained;
}

std::string ObjcRuntime::text(Address string) {
  if (string == 0) return "(null)";
  // A constant of the compiler's: class, flags, characters, length.
  if (class_name(class_of(string)) == "__NSCFConstantString") {
    return machine_.read_bytes(machine_.read<Address>(string + 16), machine_.read<std::uint64_t>(string + 24));
  }
  Payload* const held = payload(string);
  if (held == nullptr) return {};
  if (const std::string* const text = std::get_if<std::string>(held); text != nullptr) return *text;
  machine_.fail({ErrorKind::kUsage, "the emulated program",
                 fmt::format("uses a {} as a string", class_name(class_of(string))), "a library as published"});
  return {};
}

std::string ObjcRuntime::describe(Address object) {
  if (object == 0) return "(null)";
  if (is_kind_of(object, "NSString")) return text(object);
  const auto found = state_.objects.find(object);
  if (found != state_.objects.end()) {
    if (const auto* const number = std::get_if<std::int64_t>(&found->second.payload); number != nullptr) {
      return fmt::format("{}", *number);
    }
    if (const auto* const text = std::get_if<std::string>(&found->second.payload); text != nullptr) return *text;
  }
  return fmt::format("<{}>", class_name(is_class(object) ? object : class_of(object)));
}

void ObjcRuntime::send(Call& call) {
  const Address receiver = call.integer(0);
  if (receiver == 0) {
    call.result(0);
    call.result64(0);
    return;
  }
  const Address cls = class_of(receiver);
  const Address selector_address = call.integer(1);
  const Address method = find_method(cls, selector_address);
  if (machine_.failed()) return;
  if (method == 0) {
    const std::string sel = machine_.c_string(selector_address);
    const bool to_class = is_class(receiver);
    machine_.fail(
        {ErrorKind::kUsage, fmt::format("{}[{} {}]", to_class ? '+' : '-', class_name(to_class ? receiver : cls), sel),
         "the library sends this message, which the emulator does not answer", "a release that is known to run"});
    return;
  }
  if (cls != observed_ || !observer_) {
    call.jump(implementation(method));
    return;
  }
  Message message;
  message.sender = machine_.return_address();
  message.selector = machine_.c_string(selector_address);
  for (unsigned i = 0; i < message.arguments.size(); ++i) message.arguments[i] = call.integer(i + 2);
  machine_.call_through(implementation(method));
  message.result = call.integer(0);
  if (!machine_.failed()) observer_(message);
}

std::uint64_t ObjcRuntime::send(Address receiver, std::string_view name, std::vector<Argument> arguments) {
  const Address method = find_method(class_of(receiver), selector(name));
  if (method == 0) {
    machine_.fail({ErrorKind::kMachine, std::string(name), "no such method", ""});
    return 0;
  }
  arguments.insert(arguments.begin(), {word(receiver), word(selector(name))});
  const Result<std::uint64_t> result = machine_.call(implementation(method), arguments);
  return result.ok() ? *result : 0;
}

Address ObjcRuntime::c_text(Address of, std::string_view text) {
  Address& known = state_.texts[of];
  if (known == 0) known = heap_.text(text);
  return known;
}

void ObjcRuntime::observe(Address cls, std::function<void(const Message&)> observer) {
  observed_ = cls;
  observer_ = std::move(observer);
}

}  // namespace capbench::emulate
