// What ggml uses of libc++ and libc++abi that is not inlined into it.
#include <fmt/format.h>

#include <cstring>

#include "shim/emulate/process.h"

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kMaxString = 64U << 20U;
constexpr std::uint64_t kShortCapacity = 22;
constexpr std::uint64_t kLongBit = std::uint64_t{1} << 63U;

// std::string as libc++ lays it out on Apple's arm64, 24 bytes: {data, size, capacity | long bit}, or 23 characters and
// the size in the last byte.
class CxxString {
 public:
  CxxString(Process& process, Address at) : process_(process), at_(at) {}

  std::string get() const {
    Machine& machine = process_.machine();
    const auto last = machine.read<std::uint8_t>(at_ + 23);
    if ((last & 0x80U) == 0) return machine.read_bytes(at_, last > kShortCapacity ? 0 : last);
    const auto size = machine.read<std::uint64_t>(at_ + 8);
    return size > kMaxString ? std::string() : machine.read_bytes(machine.read<Address>(at_), size);
  }

  // Over whatever was there, which is a valid string.
  void set(const std::string& text) const {
    Machine& machine = process_.machine();
    const bool was_long = (machine.read<std::uint8_t>(at_ + 23) & 0x80U) != 0;
    const Address old = was_long ? machine.read<Address>(at_) : 0;
    construct(text);
    process_.heap().release(old);
  }

  // Over bytes that mean nothing.
  void construct(const std::string& text) const {
    Machine& machine = process_.machine();
    if (text.size() > kMaxString) {
      machine.fail({ErrorKind::kUsage, "the emulated program", fmt::format("makes a string of {} bytes", text.size()),
                    "a library as published"});
      return;
    }
    if (text.size() <= kShortCapacity) {
      std::string bytes = text;
      bytes.resize(23);
      bytes.push_back(static_cast<char>(text.size()));
      machine.write_bytes(at_, bytes);
      return;
    }
    const std::uint64_t room = (text.size() + 16) / 16 * 16;
    const Address data = process_.heap().allocate(room);
    machine.write_bytes(data, std::string_view(text.c_str(), text.size() + 1));
    machine.write(at_, data);
    machine.write<std::uint64_t>(at_ + 8, text.size());
    machine.write(at_ + 16, room | kLongBit);
  }

 private:
  Process& process_;
  Address at_;
};

void add_strings(Process& process) {
  const std::string string = "__ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE";
  const auto member = [&string](std::string_view suffix) { return string + std::string(suffix); };
  process.define(member("6appendEPKc"), [&process](Call& call) {
    const CxxString self(process, call.integer(0));
    self.set(self.get() + call.machine().c_string(call.integer(1)));
  });
  process.define(member("6appendEPKcm"), [&process](Call& call) {
    const CxxString self(process, call.integer(0));
    self.set(self.get() + call.machine().read_bytes(call.integer(1), call.integer(2)));
  });
  process.define(member("6assignEPKc"), [&process](Call& call) {
    const std::string text = call.machine().c_string(call.integer(1));
    CxxString(process, call.integer(0)).set(text);
  });
  process.define(member("6insertEmPKc"), [&process](Call& call) {
    const CxxString self(process, call.integer(0));
    std::string text = self.get();
    const std::uint64_t at = call.integer(1);
    if (at > text.size()) {
      call.machine().fail({ErrorKind::kUsage, "the library", "std::out_of_range from std::string::insert",
                           "a release that is known to run"});
      return;
    }
    text.insert(at, call.machine().c_string(call.integer(2)));
    self.set(text);
  });
  process.define(member("6resizeEmc"), [&process](Call& call) {
    const CxxString self(process, call.integer(0));
    std::string text = self.get();
    if (call.integer(1) > kMaxString) return self.set(std::string(kMaxString + 1, ' '));
    text.resize(call.integer(1), static_cast<char>(call.integer(2)));
    self.set(text);
  });
  process.define(member("9push_backEc"), [&process](Call& call) {
    const CxxString self(process, call.integer(0));
    self.set(self.get() + static_cast<char>(call.integer(1)));
  });
  process.define(member("aSERKS5_"), [&process](Call& call) {
    const std::string text = CxxString(process, call.integer(1)).get();
    CxxString(process, call.integer(0)).set(text);
  });
  const auto to_string = [&process](std::string_view type, auto convert) {
    process.define("__ZNSt3__19to_stringE" + std::string(type), [&process, convert](Call& call) {
      CxxString(process, call.result_buffer()).construct(convert(call.integer(0)));
    });
  };
  to_string("i", [](std::uint64_t value) { return std::to_string(static_cast<std::int32_t>(value)); });
  to_string("j", [](std::uint64_t value) { return std::to_string(static_cast<std::uint32_t>(value)); });
  to_string("m", [](std::uint64_t value) { return std::to_string(value); });
  to_string("y", [](std::uint64_t value) { return std::to_string(value); });
  to_string("l", [](std::uint64_t value) { return std::to_string(static_cast<std::int64_t>(value)); });
  to_string("x", [](std::uint64_t value) { return std::to_string(static_cast<std::int64_t>(value)); });
}

// The number of buckets of std::unordered_map: the least prime not below n.
std::uint64_t next_prime(std::uint64_t n) {
  const auto prime = [](std::uint64_t candidate) {
    for (std::uint64_t i = 2; i * i <= candidate; ++i) {
      if (candidate % i == 0) return false;
    }
    return candidate >= 2;
  };
  while (!prime(n)) ++n;
  return n;
}

void add_exceptions(Process& process) {
  Heap& heap = process.heap();
  process.define("___cxa_allocate_exception", [&heap](Call& call) { call.result(heap.allocate(call.integer(0))); });
  // The type's name is what std::type_info keeps second.
  process.define("___cxa_throw", [](Call& call) {
    Machine& machine = call.machine();
    const Address type = call.integer(1);
    const auto outside = machine.stub_name(type);
    const std::string name = outside ? std::string(*outside)
                                     : machine.c_string(machine.read<Address>(type + 8) & ~(std::uint64_t{1} << 63U));
    machine.fail({ErrorKind::kUsage, "the library", fmt::format("it throws a C++ exception of type {}", name),
                  "other settings, or a release that is known to run"});
  });
  // Constructors that run just before a throw; the throw ends the run.
  for (const char* const name : {"__ZNSt11logic_errorC2EPKc", "__ZNSt20bad_array_new_lengthC1Ev",
                                 "__ZNSt13runtime_errorC1ERKNSt3__112basic_stringIcNS0_11char_traitsIcEENS0_"
                                 "9allocatorIcEEEE"}) {
    process.define_harmless(name, "constructs what is thrown next, and a throw ends the run");
  }
  process.define("__ZSt9terminatev", [](Call& call) {
    call.machine().fail({ErrorKind::kUsage, "the library", "it called std::terminate",
                         "other settings, or a release that is known to run"});
  });
  const Address handler = process.define_data("terminate handler", 8);
  process.machine().write(handler, *process.system_symbol("__ZSt9terminatev"));
  process.define("__ZSt13get_terminatev",
                 [handler](Call& call) { call.result(call.machine().read<Address>(handler)); });
  process.define("__ZSt13set_terminatePFvvE", [handler](Call& call) {
    const auto old = call.machine().read<Address>(handler);
    call.machine().write(handler, call.integer(0));
    call.result(old);
  });
  process.define("___cxa_guard_acquire",
                 [](Call& call) { call.result(call.machine().read<std::uint8_t>(call.integer(0)) == 0 ? 1 : 0); });
  process.define("___cxa_guard_release", [](Call& call) { call.machine().write<std::uint8_t>(call.integer(0), 1); });
  process.define("___cxa_pure_virtual", [](Call& call) {
    call.machine().fail(
        {ErrorKind::kUsage, "the library", "it called a pure virtual function", "a release that is known to run"});
  });
}

}  // namespace

void add_cxx_library(Process& process) {
  Heap& heap = process.heap();
  for (const char* const name : {"__Znwm", "__Znam"}) {
    process.define(name, [&heap](Call& call) { call.result(heap.allocate(call.integer(0))); });
  }
  for (const char* const name : {"__ZdlPv", "__ZdaPv", "__ZdlPvm"}) {
    process.define(name, [&heap](Call& call) { heap.release(call.integer(0)); });
  }
  add_strings(process);
  process.define("__ZNSt3__112__next_primeEm", [](Call& call) {
    if (call.integer(0) > (1U << 30U)) {
      call.machine().fail({ErrorKind::kUsage, "the emulated program", "makes a table of more than 2^30 buckets",
                           "a library as published"});
      return;
    }
    call.result(next_prime(call.integer(0)));
  });
  for (const char* const name : {"__ZNSt3__15mutex4lockEv", "__ZNSt3__15mutex6unlockEv", "__ZNSt3__15mutexD1Ev"}) {
    process.define_harmless(name, "one thread: every lock is free");
  }
  add_exceptions(process);
}

}  // namespace capbench::emulate
