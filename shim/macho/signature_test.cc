#include "shim/macho/signature.h"

#include <gtest/gtest.h>

#include "shim/macho/testing/fixtures.h"

namespace capbench::macho {
namespace {

using testing::fixture;

TEST(Signature, OfTheLinker) {
  const std::string file = fixture("library_arm64.dylib");
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const Result<std::optional<Signature>> signature = read_signature(*image);
  ASSERT_TRUE(signature && signature->has_value());
  EXPECT_TRUE((*signature)->adhoc());
  EXPECT_TRUE((*signature)->linker_signed());
  EXPECT_FALSE((*signature)->hardened_runtime());
  EXPECT_FALSE((*signature)->cms);
  EXPECT_EQ((*signature)->identifier, "libfixture.dylib");
  EXPECT_EQ((*signature)->team, "");
  EXPECT_EQ((*signature)->hash_type, 2);
}

TEST(Signature, EveryPart) {
  testing::SignatureParts parts;
  parts.flags = kSignHardenedRuntime | kSignLibraryValidation;
  parts.identifier = "org.example.bench";
  parts.team = "ABCDE12345";
  parts.entitlements = testing::entitlements_xml({"com.apple.security.get-task-allow"});
  parts.cms = true;
  parts.platform = 15;
  const std::string file = testing::signed_again(fixture("program_arm64"), parts);
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const Result<std::optional<Signature>> signature = read_signature(*image);
  ASSERT_TRUE(signature && signature->has_value()) << (signature ? "unsigned" : to_string(signature.error()));
  EXPECT_FALSE((*signature)->adhoc());
  EXPECT_TRUE((*signature)->hardened_runtime());
  EXPECT_TRUE((*signature)->library_validation());
  EXPECT_TRUE((*signature)->cms);
  EXPECT_EQ((*signature)->platform, 15);
  EXPECT_EQ((*signature)->identifier, "org.example.bench");
  EXPECT_EQ((*signature)->team, "ABCDE12345");
  EXPECT_TRUE(entitled((*signature)->entitlements, "com.apple.security.get-task-allow"));
  EXPECT_FALSE(entitled((*signature)->entitlements, "com.apple.security.get-task"));
}

TEST(Signature, MayBeMissing) {
  const std::string file = testing::unsigned_file(fixture("program_arm64"));
  const Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const Result<std::optional<Signature>> signature = read_signature(*image);
  ASSERT_TRUE(signature) << to_string(signature.error());
  EXPECT_FALSE(signature->has_value());
}

TEST(Signature, BrokenOnesAreErrors) {
  const std::string file = fixture("program_arm64");
  Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const std::string blob = testing::signature_blob({});
  const auto cause = [&](const std::string& bytes) {
    image->code_signature = {true, as_bytes(bytes)};
    const Result<std::optional<Signature>> signature = read_signature(*image);
    return signature.ok() ? std::string("no error") : signature.error().cause;
  };
  EXPECT_EQ(cause(blob), "no error");
  EXPECT_EQ(cause(blob.substr(0, 8)), "is cut off");
  EXPECT_EQ(cause("garbage garbage"), "starts with 0x67617262");
  EXPECT_EQ(cause(blob.substr(0, blob.size() - 1)),
            "says " + std::to_string(blob.size()) + " bytes and has " + std::to_string(blob.size() - 1));
  std::string many = blob;
  many.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(cause(many), "its table of parts is cut off");
  EXPECT_EQ(cause(testing::big_bytes(0xfade0cc0U) + testing::big_bytes(12U) + testing::big_bytes(0U)),
            "has no CodeDirectory");
}

TEST(Entitled, NeedsTrue) {
  EXPECT_TRUE(entitled("<key>a</key><true/>", "a"));
  EXPECT_TRUE(entitled("<key>a</key>\n\t<true />", "a"));
  EXPECT_FALSE(entitled("<key>a</key><false/>", "a"));
  EXPECT_FALSE(entitled("<key>a</key>", "a"));
  EXPECT_FALSE(entitled("", "a"));
}

}  // namespace
}  // namespace capbench::macho
