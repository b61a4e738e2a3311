// One arm64 processor with its memory, executed by Unicorn, and the C++ functions ("stubs") that the code in it may
// call. Knows nothing of Mach-O, Objective-C or Metal.
//
// Errors inside a run are sticky: the first one ends the run, and everything read after it is zero. So a stub may read
// what it needs and act; whoever started the run gets the error.
//
// Not thread-safe: one machine belongs to one thread. Nothing outside it is touched by what runs in it.
#ifndef CAPBENCH_SHIM_EMULATE_MACHINE_H_
#define CAPBENCH_SHIM_EMULATE_MACHINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.h"

namespace capbench::emulate {

// Addresses inside the machine.
using Address = std::uint64_t;

struct Limits {
  std::uint64_t instructions = 4'000'000'000;        // over the machine's life
  std::uint64_t memory = std::uint64_t{768} << 20U;  // bytes of mapped memory
  std::chrono::milliseconds wall{60'000};            // over the machine's life
  unsigned depth = 64;                               // runs inside stubs inside runs ...
};

enum class Protection : std::uint8_t { kNone, kRead, kReadWrite, kReadExecute };

// An argument or a result in registers: integers and pointers in x0-x7, numbers in v0-v7. A narrow integer is passed as
// its low bytes; `bytes` matters where registers run out, as Apple's ABI packs what it puts on the stack.
struct Word {
  std::uint64_t value = 0;
  unsigned bytes = 8;
};
using Argument = std::variant<Word, float, double>;

Argument word(std::uint64_t value);
Argument word32(std::int32_t value);

class Machine;

// What a stub sees of the call that reached it.
class Call {
 public:
  Call(Machine& machine, std::string_view name) : machine_(machine), name_(name) {}

  Machine& machine() const { return machine_; }
  std::string_view name() const { return name_; }

  // The i-th integer or pointer argument; from the ninth on, the 8-byte slots of the stack.
  std::uint64_t integer(unsigned i) const;
  std::int32_t integer32(unsigned i) const { return static_cast<std::int32_t>(integer(i)); }
  float real32(unsigned i) const;
  double real64(unsigned i) const;
  // Where variadic arguments start (Apple: always on the stack, 8 bytes each).
  Address variadic() const;
  // Where the caller wants a result that does not fit registers.
  Address result_buffer() const;

  void result(std::uint64_t value) const;
  void result32(float value) const;
  void result64(double value) const;
  // Ends the stub with a jump: the function there gets the same arguments and returns to the stub's caller.
  void jump(Address target) { target_ = target; }
  Address target() const { return target_; }

 private:
  Machine& machine_;
  std::string_view name_;
  Address target_ = 0;
};

using Stub = std::function<void(Call&)>;

class Machine {
 public:
  static Result<std::unique_ptr<Machine>> create(const Limits& limits);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // --- memory

  // Zeroed memory of at least `size` bytes (whole pages of 16 KiB), with unmapped space around it. 0 and an error when
  // the limit is reached.
  Address map(std::uint64_t size, Protection protection, std::string name);
  // Part of one mapping, in whole pages.
  void protect(Address address, std::uint64_t size, Protection protection);

  // `size` bytes inside one mapping; nullptr and an error if they are not all there. For loaders and stubs: ignores
  // protection.
  std::byte* at(Address address, std::uint64_t size);
  // The same without an error.
  std::byte* find(Address address, std::uint64_t size);

  template <class T>
  T read(Address address) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (const std::byte* const from = at(address, sizeof(T)); from != nullptr) std::memcpy(&value, from, sizeof(T));
    return value;
  }
  template <class T>
  void write(Address address, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (std::byte* const to = at(address, sizeof(T)); to != nullptr) std::memcpy(to, &value, sizeof(T));
  }
  void write_bytes(Address address, std::string_view bytes);
  std::string read_bytes(Address address, std::uint64_t size);
  // Up to the NUL; an error if there is none within `max_bytes`.
  std::string c_string(Address address, std::uint64_t max_bytes = 1U << 20U);

  // --- stubs

  // An address that code may call to reach `stub`. Reading it is an error that gives the name.
  Address add_stub(std::string name, Stub stub);
  // An address whose call, or reading, ends the run with this error.
  Address add_missing(std::string name, Error error);
  // The stub's name, if the address is one.
  std::optional<std::string_view> stub_name(Address address) const;

  // --- running

  // Calls the function at `entry` and gives x0. Stubs may call it too: their own arguments stay as they are.
  Result<std::uint64_t> call(Address entry, std::span<const Argument> arguments);
  Result<std::uint64_t> call(Address entry, std::initializer_list<Argument> arguments);
  // For stubs that forward a call: registers stay as they are, but for the return address.
  void call_through(Address entry);

  // v0 after the last call().
  double result64() const;
  float result32() const;
  // Where the stub that is running will return to.
  Address return_address() const;

  // --- going back

  // Memory and stack pointer as they are between runs, and what is mapped. Stubs are not part of it.
  struct Snapshot {
    std::vector<std::string> regions;  // contents, in the order of mapping
    std::uint64_t mapped = 0;
    Address next_address = 0;
  };
  Snapshot save() const;
  // Back to a snapshot of this machine; what was mapped since is gone, and so is an error. Translated code is kept,
  // which makes this much faster than a new machine. The limits start anew.
  void restore(const Snapshot& snapshot);

  // The first error wins.
  void fail(Error error);
  bool failed() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }

  std::uint64_t instructions() const { return instructions_; }
  // How error messages name an address in code; without it, they give the number.
  void set_describe(std::function<std::string(Address)> describe) { describe_ = std::move(describe); }
  std::string describe(Address address) const;

 private:
  friend class Call;
  struct Engine;
  struct Region;
  struct Slot;

  explicit Machine(const Limits& limits);
  std::uint64_t reg(int unicorn_register) const;
  void run(Address pc);
  void dispatch(std::size_t index);
  void stopped_at(Address pc, int unicorn_error);
  Address next_slot();

  Limits limits_;
  std::unique_ptr<Engine> engine_;
  std::vector<Region> regions_;
  std::size_t last_region_ = 0;
  std::uint64_t mapped_ = 0;
  Address next_address_;
  Address stubs_ = 0;
  Address top_of_stack_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::uint64_t instructions_ = 0;
  std::uint64_t next_clock_check_ = 0;
  std::chrono::steady_clock::time_point start_;
  unsigned depth_ = 0;
  std::uint64_t result_bits_ = 0;
  std::optional<Error> error_;
  std::function<std::string(Address)> describe_;
};

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_MACHINE_H_
