#include "shim/common/evidence.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "shim/common/settings.h"

namespace capbench::shim {
namespace {

constexpr std::string_view kLine =
    R"(capshim: {"domain":"cpu","version":"0.1.0","pid":7,"roles":["guest","shim"],"capabilities":{"cpu.isa":)"
    R"({"device":"zen4","guest":"x64","set":"best","reported":"zen4","executed":["AVX2"]}}})";

TEST(Evidence, SettingsAreWrittenAsTheShimReadsThem) {
  EXPECT_EQ(format_settings({}), "");
  const std::string list = format_settings({{"vulkan.bfloat16", "off"}, {"cpu.isa", "x64"}});
  EXPECT_EQ(list, "cpu.isa=x64,vulkan.bfloat16=off");
  EXPECT_EQ(parse_settings("CAPSHIM_SET", list).settings.count, 2U);
}

TEST(Evidence, SettingsAreCheckedBeforeTheyAreWritten) {
  EXPECT_TRUE(check_settings({}).ok());
  EXPECT_TRUE(check_settings({{"cpu.isa", "x64"}, {"metal.apple_family", "1007"}}).ok());
  const Status unknown = check_settings({{"cpu.isaa", "x64"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(to_string(unknown.error()), "cpu.isaa: unknown capability; try: `capbench shim describe`");
  const Status range = check_settings({{"metal.apple_family", "9"}});
  ASSERT_FALSE(range.ok());
  EXPECT_EQ(range.error().cause, "\"9\"; expected an integer from 1001 to 1021");
  EXPECT_FALSE(check_settings({{"cpu.isa", "x64,vulkan.bfloat16=on"}}).ok());
  EXPECT_FALSE(check_settings({{"cpu.isa=x64,cpu.isa", "x64"}}).ok());
}

TEST(Evidence, ReadsABanner) {
  const Result<Banner> banner = parse_banner(std::string(kLine) + "\n");
  ASSERT_TRUE(banner.ok()) << to_string(banner.error());
  EXPECT_EQ(banner->domain, "cpu");
  EXPECT_EQ(banner->pid, 7);
  EXPECT_TRUE(banner->has_role("shim"));
  EXPECT_FALSE(banner->has_role("host"));
  const BannerCapability& isa = banner->capabilities.at("cpu.isa");
  EXPECT_EQ(isa.device, "zen4");
  EXPECT_EQ(isa.guest, "x64");
  EXPECT_EQ(isa.set, "best");
  EXPECT_EQ(isa.reported, "zen4");
  EXPECT_EQ(isa.executed, std::vector<std::string>{"AVX2"});
}

TEST(Evidence, RefusesWhatIsNotABanner) {
  for (const char* bad : {
           "",
           "capshim: ",
           "capshim: []",
           "capshim: {",
           "capshim: {}",
           "load_backend: loaded CPU backend from x",
           R"(capshim: {"domain":"cpu","pid":"7","roles":[],"capabilities":{}})",
           R"(capshim: {"domain":"cpu","pid":7,"roles":[1],"capabilities":{}})",
           R"(capshim: {"domain":"cpu","pid":7,"roles":[],"capabilities":[]})",
           R"(capshim: {"domain":"cpu","pid":7,"roles":[],"capabilities":{"cpu.isa":"zen4"}})",
           R"(capshim: {"domain":"cpu","pid":7,"roles":[],"capabilities":{"cpu.isa":{"device":4}}})",
           R"(capshim: {"domain":"cpu","pid":7,"roles":[],"capabilities":{},"error":{}})",
       }) {
    EXPECT_FALSE(parse_banner(bad).ok()) << bad;
  }
  EXPECT_FALSE(parse_banner(std::string(kLine) + std::string(70000, ' ')).ok());
}

TEST(Evidence, FindsEveryBannerInAStderr) {
  const std::string text =
      "first\nunfinished" + std::string(kLine) + "\ncapshim: {oops\nload_backend: loaded\n" + std::string(kLine);
  const BannerScan scan = scan_banners(text);
  EXPECT_EQ(scan.banners.size(), 2U);
  EXPECT_EQ(scan.malformed.size(), 1U);
  EXPECT_TRUE(scan_banners("nothing\n").banners.empty());
}

TEST(Evidence, SurvivesRandomMutations) {
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(kLine);
    const auto edits = 1 + random() % 3;
    for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random() % 256);
      } else {
        text.erase(at, 1 + random() % 8);
      }
    }
    accepted += parse_banner(text).ok() ? 1 : 0;
    const BannerScan scan = scan_banners(text);
    EXPECT_LE(scan.banners.size() + scan.malformed.size(), 2U);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 19900);
}

}  // namespace
}  // namespace capbench::shim
