// The Objective-C runtime inside a machine: classes, selectors, method tables that code inside may change, messages.
//
// Objects and classes have addresses inside the machine, as compiled code expects (the class first); what a method of
// ours needs beyond that is kept here.
#ifndef CAPBENCH_SHIM_EMULATE_OBJC_RUNTIME_H_
#define CAPBENCH_SHIM_EMULATE_OBJC_RUNTIME_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "shim/emulate/heap.h"
#include "shim/emulate/machine.h"

namespace capbench::emulate {

using ObjectList = std::vector<Address>;
using ObjectMap = std::map<std::string, Address>;  // by the key's text
struct MemoryBlock {
  Address at = 0;
  std::uint64_t size = 0;
};
using Payload = std::variant<std::monostate, std::string, std::int64_t, ObjectList, ObjectMap, MemoryBlock>;

// A message to an object under observation, and what its sender got.
struct Message {
  Address sender = 0;  // in the code that sent it
  std::string selector;
  std::array<std::uint64_t, 4> arguments{};  // x2 to x5
  std::uint64_t result = 0;                  // x0
};

class ObjcRuntime {
 public:
  ObjcRuntime(Machine& machine, Heap& heap) : machine_(machine), heap_(heap) {}

  // The unique address of a selector's name.
  Address selector(std::string_view name);

  // A class with its metaclass. `superclass` is empty for a root. The class of a name given twice is the first one.
  Address define_class(std::string_view name, std::string_view superclass);
  // Registers a class that an image brings, at the image's own address.
  void adopt_class(std::string_view name, Address cls);
  Address find_class(std::string_view name) const;  // 0 if there is none
  std::string class_name(Address cls) const;
  bool is_class(Address address) const { return state_.classes.contains(address); }

  void method(std::string_view class_name, std::string_view selector, Stub stub, std::string_view types = "@16@0:8");
  void class_method(std::string_view class_name, std::string_view selector, Stub stub);
  // Adds or replaces in that class alone. Gives what was replaced, 0 for nothing.
  Address set_method(Address cls, Address selector, Address implementation, std::string_view types);

  // A method is 24 bytes inside the machine: selector, types, implementation.
  Address own_method(Address cls, Address selector) const;   // of the class itself; 0 if there is none
  Address find_method(Address cls, Address selector) const;  // or of a superclass
  Address implementation(Address method) const { return machine_.read<Address>(method + 16); }
  // In the order of definition.
  std::vector<Address> methods_of(Address cls) const;

  Address superclass(Address cls) const;
  Address class_of(Address object) const;
  bool is_kind_of(Address object, std::string_view class_name) const;

  Address create(std::string_view class_name, Payload payload = {});
  Address create(Address cls);
  // Null (and an error) unless create() made the object.
  Payload* payload(Address object);
  // Nothing is ever freed while a machine lives; counts are kept for who asks.
  void retain(Address object);
  void release(Address object);
  std::int64_t retain_count(Address object) const;

  // Text of an NSString, whoever made it; and of any object for people.
  std::string text(Address string);
  std::string describe(Address object);
  Address string(std::string text) { return create("NSString", std::move(text)); }

  // objc_msgSend. Ends the run, naming class and selector, if there is no such method.
  void send(Call& call);
  // From outside: the result is x0.
  std::uint64_t send(Address receiver, std::string_view selector, std::vector<Argument> arguments = {});

  // A C string that stays the same for an object or class, made once.
  Address c_text(Address of, std::string_view text);

  // Calls `observer` after each message to an instance of that very class.
  void observe(Address cls, std::function<void(const Message&)> observer);

 private:
  struct Class {
    std::string name;
    Address superclass = 0;
    Address metaclass = 0;                             // 0 for a metaclass
    std::vector<std::pair<Address, Address>> methods;  // selector and method
  };
  struct Object {
    Payload payload;
    std::int64_t retained = 1;
  };

  Address new_class(std::string_view name, Address superclass, Address metaclass);
  const Class* class_at(Address cls) const;

  Machine& machine_;
  Heap& heap_;

 public:
  // What the runtime knows, to go with a snapshot of the machine's memory.
  struct State {
    std::map<std::string, Address, std::less<>> selectors;
    std::map<std::string, Address, std::less<>> names;
    std::unordered_map<Address, Class> classes;
    std::unordered_map<Address, Object> objects;
    std::unordered_map<Address, Address> texts;
  };
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  State state_;
  Address observed_ = 0;
  std::function<void(const Message&)> observer_;
};

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_OBJC_RUNTIME_H_
