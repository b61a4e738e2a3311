#include "models/url.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/content_range.h"

namespace capbench::models {
namespace {

TEST(Url, IsTakenApart) {
  const auto url = parse_url("HTTPS://Example.org:8443/a/b?c=d#e");
  ASSERT_TRUE(url.ok());
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/a/b?c=d");
  EXPECT_EQ(url->shown(), "https://example.org:8443/a/b");
  EXPECT_EQ(parse_url("http://[::1]/")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]/")->origin(), "http://[::1]:80");
  EXPECT_EQ(parse_url("https://h?q")->target, "/?q");
}

TEST(Url, RefusesWhatCouldMeanSomethingElse) {
  for (const char* text : {"", "h", "ftp://h/", "file:///etc/passwd", "https://", "https:///x", "https://user@h/",
                           "https://h:0/", "https://h:65536/", "https://h:8x/", "https://h/a b", "https://h/\r\nX: y",
                           "https://h/\xC3\xA9", "http://[::1/", "http://[::1]x/", "https://h\\@evil/"}) {
    EXPECT_FALSE(parse_url(text).ok()) << text;
  }
  EXPECT_FALSE(parse_url("https://h/" + std::string(20'000, 'a')).ok());
}

TEST(Url, FollowsRedirects) {
  const Url from = *parse_url("https://h.org/a/b?c");
  EXPECT_EQ(follow(from, "/x?y")->shown(), "https://h.org:443/x");
  EXPECT_EQ(follow(from, "x")->target, "/a/x");
  EXPECT_EQ(follow(from, "//other/x")->origin(), "https://other:443");
  EXPECT_EQ(follow(from, "https://other/x")->host, "other");
  EXPECT_FALSE(follow(from, "http://h.org/a").ok());
  EXPECT_TRUE(follow(*parse_url("http://h/"), "https://h/").ok());
}

TEST(Url, EncodesPaths) {
  EXPECT_EQ(encode_path("a b/c+d%~"), "a%20b/c%2Bd%25~");
}

TEST(ContentRange, ReadsOnlyWhatCanBe) {
  const auto range = parse_content_range("bytes 100-199/200");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 100U);
  EXPECT_EQ(range->last, 199U);
  EXPECT_EQ(range->total, 200U);
  EXPECT_EQ(parse_content_range("bytes 0-0/*")->total, 0U);
  for (const char* text : {"", "bytes", "bytes */200", "bytes 5-4/10", "bytes 0-10/10", "bytes -1-5/10", "items 0-1/2",
                           "bytes 0-1/2x", "bytes 0-99999999999999999999/2", "bytes /-"}) {
    EXPECT_FALSE(parse_content_range(text).has_value()) << text;
  }
}

TEST(Url, SurvivesMutations) {
  std::mt19937 random(3);  // NOLINT: the same bytes every time
  for (int i = 0; i < 5000; ++i) {
    std::string text = "https://user.example.org:8443/a/b?c=d";
    for (auto n = random() % 6 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    const auto url = parse_url(text);
    if (url.ok()) {
      EXPECT_TRUE(parse_url(url->origin() + url->target).ok()) << text;
    }
  }
}

}  // namespace
}  // namespace capbench::models
