#include "shim/metal/adjust.h"

#include <array>
#include <atomic>
#include <utility>

#include "shim/metal/methods.h"

namespace capbench::shim::metal {
namespace {

struct AdjustedClass {
  Class cls = nullptr;
  std::array<IMP, kMethodCount> original{};  // what the class answered with before; nullptr: it has no such method
};

// Entries are written once, before `count` tells of them, and never again: the hooks read them without a lock.
struct Table {
  Policy policy;
  std::array<AdjustedClass, kMaxClasses> classes{};
  std::atomic<std::size_t> count{0};
};

Table g_table;

const AdjustedClass* find_class(Class cls) {
  const std::size_t count = g_table.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (g_table.classes[i].cls == cls) return &g_table.classes[i];
  }
  return nullptr;
}

// Each adjusted class has hooks of its own, so a hook knows whose original it replaces even when a subclass's method
// calls it through super, or an inherited hook is what a subclass's hook replaced. Then the subclass's own hook has the
// word, and this one hands on what the device says.
bool is_called_by_subclass_hook(std::size_t slot, id self) {
  const Class cls = object_getClass(self);
  return cls != g_table.classes[slot].cls && find_class(cls) != nullptr;
}

template <std::size_t kSlot>
Boolean hooked_family(id self, SEL selector, std::uint64_t family) {
  const bool device = call<Boolean>(g_table.classes[kSlot].original[kFamilyMethod], self, selector, family);
  if (is_called_by_subclass_hook(kSlot, self)) return device;
  return answer_family(g_table.policy, family, device);
}

template <std::size_t kSlot, std::size_t kMethod>
std::uint64_t hooked_number(id self, SEL selector) {
  const auto device = call<std::uint64_t>(g_table.classes[kSlot].original[kMethod], self, selector);
  if (is_called_by_subclass_hook(kSlot, self)) return device;
  return answer_value(g_table.policy, kMethods[kMethod].capability, device);
}

template <std::size_t kSlot, std::size_t kMethod>
Boolean hooked_switch(id self, SEL selector) {
  const bool device = call<Boolean>(g_table.classes[kSlot].original[kMethod], self, selector);
  if (is_called_by_subclass_hook(kSlot, self)) return device;
  return answer_value(g_table.policy, kMethods[kMethod].capability, device ? 1 : 0) != 0;
}

template <class Function>
IMP to_imp(Function function) {
  return reinterpret_cast<IMP>(reinterpret_cast<void*>(function));
}

template <std::size_t kSlot, std::size_t kMethod>
IMP hook() {
  if constexpr (kMethod == kFamilyMethod) {
    return to_imp(&hooked_family<kSlot>);
  } else if constexpr (is_switch(kMethod)) {
    return to_imp(&hooked_switch<kSlot, kMethod>);
  } else {
    return to_imp(&hooked_number<kSlot, kMethod>);
  }
}

using Hooks = std::array<IMP, kMethodCount>;

template <std::size_t kSlot, std::size_t... kMethodIndices>
Hooks hooks_of(std::index_sequence<kMethodIndices...>) {
  return {hook<kSlot, kMethodIndices>()...};
}

template <std::size_t... kSlots>
Hooks hooks_of(std::size_t slot, std::index_sequence<kSlots...>) {
  Hooks hooks{};
  ((slot == kSlots ? static_cast<void>(hooks = hooks_of<kSlots>(std::make_index_sequence<kMethodCount>()))
                   : static_cast<void>(0)),
   ...);
  return hooks;
}

Hooks hooks_of(std::size_t slot) {
  return hooks_of(slot, std::make_index_sequence<kMaxClasses>());
}

bool is_named(const Policy& policy, std::size_t method) {
  if (method != kFamilyMethod) return names(policy, kMethods[method].capability);
  bool any = false;
  for (const Capability group : kFamilyGroups) any = any || names(policy, group);
  return any;
}

struct AskOriginal {
  id device;
  const AdjustedClass& entry;

  bool has(std::size_t method) const { return entry.original[method] != nullptr; }
  bool family(std::uint64_t number) const {
    return call<Boolean>(entry.original[kFamilyMethod], device, selector_of(kFamilyMethod), number);
  }
  std::uint64_t number(std::size_t method) const {
    return call<std::uint64_t>(entry.original[method], device, selector_of(method));
  }
  bool flag(std::size_t method) const { return call<Boolean>(entry.original[method], device, selector_of(method)); }
};

}  // namespace

Adjustment adjust_class_of(id device, const Policy& policy) {
  const Class cls = object_getClass(device);
  if (find_class(cls) != nullptr) return Adjustment::kKnown;
  const std::size_t slot = g_table.count.load(std::memory_order_relaxed);
  if (slot == kMaxClasses) return Adjustment::kFull;
  if (slot == 0) g_table.policy = policy;
  AdjustedClass& entry = g_table.classes[slot];
  entry.cls = cls;
  std::array<Method, kMethodCount> methods{};
  for (std::size_t i = 0; i < kMethodCount; ++i) {
    methods[i] = class_getInstanceMethod(cls, selector_of(i));
    if (methods[i] != nullptr) entry.original[i] = method_getImplementation(methods[i]);
  }
  g_table.count.store(slot + 1, std::memory_order_release);
  const Hooks hooks = hooks_of(slot);
  for (std::size_t i = 0; i < kMethodCount; ++i) {
    if (methods[i] == nullptr || !is_named(policy, i)) continue;
    // A method that the class inherits is added to it, so the superclass's stays; only its own is replaced.
    if (!class_addMethod(cls, selector_of(i), hooks[i], method_getTypeEncoding(methods[i]))) {
      method_setImplementation(methods[i], hooks[i]);
    }
  }
  return Adjustment::kNew;
}

Facts read_device(id device) {
  const AdjustedClass* entry = find_class(object_getClass(device));
  return entry == nullptr ? Facts{} : gather(AskOriginal{device, *entry});
}

}  // namespace capbench::shim::metal
