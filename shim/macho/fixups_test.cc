#include "shim/macho/fixups.h"

#include <gtest/gtest.h>

#include <map>

#include "shim/macho/exports.h"
#include "shim/macho/testing/fixtures.h"

namespace capbench::macho {
namespace {

using testing::ChainedParts;
using testing::fixture;

std::string told(const Fixup& fixup) {
  if (fixup.kind == FixupKind::kRebase) return "rebase";
  std::string text = std::string(fixup.symbol) + "@" + std::to_string(fixup.library);
  if (fixup.addend != 0) text += (fixup.addend > 0 ? "+" : "") + std::to_string(fixup.addend);
  if (fixup.weak_import) text += "?";
  if (fixup.lazy) text += " lazy";
  if (fixup.kind == FixupKind::kCoalesce) text += " coalesce";
  return text;
}

// What is written to each exported variable of a library, in order.
std::map<std::string, std::string> told_by_export(const Image& image, const std::vector<Fixup>& fixups) {
  std::map<std::string, std::string> all;
  const Result<std::vector<Export>> exports = read_exports(image);
  EXPECT_TRUE(exports);
  for (const Export& entry : *exports) {
    for (const Fixup& fixup : fixups) {
      if (fixup.address != entry.address) continue;
      std::string& text = all[entry.name];
      text += (text.empty() ? "" : ", ") + told(fixup);
    }
  }
  return all;
}

TEST(Fixups, OfChains) {
  for (const char* name : {"library_arm64.dylib", "library_x86_64.dylib"}) {
    const std::string file = fixture(name);
    const Result<Image> image = read_image(as_bytes(file));
    ASSERT_TRUE(image) << to_string(image.error());
    const Result<std::vector<Fixup>> fixups = read_fixups(*image);
    ASSERT_TRUE(fixups) << to_string(fixups.error());
    EXPECT_EQ(told_by_export(*image, *fixups), (std::map<std::string, std::string>{
                                                   {"_inside_malloc", "_malloc@1+8"},
                                                   {"_maybe", "_added_later@-3?"},
                                                   {"_per_thread", "__tlv_bootstrap@1"},
                                                   {"_release", "_free@1"},
                                                   {"_shared_address", "_shared_definition@-3"},
                                                   {"_third_value", "rebase"},
                                               }))
        << name;
  }
}

TEST(Fixups, OfOpcodes) {
  const std::string file = fixture("library_arm64_opcodes.dylib");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_FALSE(image->chained_fixups.present);
  const Result<std::vector<Fixup>> fixups = read_fixups(*image);
  ASSERT_TRUE(fixups) << to_string(fixups.error());
  EXPECT_EQ(told_by_export(*image, *fixups), (std::map<std::string, std::string>{
                                                 {"_inside_malloc", "_malloc@1+8"},
                                                 {"_maybe", "_added_later@1?, _added_later@-3 coalesce"},
                                                 {"_per_thread", "__tlv_bootstrap@1"},
                                                 {"_release", "_free@1"},
                                                 {"_shared_address", "rebase, _shared_definition@-3 coalesce"},
                                                 {"_third_value", "rebase"},
                                             }));
  bool lazy = false;
  for (const Fixup& fixup : *fixups) lazy = lazy || told(fixup) == "_getenv@1 lazy";
  EXPECT_TRUE(lazy);
}

TEST(Fixups, RebasesPointIntoTheImage) {
  for (const char* name : {"library_arm64.dylib", "library_arm64_opcodes.dylib", "program_arm64"}) {
    const std::string file = fixture(name);
    const Result<Image> image = read_image(as_bytes(file));
    ASSERT_TRUE(image) << to_string(image.error());
    const Result<std::vector<Fixup>> fixups = read_fixups(*image);
    ASSERT_TRUE(fixups) << to_string(fixups.error());
    std::size_t rebases = 0;
    for (const Fixup& fixup : *fixups) {
      ASSERT_TRUE(bytes_at(*image, fixup.address, 8));
      if (fixup.kind != FixupKind::kRebase) continue;
      ++rebases;
      EXPECT_TRUE(bytes_from(*image, fixup.target)) << name << " 0x" << std::hex << fixup.target;
    }
    EXPECT_GE(rebases, 2U);
  }
}

// The number at the address that the library's variable `third_value` holds is 3, and the interposing pair is ours
// over getenv.
TEST(Fixups, TargetsAreWhatTheSourceSays) {
  for (const char* name : {"library_arm64.dylib", "library_arm64_opcodes.dylib", "library_x86_64.dylib"}) {
    const std::string file = fixture(name);
    const Result<Image> image = read_image(as_bytes(file));
    ASSERT_TRUE(image) << to_string(image.error());
    const Result<std::vector<Fixup>> fixups = read_fixups(*image);
    const Result<std::vector<Export>> exports = read_exports(*image);
    ASSERT_TRUE(fixups && exports);
    const Section* interpose = image->find_section("__DATA", "__interpose");
    ASSERT_NE(interpose, nullptr);
    EXPECT_EQ(interpose->type() == kSectionInterposing || interpose->type() == 0, true);
    int seen = 0;
    for (const Fixup& fixup : *fixups) {
      if (fixup.address == find_export(*exports, "_third_value")->address) {
        const std::optional<Bytes> value = bytes_at(*image, fixup.target, 4);
        ASSERT_TRUE(value);
        EXPECT_EQ(little<std::uint32_t>(*value, 0), 3U);
        ++seen;
      } else if (fixup.address == interpose->address) {
        const Section* text = image->find_section("__TEXT", "__text");
        EXPECT_TRUE(fixup.target >= text->address && fixup.target < text->address + text->size);
        ++seen;
      } else if (fixup.address == interpose->address + 8) {
        EXPECT_EQ(told(fixup), "_getenv@1");
        ++seen;
      }
    }
    EXPECT_EQ(seen, 3) << name;
  }
}

TEST(Initialisers, OfOffsetsAndOfPointers) {
  for (const char* name : {"library_arm64.dylib", "library_arm64_opcodes.dylib"}) {
    const std::string file = fixture(name);
    const Result<Image> image = read_image(as_bytes(file));
    ASSERT_TRUE(image) << to_string(image.error());
    const Result<std::vector<Fixup>> fixups = read_fixups(*image);
    ASSERT_TRUE(fixups) << to_string(fixups.error());
    const Result<std::vector<std::uint64_t>> functions = read_initialisers(*image, *fixups);
    ASSERT_TRUE(functions) << to_string(functions.error());
    ASSERT_EQ(functions->size(), 1U) << name;
    const Section* text = image->find_section("__TEXT", "__text");
    ASSERT_NE(text, nullptr);
    EXPECT_TRUE(functions->front() >= text->address && functions->front() < text->address + text->size);
  }
}

// The fix-ups of a file made by hand, whose base is 0x4000. They view the file.
std::vector<Fixup> decoded(const std::string& file) {
  const Result<Image> image = read_image(as_bytes(file));
  EXPECT_TRUE(image) << to_string(image.error());
  Result<std::vector<Fixup>> fixups = read_fixups(*image);
  EXPECT_TRUE(fixups) << to_string(fixups.error());
  return fixups.ok() ? *fixups : std::vector<Fixup>{};
}

constexpr std::uint64_t bit(unsigned index) {
  return std::uint64_t{1} << index;
}

TEST(Chains, PlainPointersWithAddressesAndWithOffsets) {
  for (const std::uint16_t format : {std::uint16_t{2}, std::uint16_t{6}}) {
    const std::uint64_t target = format == 2 ? 0x8123 : 0x4123;
    const std::string file = testing::chained_dylib(
        {0,
         format,
         1,
         {target | std::uint64_t{0xab} << 36U | std::uint64_t{2} << 51U, bit(63) | std::uint64_t{200} << 24U | 1U},
         {"_zero", "_one"},
         {}});
    const std::vector<Fixup> fixups = decoded(file);
    ASSERT_EQ(fixups.size(), 2U);
    EXPECT_EQ(fixups[0].address, 0x8000U);
    EXPECT_EQ(fixups[0].target, 0x8123U | std::uint64_t{0xab} << 56U);
    EXPECT_EQ(fixups[1].address, 0x8008U);
    EXPECT_EQ(fixups[1].symbol, "_one");
    EXPECT_EQ(fixups[1].addend, 200);
    EXPECT_EQ(fixups[1].library, 1);
  }
}

TEST(Chains, AuthenticatedPointers) {
  const std::uint64_t next = bit(51);
  for (const std::uint16_t format : {std::uint16_t{1}, std::uint16_t{9}, std::uint16_t{12}}) {
    const std::uint64_t target = format == 1 ? 0x8010 : 0x4010;
    const std::string file = testing::chained_dylib(
        {0x80000002,
         format,
         1,
         {target | next,                                                                              // rebase
          bit(63) | next | std::uint64_t{2} << 49U | bit(48) | std::uint64_t{0xbeef} << 32U | 0x20U,  // signed rebase
          bit(62) | next | std::uint64_t{0x7fff8} << 32U | 1U,                                        // bind, addend -8
          bit(63) | bit(62) | std::uint64_t{0x1234} << 32U},                                          // signed bind
         {"_zero", "_one"},
         {}});
    const std::vector<Fixup> fixups = decoded(file);
    ASSERT_EQ(fixups.size(), 4U);
    EXPECT_EQ(fixups[0].target, 0x8010U);
    EXPECT_FALSE(fixups[0].auth.has_value());
    EXPECT_EQ(fixups[1].target, 0x4020U);
    ASSERT_TRUE(fixups[1].auth.has_value());
    EXPECT_EQ(fixups[1].auth->key, 2);
    EXPECT_TRUE(fixups[1].auth->address_diversity);
    EXPECT_EQ(fixups[1].auth->diversity, 0xbeef);
    EXPECT_EQ(fixups[2].symbol, "_one");
    EXPECT_EQ(fixups[2].addend, -8);
    EXPECT_EQ(fixups[3].symbol, "_zero");
    ASSERT_TRUE(fixups[3].auth.has_value());
    EXPECT_EQ(fixups[3].auth->diversity, 0x1234);
    EXPECT_EQ(fixups[3].address, 0x8018U);
  }
}

TEST(Chains, EveryFormatOfImports) {
  for (const std::uint32_t format : {1U, 2U, 3U}) {
    const std::string file = testing::chained_dylib({0, 6, format, {bit(63) | 1U}, {"_zero", "_one"}, {0, -24}});
    const std::vector<Fixup> fixups = decoded(file);
    ASSERT_EQ(fixups.size(), 1U);
    EXPECT_EQ(fixups[0].symbol, "_one");
    EXPECT_EQ(fixups[0].library, 1);
    EXPECT_EQ(fixups[0].addend, format == 1 ? 0 : -24);
  }
}

std::string fixups_error(const std::string& file) {
  const Result<Image> image = read_image(as_bytes(file));
  EXPECT_TRUE(image) << to_string(image.error());
  const Result<std::vector<Fixup>> fixups = read_fixups(*image);
  return fixups.ok() ? "no error" : fixups.error().cause;
}

TEST(Chains, BrokenOnesAreErrors) {
  EXPECT_EQ(fixups_error(testing::chained_dylib({0, 6, 1, {bit(63) | 7U}, {"_zero"}, {}})),
            "a bind names import 7 of 1");
  EXPECT_EQ(fixups_error(testing::chained_dylib({0, 6, 9, {0}, {}, {}})), "have imports of format 9; 1 to 3 are known");
  EXPECT_EQ(fixups_error(testing::chained_dylib({0, 7, 1, {0}, {}, {}})),
            "segment __DATA has pointers of format 7, of kernels and 32-bit programs");
  // 0xfff strides of 4 bytes lead to the last word but one of the page, and once more out of it.
  ChainedParts leaving = {0, 6, 1, {std::uint64_t{0xfff} << 51U}, {}, {}};
  leaving.pointers.resize(0x4000 / 8);
  leaving.pointers[0x3ff8 / 8] = std::uint64_t{0xfff} << (51U - 32U);
  EXPECT_EQ(fixups_error(testing::chained_dylib(leaving)), "a chain leaves segment __DATA");
}

TEST(Opcodes, RebaseAdvancesAsTheLoaderDoes) {
  // Segment 1 offset 0: one; skip 8: then two with 8 bytes between.
  const std::string file = testing::opcode_dylib({std::string("\x11\x21\0\x51\x41\x80\2\x08\0", 9), "", "", "", ""});
  const std::vector<Fixup> fixups = decoded(file);
  ASSERT_EQ(fixups.size(), 3U);
  EXPECT_EQ(fixups[0].address, 0x8000U);
  EXPECT_EQ(fixups[0].target, 0x8010U);
  EXPECT_EQ(fixups[1].address, 0x8010U);
  EXPECT_EQ(fixups[2].address, 0x8020U);
}

TEST(Opcodes, BindKeepsItsRegisters) {
  // Library 1, "_f" (weak import), pointer, segment 1 offset 16, addend -8: bind, then skipping, then scaled.
  const std::string bind = std::string("\x11\x41_f\0\x51\x71\x10\x60\x78\x90\xa0\x08\xb1\x3f\x90\0", 17);
  const std::string file = testing::opcode_dylib({"", bind, "", "", ""});
  const std::vector<Fixup> fixups = decoded(file);
  ASSERT_EQ(fixups.size(), 4U);
  EXPECT_EQ(told(fixups[0]), "_f@1-8?");
  EXPECT_EQ(fixups[0].address, 0x8010U);
  EXPECT_EQ(fixups[1].address, 0x8018U);
  EXPECT_EQ(fixups[2].address, 0x8028U);
  EXPECT_EQ(fixups[3].address, 0x8038U);
  EXPECT_EQ(told(fixups[3]), "_f@-1-8?");
}

TEST(Opcodes, BrokenOnesAreErrors) {
  const auto rebase = [](const std::string& program) {
    return fixups_error(testing::opcode_dylib({program, "", "", "", ""}));
  };
  const auto bind = [](const std::string& program) {
    return fixups_error(testing::opcode_dylib({"", program, "", "", ""}));
  };
  EXPECT_EQ(rebase("\x51"), "name no segment");
  EXPECT_EQ(rebase(std::string("\x29\0", 2)), "name segment 9");
  EXPECT_EQ(rebase("\x12"), "have a fix-up of type 2, of 32-bit programs");
  EXPECT_EQ(rebase("\x21\xf9\x7f\x51"), "leave segment __DATA at offset 0x3ff9");
  EXPECT_EQ(rebase("\x21\xff"), "are cut off");
  EXPECT_EQ(rebase("\xf1"), "hold 0xf1, which nobody knows");
  // Stays in place (8 + 2^64 - 8), again and again.
  EXPECT_EQ(rebase(std::string("\x21\0\x80\xff\xff\xff\xff\x0f\xf8\xff\xff\xff\xff\xff\xff\xff\xff\1", 18)),
            "write to the same places again and again");
  EXPECT_EQ(bind(std::string("\x15\x40_f\0\x71\0\x90", 8)), "_f is bound to library 5 of 1");
  EXPECT_EQ(bind("\x20\x7f"), "name library 127");
  EXPECT_EQ(bind("\x40_f"), "are cut off");
  EXPECT_EQ(bind(std::string("\xd0\1", 2)), "are threaded, an early form of chained fix-ups for arm64e");
}

}  // namespace
}  // namespace capbench::macho
