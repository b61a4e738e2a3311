#include "models/http_get.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "models/testing/raw_server.h"

namespace capbench::models {
namespace {

using testing::RawServer;
using testing::Request;
using testing::send_all;

struct Seen {
  HttpOutcome outcome;
  int status = 0;
  std::string location;
  std::string body;
};

Seen get(const RawServer& server) {
  Seen seen;
  HttpRequest request{*parse_url(server.url("/")), {}};
  request.read_timeout = std::chrono::milliseconds(300);
  seen.outcome = http_get(request, {[&](const HttpHead& head) {
                                      seen.status = head.status;
                                      seen.location = head.header("LOCATION");
                                      return true;
                                    },
                                    [&](std::string_view piece) {
                                      seen.body += piece;
                                      return seen.body.size() < 100'000;
                                    }});
  return seen;
}

Seen get(const std::string& answer) {
  const RawServer server([&](const Request&, int socket) { send_all(socket, answer); });
  return get(server);
}

const std::string kLength = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nLocation:  /a%2Bb \r\n\r\nhello";
const std::string kChunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n";
const std::string kUntilEnd = "HTTP/1.0 200 OK\r\n\r\nhello";

TEST(HttpGet, ReadsEveryKindOfBody) {
  for (const std::string& answer :
       {kLength, kChunks, kUntilEnd, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + kLength}) {
    const Seen seen = get(answer);
    EXPECT_EQ(seen.outcome.end, HttpEnd::kWhole) << answer << seen.outcome.why;
    EXPECT_EQ(seen.status, 200);
    EXPECT_EQ(seen.body, "hello");
  }
  // Header values come as they were sent.
  EXPECT_EQ(get(kLength).location, "/a%2Bb");
}

TEST(HttpGet, NothingThatIsCutIsWhole) {
  for (const std::string& answer : {kLength, kChunks}) {
    // The chunk that ends the list needs no line behind it.
    const std::size_t end = answer == kChunks ? answer.size() - 2 : answer.size();
    for (std::size_t length = 0; length < end; ++length) {
      EXPECT_NE(get(answer.substr(0, length)).outcome.end, HttpEnd::kWhole) << length;
    }
  }
}

TEST(HttpGet, RefusesWhatIsNoHttp) {
  for (const char* answer :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 2OO OK\r\n\r\n", "HTTP/1.1 999 No\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    EXPECT_EQ(get(std::string(answer)).outcome.end, HttpEnd::kNoAnswer) << answer;
  }
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\n" + std::string(200'000, 'x')).outcome.end, HttpEnd::kNoAnswer);
  for (const char* header : {"Content-Length: -1", "Content-Length: 5x", "Content-Length: 99999999999999999999",
                             "Transfer-Encoding: gzip"}) {
    EXPECT_EQ(get("HTTP/1.1 200 OK\r\n" + std::string(header) + "\r\n\r\nhello").outcome.end, HttpEnd::kCut) << header;
  }
}

TEST(HttpGet, SurvivesMutations) {
  std::mt19937 random(13);  // NOLINT: the same bytes every time
  for (int i = 0; i < 300; ++i) {
    std::string answer = i % 2 == 0 ? kLength : kChunks;
    for (auto n = random() % 4 + 1; n > 0; --n) answer[random() % answer.size()] = static_cast<char>(random());
    EXPECT_LE(get(answer).body.size(), answer.size());
  }
}

}  // namespace
}  // namespace capbench::models
