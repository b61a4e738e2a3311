// The cross-built files as a loader sees them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "shim/common/toggles.h"
#include "shim/macho/exports.h"
#include "shim/macho/fixups.h"
#include "shim/macho/image.h"
#include "shim/macho/signature.h"
#include "shim/metal/testing/run_host.h"

namespace capbench::shim::metal {
namespace {

constexpr const char* kDylib = "shim/metal/libcapshim_metal.dylib";
constexpr const char* kProbe = "shim/metal/probe/metal-capabilities";

const std::string kSystem = "/usr/lib/libSystem.B.dylib";
const std::string kObjc = "/usr/lib/libobjc.A.dylib";
const std::string kMetal = "/System/Library/Frameworks/Metal.framework/Versions/A/Metal";

// What a process must lend the shim or the probe, by library. A longer list is a decision, not an accident.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {kSystem,
     {"___error", "_bzero", "_getenv", "_getpid", "_memcmp", "_memcpy", "_memset", "_poll", "_pthread_mutex_lock",
      "_pthread_mutex_unlock", "_pthread_sigmask", "_sigpending", "_sigwait", "_strlen", "_strnlen", "_write"}},
    {kObjc,
     {"_class_addMethod", "_class_getInstanceMethod", "_class_getName", "_method_getImplementation",
      "_method_getTypeEncoding", "_method_setImplementation", "_objc_msgSend", "_object_getClass",
      "_sel_registerName"}},
    {kMetal, {"_MTLCopyAllDevices", "_MTLCreateSystemDefaultDevice"}},
};

class Structure : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto file = read_file(GetParam());
    ASSERT_TRUE(file.ok());
    file_ = std::move(file).value();
    auto slices = macho::read_slices(macho::as_bytes(file_));
    ASSERT_TRUE(slices.ok());
    ASSERT_EQ(slices->size(), 1U);
    auto image = macho::read_image(slices->front().bytes);
    ASSERT_TRUE(image.ok());
    image_ = std::move(image).value();
    auto fixups = macho::read_fixups(image_);
    ASSERT_TRUE(fixups.ok());
    fixups_ = std::move(fixups).value();
  }

  bool is_dylib() const { return std::string(GetParam()) == kDylib; }
  std::string library_of(const macho::Fixup& bind) const {
    return std::string(image_.libraries.at(static_cast<std::size_t>(bind.library) - 1).path);
  }

  std::string file_;
  macho::Image image_;
  std::vector<macho::Fixup> fixups_;
};

TEST_P(Structure, IsForArm64AndMacOs13) {
  EXPECT_EQ(macho::architecture_name(image_.architecture), "arm64");
  ASSERT_EQ(image_.builds.size(), 1U);
  EXPECT_EQ(macho::platform_name(image_.builds[0].platform), "macOS");
  EXPECT_EQ(macho::packed_version(image_.builds[0].minos), "13.0");
  EXPECT_TRUE(image_.uuid.has_value());
  EXPECT_NE(image_.flags & macho::kFlagTwoLevel, 0U);
  EXPECT_FALSE(image_.encrypted);
  EXPECT_FALSE(image_.restricted);
  EXPECT_TRUE(image_.rpaths.empty());
  if (is_dylib()) {
    EXPECT_EQ(image_.file_type, static_cast<std::uint32_t>(macho::FileType::kDylib));
    EXPECT_EQ(image_.install_name, "@rpath/libcapshim_metal.dylib");
    EXPECT_EQ(std::filesystem::path(GetParam()).filename(), domain_info(Domain::kMetal).library);
    EXPECT_FALSE(image_.entry.has_value());
  } else {
    EXPECT_EQ(image_.file_type, static_cast<std::uint32_t>(macho::FileType::kExecute));
    EXPECT_NE(image_.flags & macho::kFlagPie, 0U);
    ASSERT_TRUE(image_.entry.has_value());
    const macho::Section* text = image_.find_section("__TEXT", "__text");
    ASSERT_NE(text, nullptr);
    EXPECT_GE(*image_.entry, text->address);
    EXPECT_LT(*image_.entry, text->address + text->size);
  }
}

TEST_P(Structure, SegmentsAreOfWholePagesAndNoneIsWritableCode) {
  constexpr std::uint64_t kPage = 16384;
  for (const macho::Segment& segment : image_.segments) {
    EXPECT_EQ(segment.address % kPage, 0U) << segment.name;
    EXPECT_EQ(segment.file_offset % kPage, 0U) << segment.name;
    EXPECT_NE(segment.max_prot & (macho::kProtWrite | macho::kProtExecute), macho::kProtWrite | macho::kProtExecute)
        << segment.name;
  }
}

TEST_P(Structure, ImportsOnlyWhatIsAllowed) {
  std::set<std::string> libraries;
  for (const macho::LinkedLibrary& library : image_.libraries) {
    EXPECT_EQ(library.kind, macho::LinkKind::kRegular) << library.path;
    libraries.insert(std::string(library.path));
  }
  EXPECT_EQ(libraries, (std::set<std::string>{kSystem, kObjc, kMetal}));
  std::size_t imports = 0;
  for (const macho::Fixup& fixup : fixups_) {
    if (fixup.kind == macho::FixupKind::kRebase) continue;
    ASSERT_EQ(fixup.kind, macho::FixupKind::kBind) << fixup.symbol;
    ASSERT_GT(fixup.library, 0) << fixup.symbol;
    EXPECT_FALSE(fixup.weak_import) << fixup.symbol;
    EXPECT_TRUE(kAllowed.at(library_of(fixup)).contains(std::string(fixup.symbol))) << fixup.symbol;
    ++imports;
  }
  EXPECT_GT(imports, 5U);
}

TEST_P(Structure, HoldsNoPathOfTheMachineThatBuiltIt) {
  for (const std::string& part : {std::string("/tmp"), std::filesystem::current_path().string(), std::string(".cc")}) {
    EXPECT_EQ(file_.find(part), std::string::npos) << part;
  }
}

std::uint32_t big_endian(macho::Bytes bytes, std::size_t at) {
  EXPECT_LE(at + 4, bytes.size());
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
  return number;
}

std::string hex(macho::Bytes bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte >> 4)];
    text += kDigits[std::to_integer<unsigned>(byte & std::byte{0xf})];
  }
  return text;
}

// Every page's hash in the CodeDirectory is the page's, and nothing but the signature is left unsigned.
TEST_P(Structure, TheAdHocSignatureHolds) {
  auto signature = macho::read_signature(image_);
  ASSERT_TRUE(signature.ok());
  ASSERT_TRUE(signature->has_value());
  EXPECT_TRUE((*signature)->adhoc());
  EXPECT_TRUE((*signature)->linker_signed());
  EXPECT_FALSE((*signature)->hardened_runtime());
  EXPECT_FALSE((*signature)->library_validation());
  EXPECT_EQ((*signature)->identifier, std::filesystem::path(GetParam()).filename().string());
  EXPECT_EQ((*signature)->hash_type, 2);

  // <Kernel/kern/cs_blobs.h>: a super blob with a CodeDirectory in its first slot.
  const macho::Bytes blob = image_.code_signature.bytes;
  ASSERT_GT(blob.size(), 88U);
  EXPECT_EQ(big_endian(blob, 0), 0xfade0cc0U);
  const std::size_t directory = big_endian(blob, 16);
  EXPECT_EQ(big_endian(blob, directory), 0xfade0c02U);
  const std::size_t hashes = directory + big_endian(blob, directory + 16);
  const std::size_t count = big_endian(blob, directory + 28);
  const std::size_t limit = big_endian(blob, directory + 32);
  const std::size_t page = std::size_t{1} << std::to_integer<unsigned>(blob[directory + 39]);
  EXPECT_EQ(limit, static_cast<std::size_t>(blob.data() - image_.bytes.data()));
  ASSERT_EQ(count, (limit + page - 1) / page);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view code(file_.data() + i * page, std::min(page, limit - i * page));
    EXPECT_EQ(hex(blob.subspan(hashes + i * 32, 32)), sha256(code)) << "page " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Products, Structure, ::testing::Values(kDylib, kProbe),
                         [](const auto& tested) { return std::string(tested.param == kDylib ? "dylib" : "probe"); });

class DylibOnly : public Structure {};

TEST_P(DylibOnly, InterposesTheTwoFunctionsThatHandOutDevices) {
  const macho::Section* section = image_.find_section("__DATA", "__interpose");
  ASSERT_NE(section, nullptr);
  EXPECT_EQ(section->type(), macho::kSectionInterposing);
  ASSERT_EQ(section->size, 32U);
  const macho::Section* text = image_.find_section("__TEXT", "__text");
  ASSERT_NE(text, nullptr);
  std::map<std::uint64_t, std::string> found;
  std::set<std::uint64_t> replacements;
  for (const macho::Fixup& fixup : fixups_) {
    if (fixup.address < section->address || fixup.address >= section->address + section->size) continue;
    const std::uint64_t offset = fixup.address - section->address;
    if (fixup.kind == macho::FixupKind::kBind) {
      found[offset] = std::string(fixup.symbol);
      EXPECT_EQ(library_of(fixup), kMetal);
    } else {
      found[offset] = "code";
      EXPECT_GE(fixup.target, text->address);
      EXPECT_LT(fixup.target, text->address + text->size);
      replacements.insert(fixup.target);
    }
  }
  EXPECT_EQ(found, (std::map<std::uint64_t, std::string>{
                       {0, "code"}, {8, "_MTLCreateSystemDefaultDevice"}, {16, "code"}, {24, "_MTLCopyAllDevices"}}));
  EXPECT_EQ(replacements.size(), 2U);
}

TEST_P(DylibOnly, HasOneInitialiserAndExportsNothing) {
  auto initialisers = macho::read_initialisers(image_, fixups_);
  ASSERT_TRUE(initialisers.ok());
  EXPECT_EQ(initialisers->size(), 1U);
  auto exports = macho::read_exports(image_);
  ASSERT_TRUE(exports.ok());
  EXPECT_TRUE(exports->empty());
}

INSTANTIATE_TEST_SUITE_P(Dylib, DylibOnly, ::testing::Values(kDylib));

// A list in the test's environment: the sources that the product is built of.
std::string sources_of(const char* variable) {
  const char* sources = std::getenv(variable);
  EXPECT_NE(sources, nullptr) << variable;
  return sources == nullptr ? "" : sources;
}

// The same script in two other folders, and its bytes again.
void expect_reproducible(const std::string& product, const std::string& kind, const std::string& sources) {
  namespace fs = std::filesystem;
  const std::string expected = sha256(read_file(product).value());
  for (const std::string folder : {"one", "another/deeper folder"}) {
    const fs::path root = fs::path(std::getenv("TEST_TMPDIR")) / kind / folder;
    fs::create_directories(root);
    fs::copy("shim", root / "shim", fs::copy_options::recursive);
    const std::string output = (root / fs::path(product).filename()).string();
    const std::string command =
        "cd '" + root.string() + "' && exec shim/metal/darwin/cross_build " + kind + " '" + output + "' " + sources;
    const Outcome outcome = run({"/bin/bash", "-c", command}, {{"PATH", std::getenv("PATH")}});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(sha256(read_file(output).value()), expected) << root;
  }
}

TEST(Reproducible, TheDylibInAnyFolder) {
  expect_reproducible(kDylib, "dylib", sources_of("CAPSHIM_DYLIB_SOURCES"));
}

TEST(Reproducible, TheProbeInAnyFolder) {
  expect_reproducible(kProbe, "program", sources_of("CAPSHIM_PROBE_SOURCES"));
}

}  // namespace
}  // namespace capbench::shim::metal
