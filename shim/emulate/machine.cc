#include "shim/emulate/machine.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unicorn/unicorn.h>

#include <algorithm>
#include <array>
#include <utility>

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kPage = 16384;  // as macOS on arm64
constexpr std::uint64_t kGuard = 1U << 20U;
constexpr Address kFirstAddress = 0x1'0000'0000;
constexpr Address kNowhere = 0xf'ffff'fff0;  // never mapped: where a run would end by itself
constexpr std::uint64_t kStackBytes = 8U << 20U;
constexpr std::size_t kMaxSlots = 16384;
constexpr std::uint64_t kSlotBytes = 8;
constexpr std::uint32_t kSvc = 0xd4000001;    // svc #0: leaves the emulator
constexpr std::uint32_t kBrX16 = 0xd61f0200;  // br x16: to where the stub says, by default back to its caller
constexpr std::uint64_t kClockEvery = 1U << 22U;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint32_t unicorn_protection(Protection protection) {
  switch (protection) {
    case Protection::kNone:
      return UC_PROT_NONE;
    case Protection::kRead:
      return UC_PROT_READ;
    case Protection::kReadWrite:
      return UC_PROT_READ | UC_PROT_WRITE;
    case Protection::kReadExecute:
      break;
  }
  return UC_PROT_READ | UC_PROT_EXEC;
}

struct Unmap {
  std::uint64_t size = 0;
  void operator()(std::byte* host) const { munmap(host, size); }
};
using Mapping = std::unique_ptr<std::byte, Unmap>;

struct CloseEngine {
  void operator()(uc_engine* engine) const { uc_close(engine); }
};

Error limit_error(std::string cause) {
  return {ErrorKind::kUsage, "the emulated program", std::move(cause),
          "a library as published; hostile or damaged ones run without end"};
}

// What a stub's caller passed, kept over calls that the stub makes.
class SavedRegisters {
 public:
  explicit SavedRegisters(uc_engine* uc) : uc_(uc) {
    for (std::size_t i = 0; i < kCount; ++i) uc_reg_read(uc_, kIds[i], &values_[i]);
  }
  void restore() const {
    for (std::size_t i = 0; i < kCount; ++i) uc_reg_write(uc_, kIds[i], &values_[i]);
  }
  std::uint64_t sp() const { return values_[0]; }

 private:
  static constexpr std::size_t kCount = 18;
  static constexpr std::array<int, kCount> kIds = {
      UC_ARM64_REG_SP, UC_ARM64_REG_X0, UC_ARM64_REG_X1, UC_ARM64_REG_X2, UC_ARM64_REG_X3, UC_ARM64_REG_X4,
      UC_ARM64_REG_X5, UC_ARM64_REG_X6, UC_ARM64_REG_X7, UC_ARM64_REG_X8, UC_ARM64_REG_D0, UC_ARM64_REG_D1,
      UC_ARM64_REG_D2, UC_ARM64_REG_D3, UC_ARM64_REG_D4, UC_ARM64_REG_D5, UC_ARM64_REG_D6, UC_ARM64_REG_D7};
  uc_engine* uc_;
  std::array<std::uint64_t, kCount> values_{};
};

}  // namespace

Argument word(std::uint64_t value) {
  return Word{value, 8};
}

Argument word32(std::int32_t value) {
  return Word{static_cast<std::uint32_t>(value), 4};
}

struct Machine::Region {
  Address address = 0;
  std::uint64_t size = 0;
  Mapping host;
  std::string name;
  bool sealed = false;  // only executed, never data
};

struct Machine::Slot {
  std::string name;
  Stub stub;
  std::optional<Error> missing;
};

// The engine is closed before the regions it maps are freed.
struct Machine::Engine {
  std::unique_ptr<uc_engine, CloseEngine> uc;
  bool trapped = false;          // an exception stopped the run
  std::uint32_t exception = 0;   // its number
  bool invalid = false;          // an access was refused
  std::uint64_t invalid_at = 0;  // its address
  int invalid_kind = 0;          // uc_mem_type

  static void on_interrupt(uc_engine* uc, std::uint32_t number, void* user) {
    auto* const machine = static_cast<Machine*>(user);
    machine->engine_->trapped = true;
    machine->engine_->exception = number;
    uc_emu_stop(uc);
  }

  static void on_block(uc_engine* uc, std::uint64_t, std::uint32_t size, void* user) {
    auto* const machine = static_cast<Machine*>(user);
    machine->instructions_ += size / 4;
    if (machine->instructions_ < machine->next_clock_check_) return;
    machine->next_clock_check_ = machine->instructions_ + kClockEvery;
    if (machine->instructions_ > machine->limits_.instructions) {
      machine->fail(limit_error(fmt::format("still running after {} instructions", machine->limits_.instructions)));
      uc_emu_stop(uc);
    } else if (std::chrono::steady_clock::now() - machine->start_ > machine->limits_.wall) {
      machine->fail(limit_error(fmt::format("still running after {} s", machine->limits_.wall.count() / 1000)));
      uc_emu_stop(uc);
    }
  }

  static bool on_invalid(uc_engine*, uc_mem_type kind, std::uint64_t address, int, std::int64_t, void* user) {
    auto* const machine = static_cast<Machine*>(user);
    machine->engine_->invalid = true;
    machine->engine_->invalid_at = address;
    machine->engine_->invalid_kind = kind;
    return false;
  }
};

Machine::Machine(const Limits& limits)
    : limits_(limits),
      engine_(std::make_unique<Engine>()),
      next_address_(kFirstAddress),
      start_(std::chrono::steady_clock::now()) {}

Machine::~Machine() {
  engine_.reset();
}

Result<std::unique_ptr<Machine>> Machine::create(const Limits& limits) {
  const Error cannot{ErrorKind::kMachine, "the emulator", "Unicorn does not start an arm64 machine",
                     "Unicorn 2.0 or newer with arm64 (Debian: libunicorn-dev)"};
  std::unique_ptr<Machine> machine(new Machine(limits));
  uc_engine* uc = nullptr;
  if (uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc) != UC_ERR_OK) return cannot;
  machine->engine_->uc.reset(uc);
  // The model with every extension: ggml uses LSE atomics.
  if (uc_ctl_set_cpu_model(uc, UC_CPU_ARM64_MAX) != UC_ERR_OK) return cannot;

  uc_hook hook = 0;
  const auto hooked = [&](int type, void* callback) {
    return uc_hook_add(uc, &hook, type, callback, machine.get(), 1, 0) == UC_ERR_OK;
  };
  if (!hooked(UC_HOOK_INTR, reinterpret_cast<void*>(&Engine::on_interrupt)) ||
      !hooked(UC_HOOK_BLOCK, reinterpret_cast<void*>(&Engine::on_block)) ||
      !hooked(UC_HOOK_MEM_INVALID, reinterpret_cast<void*>(&Engine::on_invalid))) {
    return cannot;
  }

  machine->stubs_ = machine->map(kMaxSlots * kSlotBytes, Protection::kReadExecute, "stubs");
  for (std::size_t i = 0; i < kMaxSlots && !machine->failed(); ++i) {
    machine->write<std::uint32_t>(machine->stubs_ + i * kSlotBytes, kSvc);
    machine->write<std::uint32_t>(machine->stubs_ + i * kSlotBytes + 4, kBrX16);
  }
  // The first slot is where functions called from outside return to.
  machine->slots_.push_back(std::make_unique<Slot>(Slot{"return", {}, {}}));
  const Address stack = machine->map(kStackBytes, Protection::kReadWrite, "stack");
  if (machine->failed()) return *machine->error_;
  // Execute-only, so that code which takes a missing function's address for data is found out.
  uc_mem_protect(uc, machine->stubs_, round_up(kMaxSlots * kSlotBytes, kPage), UC_PROT_EXEC);
  machine->regions_.front().sealed = true;
  machine->top_of_stack_ = stack + kStackBytes - 64;
  uc_reg_write(uc, UC_ARM64_REG_SP, &machine->top_of_stack_);
  return machine;
}

Address Machine::map(std::uint64_t size, Protection protection, std::string name) {
  if (size > limits_.memory || mapped_ > limits_.memory - size) {
    fail(limit_error(fmt::format("asks for {} bytes ({}) with {} of {} in use", size, name, mapped_, limits_.memory)));
    return 0;
  }
  const std::uint64_t whole = std::max(round_up(size, kPage), kPage);
  void* const host = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED) {
    fail({ErrorKind::kMachine, "the emulator", fmt::format("no memory for {} bytes ({})", whole, name),
          "more free memory"});
    return 0;
  }
  Mapping mapping(static_cast<std::byte*>(host), Unmap{whole});
  const Address address = next_address_;
  if (uc_mem_map_ptr(engine_->uc.get(), address, whole, unicorn_protection(protection), host) != UC_ERR_OK) {
    fail({ErrorKind::kMachine, "the emulator", fmt::format("Unicorn does not map {} bytes ({})", whole, name),
          "more free memory"});
    return 0;
  }
  next_address_ = round_up(address + whole + kGuard, kGuard);
  mapped_ += whole;
  regions_.push_back({address, whole, std::move(mapping), std::move(name), false});
  return address;
}

void Machine::protect(Address address, std::uint64_t size, Protection protection) {
  if (at(address, size) == nullptr) return;
  if (uc_mem_protect(engine_->uc.get(), address, round_up(size, kPage), unicorn_protection(protection)) != UC_ERR_OK) {
    fail({ErrorKind::kUsage, describe(address), "its memory cannot be protected", "a library as published"});
  }
}

std::byte* Machine::find(Address address, std::uint64_t size) {
  const auto inside = [&](const Region& region) {
    return !region.sealed && address >= region.address && address - region.address <= region.size &&
           size <= region.size - (address - region.address);
  };
  if (last_region_ < regions_.size() && inside(regions_[last_region_])) {
    return regions_[last_region_].host.get() + (address - regions_[last_region_].address);
  }
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (!inside(regions_[i])) continue;
    last_region_ = i;
    return regions_[i].host.get() + (address - regions_[i].address);
  }
  return nullptr;
}

std::byte* Machine::at(Address address, std::uint64_t size) {
  std::byte* const host = find(address, size);
  if (host == nullptr) {
    fail({ErrorKind::kUsage, "the emulated program",
          fmt::format("hands out {} bytes at {:#x}, where no memory is", size, address), "a library as published"});
  }
  return host;
}

void Machine::write_bytes(Address address, std::string_view bytes) {
  std::byte* const to = at(address, bytes.size());
  if (to != nullptr && !bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

std::string Machine::read_bytes(Address address, std::uint64_t size) {
  const std::byte* const from = at(address, size);
  if (from == nullptr || size == 0) return {};
  return {reinterpret_cast<const char*>(from), static_cast<std::size_t>(size)};
}

std::string Machine::c_string(Address address, std::uint64_t max_bytes) {
  if (at(address, 1) == nullptr) return {};
  const Region& region = regions_[last_region_];
  const std::uint64_t offset = address - region.address;
  const std::uint64_t room = std::min(region.size - offset, max_bytes);
  const auto* const first = reinterpret_cast<const char*>(region.host.get() + offset);
  const void* const end = std::memchr(first, 0, room);
  if (end == nullptr) {
    fail({ErrorKind::kUsage, "the emulated program", fmt::format("a string at {:#x} has no end", address),
          "a library as published"});
    return {};
  }
  return {first, static_cast<std::size_t>(static_cast<const char*>(end) - first)};
}

Address Machine::next_slot() {
  if (slots_.size() >= kMaxSlots) {
    fail(limit_error(fmt::format("needs more than {} functions from outside", kMaxSlots)));
    return 0;
  }
  return stubs_ + slots_.size() * kSlotBytes;
}

Address Machine::add_stub(std::string name, Stub stub) {
  const Address address = next_slot();
  if (address != 0) slots_.push_back(std::make_unique<Slot>(Slot{std::move(name), std::move(stub), {}}));
  return address;
}

Address Machine::add_missing(std::string name, Error error) {
  const Address address = next_slot();
  if (address != 0) slots_.push_back(std::make_unique<Slot>(Slot{std::move(name), {}, std::move(error)}));
  return address;
}

std::optional<std::string_view> Machine::stub_name(Address address) const {
  if (address < stubs_ || address - stubs_ >= slots_.size() * kSlotBytes) return std::nullopt;
  return slots_[(address - stubs_) / kSlotBytes]->name;
}

std::string Machine::describe(Address address) const {
  if (const auto name = stub_name(address)) return std::string(*name);
  std::string text = describe_ ? describe_(address) : std::string();
  return text.empty() ? fmt::format("{:#x}", address) : text;
}

void Machine::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<std::uint64_t> Machine::call(Address entry, std::initializer_list<Argument> arguments) {
  return call(entry, std::span<const Argument>(arguments.begin(), arguments.size()));
}

Result<std::uint64_t> Machine::call(Address entry, std::span<const Argument> arguments) {
  if (error_) return *error_;
  uc_engine* const uc = engine_->uc.get();
  const SavedRegisters saved(uc);
  const std::uint64_t caller_sp = saved.sp();

  unsigned integers = 0;
  unsigned reals = 0;
  std::string stack;  // what does not fit registers, each at its own alignment
  const auto push = [&stack](std::uint64_t bits, unsigned bytes) {
    while (stack.size() % bytes != 0) stack.push_back('\0');
    for (unsigned i = 0; i < bytes; ++i) stack.push_back(static_cast<char>(bits >> (8 * i) & 0xffU));
  };
  for (const Argument& argument : arguments) {
    if (const Word* const integer = std::get_if<Word>(&argument); integer != nullptr) {
      if (integers < 8) {
        uc_reg_write(uc, UC_ARM64_REG_X0 + static_cast<int>(integers++), &integer->value);
      } else {
        push(integer->value, integer->bytes);
      }
      continue;
    }
    std::uint64_t bits = 0;
    unsigned bytes = 8;
    if (const float* const number = std::get_if<float>(&argument); number != nullptr) {
      bytes = sizeof(float);
      std::memcpy(&bits, number, sizeof(float));
    } else {
      std::memcpy(&bits, &std::get<double>(argument), sizeof(double));
    }
    if (reals < 8) {
      uc_reg_write(uc, UC_ARM64_REG_D0 + static_cast<int>(reals++), &bits);
    } else {
      push(bits, bytes);
    }
  }
  const std::uint64_t sp = (caller_sp - round_up(stack.size(), 16)) & ~std::uint64_t{15};
  write_bytes(sp, stack);
  uc_reg_write(uc, UC_ARM64_REG_SP, &sp);
  call_through(entry);
  const std::uint64_t result = reg(UC_ARM64_REG_X0);
  result_bits_ = reg(UC_ARM64_REG_D0);
  saved.restore();
  if (error_) return *error_;
  return result;
}

void Machine::call_through(Address entry) {
  if (error_) return;
  if (depth_ >= limits_.depth) {
    fail(limit_error(fmt::format("calls nested {} deep through functions from outside", depth_)));
    return;
  }
  ++depth_;
  uc_reg_write(engine_->uc.get(), UC_ARM64_REG_LR, &stubs_);
  run(entry);
  --depth_;
}

void Machine::run(Address pc) {
  uc_engine* const uc = engine_->uc.get();
  while (!error_) {
    engine_->trapped = false;
    engine_->invalid = false;
    const uc_err status = uc_emu_start(uc, pc, kNowhere, 0, 0);
    if (error_) return;
    const Address at_stop = reg(UC_ARM64_REG_PC);
    const Address slot = at_stop - stubs_;
    const bool in_stub = at_stop >= stubs_ && slot < slots_.size() * kSlotBytes && slot % kSlotBytes == 4;
    if (status != UC_ERR_OK || !engine_->trapped || !in_stub) {
      stopped_at(at_stop, status);
      return;
    }
    if (slot / kSlotBytes == 0) return;
    dispatch(slot / kSlotBytes);
    pc = at_stop;
  }
}

void Machine::dispatch(std::size_t index) {
  const Slot& slot = *slots_[index];
  if (slot.missing) {
    fail(*slot.missing);
    return;
  }
  const std::uint64_t back = reg(UC_ARM64_REG_LR);
  Call call(*this, slot.name);
  slot.stub(call);
  const std::uint64_t target = call.target() != 0 ? call.target() : back;
  uc_reg_write(engine_->uc.get(), UC_ARM64_REG_LR, &back);
  uc_reg_write(engine_->uc.get(), UC_ARM64_REG_X16, &target);
}

void Machine::stopped_at(Address pc, int unicorn_error) {
  const std::string where = describe(pc);
  if (engine_->invalid) {
    const Address touched = engine_->invalid_at;
    if (touched >= stubs_ && touched - stubs_ < slots_.size() * kSlotBytes) {
      const Slot& slot = *slots_[(touched - stubs_) / kSlotBytes];
      if (slot.missing) {
        fail(*slot.missing);
      } else {
        fail({ErrorKind::kUsage, where, fmt::format("treats the function {} as data", slot.name),
              "a library as published"});
      }
      return;
    }
    const bool write = engine_->invalid_kind == UC_MEM_WRITE_UNMAPPED || engine_->invalid_kind == UC_MEM_WRITE_PROT;
    const bool fetch = engine_->invalid_kind == UC_MEM_FETCH_UNMAPPED || engine_->invalid_kind == UC_MEM_FETCH_PROT;
    const std::string back = fetch ? fmt::format(" (called from {})", describe(reg(UC_ARM64_REG_LR))) : std::string();
    fail({ErrorKind::kUsage, where,
          fmt::format("{} {:#x}, where it may not{}",
                      fetch   ? "jumps to"
                      : write ? "writes to"
                              : "reads",
                      touched, back),
          "a library as published"});
    return;
  }
  const std::string cause = engine_->trapped
                                ? fmt::format("stops with processor exception {}", engine_->exception)
                                : fmt::format("cannot go on: {}", uc_strerror(static_cast<uc_err>(unicorn_error)));
  fail({ErrorKind::kUsage, where, cause, "a library as published"});
}

Machine::Snapshot Machine::save() const {
  Snapshot snapshot;
  for (const Region& region : regions_) {
    // Of a region that was never written, nothing needs to be kept.
    const auto* const bytes = reinterpret_cast<const char*>(region.host.get());
    std::uint64_t used = region.size;
    while (used >= kPage && std::all_of(bytes + used - kPage, bytes + used, [](char c) { return c == 0; }))
      used -= kPage;
    snapshot.regions.emplace_back(bytes, used);
  }
  snapshot.mapped = mapped_;
  snapshot.next_address = next_address_;
  return snapshot;
}

void Machine::restore(const Snapshot& snapshot) {
  while (regions_.size() > snapshot.regions.size()) {
    uc_mem_unmap(engine_->uc.get(), regions_.back().address, regions_.back().size);
    regions_.pop_back();
  }
  last_region_ = 0;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    if (region.sealed) continue;
    const std::string& saved = snapshot.regions[i];
    std::memcpy(region.host.get(), saved.data(), saved.size());
    std::byte* const rest = region.host.get() + saved.size();
    // The stack is written from its end; the rest of it, and of a heap, is mostly untouched zeros.
    const std::uint64_t size = region.size - saved.size();
    if (size > 0) madvise(rest, size, MADV_DONTNEED);
  }
  mapped_ = snapshot.mapped;
  next_address_ = snapshot.next_address;
  error_.reset();
  depth_ = 0;
  instructions_ = 0;
  next_clock_check_ = 0;
  start_ = std::chrono::steady_clock::now();
  uc_reg_write(engine_->uc.get(), UC_ARM64_REG_SP, &top_of_stack_);
}

std::uint64_t Machine::reg(int unicorn_register) const {
  std::uint64_t value = 0;
  uc_reg_read(engine_->uc.get(), unicorn_register, &value);
  return value;
}

double Machine::result64() const {
  double value = 0;
  std::memcpy(&value, &result_bits_, sizeof(value));
  return value;
}

float Machine::result32() const {
  float value = 0;
  std::memcpy(&value, &result_bits_, sizeof(value));
  return value;
}

Address Machine::return_address() const {
  return reg(UC_ARM64_REG_LR);
}

std::uint64_t Call::integer(unsigned i) const {
  if (i < 8) return machine_.reg(UC_ARM64_REG_X0 + static_cast<int>(i));
  return machine_.read<std::uint64_t>(variadic() + std::uint64_t{8} * (i - 8));
}

float Call::real32(unsigned i) const {
  const std::uint64_t bits = machine_.reg(UC_ARM64_REG_D0 + static_cast<int>(i));
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

double Call::real64(unsigned i) const {
  const std::uint64_t bits = machine_.reg(UC_ARM64_REG_D0 + static_cast<int>(i));
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

Address Call::variadic() const {
  return machine_.reg(UC_ARM64_REG_SP);
}

Address Call::result_buffer() const {
  return machine_.reg(UC_ARM64_REG_X8);
}

void Call::result(std::uint64_t value) const {
  uc_reg_write(machine_.engine_->uc.get(), UC_ARM64_REG_X0, &value);
}

void Call::result32(float value) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  uc_reg_write(machine_.engine_->uc.get(), UC_ARM64_REG_D0, &bits);
}

void Call::result64(double value) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  uc_reg_write(machine_.engine_->uc.get(), UC_ARM64_REG_D0, &bits);
}

}  // namespace capbench::emulate
