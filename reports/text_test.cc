#include "reports/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace capbench::reports {
namespace {

TEST(FormatNumber, HasTwoDecimalsAndFourSignificantDigitsAtLeast) {
  EXPECT_EQ(format_number(4871.990446), "4871.99");
  EXPECT_EQ(format_number(34364), "34364.00");
  EXPECT_EQ(format_number(12.630704), "12.63");
  EXPECT_EQ(format_number(3.414829), "3.415");
  EXPECT_EQ(format_number(0.9929), "0.9929");
  EXPECT_EQ(format_number(0.0034567), "0.003457");
  EXPECT_EQ(format_number(10), "10.00");
  EXPECT_EQ(format_number(0), "0.00");
}

TEST(FormatNumber, SaysNothingOfWhatIsNoNumber) {
  EXPECT_EQ(format_number(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(format_number(std::numeric_limits<double>::infinity()), "-");
}

TEST(FormatExact, ReadsBackAsTheSameNumber) {
  for (const double value : {4871.990446218645, 1.0 / 3, 1e-300, 12.0}) {
    EXPECT_EQ(std::stod(format_exact(value)), value);
  }
}

TEST(Text, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(valid_utf8("zo\xC3\xA9"), "zo\xC3\xA9");
  EXPECT_EQ(valid_utf8("a\xFF\xFE"
                       "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");  // surrogate
  EXPECT_EQ(valid_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // cut short
}

TEST(Text, KeepsToOneLine) {
  EXPECT_EQ(one_line("a\nb\r\nc\td"), "a b  c d");
  EXPECT_EQ(one_line(std::string("a\0b\x1b[31m", 8)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD[31m");
  EXPECT_EQ(one_line("abc\xE2\x80\xAE"
                     "def"),
            "abc\xEF\xBF\xBD"
            "def");  // right-to-left override
}

TEST(Text, AnyBytesBecomeValidText) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() & 0xFFU);
    const std::string line = one_line(bytes);
    EXPECT_EQ(valid_utf8(line), line);
    EXPECT_EQ(line.find_first_of("\n\r"), std::string::npos);
    EXPECT_LE(display_width(line), bytes.size());
  }
}

TEST(Text, Counts) {
  EXPECT_EQ(count_of(1, "trial"), "1 trial");
  EXPECT_EQ(count_of(5, "trial"), "5 trials");
  EXPECT_EQ(display_width("zo\xC3\xA9"), 3U);
}

}  // namespace
}  // namespace capbench::reports
