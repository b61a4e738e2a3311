#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "base/nearest.h"
#include "base/path.h"
#include "base/utf8.h"

namespace capbench {
namespace {

TEST(Utf8, IsToldFromOtherBytes) {
  for (const char* good :
       {"", "a", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
    EXPECT_EQ(to_utf8(good), good);
  }
  // Alone, overlong, surrogate, beyond U+10FFFF, cut short.
  for (const char* bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                          "\xF5", "\xFF", "\xE2\x82", "\xF0\x9F\x98"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
    EXPECT_TRUE(is_utf8(to_utf8(bad)));
    EXPECT_EQ(decode_utf8(bad).length, 0U);
  }
  EXPECT_EQ(to_utf8("a\xFF\xC2"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, IsTakenByCharacters) {
  std::string_view text = "\xF0\x9F\x98\x80\xE2\x82\xACz\xE2\x82";
  EXPECT_EQ(take_character(text), U'\U0001F600');
  EXPECT_EQ(take_character(text), U'\u20AC');
  EXPECT_EQ(take_character(text), U'z');
  EXPECT_EQ(take_character(text), char32_t{0xDCE2});
  EXPECT_EQ(take_character(text), char32_t{0xDC82});
  EXPECT_TRUE(text.empty());
}

TEST(Utf8, AnyBytesCanBeShown) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random() % 90, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() & 0xFFU);
    EXPECT_TRUE(is_utf8(to_utf8(bytes)));
    EXPECT_TRUE(is_printable(in_quotes(bytes)));
    EXPECT_LE(in_quotes(bytes).size(), 80U);
  }
}

TEST(Utf8, IsQuotedForAnError) {
  EXPECT_EQ(in_quotes("zo\xC3\xA9"), "\"zo\xC3\xA9\"");
  EXPECT_EQ(in_quotes("PK\x03\xFF"), R"("PK\x03\xff")");
  EXPECT_EQ(in_quotes("a\xE2\x80\xAE"), R"("a\xe2\x80\xae")");  // right-to-left override
  EXPECT_EQ(in_quotes(std::string(60, 'a')), '"' + std::string(60, 'a') + '"');
  EXPECT_EQ(in_quotes(std::string(61, 'a')), '"' + std::string(60, 'a') + "...\"");
}

TEST(Path, EndsInItsName) {
  EXPECT_EQ(base_name("/a/b.so"), "b.so");
  EXPECT_EQ(base_name("b.so"), "b.so");
  EXPECT_EQ(base_name("/a/"), "");
  EXPECT_EQ(base_name("a\\b/c\\d"), "c\\d");
  EXPECT_EQ(foreign_base_name("C:\\a\\b.gguf"), "b.gguf");
  EXPECT_EQ(foreign_base_name("a\\b/c"), "c");
}

TEST(Nearest, ForgivesAnEditForEachThreeLetters) {
  constexpr auto kKeys = std::to_array<std::string_view>({"r", "port", "address", "executable"});
  EXPECT_EQ(nearest("prot", kKeys), "port");  // two neighbours swapped
  EXPECT_EQ(nearest("por", kKeys), "port");
  EXPECT_EQ(nearest("pxrx", kKeys), "");
  EXPECT_EQ(nearest("adress", kKeys), "address");
  EXPECT_EQ(nearest("exekutabel", kKeys), "executable");
  EXPECT_EQ(nearest("x", kKeys), "");
  EXPECT_EQ(nearest("", kKeys), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), kKeys), "");
  EXPECT_EQ(nearest("port", {}), "");
}

TEST(Nearest, IsARemedy) {
  constexpr auto kKeys = std::to_array<std::string_view>({"port", "user"});
  EXPECT_EQ(nearest_or_all("usr", kKeys), R"("user")");
  EXPECT_EQ(nearest_or_all("memory", kKeys), "one of port, user");
}

}  // namespace
}  // namespace capbench
