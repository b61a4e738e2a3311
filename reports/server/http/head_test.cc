#include "reports/server/http/head.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <variant>

#include "reports/server/http/problem.h"

namespace capbench::http {
namespace {

std::variant<Head, Refusal> parse(const std::string& text) {
  return parse_head(text, HeadLimits());
}

Head accepted(const std::string& text) {
  auto parsed = parse(text);
  if (const Refusal* refusal = std::get_if<Refusal>(&parsed)) {
    ADD_FAILURE() << refusal->status << " " << to_string(refusal->error) << " for " << text;
    return {};
  }
  return std::get<Head>(parsed);
}

int refused(const std::string& text) {
  auto parsed = parse(text);
  const Refusal* refusal = std::get_if<Refusal>(&parsed);
  if (refusal == nullptr) return 0;
  EXPECT_FALSE(refusal->error.what.empty());
  EXPECT_FALSE(refusal->error.cause.empty());
  EXPECT_FALSE(refusal->error.remedy.empty());
  EXPECT_NE(status_text(refusal->status), "") << refusal->status;
  return refusal->status;
}

const std::string kHost = "Host: a\r\n";

TEST(Head, ReadsWhatAClientSends) {
  const Head head = accepted(
      "POST /api/v1/submissions?upload=ab%20c&x&y=1+2 HTTP/1.1\r\nHost: example.org:80\r\nContent-Length:  12 \r\n"
      "Content-Type: application/zstd\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path, "/api/v1/submissions");
  ASSERT_EQ(head.query.size(), 3U);
  EXPECT_EQ(head.query[0].name, "upload");
  EXPECT_EQ(head.query[0].value, "ab c");
  EXPECT_EQ(head.query[1].value, "");
  EXPECT_EQ(head.query[2].value, "1 2");
  EXPECT_EQ(head.content_length, 12U);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_EQ(head.field("content-type"), "application/zstd");
  EXPECT_EQ(head.field("absent"), "");
}

TEST(Head, ConnectionsEndWhereTheVersionOrTheClientSaysSo) {
  EXPECT_FALSE(accepted("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(accepted("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
  EXPECT_FALSE(accepted("GET / HTTP/1.1\r\n" + kHost + "Connection: close\r\n\r\n").keep_alive);
}

TEST(Head, TakesTheAbsoluteForm) {
  EXPECT_EQ(accepted("GET http://a/x?y=1 HTTP/1.1\r\n" + kHost + "\r\n").path, "/x");
  EXPECT_EQ(refused("GET http://a HTTP/1.1\r\n" + kHost + "\r\n"), 400);
}

TEST(Head, RefusesWhatTwoReadersCouldTakeForDifferentThings) {
  const std::string get = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(refused(get + kHost + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Transfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(refused(get + kHost + "Content-Length: 1, 1\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Length: +1\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Length: 0x10\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Length: 99999999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Length:\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "X: a\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "X : a\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + ": a\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "X: a\nY: b\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "X: a\rb\r\n\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + std::string("X: a\0b\r\n\r\n", 10)), 400);
  EXPECT_EQ(refused(get + kHost + kHost + "\r\n"), 400);
  EXPECT_EQ(refused(get + "\r\n"), 400);
  EXPECT_EQ(refused(get + kHost + "Content-Encoding: gzip\r\n\r\n"), 415);
  EXPECT_EQ(refused(get + kHost + "Expect: tea\r\n\r\n"), 417);
}

TEST(Head, RefusesRequestLinesThatAreNone) {
  for (const char* line : {"GET /",
                           "GET",
                           "",
                           " GET / HTTP/1.1",
                           "GET  HTTP/1.1",
                           "GET / HTTP/1.1 ",
                           "G\x01T / HTTP/1.1",
                           "GET / FTP/1.1",
                           "GET x HTTP/1.1",
                           "OPTIONS * HTTP/1.1",
                           "GET /a b HTTP/1.1",
                           "GET /% HTTP/1.1",
                           "GET /%4 HTTP/1.1",
                           "GET /%zz HTTP/1.1",
                           "GET /%00 HTTP/1.1",
                           "GET /%0a HTTP/1.1",
                           "GET /%ff HTTP/1.1",
                           "GET /%c0%af HTTP/1.1",
                           "GET /\xff HTTP/1.1",
                           "GET /#x HTTP/1.1",
                           "GET /?a=%ff HTTP/1.1",
                           "ABCDEFGHIJKLMNOPQ / HTTP/1.1"}) {
    EXPECT_EQ(refused(std::string(line) + "\r\n" + kHost + "\r\n"), 400) << line;
  }
  EXPECT_EQ(refused("GET / HTTP/2.0\r\n" + kHost + "\r\n"), 505);
  EXPECT_EQ(refused("GET / HTTP/1.10\r\n" + kHost + "\r\n"), 505);
}

TEST(Head, HasLimits) {
  EXPECT_EQ(refused("GET /" + std::string(2048, 'a') + " HTTP/1.1\r\n" + kHost + "\r\n"), 414);
  std::string fields;
  for (int i = 0; i < 64; ++i) fields += "X" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n" + kHost + fields + "\r\n"), 431);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n" + kHost + "X: " + std::string(16U << 10U, 'a') + "\r\n\r\n"), 431);
  std::string query = "/?";
  for (int i = 0; i < 33; ++i) query += "a=1&";
  EXPECT_EQ(refused("GET " + query + " HTTP/1.1\r\n" + kHost + "\r\n"), 400);
  EXPECT_EQ(check_beginning("GET /" + std::string(16U << 10U, 'a'), HeadLimits())->status, 414);
  EXPECT_EQ(check_beginning("GET / HTTP/1.1\r\nX: " + std::string(16U << 10U, 'a'), HeadLimits())->status, 431);
  EXPECT_EQ(check_beginning(std::string(16U << 10U, 'A'), HeadLimits())->status, 400);
  EXPECT_EQ(check_beginning(std::string("\x16\x03\x01\x02\x00", 5), HeadLimits())->status, 400);
  EXPECT_FALSE(check_beginning("GE", HeadLimits()).has_value());
}

TEST(Head, EveryTruncationAndBitFlipIsAnsweredWithoutHarm) {
  const std::string whole =
      "PUT /api/v1/uploads/ab?x=%20y HTTP/1.1\r\nHost: a\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refused(whole.substr(0, length)), 0) << length;
    EXPECT_FALSE(find_body(whole.substr(0, length)).has_value());
  }
  int taken = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1U << bit));
      const auto parsed = parse(changed);
      if (const Head* head = std::get_if<Head>(&parsed)) {
        ++taken;
        EXPECT_EQ(head->path.front(), '/');
      }
    }
  }
  EXPECT_GT(taken, 50);  // a changed letter of a path is another path
}

TEST(Head, FindsTheEndWhereverItWasCutBefore) {
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
  for (std::size_t searched = 0; searched <= text.size() - 8; ++searched) {
    EXPECT_EQ(find_body(text, searched), text.size() - 4) << searched;
  }
}

TEST(Reply, FieldsCannotBeginNewOnes) {
  Reply made = reply(200, "text/plain", "x");
  made.with("X-A", "1\r\nX-B: 2").with("X-C", "3");
  const std::string text = head_text(made, true, "now");
  EXPECT_EQ(text.find("X-B"), std::string::npos);
  EXPECT_NE(text.find("X-C: 3\r\n"), std::string::npos);
  EXPECT_NE(text.find("Content-Length: 1\r\n"), std::string::npos);
}

TEST(Problem, IsJsonThatNoPageRuns) {
  const Reply made = problem(400, {ErrorKind::kUsage, "<script>alert(1)</script>", "a & b\xff", "\"quotes\""});
  EXPECT_EQ(made.body->find_first_of("<>&"), std::string::npos);
  const auto parsed = nlohmann::json::parse(*made.body);
  EXPECT_EQ(parsed["error"]["name"], "<script>alert(1)</script>");
  EXPECT_EQ(parsed["error"]["cause"], "a & b\xEF\xBF\xBD");
}

}  // namespace
}  // namespace capbench::http
