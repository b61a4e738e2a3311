// What a Metal device answers, as values of the capabilities.
#ifndef CAPBENCH_SHIM_METAL_FACTS_H_
#define CAPBENCH_SHIM_METAL_FACTS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "shim/metal/methods.h"
#include "shim/metal/objc.h"
#include "shim/metal/policy.h"

namespace capbench::shim::metal {

struct Fact {
  bool known = false;       // the device's class has a method for it
  std::uint64_t value = 0;  // the highest family of the group, 0 if none; the number; 1 for on and 0 for off
};

using Facts = std::array<Fact, kCapabilityCount>;

// What this process is told, asked by message like any other caller.
Facts read_reported(id device);

// A value as settings and lines write it: "1009" or "none", "65536", "on" or "off". The text is in `room` or static.
std::string_view write_value(Form form, std::uint64_t value, std::array<char, 20>& room);

// The highest family of the group that `admits` says yes to, among those that the toggle knows; 0 if none.
template <class Admits>
std::uint64_t highest_family(Capability group, Admits admits) {
  const Toggle& toggle = toggle_of(group);
  for (std::int64_t family = toggle.high; family >= toggle.low; --family) {
    if (admits(static_cast<std::uint64_t>(family))) return static_cast<std::uint64_t>(family);
  }
  return 0;
}

// Facts from whom `ask` asks: ask.has(method), ask.family(number), ask.number(method), ask.flag(method).
template <class Ask>
Facts gather(const Ask& ask) {
  Facts facts{};
  if (ask.has(kFamilyMethod)) {
    for (const Capability group : kFamilyGroups) {
      facts[index_of(group)] = {true, highest_family(group, [&](std::uint64_t family) { return ask.family(family); })};
    }
  }
  for (std::size_t method = kFamilyMethod + 1; method < kMethodCount; ++method) {
    if (!ask.has(method)) continue;
    Fact& fact = facts[index_of(kMethods[method].capability)];
    fact.known = true;
    if (!is_switch(method)) {
      fact.value = ask.number(method);
    } else if (ask.flag(method)) {
      fact.value = 1;  // of several methods of one switch, one that says yes is enough
    }
  }
  return facts;
}

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_FACTS_H_
