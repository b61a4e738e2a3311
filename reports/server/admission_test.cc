#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/digest.h"
#include "reports/server/budget.h"
#include "reports/server/rate_limit.h"
#include "reports/server/tokens.h"
#include "reports/server/uploads.h"

namespace capbench::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RateLimit, GivesABurstAndThenItsRate) {
  RateLimit limit({2, 3});
  auto now = RateLimit::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limit.take("a", now).has_value());
  EXPECT_EQ(limit.take("a", now), seconds(1));
  EXPECT_FALSE(limit.take("b", now).has_value());
  now += milliseconds(500);
  EXPECT_FALSE(limit.take("a", now).has_value());
  EXPECT_TRUE(limit.take("a", now).has_value());
  now += seconds(100);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limit.take("a", now).has_value());
  EXPECT_TRUE(limit.take("a", now).has_value());
}

TEST(RateLimit, AFloodOfClientsSharesABucket) {
  RateLimit limit({0.001, 1}, 100);
  const auto now = RateLimit::Clock::now();
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += limit.take(std::to_string(i), now).has_value() ? 0 : 1;
  EXPECT_EQ(taken, 101);
  // Those who were seen before are still known, and later the rest is forgotten.
  EXPECT_TRUE(limit.take("5", now).has_value());
  EXPECT_FALSE(limit.take("new", now + seconds(2000)).has_value());
}

TEST(RateLimit, ANetworkOfAddressesIsOneClient) {
  EXPECT_EQ(client_key("2001:db8:1:2:3:4:5:6"), client_key("2001:db8:1:2::1"));
  EXPECT_NE(client_key("2001:db8:1:2::1"), client_key("2001:db8:1:3::1"));
  EXPECT_EQ(client_key("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client_key("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client_key("nonsense"), "nonsense");
}

TEST(Tokens, NamesTheLineThatIsNone) {
  EXPECT_EQ(parse_tokens(sha256("a") + "\r\n#x\n  " + sha256("b") + "  someone\n")->size(), 2U);
  const auto wrong = parse_tokens(sha256("a") + "\nsecret\n");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().what, "line 2");
  EXPECT_EQ(to_string(wrong.error()).find("secret"), std::string::npos);
}

TEST(Tokens, SecretsDiffer) {
  EXPECT_TRUE(is_sha256(random_secret()));
  EXPECT_NE(random_secret(), random_secret());
}

TEST(Budget, WhoFindsTooLittleWaits) {
  Budget budget(10);
  auto first = std::make_unique<Budget::Share>(budget.take(8, milliseconds(0)));
  EXPECT_TRUE(*first);
  EXPECT_FALSE(budget.take(5, milliseconds(10)));
  EXPECT_TRUE(budget.take(2, milliseconds(0)));
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(50));
    first.reset();
  });
  EXPECT_TRUE(budget.take(100, seconds(5)));  // more than everything is everything
  later.join();
}

class UploadsTest : public ::testing::Test {
 protected:
  UploadsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "capbench-uploads-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = pattern;
  }
  ~UploadsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path folder_;
};

TEST_F(UploadsTest, AreLimitedInNumberAndSize) {
  UploadLimits limits;
  limits.sessions = 2;
  limits.total_bytes = 100;
  Uploads uploads(folder_ / "x", limits, 90);
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const std::string c(64, 'c');
  EXPECT_EQ(uploads.put(a, {0, 0, 91}, "x").status, 413);
  EXPECT_EQ(uploads.put(a, {0, 0, 60}, "x").status, 0);
  EXPECT_EQ(uploads.put(b, {0, 0, 60}, "x").status, 503);
  EXPECT_EQ(uploads.put(b, {0, 0, 30}, "x").status, 0);
  EXPECT_EQ(uploads.put(c, {0, 0, 1}, "x").status, 503);
  EXPECT_EQ(uploads.put(a, {1, 2, 60}, "yz").status, 0);
  // Another file of the same bundle begins anew; in its middle it is refused.
  EXPECT_EQ(uploads.put(a, {3, 3, 61}, "x").status, 409);
  EXPECT_EQ(uploads.put(a, {0, 1, 50}, "xy").offset, 2U);
  uploads.remove(b);
  EXPECT_EQ(uploads.put(c, {0, 0, 1}, "x").status, 0);
  EXPECT_EQ(*uploads.read(c), "x");
  EXPECT_FALSE(uploads.read(a).ok());
}

TEST_F(UploadsTest, AreForgottenAfterAWhile) {
  UploadLimits limits;
  limits.age = seconds(60);
  Uploads uploads(folder_, limits, 100);
  const std::string id(64, 'a');
  ASSERT_EQ(uploads.put(id, {0, 0, 10}, "x").status, 0);
  const auto file = folder_ / (id + ".10.part");
  ASSERT_TRUE(std::filesystem::exists(file));
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - seconds(61));
  EXPECT_FALSE(uploads.progress(id).has_value());
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(UploadsTest, DoNotFollowLinksAndLeaveOtherFilesAlone) {
  Uploads uploads(folder_, {}, 100);
  const std::string id(64, 'a');
  std::filesystem::create_symlink("elsewhere", folder_ / (id + ".10.part"));
  EXPECT_NE(uploads.put(id, {0, 0, 10}, "x").status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace capbench::server
