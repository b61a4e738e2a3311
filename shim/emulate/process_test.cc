#include "shim/emulate/process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "shim/emulate/testing/fixtures.h"

namespace capbench::emulate {
namespace {

std::uint64_t value_of(const Result<std::uint64_t>& result) {
  EXPECT_TRUE(result.ok()) << to_string(result.error());
  return result.ok() ? *result : 0;
}

std::string error_of(Process& process, std::string_view function, std::initializer_list<Argument> arguments = {}) {
  const auto result = process.call(function, arguments);
  return result.ok() ? "no error" : to_string(result.error());
}

class Guest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Process> process(ProcessOptions options = {}) {
    return start({fixture(GetParam())}, std::move(options));
  }
};

INSTANTIATE_TEST_SUITE_P(BothKindsOfFixups, Guest, testing::Values("guest.dylib", "guest_opcodes.dylib"),
                         [](const auto& instance) { return instance.param == "guest.dylib" ? "Chained" : "Opcodes"; });

TEST_P(Guest, RunsInitialisers) {
  EXPECT_EQ(value_of(process()->call("_was_started", {})), 7U);
}

TEST_P(Guest, PassesArgumentsAsAppleDoes) {
  const auto guest = process();
  EXPECT_EQ(value_of(guest->call(
                "_sum", {word(1), word(2), word(3), word(4), word(5), word(6), word(7), word(8), word32(9), word(10)})),
            385U);
  EXPECT_EQ(value_of(guest->call("_sum_through_host", {})), 110U);
  value_of(guest->call("_scale", {Argument(1.5), Argument(4.0F)}));
  EXPECT_EQ(guest->machine().result64(), 6.0);
  value_of(guest->call("_half", {Argument(5.0F)}));
  EXPECT_EQ(guest->machine().result32(), 2.5F);
}

TEST_P(Guest, UsesTheCLibrary) {
  const auto guest = process({{{"COLOUR", "blue"}}, "test", 0, {}});
  EXPECT_EQ(guest->machine().c_string(value_of(guest->call("_format_all", {}))), "-3| 2.50|ab  |9|-1|ff|z");
  EXPECT_EQ(value_of(guest->call("_print", {word32(12)})), 10U);
  EXPECT_EQ(guest->out, "number 12\n");
  EXPECT_EQ(value_of(guest->call("_grow", {})), 9U);
  EXPECT_EQ(value_of(guest->call("_count", {word(1000)})), 1000U);
  const Address name = guest->heap().text("COLOUR");
  const Address first = value_of(guest->call("_setting", {word(name)}));
  EXPECT_EQ(guest->machine().c_string(first), "blue");
  EXPECT_EQ(value_of(guest->call("_setting", {word(name)})), first);
  EXPECT_EQ(value_of(guest->call("_setting", {word(guest->heap().text("OTHER"))})), 0U);
}

TEST_P(Guest, IsCalledBack) {
  const auto guest = process();
  for (const std::int32_t i : {0, 1, 2, 3, 4}) {
    EXPECT_EQ(value_of(guest->call("_sorted", {word32(i)})), static_cast<std::uint64_t>(2 * i + 1));
  }
  EXPECT_EQ(value_of(guest->call("_call_back", {word(5)})), 50U);
}

TEST_P(Guest, MayLackWhatItOnlyWouldLikeToHave) {
  EXPECT_EQ(value_of(process()->call("_has_optional", {})), 0U);
}

TEST_P(Guest, AMissingImportEndsTheRunThatUsesIt) {
  EXPECT_NE(error_of(*process(), "_call_missing").find("it needs _function_that_nobody_has"), std::string::npos);
  EXPECT_NE(error_of(*process(), "_read_missing").find("it needs _variable_that_nobody_has"), std::string::npos);
  EXPECT_NE(error_of(*process(), "_no_such_export").find("it has no function _no_such_export"), std::string::npos);
}

TEST_P(Guest, WhateverItDoesTheHostStays) {
  ProcessOptions options;
  options.limits.instructions = 50'000'000;
  options.limits.memory = 64U << 20U;
  for (const auto& [function, words] : {std::pair{"_loop_forever", "still running"},
                                        {"_recurse_forever", "writes to"},
                                        {"_read_null", "reads"},
                                        {"_write_code", "writes to"},
                                        {"_jump_nowhere", "jumps to"},
                                        {"_trap", "processor exception"},
                                        {"_double_free", "did not allocate"},
                                        {"_hoard", "asks for"},
                                        {"_give_up", "it aborted"},
                                        {"_nest_forever", "nested"}}) {
    const std::string error = error_of(*process(options), function, {word(0)});
    EXPECT_NE(error.find(words), std::string::npos) << function << ": " << error;
  }
}

TEST(Interposing, ReplacesEverywhereButInTheInterposer) {
  const auto guest =
      start({fixture("guest.dylib"), fixture("interposer.dylib", true)}, {{{"COLOUR", "red"}}, "test", 0, {}});
  const Address name = guest->heap().text("COLOUR");
  EXPECT_EQ(guest->machine().c_string(value_of(guest->call("_setting", {word(name)}))), "<red>");
  EXPECT_EQ(guest->machine().c_string(value_of(guest->call("_original_setting", {word(name)}))), "red");
  EXPECT_NE(guest->lookup("_getenv"), *guest->system_symbol("_getenv"));
}

TEST(Interposing, OnlyInsertedLibrariesDo) {
  const auto guest = start({fixture("guest.dylib"), fixture("interposer.dylib")}, {{{"COLOUR", "red"}}, "test", 0, {}});
  const Address name = guest->heap().text("COLOUR");
  EXPECT_EQ(guest->machine().c_string(value_of(guest->call("_setting", {word(name)}))), "red");
}

TEST(Dispatch, RunsWhatIsWaitedForAndNoEndlessLoop) {
  const auto guest = start({fixture("blocks.dylib")});
  // The loop is entered once it has been told to stop, so it makes no round.
  EXPECT_EQ(value_of(guest->call("_background_loop", {})), 1000U);
  EXPECT_EQ(value_of(guest->call("_applied", {word32(10)})), 45U);
  EXPECT_EQ(value_of(guest->call("_shared_variable", {})), 42U);
  EXPECT_EQ(value_of(guest->call("_once", {})), 1U);
  EXPECT_EQ(value_of(guest->call("_signalled", {})), 1U);  // the second wait runs into its time limit
  EXPECT_NE(error_of(*guest, "_deadlock").find("nothing will signal"), std::string::npos);
}

TEST(Objects, Messages) {
  const auto guest = start({fixture("objects.dylib")});
  EXPECT_EQ(guest->machine().c_string(value_of(guest->call("_formatted", {word32(42)}))), "answer is 42");
  EXPECT_EQ(value_of(guest->call("_length_of", {word(guest->heap().text("four"))})), 4U);
  EXPECT_EQ(value_of(guest->call("_summed", {word32(100)})), 5050U);
  EXPECT_EQ(value_of(guest->call("_looked_up", {})), 2U);
  EXPECT_EQ(value_of(guest->call("_message_to_nothing", {})), 0U);
}

TEST(Objects, WhatNobodyAnswersIsNamed) {
  const auto guest = start({fixture("objects.dylib")});
  EXPECT_NE(error_of(*guest, "_unheard_of").find("-[__NSCFConstantString unheardOf]"), std::string::npos);
  const auto other = start({fixture("objects.dylib")});
  EXPECT_NE(error_of(*other, "_beyond_the_end").find("element 3 of an array of 0"), std::string::npos);
}

TEST(Objects, MethodTablesCanBeChanged) {
  const auto guest = make_process();
  ObjcRuntime& objc = guest->objc();
  objc.define_class("Parent", "NSObject");
  const Address child = objc.define_class("Child", "Parent");
  objc.method("Parent", "answer", [](Call& call) { call.result(1); });
  const Address object = objc.create("Child");
  EXPECT_EQ(objc.send(object, "answer"), 1U);
  const Address two = guest->machine().add_stub("two", [](Call& call) { call.result(2); });
  EXPECT_EQ(objc.set_method(child, objc.selector("answer"), two, "@16@0:8"), 0U);
  EXPECT_EQ(objc.send(object, "answer"), 2U);
  // The parent is as it was.
  EXPECT_EQ(objc.send(objc.create("Parent"), "answer"), 1U);
}

TEST(Process, EveryHarmlessFunctionHasAReason) {
  const auto guest = make_process();
  EXPECT_GE(guest->harmless().size(), 10U);
  for (const auto& [name, reason] : guest->harmless()) {
    EXPECT_GE(reason.size(), 10U) << name;
    EXPECT_TRUE(guest->system_symbol(name).has_value()) << name;
  }
  // What ends a program, or gives a value, is not among them.
  for (const char* const name : {"_abort", "_getenv", "_malloc", "___cxa_throw", "_dispatch_group_wait"}) {
    EXPECT_FALSE(guest->harmless().contains(name)) << name;
  }
}

TEST(Process, SnapshotsHoldEverything) {
  const auto guest = start({fixture("guest.dylib")}, {{{"COLOUR", "red"}}, "test", 0, {}});
  const Process::Snapshot snapshot = guest->save();
  const auto session = [&] {
    const Address block = guest->heap().allocate(100);
    value_of(guest->call("_print", {word32(1)}));
    const Address text = guest->objc().string("text");
    const Address colour = value_of(guest->call("_setting", {word(guest->heap().text("COLOUR"))}));
    return std::vector<Address>{block, text, colour};
  };
  const std::vector<Address> first = session();
  guest->restore(snapshot);
  EXPECT_EQ(guest->out, "");
  EXPECT_EQ(session(), first);
  EXPECT_EQ(guest->out, "number 1\n");
}

// Whatever the bytes are: an error or a process, and in bounded time.
void load_and_call(const std::string& bytes) {
  ProcessOptions options;
  options.limits.instructions = 100'000;
  options.limits.memory = 64U << 20U;
  const auto guest = make_process(options);
  if (guest->load({Library{"damaged.dylib", bytes, false}}).ok()) (void)guest->call("_sorted", {word32(2)});
}

TEST(Damaged, CutAnywhere) {
  const std::string whole = fixture("guest.dylib").bytes;
  for (std::size_t size = 0; size < whole.size(); size += size < 2048 ? 7 : 499) load_and_call(whole.substr(0, size));
}

TEST(Damaged, BitsFlipped) {
  for (const char* const name : {"guest.dylib", "guest_opcodes.dylib"}) {
    const std::string whole = fixture(name).bytes;
    std::mt19937 draw(7);
    for (int i = 0; i < 250; ++i) {
      std::string bytes = whole;
      for (int flips = 0; flips < 3; ++flips) {
        const std::size_t at = i % 2 == 0 ? draw() % 3000 : draw() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw() % 8));
      }
      load_and_call(bytes);
    }
  }
}

// Big-endian, as fat files are.
std::string fat_word(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 0xffU));
  return bytes;
}

std::string fat_file(std::uint32_t cputype, const std::string& slice) {
  constexpr std::uint32_t kOffset = 16384;
  std::string bytes = fat_word(0xcafebabe) + fat_word(1) + fat_word(cputype) + fat_word(0) + fat_word(kOffset) +
                      fat_word(static_cast<std::uint32_t>(slice.size())) + fat_word(14);
  bytes.resize(kOffset);
  return bytes + slice;
}

TEST(Process, TakesTheArm64PartOfAFatFile) {
  const std::string thin = fixture("guest.dylib").bytes;
  const auto guest = start({Library{"fat.dylib", fat_file(0x0100000c, thin), false}});
  EXPECT_EQ(value_of(guest->call("_was_started", {})), 7U);
  const auto other = make_process();
  const Status refused = other->load({Library{"fat.dylib", fat_file(0x01000007, thin), false}});
  ASSERT_FALSE(refused.ok());
}

TEST(Damaged, NotALibrary) {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), std::string(4096, '\xff')}) {
    const auto guest = make_process();
    EXPECT_FALSE(guest->load({Library{"other", bytes, false}}).ok());
  }
}

}  // namespace
}  // namespace capbench::emulate
