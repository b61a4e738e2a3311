// malloc for the code inside a machine. Blocks are reused by size class, so equal runs give equal addresses.
#ifndef CAPBENCH_SHIM_EMULATE_HEAP_H_
#define CAPBENCH_SHIM_EMULATE_HEAP_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "shim/emulate/machine.h"

namespace capbench::emulate {

class Heap {
 public:
  explicit Heap(Machine& machine) : machine_(machine) {}

  // At least `size` zeroed bytes, aligned to `alignment` (a power of two, at least 16); 0 and an error in the machine
  // when its memory limit is reached.
  Address allocate(std::uint64_t size, std::uint64_t alignment = 16);
  // Null is allowed; an address that allocate() did not give is an error.
  void release(Address address);
  Address reallocate(Address address, std::uint64_t size);
  // A NUL-terminated copy.
  Address text(std::string_view text);
  // What is allocated, to go with a snapshot of the machine's memory.
  struct State {
    Address next = 0;
    Address end = 0;
    std::map<Address, std::uint64_t> blocks;                 // in use: address to size class
    std::map<std::uint64_t, std::vector<Address>> released;  // by size class
  };
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

  // 0 if the address is no block.
  std::uint64_t size_of(Address address) const;

 private:
  Machine& machine_;
  State state_;
};

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_HEAP_H_
