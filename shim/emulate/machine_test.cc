#include "shim/emulate/machine.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "shim/emulate/c_format.h"
#include "shim/emulate/heap.h"

namespace capbench::emulate {
namespace {

// A64 instructions.
constexpr std::uint32_t kRet = 0xd65f03c0;
constexpr std::uint32_t kAddX0X1 = 0x8b010000;  // add x0, x0, x1
constexpr std::uint32_t kLoop = 0x14000000;     // b .
constexpr std::uint32_t kLoadX0 = 0xf9400000;   // ldr x0, [x0]
constexpr std::uint32_t kStoreX1 = 0xf9000001;  // str x1, [x0]
constexpr std::uint32_t kBrX0 = 0xd61f0000;     // br x0
constexpr std::uint32_t kUndefined = 0;

std::unique_ptr<Machine> machine_of(const Limits& limits = {}) {
  auto machine = Machine::create(limits);
  EXPECT_TRUE(machine.ok());
  return std::move(machine).value();
}

Address code(Machine& machine, std::initializer_list<std::uint32_t> instructions) {
  const Address at = machine.map(4 * instructions.size(), Protection::kReadExecute, "code");
  Address next = at;
  for (const std::uint32_t instruction : instructions) {
    machine.write(next, instruction);
    next += 4;
  }
  return at;
}

std::string cause_of(const Result<std::uint64_t>& result) {
  return result.ok() ? "no error" : result.error().cause;
}

TEST(Machine, CallsAFunction) {
  const auto machine = machine_of();
  const auto sum = machine->call(code(*machine, {kAddX0X1, kRet}), {word(40), word(2)});
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(*sum, 42U);
  EXPECT_EQ(machine->instructions(), 2U + 1U);  // and the svc it returns to
}

TEST(Machine, StubsGetTheirArgumentsAndMayCallBack) {
  const auto machine = machine_of();
  const Address add = code(*machine, {kAddX0X1, kRet});
  const Address stub = machine->add_stub("stub", [add](Call& call) {
    const auto sum = call.machine().call(add, {word(call.integer(1)), word(100)});
    // The stub's own arguments are as they were.
    call.result(sum.ok() ? *sum + call.integer(2) : 0);
  });
  const auto result = machine->call(code(*machine, {kBrX0}), {word(stub), word(20), word(3)});
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(*result, 123U);
}

TEST(Machine, WhatAStubJumpsToReturnsToItsCaller) {
  const auto machine = machine_of();
  const Address add = code(*machine, {kAddX0X1, kRet});
  const Address stub = machine->add_stub("stub", [add](Call& call) { call.jump(add); });
  const auto result = machine->call(stub, {word(1), word(2)});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 3U);
}

TEST(Machine, EndsWhatRunsTooLong) {
  Limits limits;
  limits.instructions = 10'000'000;
  const auto machine = machine_of(limits);
  EXPECT_EQ(cause_of(machine->call(code(*machine, {kLoop}), {})), "still running after 10000000 instructions");
  // And stays ended.
  EXPECT_FALSE(machine->call(code(*machine, {kRet}), {}).ok());
}

TEST(Machine, EndsWhatTakesTooMuchTime) {
  Limits limits;
  limits.wall = std::chrono::milliseconds(30);
  const auto machine = machine_of(limits);
  EXPECT_NE(cause_of(machine->call(code(*machine, {kLoop}), {})).find("still running after"), std::string::npos);
}

TEST(Machine, EndsWhatTakesTooMuchMemory) {
  Limits limits;
  limits.memory = 32U << 20U;
  const auto machine = machine_of(limits);
  EXPECT_NE(machine->map(1U << 20U, Protection::kReadWrite, "small"), 0U);
  EXPECT_EQ(machine->map(1U << 30U, Protection::kReadWrite, "large"), 0U);
  EXPECT_TRUE(machine->failed());
}

TEST(Machine, BadAccessesAreErrorsWithTheirPlace) {
  struct Case {
    std::uint32_t instruction;
    std::uint64_t argument;
    std::string words;
  };
  for (const Case& bad : {Case{kLoadX0, 0x10, "reads 0x10"}, Case{kStoreX1, 0x18, "writes to 0x18"},
                          Case{kBrX0, 0x20, "jumps to 0x20"}, Case{kUndefined, 0, "processor exception"}}) {
    const auto machine = machine_of();
    const auto result = machine->call(code(*machine, {bad.instruction, kRet}), {word(bad.argument)});
    EXPECT_NE(cause_of(result).find(bad.words), std::string::npos) << cause_of(result);
  }
}

TEST(Machine, CodeIsNotWritable) {
  const auto machine = machine_of();
  const Address at = code(*machine, {kStoreX1, kRet});
  EXPECT_NE(cause_of(machine->call(at, {word(at)})).find("writes to"), std::string::npos);
}

TEST(Machine, AMissingFunctionIsNamedWhenCalledAndWhenRead) {
  const Error error{ErrorKind::kUsage, "library", "it needs _f", ""};
  for (const std::uint32_t instruction : {kBrX0, kLoadX0}) {
    const auto machine = machine_of();
    const Address missing = machine->add_missing("_f", error);
    EXPECT_EQ(cause_of(machine->call(code(*machine, {instruction, kRet}), {word(missing)})), "it needs _f");
  }
  // Nor may a stub of ours take it for data.
  const auto machine = machine_of();
  EXPECT_EQ(machine->find(machine->add_missing("_f", error), 4), nullptr);
}

TEST(Machine, MemoryThatIsNotThereIsAnErrorForStubsToo) {
  const auto machine = machine_of();
  const Address block = machine->map(100, Protection::kReadWrite, "block");
  EXPECT_NE(machine->at(block, 16384), nullptr);
  EXPECT_EQ(machine->find(block, 16385), nullptr);
  EXPECT_EQ(machine->find(block + 16384, 1), nullptr);
  EXPECT_EQ(machine->find(~Address{0}, 16), nullptr);
  EXPECT_FALSE(machine->failed());
  EXPECT_EQ(machine->read<std::uint64_t>(8), 0U);
  EXPECT_TRUE(machine->failed());
}

TEST(Machine, AStringWithoutEndIsAnError) {
  const auto machine = machine_of();
  const Address block = machine->map(16384, Protection::kReadWrite, "block");
  machine->write_bytes(block, std::string(16384, 'x'));
  EXPECT_EQ(machine->c_string(block), "");
  EXPECT_TRUE(machine->failed());
}

TEST(Machine, GoesBackToASnapshot) {
  const auto machine = machine_of();
  const Address block = machine->map(100, Protection::kReadWrite, "block");
  machine->write<int>(block, 1);
  const Machine::Snapshot snapshot = machine->save();
  machine->write<int>(block, 2);
  machine->write<int>(block + 4096, 3);
  const Address later = machine->map(100, Protection::kReadWrite, "later");
  machine->fail({ErrorKind::kUsage, "x", "y", ""});
  machine->restore(snapshot);
  EXPECT_FALSE(machine->failed());
  EXPECT_EQ(machine->read<int>(block), 1);
  EXPECT_EQ(machine->read<int>(block + 4096), 0);
  EXPECT_EQ(machine->find(later, 1), nullptr);
  EXPECT_EQ(machine->map(100, Protection::kReadWrite, "again"), later);
}

TEST(Heap, ReusesBlocksZeroed) {
  const auto machine = machine_of();
  Heap heap(*machine);
  const Address first = heap.allocate(100);
  machine->write<int>(first, 5);
  heap.release(first);
  EXPECT_EQ(heap.allocate(100), first);
  EXPECT_EQ(machine->read<int>(first), 0);
}

TEST(Heap, AlignsAndGrows) {
  const auto machine = machine_of();
  Heap heap(*machine);
  for (const std::uint64_t alignment : {16U, 64U, 4096U, 65536U, 2U << 20U}) {
    EXPECT_EQ(heap.allocate(40, alignment) % alignment, 0U);
    EXPECT_EQ(heap.allocate(3U << 20U, alignment) % alignment, 0U);
  }
  const Address text = heap.text("hello");
  EXPECT_EQ(machine->c_string(heap.reallocate(text, 100'000)), "hello");
  EXPECT_FALSE(machine->failed());
}

TEST(Heap, FreeingWhatIsNotABlockIsAnError) {
  const auto machine = machine_of();
  Heap heap(*machine);
  heap.release(0);
  EXPECT_FALSE(machine->failed());
  heap.release(heap.allocate(32) + 16);
  EXPECT_TRUE(machine->failed());
}

std::string formatted(std::string_view format, std::initializer_list<std::uint64_t> arguments, bool* failed = nullptr) {
  const auto machine = machine_of();
  const Address slots = machine->map(8 * arguments.size(), Protection::kReadWrite, "arguments");
  Address next = slots;
  for (const std::uint64_t argument : arguments) {
    machine->write(next, argument);
    next += 8;
  }
  const std::string text = format_c(*machine, format, slots);
  if (failed != nullptr) *failed = machine->failed();
  return text;
}

TEST(Format, Conversions) {
  std::uint64_t half = 0;
  const double value = 0.5;
  std::memcpy(&half, &value, sizeof(half));
  EXPECT_EQ(formatted("%d %i %u", {~0ULL, 7, 0xffffffffffffffffULL}), "-1 7 4294967295");
  EXPECT_EQ(formatted("%lld %zu %hhd", {~0ULL, ~0ULL, 0x1ff}), "-1 18446744073709551615 -1");
  EXPECT_EQ(formatted("[%5d|%-5d|%05d|%+d]", {42, 42, 42, 42}), "[   42|42   |00042|+42]");
  EXPECT_EQ(formatted("%8.2f|%g|%e", {half, half, half}), "    0.50|0.5|5.000000e-01");
  EXPECT_EQ(formatted("%x %X %o %c %% %p", {255, 255, 8, 'A', 16}), "ff FF 10 A % 0x10");
  EXPECT_EQ(formatted("%*d|%.*f", {4, 7, 1, half}), "   7|0.5");
  EXPECT_EQ(formatted("%s", {0}), "(null)");
}

TEST(Format, WhatItCannotDoIsAnError) {
  for (const std::string_view format : {"%n", "%9999999d", "%y", "%", "%@", "%.99999d"}) {
    bool failed = false;
    formatted(format, {1, 1}, &failed);
    EXPECT_TRUE(failed) << format;
  }
}

}  // namespace
}  // namespace capbench::emulate
