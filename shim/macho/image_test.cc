#include "shim/macho/image.h"

#include <gtest/gtest.h>

#include "shim/macho/symbols.h"
#include "shim/macho/testing/fixtures.h"

namespace capbench::macho {
namespace {

using testing::fat_file;
using testing::fixture;
using testing::little_bytes;

TEST(Slices, AThinFileIsItsOwnSlice) {
  const std::string file = fixture("library_arm64.dylib");
  const Result<std::vector<Slice>> slices = read_slices(as_bytes(file));
  ASSERT_TRUE(slices) << to_string(slices.error());
  ASSERT_EQ(slices->size(), 1U);
  EXPECT_EQ(architecture_name(slices->front().architecture), "arm64");
  EXPECT_EQ(slices->front().bytes.size(), file.size());
}

TEST(Slices, FatFilesOfBothWidths) {
  const std::string arm = fixture("library_arm64.dylib");
  const std::string arme = testing::with_subtype(arm, 0x81000002);
  const std::string intel = fixture("library_x86_64.dylib");
  for (const bool wide : {false, true}) {
    const std::string file = fat_file({intel, arm, arme}, wide);
    const Result<std::vector<Slice>> slices = read_slices(as_bytes(file));
    ASSERT_TRUE(slices) << to_string(slices.error());
    ASSERT_EQ(slices->size(), 3U);
    EXPECT_EQ(architecture_name((*slices)[0].architecture), "x86_64");
    EXPECT_EQ(architecture_name((*slices)[1].architecture), "arm64");
    EXPECT_EQ((*slices)[1].bytes.size(), arm.size());
    const Architecture& last = (*slices)[2].architecture;
    EXPECT_EQ(architecture_name(last), "arm64e");
    EXPECT_TRUE(last.arm64e());
    EXPECT_EQ(last.ptrauth_version(), 1U);
    EXPECT_FALSE(last.ptrauth_kernel());
    for (const Slice& slice : *slices) EXPECT_TRUE(read_image(slice.bytes)) << architecture_name(slice.architecture);
  }
}

TEST(Slices, SaysWhatIsWrong) {
  const std::string arm = fixture("library_arm64.dylib");
  const auto cause = [](const std::string& file) {
    const Result<std::vector<Slice>> slices = read_slices(as_bytes(file));
    return slices.ok() ? std::string("no error") : slices.error().cause;
  };
  EXPECT_EQ(cause(""), "has only 0 bytes");
  EXPECT_EQ(cause("#!/bin/sh\n"), "does not start as one");
  EXPECT_EQ(cause(testing::big_bytes(0xcafebabeU) + testing::big_bytes(61U)),
            "lists 61 images, as a Java class file does");
  EXPECT_EQ(cause(testing::big_bytes(0xcafebabeU) + testing::big_bytes(0U)), "lists no image");
  EXPECT_EQ(cause(testing::big_bytes(0xcafebabeU) + testing::big_bytes(2U)), "its table ends beyond the file");
  const std::string fat = fat_file({arm});
  EXPECT_EQ(cause(fat.substr(0, fat.size() - 1)), "its " + std::to_string(arm.size()) +
                                                      " bytes from 16384 are not within the file's " +
                                                      std::to_string(fat.size() - 1));
  std::string other = fat;
  other.replace(8, 4, testing::big_bytes(kCpuX86_64));
  EXPECT_EQ(cause(other), "the table says cpu 16777223/0 and the image arm64");
  other = fat;
  other.replace(0x4000, 7, "!<arch>");
  EXPECT_EQ(cause(other), "is no Mach-O image (an archive of objects, perhaps)");
}

TEST(Image, LoadCommands) {
  const std::string file = fixture("library_arm64.dylib");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_EQ(file_type_name(image->file_type), "dylib");
  EXPECT_EQ(image->install_name, "@rpath/libfixture.dylib");
  ASSERT_EQ(image->libraries.size(), 2U);
  EXPECT_EQ(image->libraries[0].path, "/usr/lib/libSystem.B.dylib");
  EXPECT_EQ(image->libraries[0].kind, LinkKind::kRegular);
  EXPECT_EQ(packed_version(image->libraries[0].current_version), "1336.0");
  EXPECT_EQ(image->rpaths, (std::vector<std::string_view>{"@loader_path"}));
  ASSERT_EQ(image->builds.size(), 1U);
  EXPECT_EQ(platform_name(image->builds[0].platform), "macOS");
  EXPECT_EQ(packed_version(image->builds[0].minos), "13.0");
  EXPECT_EQ(packed_version(image->builds[0].sdk), "13.3");
  EXPECT_TRUE(image->uuid.has_value());
  EXPECT_FALSE(image->entry.has_value());
  EXPECT_FALSE(image->restricted);
  EXPECT_TRUE(image->chained_fixups.present);
  EXPECT_TRUE(image->code_signature.present);
}

TEST(Image, SegmentsSectionsAndAddresses) {
  const std::string file = fixture("library_arm64.dylib");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const Segment* data = image->find_segment("__DATA");
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->init_prot, kProtRead | kProtWrite);
  EXPECT_EQ(data->bytes.size(), data->file_size);
  const Section* interpose = image->find_section("__DATA", "__interpose");
  ASSERT_NE(interpose, nullptr);
  EXPECT_EQ(interpose->size, 16U);
  EXPECT_EQ(section_bytes(*image, *interpose).size(), 16U);
  const Section* zeros = image->find_section("", "__thread_bss");
  ASSERT_NE(zeros, nullptr);
  EXPECT_TRUE(zeros->zero_fill());
  EXPECT_TRUE(section_bytes(*image, *zeros).empty());
  EXPECT_EQ(image->find_section("__TEXT", "__interpose"), nullptr);
  ASSERT_TRUE(bytes_at(*image, interpose->address, 16));
  EXPECT_FALSE(bytes_at(*image, data->address + data->file_size - 4, 8));
  EXPECT_FALSE(bytes_at(*image, UINT64_MAX, 1));
}

TEST(Image, ProgramsHaveAnEntry) {
  const std::string file = fixture("program_arm64");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_EQ(file_type_name(image->file_type), "executable");
  EXPECT_EQ(image->base, 0x100000000U);
  ASSERT_TRUE(image->entry.has_value());
  const Section* text = image->find_section("__TEXT", "__text");
  ASSERT_NE(text, nullptr);
  EXPECT_GE(*image->entry, text->address);
  EXPECT_LT(*image->entry, text->address + text->size);
}

TEST(Image, RestrictedSegmentIsSeen) {
  const std::string file = testing::with_renamed_section(fixture("library_arm64.dylib"), "__DATA", "__interpose",
                                                         "__RESTRICT", "__restrict");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_TRUE(image->restricted);
}

TEST(Image, Refuses32BitImages) {
  std::string file = fixture("library_arm64.dylib");
  file.replace(0, 4, little_bytes(std::uint32_t{0xfeedface}));
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().cause, "is not 64-bit and little-endian");
}

TEST(Image, CountsAreNotBelieved) {
  const std::string file = fixture("library_arm64.dylib");
  std::string many = file;
  many.replace(16, 4, little_bytes(std::uint32_t{0xffffffff}));
  const Result<Image> image = read_image(as_bytes(many));
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().cause.find("says 4294967295 load commands"), std::string::npos) << image.error().cause;
  many = file;
  many.replace(32 + 64, 4, little_bytes(std::uint32_t{0x40000000}));  // sections of the first segment
  EXPECT_FALSE(read_image(as_bytes(many)));
}

TEST(Symbols, DefinedAndUndefined) {
  const std::string file = fixture("library_arm64.dylib");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const Result<std::vector<Symbol>> symbols = read_symbols(*image);
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  const auto find = [&](std::string_view name) {
    for (const Symbol& symbol : *symbols) {
      if (symbol.name == name && !symbol.debugging()) return symbol;
    }
    return Symbol{};
  };
  EXPECT_TRUE(find("_answer").defined());
  EXPECT_TRUE(find("_answer").external());
  EXPECT_TRUE(find("_shared_definition").weak_definition());
  EXPECT_TRUE(find("_malloc").undefined());
  EXPECT_FALSE(find("_malloc").defined());
  EXPECT_TRUE(find("_added_later").weak_reference());
  EXPECT_FALSE(find("_start").external());
}

}  // namespace
}  // namespace capbench::macho
