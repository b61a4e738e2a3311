// Any bytes may be given to the readers: they answer or refuse, within memory and time in proportion to the file.
#include <gtest/gtest.h>

#include <random>

#include "shim/macho/exports.h"
#include "shim/macho/fixups.h"
#include "shim/macho/image.h"
#include "shim/macho/signature.h"
#include "shim/macho/symbols.h"
#include "shim/macho/testing/fixtures.h"

namespace capbench::macho {
namespace {

// Reads everything; returns how many readers were content.
int read_all(const std::string& file) {
  int content = 0;
  const Result<std::vector<Slice>> slices = read_slices(as_bytes(file));
  if (!slices) return content;
  for (const Slice& slice : *slices) {
    ++content;
    const Result<Image> image = read_image(slice.bytes);
    if (!image) continue;
    ++content;
    for (const Segment& segment : image->segments) {
      for (const Section& section : segment.sections) {
        EXPECT_LE(section_bytes(*image, section).size(), file.size());
      }
    }
    if (read_symbols(*image)) ++content;
    if (read_exports(*image)) ++content;
    if (read_signature(*image)) ++content;
    const Result<std::vector<Fixup>> fixups = read_fixups(*image);
    if (!fixups) continue;
    ++content;
    for (const Fixup& fixup : *fixups) EXPECT_TRUE(bytes_at(*image, fixup.address, 8));
    if (read_initialisers(*image, *fixups)) ++content;
  }
  return content;
}

std::vector<std::string> all_fixtures() {
  using testing::fixture;
  return {
      fixture("library_arm64.dylib"),
      fixture("library_arm64_opcodes.dylib"),
      testing::fat_file({fixture("library_x86_64.dylib"), fixture("program_x86_64")}),
      testing::signed_again(fixture("program_arm64"),
                            {0x10002, "id", "TEAM", testing::entitlements_xml({"a"}), true, 0}),
      testing::chained_dylib({0x80000002, 12, 3, {std::uint64_t{1} << 62U}, {"_zero"}, {0}}),
  };
}

TEST(Hostile, WholeFixturesAreRead) {
  for (const std::string& file : all_fixtures()) EXPECT_GE(read_all(file), 7);
}

TEST(Hostile, CutOffAnywhere) {
  for (const std::string& file : all_fixtures()) {
    const int whole = read_all(file);
    for (std::size_t size = 0; size < file.size(); ++size) EXPECT_LE(read_all(file.substr(0, size)), whole) << size;
  }
}

TEST(Hostile, EveryByteOfTheHeadersChanged) {
  for (const std::string& file : all_fixtures()) {
    std::string changed = file;
    for (std::size_t at = 0; at < std::min<std::size_t>(file.size(), 2048); ++at) {
      for (const char value : {'\0', '\x01', '\x7f', '\xff'}) {
        changed[at] = value;
        read_all(changed);
      }
      changed[at] = file[at];
    }
  }
}

TEST(Hostile, RandomDamage) {
  std::mt19937 random(20260101);
  for (const std::string& file : all_fixtures()) {
    // Most bytes of a file are padding and code: damage what is neither.
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < file.size(); ++i) {
      if (file[i] != '\0' || random() % 64 == 0) places.push_back(i);
    }
    for (int round = 0; round < 3000; ++round) {
      std::string changed = file;
      for (std::uint32_t hits = 1 + random() % 8; hits > 0; --hits) {
        changed[places[random() % places.size()]] = static_cast<char>(random() & 0xffU);
      }
      read_all(changed);
    }
  }
}

}  // namespace
}  // namespace capbench::macho
