#include "reports/expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capbench::reports {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const Sources& sources() {
  static const Result<Sources> kSources = load_sources();
  EXPECT_TRUE(kSources.ok());
  return *kSources;
}

Change capability(const std::string& name, const std::string& from, const std::string& to) {
  return {name, "capability", from, to, {}, false};
}

TEST(Expected, FromTheSource) {
  const Expected matrix = expected_of(capability("vulkan.cooperative_matrix2", "off", "on"), sources());
  EXPECT_EQ(matrix.verdict, "may");
  EXPECT_THAT(matrix.flags, Contains("coopmat2"));
  EXPECT_THAT(matrix.source, HasSubstr("source of llama.cpp"));
  // The decode vector needs the second extension: without that it changes nothing.
  Change vector = capability("vulkan.cooperative_matrix_decode_vector", "off", "on");
  EXPECT_EQ(expected_of(vector, sources()).verdict, "may");
  vector.others = {{"vulkan.cooperative_matrix2", "off"}};
  EXPECT_EQ(expected_of(vector, sources()).verdict, "no");
}

TEST(Expected, FromAnApplicationsSwitch) {
  const Change change = {"GGML_VK_DISABLE_F16", "variable", "1", "unset", {}, false};
  const Expected expected = expected_of(change, sources());
  EXPECT_EQ(expected.verdict, "may");
  EXPECT_THAT(expected.flags, Contains("fp16"));
}

TEST(Expected, FromExecutedCode) {
  const Expected to_seven = expected_of(capability("metal.apple_family", "1005", "1007"), sources());
  EXPECT_EQ(to_seven.verdict, "yes");
  EXPECT_THAT(to_seven.flags, Contains("MUL_MAT"));
  EXPECT_THAT(to_seven.source, HasSubstr("executed"));
  EXPECT_EQ(expected_of(capability("metal.apple_family", "1007", "1009"), sources()).verdict, "no");
  // Only bfloat16 needs family 6.
  EXPECT_EQ(expected_of(capability("metal.apple_family", "1005", "1006"), sources()).verdict, "may");
  // With Metal 3 the products are on the GPU already; flash attention is not.
  Change behind = capability("metal.apple_family", "1005", "1007");
  behind.others = {{"metal.metal_family", "5001"}};
  EXPECT_EQ(expected_of(behind, sources()).verdict, "may");
}

TEST(Expected, OfWhatNoSourceKnowsNothing) {
  EXPECT_EQ(expected_of(capability("made.up", "off", "on"), sources()).verdict, "");
  EXPECT_EQ(expected_of({"-fa", "argument", "off", "on", {}, false}, sources()).verdict, "");
}

TEST(Expected, AgreesOrSurprises) {
  EXPECT_EQ(agreement("yes", "yes"), "agrees");
  EXPECT_EQ(agreement("yes", "no"), "surprise");
  EXPECT_EQ(agreement("no", "yes"), "surprise");
  EXPECT_EQ(agreement("no", "no"), "agrees");
  EXPECT_EQ(agreement("may", "no"), "allowed");
  EXPECT_EQ(agreement("may", "yes"), "agrees");
  EXPECT_EQ(agreement("yes", "cannot tell"), "");
  EXPECT_EQ(agreement("", "yes"), "");
}

TEST(ExecutedMap, TakesAnyBytes) {
  const std::string whole = R"({"kind":"capbench.map","library":{"release":"r"},"factors":[{"name":"f"}],)"
                            R"("properties":[{"name":"p","needs":[{"f":1}]}],)"
                            R"("operators":[{"operator":"O","whole":true,"situations":["tg"],"needs":[]}]})";
  ASSERT_TRUE(parse_executed_map(whole).ok());
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(parse_executed_map(whole.substr(0, n)).ok()) << n;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string flipped = whole;
    flipped[n] = static_cast<char>(flipped[n] ^ 0x11);
    (void)parse_executed_map(flipped);
  }
  for (const char* odd : {"[]", "null", R"({"kind":"capbench.map","factors":[1],"properties":[2],"operators":[[]]})"}) {
    (void)parse_executed_map(odd);
  }
}

}  // namespace
}  // namespace capbench::reports
