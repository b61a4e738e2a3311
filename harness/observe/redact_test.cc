#include "harness/observe/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace capbench::observe {
namespace {

const PersonalDetails kJo{
    {"jo", "Jo Q. Smith"}, {"/Users/jo"}, {"jos-mac.local", "jos-mac", "Jo's Mac Studio"}, {"ZX81FAKE99"}};

std::string redacted(std::string_view text) {
  return redact(text, kJo).text;
}

TEST(Redact, ReplacesWhatIsKnown) {
  EXPECT_EQ(redacted("model /Users/jo/m.gguf of jo on JOS-MAC.local"), "model <home>/m.gguf of <user> on <host>");
  EXPECT_EQ(redacted("Jo Q. Smith's \"Jo's Mac Studio\""), "<user>'s \"<host>\"");
  EXPECT_EQ(redacted("id zx81fake99x"), "id <secret>x");
  EXPECT_EQ(redacted("jo@jos-mac:~$"), "<user>@<host>:~$");
}

TEST(Redact, LeavesWordsThatOnlyContainAName) {
  EXPECT_EQ(redacted("major join _jo jo_ ajo"), "major join _jo jo_ ajo");
  EXPECT_EQ(
      redact("run as root on localhost", {{"root", "", "x"}, {"/root", "/", ""}, {"localhost", "vm"}, {"", "a"}}).text,
      "run as root on localhost");
}

TEST(Redact, ReplacesWhateverHasAForm) {
  EXPECT_EQ(redacted("/home/ana/x /Users/ana C:\\Users\\ana\\x C:\\\\Users\\\\ana"),
            "<home>/x <home> C:<home>\\x C:<home>");
  EXPECT_EQ(redacted("/Users/Shared/m /home/runner/work"), "/Users/Shared/m /home/runner/work");
  EXPECT_EQ(redacted("GPU-01234567-89ab-cdef-0123-456789abcdef"), "GPU-<uuid>");
  EXPECT_EQ(redacted("01234567-89ab-cdef-0123-456789abcdef0"), "01234567-89ab-cdef-0123-456789abcdef0");
  EXPECT_EQ(redacted("ether a4:83:e7:00:11:22 hid-a4:83:e7:00:11:22-battery"), "ether <mac> hid-<mac>-battery");
  EXPECT_EQ(redacted("192.168.64.7:22, 10.0.0.1. (8.8.8.8)"), "<ipv4>:22, <ipv4>. (<ipv4>)");
  EXPECT_EQ(redact("5.15.167.4 a4:83:e7:00:11:22", {}, Addresses::kKeep).text, "5.15.167.4 <mac>");
  EXPECT_EQ(redacted("fe80::1c2d:3eff:fe4a:5b6c%en0 2001:db8::5 [2001:db8:0:0:0:0:0:1]"), "<ipv6>%en0 <ipv6> [<ipv6>]");
  EXPECT_EQ(redacted("vnc://:lake-otter@127.0.0.1:59012"), "vnc://<credentials>@127.0.0.1:59012");
  EXPECT_EQ(redacted("{\"password\": \"s3cret\", \"Password\":null, 'passphrase': 'a b, c'}"),
            "{\"password\": \"<password>\", \"Password\":null, 'passphrase': '<password>'}");
}

TEST(Redact, ReplacesSerialNumbersInEverySpelling) {
  EXPECT_EQ(redacted("\"IOPlatformSerialNumber\" = \"C02FAKE12345\""), "\"IOPlatformSerialNumber\" = \"<serial>\"");
  EXPECT_EQ(redacted("\"serial_number\" : \"FAKE1234\""), "\"serial_number\" : \"<serial>\"");
  EXPECT_EQ(redacted("Serial Number (system): FAKE1234"), "Serial Number (system): <serial>");
  EXPECT_EQ(redacted("serial: 165212345"), "serial: <serial>");
  EXPECT_EQ(redacted("serialised 12345 serial port: none"), "serialised 12345 serial port: none");
}

TEST(Redact, LeavesWhatOnlyLooksLikeIt) {
  const std::string_view texts[] = {
      "127.0.0.1 0.0.0.0 255.255.255.255 ::1 ::",
      "conformanceVersion = 1.3.1.1, version 1.2.3.4, Driver Version: 31.0.15.52",
      "libggml.so.0.9.4.1 v1.2.3.4 1.2.3.4.5 256.1.1.1 1.2.3",
      "10:43:03 ggml::backend a::b std::string 1::2",
      "pp512 4871.99 tok/s 2026-11-30T04:25:07.123Z",
      "sha256:ed1783e80e08e888889b54a8c0387105a37fbcfc995079f76db48e2280081487",
      "BOS token = 1 '<s>'",
  };
  for (const std::string_view text : texts) {
    EXPECT_EQ(redacted(text), text);
    EXPECT_TRUE(redact(text, kJo).replaced.empty());
  }
}

TEST(Redact, SaysWhatWasReplacedWhere) {
  const Redacted result = redact("at /Users/jo/x from 10.1.2.3", kJo);
  EXPECT_EQ(result.text, "at <home>/x from <ipv4>");
  EXPECT_EQ(result.replaced, (std::vector<Replacement>{{"home", 3, 9}, {"ipv4", 20, 8}}));
}

TEST(Redact, OverlappingFindsAreReplacedWhole) {
  // The secret reaches beyond the serial number's value.
  const PersonalDetails details{{}, {}, {}, {"1234 5678"}};
  EXPECT_EQ(redact("serial: FAKE1234 5678", details).text, "serial: <serial>");
}

TEST(Redact, TwiceIsOnceForAnyBytes) {
  const std::string_view pieces[] = {"jo",         "/Users/jo",
                                     "/home/ana",  "10.0.0.1",
                                     ".",          ":",
                                     "::",         "fe80::1:2",
                                     "serial: ",   "A1B2C3",
                                     "password=",  "a4:83:e7:00:11:22",
                                     "-",          "01234567-89ab-cdef-0123-456789abcdef",
                                     "ZX81FAKE99", "\xff",
                                     "\n",         " ",
                                     "://",        "@",
                                     "x",          "1",
                                     "<",          ">",
                                     "version ",   "JOS-MAC",
                                     "\\Users\\",  "\""};
  std::mt19937 random(5);  // NOLINT: the same texts every time
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random() % 9 + 1; n > 0; --n) text += pieces[random() % std::size(pieces)];
    const std::string once = redacted(text);
    EXPECT_EQ(redacted(once), once) << text;
    EXPECT_EQ(once.find("ZX81FAKE99"), std::string::npos);
  }
}

TEST(Redact, SurvivesEveryCutAndAnyBytes) {
  const std::string whole =
      "serial: ABC123 password: x vnc://u:p@h fe80::1:2:3 01234567-89ab-cdef-0123-456789abcdef 10.0.0.1 "
      "a4:83:e7:00:11:22 /Users/jo Serial Number (system";
  for (std::size_t length = 0; length <= whole.size(); ++length) redacted(std::string_view(whole).substr(0, length));
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (auto n = random() % 20; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    redacted(text);
  }
}

TEST(Redact, TakesTimeInProportion) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "1:";
  for (int i = 0; i < 200000; ++i) text += "ab-";
  const auto start = std::chrono::steady_clock::now();
  redacted(text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace capbench::observe
