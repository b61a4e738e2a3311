// Clients that behave badly, over real sockets.
#include "reports/server/http/front.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "reports/server/http/listener.h"

namespace capbench::http {
namespace {

using std::chrono::milliseconds;

FrontLimits quick_limits() {
  FrontLimits limits;
  limits.body_bytes = 1U << 20U;
  limits.connections = 40;
  limits.connections_per_address = 40;
  limits.head_time = milliseconds(400);
  limits.idle_time = milliseconds(400);
  limits.transfer_time = milliseconds(400);
  limits.transfer_bytes_per_s = 10U << 20U;
  limits.grace = milliseconds(1500);
  return limits;
}

class Serving {
 public:
  explicit Serving(FrontLimits limits = quick_limits()) {
    FrontHandlers handlers;
    handlers.admit = [](const Head& head, std::string_view) -> std::optional<Reply> {
      if (head.path == "/forbidden") return reply(403, "text/plain", "no");
      return std::nullopt;
    };
    handlers.lane = [](const Head& head) { return head.method == "POST" ? std::size_t{1} : std::size_t{0}; };
    handlers.handle = [](Request& request) {
      if (request.head.path == "/throw") throw std::runtime_error("as planned");
      if (request.head.path == "/slow") std::this_thread::sleep_for(milliseconds(300));
      if (request.head.path == "/large") return reply(200, "text/plain", std::string(8U << 20U, 'x'));
      return reply(200, "text/plain",
                   request.head.method + " " + request.head.path + " " + std::to_string(request.body.size()) + " " +
                       request.body.substr(0, 20));
    };
    handlers.fields = {{"X-Always", "there"}};
    front_.emplace(limits, std::vector<LaneSize>{{2, 4}, {2, 4}}, std::move(handlers));
    auto listener = Listener::open({"127.0.0.1", 0}, [this](Fd socket) { front_->adopt(std::move(socket)); });
    if (!listener) throw std::runtime_error(to_string(listener.error()));
    listener_.emplace(std::move(*listener));
  }
  ~Serving() { stop(); }

  void stop() {
    listener_->stop();
    front_->stop();
  }
  int port() const { return listener_->endpoint().port; }
  Front& front() { return *front_; }

 private:
  std::optional<Front> front_;
  std::optional<Listener> listener_;
};

class Client {
 public:
  explicit Client(const Serving& serving) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(serving.port()));
    timeval patience{5, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void end() const { ::shutdown(fd_.get(), SHUT_WR); }
  // What comes until the connection ends, or until `mark` has come.
  std::string read(std::string_view mark = {}) const {
    std::string text;
    char buffer[65536];
    for (;;) {
      if (!mark.empty() && text.find(mark) != std::string::npos) return text;
      const ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (count <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }
  std::string ask(std::string_view bytes, std::string_view mark = {}) const {
    send(bytes);
    return read(mark);
  }

 private:
  Fd fd_;
  bool connected_ = false;
};

int status_of(const std::string& text) {
  return text.size() > 12 ? std::stoi(text.substr(9, 3)) : 0;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const std::string kGet = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string kLastGet = "GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

TEST(Front, AnswersSeveralRequestsOnOneConnection) {
  Serving serving;
  const Client client(serving);
  EXPECT_NE(client.ask(kGet, "GET /a 0 ").find("X-Always: there"), std::string::npos);
  EXPECT_NE(client.ask("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "POST /p 5 hello"), "");
  const std::string last = client.ask(kLastGet);
  EXPECT_NE(last.find("Connection: close"), std::string::npos);
  EXPECT_NE(last.find("GET /b 0 "), std::string::npos);
}

TEST(Front, HeadHasNoBody) {
  Serving serving;
  const Client client(serving);
  const std::string text = client.ask("HEAD /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_NE(text.find("Content-Length: 10\r\n"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 4), "\r\n\r\n");
}

TEST(Front, PipelinedRequestsAreAnsweredInOrder) {
  Serving serving;
  const Client client(serving);
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += i % 2 == 0 ? "GET /n" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n"
                      : "POST /n" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  }
  const std::string text = client.ask(all + kLastGet);
  EXPECT_EQ(count_of(text, "HTTP/1.1 200 OK"), 51U);
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    const std::size_t next = text.find(" /n" + std::to_string(i) + " ", at);
    ASSERT_NE(next, std::string::npos) << i;
    at = next;
  }
}

TEST(Front, ARequestMayComeByteByByte) {
  FrontLimits limits = quick_limits();
  limits.head_time = milliseconds(3000);
  Serving serving(limits);
  const Client client(serving);
  for (const char c : "POST /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello") {
    if (c != '\0') client.send(std::string_view(&c, 1));
  }
  EXPECT_NE(client.read().find("POST /p 5 hello"), std::string::npos);
}

TEST(Front, SlowHeadsAndBodiesAreGivenUpAndHoldNobodyUp) {
  Serving serving;
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 30; ++i) {
    slow.push_back(std::make_unique<Client>(serving));
    slow.back()->send(i % 2 == 0 ? "GET /slowly HTTP/1.1\r\nX-"
                                 : "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx");
  }
  // There are four threads in all, and thirty clients that send nothing more.
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(status_of(Client(serving).ask(kLastGet)), 200);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(300));
  for (const auto& client : slow) EXPECT_EQ(status_of(client->read()), 408);
  EXPECT_EQ(serving.front().counts().timed_out, 30U);
}

TEST(Front, AFewBytesNowAndThenDoNotKeepAHeadAlive) {
  Serving serving;
  const Client client(serving);
  client.send("GET / HTTP/1.1\r\n");
  const auto start = std::chrono::steady_clock::now();
  std::thread drip([&] {
    for (int i = 0; i < 15; ++i) {
      client.send("X: 1\r\n");
      std::this_thread::sleep_for(milliseconds(60));
    }
  });
  EXPECT_EQ(status_of(client.read()), 408);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(800));
  drip.join();
}

TEST(Front, IdleConnectionsEnd) {
  Serving serving;
  const Client client(serving);
  client.ask(kGet, "GET /a 0 ");
  EXPECT_EQ(client.read(), "");
}

TEST(Front, RefusesFromTheHeadAlone) {
  Serving serving;
  // The body is a megabyte that the client goes on sending; it still gets to read the reply.
  const std::string large(1U << 20U, 'x');
  EXPECT_EQ(
      status_of(Client(serving).ask("POST /forbidden HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + large)),
      403);
  EXPECT_EQ(status_of(Client(serving).ask("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n" + large)),
            413);
  EXPECT_EQ(
      status_of(Client(serving).ask("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n")),
      413);
  EXPECT_EQ(
      status_of(Client(serving).ask("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
      411);
  EXPECT_EQ(status_of(Client(serving).ask("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n")), 414);
  EXPECT_EQ(status_of(Client(serving).ask("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'a'))), 431);
  EXPECT_EQ(status_of(Client(serving).ask(std::string(100'000, 'a'))), 400);
  EXPECT_EQ(status_of(Client(serving).ask(std::string(100'000, '\0'))), 400);
}

TEST(Front, ARefusedRequestWithoutABodyKeepsItsConnection) {
  Serving serving;
  const Client client(serving);
  client.ask("GET /forbidden HTTP/1.1\r\nHost: a\r\n\r\n", "no");
  EXPECT_EQ(status_of(client.ask(kLastGet)), 200);
}

TEST(Front, SendsContinueToWhoWaitsForIt) {
  Serving serving;
  const Client client(serving);
  const std::string head =
      "POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 5\r\n\r\n";
  EXPECT_EQ(client.ask(head, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_NE(client.ask("hello").find("POST /p 5 hello"), std::string::npos);
  EXPECT_EQ(status_of(Client(serving).ask(
                "POST /forbidden HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")),
            403);
}

TEST(Front, WhatAHandlerThrowsIsAnswered) {
  Serving serving;
  const Client client(serving);
  EXPECT_EQ(status_of(client.ask("GET /throw HTTP/1.1\r\nHost: a\r\n\r\n", "remedy")), 500);
  EXPECT_EQ(status_of(client.ask(kLastGet)), 200);
}

TEST(Front, ABusyLaneSaysSoAndTheOtherGoesOn) {
  Serving serving;
  std::vector<std::unique_ptr<Client>> many;
  for (int i = 0; i < 12; ++i) {
    many.push_back(std::make_unique<Client>(serving));
    many.back()->send("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  }
  std::this_thread::sleep_for(milliseconds(100));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      status_of(Client(serving).ask("POST /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")),
      200);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(250));
  int served = 0;
  int busy = 0;
  for (const auto& client : many) {
    const std::string text = client->read();
    served += status_of(text) == 200 ? 1 : 0;
    busy += status_of(text) == 503 && text.find("Retry-After: 1") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(served + busy, 12);
  EXPECT_GE(served, 4);
  EXPECT_GE(busy, 4);
}

TEST(Front, TurnsAwayConnectionsOverTheLimitButIdleOnesMakeRoom) {
  FrontLimits limits = quick_limits();
  limits.connections = 4;
  limits.idle_time = milliseconds(5000);
  limits.head_time = milliseconds(5000);
  Serving serving(limits);
  std::vector<std::unique_ptr<Client>> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(std::make_unique<Client>(serving));
    busy.back()->send("GET / HT");
  }
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(status_of(Client(serving).ask(kLastGet)), 503);
  busy.pop_back();
  std::this_thread::sleep_for(milliseconds(50));
  const Client idle(serving);
  EXPECT_EQ(status_of(idle.ask(kGet, "GET /a 0 ")), 200);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(status_of(Client(serving).ask(kLastGet)), 200);
  EXPECT_EQ(idle.read(), "");
}

TEST(Front, BodiesShareAnAllowance) {
  FrontLimits limits = quick_limits();
  limits.bodies_bytes = 2U << 20U;
  limits.bodies_bytes_per_address = 2U << 20U;
  limits.transfer_time = milliseconds(5000);
  Serving serving(limits);
  const Client first(serving);
  first.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(status_of(Client(serving).ask("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n")), 503);
  // Small ones still find room.
  EXPECT_EQ(status_of(Client(serving).ask(
                "POST /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")),
            200);
  EXPECT_EQ(serving.front().body_bytes(), 1048576U);
  first.send(std::string(1048576, 'x'));
  EXPECT_NE(first.read("xxx").find("POST /p 1048576"), std::string::npos);
  EXPECT_EQ(serving.front().body_bytes(), 0U);
}

TEST(Front, AReaderThatDoesNotReadIsGivenUp) {
  Serving serving;
  const Client lazy(serving);
  lazy.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(1600));
  EXPECT_LT(lazy.read().size(), 8U << 20U);
  EXPECT_EQ(status_of(Client(serving).ask(kLastGet)), 200);
}

TEST(Front, StoppingFinishesWhatHasBegun) {
  Serving serving;
  const Client handled(serving);
  handled.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  const Client half(serving);
  half.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
  const Client idle(serving);
  idle.ask(kGet, "GET /a 0 ");
  std::this_thread::sleep_for(milliseconds(50));
  std::thread stopping([&] { serving.stop(); });
  std::this_thread::sleep_for(milliseconds(50));
  half.send("lo");
  EXPECT_NE(half.read().find("POST /p 5 hello"), std::string::npos);
  const std::string text = handled.read();
  EXPECT_NE(text.find("GET /slow 0 "), std::string::npos);
  EXPECT_NE(text.find("Connection: close"), std::string::npos);
  EXPECT_EQ(idle.read(), "");
  stopping.join();
}

TEST(Listener, SaysWhyItCannotListen) {
  Serving serving;
  const auto taken = Listener::open({"127.0.0.1", serving.port()}, [](Fd) {});
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(to_string(taken.error()).find("already in use"), std::string::npos) << to_string(taken.error());
  EXPECT_FALSE(Listener::open({"192.0.2.1", 0}, [](Fd) {}).ok());
}

TEST(Listener, ReadsEndpoints) {
  EXPECT_EQ(to_string(*parse_endpoint("[::1]:80")), "[::1]:80");
  EXPECT_EQ(to_string(*parse_endpoint("localhost:0")), "localhost:0");
  for (const char* text : {"", "a", ":1", "a:", "a:b", "a:65536", "a:-1", "::1:80", "a:1x"}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
}

}  // namespace
}  // namespace capbench::http
