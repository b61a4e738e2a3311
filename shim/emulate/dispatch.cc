// Blocks and libdispatch with one thread: what is started asynchronously waits until somebody waits for it. So a
// background loop that only ends when told to (ggml's keep-alive of residency sets) is entered when it has been told.
#include <fmt/format.h>

#include "shim/emulate/process.h"

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kTimeout = 1;  // what waiting functions return when the time is over
constexpr std::uint64_t kForever = ~std::uint64_t{0};
constexpr std::uint64_t kMaxBlock = 1U << 16U;

// struct Block { isa; int flags; int reserved; invoke; descriptor; captured ... }, and in its descriptor: reserved,
// size, and with this flag functions that copy and destroy what is captured.
constexpr std::uint32_t kHasCopy = 1U << 25U;
constexpr std::uint32_t kIsGlobal = 1U << 28U;

Address copy_block(Process& process, Address block) {
  Machine& machine = process.machine();
  const auto flags = machine.read<std::uint32_t>(block + 8);
  if (block == 0 || (flags & kIsGlobal) != 0) return block;
  const auto descriptor = machine.read<Address>(block + 24);
  const auto size = machine.read<std::uint64_t>(descriptor + 8);
  if (size < 32 || size > kMaxBlock) {
    machine.fail({ErrorKind::kUsage, "the emulated program", fmt::format("copies a block of {} bytes", size),
                  "a library as published"});
    return 0;
  }
  const Address copy = process.heap().allocate(size);
  machine.write_bytes(copy, machine.read_bytes(block, size));
  if ((flags & kHasCopy) != 0) (void)machine.call(machine.read<Address>(descriptor + 16), {word(copy), word(block)});
  return copy;
}

void add_blocks(Process& process) {
  for (const char* const name : {"__NSConcreteGlobalBlock", "__NSConcreteStackBlock", "__NSConcreteMallocBlock"}) {
    process.define_data(name, 64);
  }
  process.define("__Block_copy", [&process](Call& call) { call.result(copy_block(process, call.integer(0))); });
  process.define_harmless("__Block_release", "nothing captured is ever freed");
  process.define_harmless("__Block_object_dispose", "nothing captured is ever freed");
  // void (destination*, object, flags): variables declared __block move to the heap with their block; everything else
  // is stored as it is.
  process.define("__Block_object_assign", [&process](Call& call) {
    constexpr std::uint64_t kIsBlock = 7;
    constexpr std::uint64_t kIsByref = 8;
    Machine& machine = call.machine();
    const Address to = call.integer(0);
    const Address object = call.integer(1);
    const std::uint64_t kind = call.integer(2) & 0xfU;
    if (kind == kIsBlock) {
      machine.write(to, copy_block(process, object));
    } else if (kind == kIsByref) {
      // struct Byref { isa; forwarding; int flags; int size; ... }
      const auto forwarding = machine.read<Address>(object + 8);
      if (forwarding != object) return machine.write(to, forwarding);
      const auto size = machine.read<std::uint32_t>(object + 20);
      if (size < 24 || size > kMaxBlock) {
        machine.fail({ErrorKind::kUsage, "the emulated program",
                      fmt::format("shares a variable of {} bytes with a block", size), "a library as published"});
        return;
      }
      const Address copy = process.heap().allocate(size);
      machine.write_bytes(copy, machine.read_bytes(object, size));
      machine.write(copy + 8, copy);
      machine.write(object + 8, copy);
      machine.write(to, copy);
    } else {
      process.objc().retain(object);
      machine.write(to, object);
    }
  });
}

// A semaphore's count is its payload.
void add_semaphores(Process& process) {
  ObjcRuntime& objc = process.objc();
  process.define("_dispatch_semaphore_create", [&objc](Call& call) {
    call.result(objc.create("OS_dispatch_semaphore", static_cast<std::int64_t>(call.integer(0))));
  });
  const auto count_of = [&objc](Call& call) -> std::int64_t* {
    Payload* const payload = objc.payload(call.integer(0));
    return payload == nullptr ? nullptr : std::get_if<std::int64_t>(payload);
  };
  process.define("_dispatch_semaphore_signal", [count_of](Call& call) {
    if (std::int64_t* const count = count_of(call); count != nullptr) ++*count;
    call.result(0);
  });
  process.define("_dispatch_semaphore_wait", [&process, count_of](Call& call) {
    std::int64_t* count = count_of(call);
    if (count != nullptr && *count <= 0) {
      process.run_pending(0);
      count = count_of(call);
    }
    if (call.machine().failed() || count == nullptr) return;
    if (*count > 0) {
      --*count;
      return call.result(0);
    }
    if (call.integer(1) != kForever) return call.result(kTimeout);
    call.machine().fail({ErrorKind::kUsage, "the library", "it waits for a semaphore that nothing will signal",
                         "a release that is known to run"});
  });
}

}  // namespace

void add_dispatch(Process& process) {
  ObjcRuntime& objc = process.objc();
  for (const char* const name : {"OS_object", "OS_dispatch_queue", "OS_dispatch_group", "OS_dispatch_semaphore"}) {
    objc.define_class(name, "");
  }
  add_blocks(process);
  add_semaphores(process);
  process.define_data("__dispatch_queue_attr_concurrent", 64);
  process.define_at("__dispatch_main_q", objc.create("OS_dispatch_queue"));
  for (const char* const name : {"_dispatch_get_global_queue", "_dispatch_queue_create"}) {
    process.define(name, [&objc](Call& call) { call.result(objc.create("OS_dispatch_queue")); });
  }
  process.define("_dispatch_group_create", [&objc](Call& call) { call.result(objc.create("OS_dispatch_group")); });
  process.define("_dispatch_retain", [&objc](Call& call) { objc.retain(call.integer(0)); });
  process.define("_dispatch_release", [&objc](Call& call) { objc.release(call.integer(0)); });

  process.define("_dispatch_group_async", [&process](Call& call) {
    process.enqueue({call.integer(0), copy_block(process, call.integer(2)), 0, 0});
  });
  process.define("_dispatch_group_async_f", [&process](Call& call) {
    process.enqueue({call.integer(0), 0, call.integer(3), call.integer(2)});
  });
  process.define("_dispatch_async", [&process](Call& call) {
    process.enqueue({0, copy_block(process, call.integer(1)), 0, 0});
  });
  process.define("_dispatch_async_f", [&process](Call& call) {
    process.enqueue({0, 0, call.integer(2), call.integer(1)});
  });
  process.define("_dispatch_group_wait", [&process](Call& call) {
    process.run_pending(call.integer(0));
    call.result(0);
  });
  process.define("_dispatch_sync", [](Call& call) {
    const Address block = call.integer(1);
    (void)call.machine().call(call.machine().read<Address>(block + 16), {word(block)});
  });
  process.define("_dispatch_apply", [](Call& call) {
    Machine& machine = call.machine();
    const std::uint64_t count = call.integer(0);
    const Address block = call.integer(2);
    const auto invoke = machine.read<Address>(block + 16);
    for (std::uint64_t i = 0; i < count && !machine.failed(); ++i) (void)machine.call(invoke, {word(block), word(i)});
  });
  const auto once = [](Call& call, Address function, Address argument) {
    constexpr std::uint64_t kDone = ~std::uint64_t{0};
    const Address predicate = call.integer(0);
    if (call.machine().read<std::uint64_t>(predicate) == kDone) return;
    call.machine().write(predicate, kDone);
    (void)call.machine().call(function, {word(argument)});
  };
  process.define("_dispatch_once_f", [once](Call& call) { once(call, call.integer(2), call.integer(1)); });
  process.define("_dispatch_once", [once](Call& call) {
    const Address block = call.integer(1);
    once(call, call.machine().read<Address>(block + 16), block);
  });
  process.define("_dispatch_time", [](Call& call) { call.result(call.integer(0) + call.integer(1)); });
}

}  // namespace capbench::emulate
