// Against a results server that keeps the rules, and breaks them where a test says so.
#include "harness/submit/upload.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"

namespace capbench::submit {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24U);
  return bytes;
}

const std::string kId = sha256("a manifest");
const std::string kSmall = random_bytes(20000);
const std::string kLarge = random_bytes(300000);
constexpr std::size_t kPart = 65536;

// The interface as a capbench server has it. `meddle` sees every request first; true: it has answered.
class ResultsServer {
 public:
  using Meddle = std::function<bool(const httplib::Request& request, httplib::Response& response)>;

  ResultsServer() : ResultsServer(std::make_unique<httplib::Server>()) {}
  explicit ResultsServer(std::unique_ptr<httplib::Server> server) : server_(std::move(server)) {
    server_->set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      log_.push_back(request.method + " " + request.path);
      last_ = request.headers;
      return meddle_ && meddle_(request, response) ? httplib::Server::HandlerResponse::Handled
                                                   : httplib::Server::HandlerResponse::Unhandled;
    });
    server_->Get("/api/v1/submissions/([0-9a-f]+)", [this](const auto& request, auto& response) {
      const std::lock_guard lock(mutex_);
      const bool known = bundles_.contains(request.matches[1]);
      answer(response, known ? 200 : 404, known ? submission(request.matches[1]) : problem("no such bundle"));
    });
    server_->Post("/api/v1/submissions", [this](const auto& request, auto& response) {
      const std::lock_guard lock(mutex_);
      std::string bytes = request.body;
      if (request.has_param("upload")) {
        const auto upload = uploads_.find(request.get_param_value("upload"));
        if (upload == uploads_.end()) return answer(response, 404, problem("no such upload"));
        // As the real server: parts that do not make the whole are no bundle.
        if (const auto total = totals_.find(upload->first);
            total != totals_.end() && total->second != upload->second.size()) {
          answer(response, 409, problem("parts are missing"));
          return response.set_header("Upload-Offset", std::to_string(upload->second.size()));
        }
        bytes = upload->second;
        uploads_.erase(upload);
      }
      const bool known = !bundles_.insert_or_assign(kId, bytes).second;
      json body = submission(kId);
      if (!known) body["receipt"] = "the-receipt";
      answer(response, known ? 200 : 201, body);
    });
    server_->Get("/api/v1/uploads/([0-9a-f]+)", [this](const auto& request, auto& response) {
      const std::lock_guard lock(mutex_);
      const auto upload = uploads_.find(request.matches[1]);
      response.status = upload == uploads_.end() ? 404 : 204;
      if (response.status == 204) response.set_header("Upload-Offset", std::to_string(upload->second.size()));
    });
    server_->Put("/api/v1/uploads/([0-9a-f]+)", [this](const auto& request, auto& response) {
      const std::lock_guard lock(mutex_);
      unsigned long first = 0;
      unsigned long last = 0;
      unsigned long total = 0;
      const std::string range = request.get_header_value("Content-Range");
      const int read = std::sscanf(range.c_str(), "bytes %lu-%lu/%lu", &first, &last, &total);
      std::string& bytes = uploads_[request.matches[1]];
      parts_.push_back(request.body.size());
      if (read != 3 || last - first + 1 != request.body.size()) return answer(response, 400, problem("no range"));
      totals_[request.matches[1]] = total;
      if (first != bytes.size()) response.status = 409;
      if (first == bytes.size()) bytes += request.body;
      response.set_header("Upload-Offset", std::to_string(bytes.size()));
    });
    server_->Delete("/api/v1/submissions/([0-9a-f]+)", [this](const auto& request, auto& response) {
      const std::lock_guard lock(mutex_);
      if (!bundles_.contains(request.matches[1])) return answer(response, 404, problem("no such bundle"));
      const bool proven =
          request.get_header_value("Capbench-Receipt") == "the-receipt" || request.body == "a signature";
      answer(response, proven ? 200 : 403, proven ? json({{"id", kId}}) : problem("that is not its receipt"));
    });
    server_->set_keep_alive_timeout(1);
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::sleep_for(milliseconds(1));
  }
  ResultsServer(const ResultsServer&) = delete;
  ResultsServer& operator=(const ResultsServer&) = delete;
  ~ResultsServer() {
    server_->stop();
    thread_.join();
  }

  static void answer(httplib::Response& response, int status, const json& body) {
    response.status = status;
    response.set_content(body.dump(), "application/json");
  }
  static json problem(const std::string& cause) { return {{"error", {{"name", "bundle"}, {"cause", cause}}}}; }
  static json submission(const std::string& id) {
    return {{"id", id},
            {"tier", "consistent"},
            {"url", "/bundles/" + id},
            {"checks", {{{"name", "samples"}, {"outcome", "passed"}, {"detail", "x"}}}}};
  }

  ServerAddress address() const { return {false, "127.0.0.1", static_cast<std::uint16_t>(port_), ""}; }
  int port() const { return port_; }
  // What becomes of an answer that is ready.
  void after(std::function<void(const httplib::Request&, httplib::Response&)> change) {
    server_->set_post_routing_handler(
        [change = std::move(change)](const httplib::Request& request, httplib::Response& response) {
          change(request, response);
        });
  }
  void meddle(Meddle meddle) {
    const std::lock_guard lock(mutex_);
    meddle_ = std::move(meddle);
  }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, {});
  }
  std::vector<std::size_t> parts() {
    const std::lock_guard lock(mutex_);
    return std::exchange(parts_, {});
  }
  std::string header(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto it = last_.find(name);
    return it == last_.end() ? "" : it->second;
  }
  std::string bundle() {
    const std::lock_guard lock(mutex_);
    return bundles_.contains(kId) ? bundles_[kId] : "";
  }
  void set_upload(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    uploads_[kId] = bytes;
  }

 private:
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  Meddle meddle_;
  std::vector<std::string> log_;
  httplib::Headers last_;
  std::map<std::string, std::string> bundles_;
  std::map<std::string, std::string> uploads_;
  std::map<std::string, std::size_t> totals_;  // as the parts state them
  std::vector<std::size_t> parts_;
};

// Between client and server: cuts connections as a bad line does.
class Line {
 public:
  struct Cut {
    std::size_t sent = SIZE_MAX;      // bytes of the client on one connection, after which it is cut
    std::size_t received = SIZE_MAX;  // bytes of the server
  };
  // `cuts`: of the first connections; later ones hold.
  Line(int port, std::vector<Cut> cuts) : port_(port), cuts_(std::move(cuts)) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any = loopback(0);
    socklen_t length = sizeof any;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), length) != 0 || ::listen(listener_.get(), 16) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0) {
      std::abort();
    }
    own_port_ = ntohs(any.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    stopped_ = true;
    thread_.join();
  }
  ServerAddress address() const { return {false, "127.0.0.1", own_port_, ""}; }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  static bool pass(int from, int to, std::size_t& left) {
    char buffer[4096];
    const ssize_t n = ::recv(from, buffer, std::min(sizeof buffer, left), 0);
    if (n <= 0) return false;
    left -= static_cast<std::size_t>(n);
    return ::send(to, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL) == n && left > 0;
  }

  void serve() {
    std::size_t number = 0;
    while (!stopped_) {
      pollfd ready{listener_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 10) <= 0) continue;
      const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address = loopback(port_);
      if (::connect(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) continue;
      Cut cut = number < cuts_.size() ? cuts_[number] : Cut();
      ++number;
      bool open = true;
      while (open && !stopped_) {
        pollfd both[2] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
        if (::poll(both, 2, 10) <= 0) continue;
        if (both[0].revents != 0) open = pass(client.get(), server.get(), cut.sent);
        // Nothing may come through of an answer that is to get lost.
        if (open && both[1].revents != 0) open = cut.received > 0 && pass(server.get(), client.get(), cut.received);
      }
    }
  }

  int port_;
  std::vector<Cut> cuts_;
  Fd listener_;
  std::uint16_t own_port_ = 0;
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

struct Notes {
  std::vector<std::string> lines;
  UploadOptions options;

  Notes() {
    options.part_bytes = kPart;
    options.first_wait = milliseconds(1);
    options.longest_wait = milliseconds(4);
    options.limits.read = milliseconds(2000);
    options.note = [this](const std::string& line) { lines.push_back(line); };
  }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
};

Submission must(Result<Submission> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}

Error refused(const Result<Submission>& result) {
  if (result) throw std::runtime_error("it was accepted");
  return result.error();
}

TEST(Upload, ASmallBundleGoesInOneRequest) {
  ResultsServer server;
  Notes notes;
  const Submission first = must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_FALSE(first.known);
  EXPECT_EQ(first.receipt, "the-receipt");
  EXPECT_EQ(first.tier, "consistent");
  ASSERT_EQ(first.checks.size(), 1U);
  EXPECT_EQ(first.checks[0].outcome, "passed");
  EXPECT_EQ(server.bundle(), kSmall);
  EXPECT_THAT(server.log(), ElementsAre("GET /api/v1/submissions/" + kId, "POST /api/v1/submissions"));
  EXPECT_EQ(server.header("Content-Type"), "application/vnd.capbench.bundle");
  // What it has is not sent again.
  const Submission second = must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_TRUE(second.known);
  EXPECT_EQ(second.receipt, "");
  EXPECT_THAT(server.log(), ElementsAre("GET /api/v1/submissions/" + kId));
  EXPECT_TRUE(notes.lines.empty());
}

TEST(Upload, ALargeOneGoesInParts) {
  ResultsServer server;
  Notes notes;
  std::vector<std::uint64_t> seen;
  notes.options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, kLarge.size());
    seen.push_back(done);
    return true;
  };
  const Submission submission = must(upload(server.address(), kId, kLarge, notes.options));
  EXPECT_EQ(submission.receipt, "the-receipt");
  EXPECT_EQ(submission.resumed_from, 0U);
  EXPECT_TRUE(server.bundle() == kLarge);
  EXPECT_THAT(server.parts(), ElementsAre(kPart, kPart, kPart, kPart, kLarge.size() - 4 * kPart));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), kLarge.size());
}

TEST(Upload, ALaterCallGoesOnWhereOneWasStopped) {
  ResultsServer server;
  Notes notes;
  notes.options.progress = [](std::uint64_t done, std::uint64_t) { return done < 2 * kPart; };
  EXPECT_EQ(refused(upload(server.address(), kId, kLarge, notes.options)).kind, ErrorKind::kInterrupted);
  EXPECT_EQ(server.parts().size(), 2U);
  notes.options.progress = nullptr;
  const Submission submission = must(upload(server.address(), kId, kLarge, notes.options));
  EXPECT_EQ(submission.resumed_from, 2 * kPart);
  EXPECT_EQ(server.parts().size(), 3U);
  EXPECT_TRUE(server.bundle() == kLarge);
}

TEST(Upload, ItTriesAgainWhenTheServerIsBusy) {
  for (const int status : {429, 500, 502, 503, 504, 408}) {
    ResultsServer server;
    Notes notes;
    int left = 3;
    server.meddle([&](const httplib::Request& request, httplib::Response& response) {
      if (request.method == "GET" || left-- <= 0) return false;
      response.set_header("Retry-After", "0");
      ResultsServer::answer(response, status, ResultsServer::problem("later"));
      return true;
    });
    EXPECT_FALSE(must(upload(server.address(), kId, kSmall, notes.options)).known);
    EXPECT_EQ(notes.lines.size(), 3U);
    EXPECT_THAT(notes.lines[0], AllOf(HasSubstr(std::to_string(status)), HasSubstr("later")));
  }
}

TEST(Upload, ItWaitsAsLongAsIsAskedAndNotForever) {
  ResultsServer server;
  Notes notes;
  std::string asked = "1";
  bool busy = true;
  server.meddle([&](const httplib::Request&, httplib::Response& response) {
    if (!busy) return false;
    busy = asked != "1";
    response.set_header("Retry-After", asked);
    response.status = 503;
    return true;
  });
  const auto start = std::chrono::steady_clock::now();
  must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(950));
  busy = true;
  asked = "86400";
  const Error error = refused(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_EQ(error.kind, ErrorKind::kMachine);
  EXPECT_THAT(error.cause, HasSubstr("86400 s"));
}

TEST(Upload, ItGivesUpAfterSoManyAttempts) {
  ResultsServer server;
  Notes notes;
  server.meddle([](const httplib::Request&, httplib::Response& response) {
    response.status = 503;
    return true;
  });
  const Error error = refused(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_EQ(error.kind, ErrorKind::kMachine);
  EXPECT_THAT(error.cause, HasSubstr("503"));
  EXPECT_EQ(server.log().size(), 6U);
}

TEST(Upload, ALineThatBreaksIsTakenUpAgain) {
  ResultsServer server;
  // In the first request, within parts, between parts.
  Line line(server.port(), {{10}, {kPart + 5000}, {2000}, {3 * kPart / 2}, {1}});
  Notes notes;
  const Submission submission = must(upload(line.address(), kId, kLarge, notes.options));
  EXPECT_TRUE(server.bundle() == kLarge);
  EXPECT_EQ(submission.receipt, "the-receipt");
  EXPECT_FALSE(notes.lines.empty());
}

TEST(Upload, ABrokenLineAlsoTakesUpASmallOne) {
  ResultsServer server;
  Line line(server.port(), {{5000}, {5000}});
  Notes notes;
  must(upload(line.address(), kId, kSmall, notes.options));
  EXPECT_EQ(server.bundle(), kSmall);
}

// It was committed, and nobody heard: it is not sent a second time.
TEST(Upload, AnAnswerThatGetsLostIsAskedFor) {
  ResultsServer server;
  std::atomic<bool> posted = false;
  Notes notes;
  server.meddle([&](const httplib::Request& request, httplib::Response&) {
    if (request.method == "POST") posted = true;
    return false;
  });
  // The answer to the first question is longer than this; that to the POST breaks off in its head.
  Line line(server.port(), {{SIZE_MAX, 1}, {SIZE_MAX, 400}});
  const Submission submission = must(upload(line.address(), kId, kSmall, notes.options));
  EXPECT_TRUE(posted);
  EXPECT_EQ(server.bundle(), kSmall);
  const std::vector<std::string> log = server.log();
  EXPECT_LE(std::count(log.begin(), log.end(), "POST /api/v1/submissions"), 2);
  EXPECT_TRUE(submission.known || submission.receipt == "the-receipt");
}

// A proxy in front of a server that commits says 502, and the receipt is gone with the answer.
TEST(Upload, ALostReceiptIsSaid) {
  ResultsServer server;
  Notes notes;
  bool lost = false;
  server.after([&](const httplib::Request& request, httplib::Response& response) {
    if (request.method != "POST" || lost) return;
    lost = true;
    response.status = 502;
    response.body.clear();
  });
  const Submission submission = must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_TRUE(submission.known);
  EXPECT_EQ(submission.receipt, "");
  EXPECT_THAT(notes.lines, Contains(HasSubstr("the receipt with it")));
}

TEST(Upload, AServerThatSaysWrongOffsetsIsNotAskedForever) {
  const auto attempt = [](const std::string& method, int status, const std::string& offset) {
    ResultsServer server;
    Notes notes;
    server.meddle([&](const httplib::Request& request, httplib::Response& response) {
      if (request.method != method) return false;
      response.status = status;
      if (!offset.empty()) response.set_header("Upload-Offset", offset);
      return true;
    });
    const Error error = refused(upload(server.address(), kId, kLarge, notes.options));
    EXPECT_LT(server.log().size(), 40U) << method << status << offset;
    EXPECT_EQ(server.bundle(), "");
    EXPECT_FALSE(error.remedy.empty());
    return error;
  };
  for (const char* offset : {"999999999999", "-1", "x", "18446744073709551616", "300001"}) {
    EXPECT_THAT(to_string(attempt("HEAD", 200, offset)), HasSubstr("says that it has"));
  }
  attempt("HEAD", 200, "");
  attempt("PUT", 200, "0");
  attempt("PUT", 416, "");
  attempt("PUT", 200, "999999999");
}

TEST(Upload, AServerThatLosesPartsIsNotAskedForever) {
  ResultsServer server;
  Notes notes;
  int puts = 0;
  std::vector<std::jthread> losing;  // beside the request, which holds the server's lock
  server.meddle([&](const httplib::Request& request, httplib::Response&) {
    if (request.method == "PUT" && ++puts % 3 == 0) losing.emplace_back([&] { server.set_upload(""); });
    return false;
  });
  const auto result = upload(server.address(), kId, kLarge, notes.options);
  losing.clear();
  EXPECT_LT(puts, 200);
  // Not EXPECT_EQ, which would print the bytes.
  if (result) {
    EXPECT_TRUE(server.bundle() == kLarge);
  }
}

// What lies there is of another file: the same bundle without its signature.
TEST(Upload, AnUploadOfAnotherFileIsLeftAlone) {
  ResultsServer server;
  Notes notes;
  server.set_upload(std::string(kPart, 'x'));
  server.meddle([&](const httplib::Request& request, httplib::Response& response) {
    if (request.method != "PUT") return false;
    response.set_header("Upload-Offset", std::to_string(kPart));
    ResultsServer::answer(response, 409, ResultsServer::problem("begun with another size"));
    return true;
  });
  must(upload(server.address(), kId, kLarge, notes.options));
  EXPECT_TRUE(server.bundle() == kLarge);
}

TEST(Upload, AServerWithoutUploadsGetsItWhole) {
  for (const int status : {404, 405, 501}) {
    ResultsServer server;
    Notes notes;
    server.meddle([&](const httplib::Request& request, httplib::Response& response) {
      if (request.path.find("/uploads/") == std::string::npos) return false;
      response.status = status;
      return true;
    });
    must(upload(server.address(), kId, kLarge, notes.options));
    EXPECT_TRUE(server.bundle() == kLarge);
    EXPECT_TRUE(server.parts().empty());
  }
}

TEST(Upload, ASlowServerIsGivenUp) {
  ResultsServer server;
  Notes notes;
  notes.options.limits.read = milliseconds(100);
  notes.options.attempts = 2;
  server.meddle([](const httplib::Request&, httplib::Response&) {
    std::this_thread::sleep_for(milliseconds(400));
    return false;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(refused(upload(server.address(), kId, kSmall, notes.options)).kind, ErrorKind::kMachine);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  // A byte now and then is no answer either.
  server.meddle([](const httplib::Request&, httplib::Response& response) {
    response.status = 200;
    response.set_content_provider(1000, "application/json", [](std::size_t, std::size_t, httplib::DataSink& sink) {
      std::this_thread::sleep_for(milliseconds(20));
      return sink.write(" ", 1);
    });
    return true;
  });
  notes.options.limits.whole = milliseconds(200);
  EXPECT_THAT(refused(upload(server.address(), kId, kSmall, notes.options)).cause, HasSubstr("too slowly"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST(Upload, NobodyThereIsSaid) {
  Notes notes;
  notes.options.attempts = 2;
  ServerAddress nobody;
  {
    ResultsServer server;
    nobody = server.address();
  }
  const Error error = refused(upload(nobody, kId, kSmall, notes.options));
  EXPECT_EQ(error.kind, ErrorKind::kMachine);
  EXPECT_THAT(error.what, HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(error.cause, HasSubstr("no connection"));
}

TEST(Upload, RefusalsComeInTheServersWords) {
  const std::pair<int, ErrorKind> refusals[] = {
      {400, ErrorKind::kFinding}, {401, ErrorKind::kUsage},   {403, ErrorKind::kUsage},   {409, ErrorKind::kFinding},
      {413, ErrorKind::kFinding}, {415, ErrorKind::kFinding}, {422, ErrorKind::kFinding}, {404, ErrorKind::kUsage}};
  for (const auto& [status, kind] : refusals) {
    ResultsServer server;
    Notes notes;
    server.meddle([code = status](const httplib::Request& request, httplib::Response& response) {
      if (request.method != "POST") return false;
      ResultsServer::answer(response, code, ResultsServer::problem("because\x1B[2J\nof this"));
      return true;
    });
    const Error error = refused(upload(server.address(), kId, kSmall, notes.options));
    EXPECT_EQ(error.kind, kind) << status;
    EXPECT_THAT(error.cause, AllOf(HasSubstr(std::to_string(status)), HasSubstr("because"), HasSubstr("of this")));
    EXPECT_THAT(error.cause, AllOf(Not(HasSubstr("\x1B")), Not(HasSubstr("\n"))));
    EXPECT_FALSE(error.remedy.empty());
    EXPECT_EQ(server.log().size(), 2U);  // no second attempt
  }
}

TEST(Upload, ARedirectIsNotFollowed) {
  ResultsServer elsewhere;
  ResultsServer server;
  Notes notes;
  notes.options.token = "the-token";
  server.meddle([&](const httplib::Request&, httplib::Response& response) {
    response.set_redirect("http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/api/v1/submissions/x", 302);
    return true;
  });
  const Error error = refused(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_THAT(to_string(error), HasSubstr("points to"));
  EXPECT_TRUE(elsewhere.log().empty());
}

TEST(Upload, HostileAnswersAreRefused) {
  std::string deep = "{\"id\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  const std::string id = "{\"id\":\"" + kId + "\"";
  const std::string answers[] = {"",
                                 "<html>",
                                 "[]",
                                 "{}",
                                 "{\"id\":7}",
                                 "{\"id\":\"" + std::string(64, 'a') + "\"}",
                                 deep,
                                 std::string(2U << 20U, ' '),
                                 id + ",\"receipt\":\"two words\"}",
                                 id + ",\"receipt\":\"" + std::string(300, 'r') + "\"}",
                                 id + ",\"receipt\":\"\\u001b[2J\"}"};
  for (const std::string& text : answers) {
    ResultsServer server;
    Notes notes;
    notes.options.attempts = 2;
    server.meddle([&](const httplib::Request& request, httplib::Response& response) {
      if (request.method != "POST") return false;
      response.status = 201;
      response.set_content(text, "application/json");
      return true;
    });
    EXPECT_EQ(refused(upload(server.address(), kId, kSmall, notes.options)).kind, ErrorKind::kMachine)
        << text.substr(0, 80);
  }
  // What may be odd without harm.
  ResultsServer server;
  Notes notes;
  server.meddle([&](const httplib::Request& request, httplib::Response& response) {
    if (request.method != "POST") return false;
    response.status = 201;
    response.set_content(id + R"(,"tier":7,"checks":[null,7,{"name":"\u001b[2J","outcome":[]}],"url":"\u0007"})", "x");
    return true;
  });
  const Submission odd = must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_EQ(odd.checks.size(), 3U);
  EXPECT_THAT(odd.checks[2].name + odd.url, AllOf(Not(HasSubstr("\x1B")), Not(HasSubstr("\x07"))));
}

TEST(Upload, AWithdrawnBundleIsNotSentAgain) {
  ResultsServer server;
  Notes notes;
  server.meddle([&](const httplib::Request&, httplib::Response& response) {
    json body = ResultsServer::submission(kId);
    body["withdrawn_at"] = "2026-11-30T04:25:07.123Z";
    ResultsServer::answer(response, 200, body);
    return true;
  });
  EXPECT_THAT(to_string(refused(upload(server.address(), kId, kSmall, notes.options))), HasSubstr("withdrawn"));
  EXPECT_EQ(server.log().size(), 1U);
}

TEST(Token, IsSentWhereNobodyReadsItOnTheWay) {
  ResultsServer server;
  Notes notes;
  notes.options.token = "the-token";
  must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_EQ(server.header("Authorization"), "Bearer the-token");
  const ServerAddress open{false, "results.example.org", 80, ""};
  const Error error = refused(upload(open, kId, kSmall, notes.options));
  EXPECT_EQ(error.kind, ErrorKind::kUsage);
  EXPECT_THAT(error.cause, HasSubstr("in the clear"));
  EXPECT_THAT(to_string(error), Not(HasSubstr("the-token")));
  notes.options.token = "two\r\nX-Header: lines";
  EXPECT_EQ(refused(upload(server.address(), kId, kSmall, notes.options)).kind, ErrorKind::kUsage);
}

TEST(Tls, IsVerified) {
  namespace fs = std::filesystem;
  std::string pattern = fs::path(::testing::TempDir()) / "tls-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const auto make = [&](const std::string& name, const std::string& whom) {
    const std::string path = pattern + "/" + name;
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x "
        "-addext subjectAltName=" +
        whom + " -keyout " + path + ".key -out " + path + ".crt >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;  // NOLINT: the test's own words
  };
  if (!make("own", "IP:127.0.0.1") || !make("other", "DNS:results.example.org")) GTEST_SKIP() << "no openssl program";
  const auto attempt = [&](const std::string& certificate, const std::string& trusted) {
    const std::string path = pattern + "/" + certificate;
    ResultsServer server(std::make_unique<httplib::SSLServer>((path + ".crt").c_str(), (path + ".key").c_str()));
    if (trusted.empty()) {
      ::unsetenv("SSL_CERT_FILE");
    } else {
      ::setenv("SSL_CERT_FILE", (pattern + "/" + trusted + ".crt").c_str(), 1);
    }
    Notes notes;
    notes.options.token = "the-token";
    ServerAddress address = server.address();
    address.secure = true;
    auto result = upload(address, kId, kSmall, notes.options);
    EXPECT_EQ(server.log().empty(), !result.ok());
    ::unsetenv("SSL_CERT_FILE");
    return result;
  };
  const Error stranger = refused(attempt("own", ""));
  EXPECT_THAT(stranger.cause, HasSubstr("certificate"));
  EXPECT_THAT(stranger.remedy, HasSubstr("SSL_CERT_FILE"));
  EXPECT_THAT(refused(attempt("own", "other")).cause, HasSubstr("certificate"));
  EXPECT_THAT(refused(attempt("other", "other")).cause, HasSubstr("certificate"));  // of another host
  EXPECT_TRUE(attempt("own", "own").ok());
  fs::remove_all(pattern);
}

TEST(Withdraw, WithTheReceiptOrTheSignature) {
  ResultsServer server;
  Notes notes;
  const auto none = withdraw(server.address(), kId, {"the-receipt", "", ""}, notes.options);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().remedy, HasSubstr("check the id"));
  must(upload(server.address(), kId, kSmall, notes.options));
  EXPECT_TRUE(withdraw(server.address(), kId, {"the-receipt", "", ""}, notes.options).ok());
  EXPECT_TRUE(withdraw(server.address(), kId, {"", "a signature", "a mistake & more"}, notes.options).ok());
  const auto wrong = withdraw(server.address(), kId, {"another", "", ""}, notes.options);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, ErrorKind::kFinding);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("that is not its receipt"));
  EXPECT_FALSE(withdraw(server.address(), "../x", {"the-receipt", "", ""}, notes.options).ok());
  EXPECT_FALSE(withdraw(server.address(), kId, {"a\r\nb", "", ""}, notes.options).ok());
  EXPECT_FALSE(withdraw({false, "results.example.org", 80, ""}, kId, {"r", "", ""}, notes.options).ok());
}

TEST(Address, IsReadStrictly) {
  const auto text = [](std::string_view given) {
    auto server = parse_server(given);
    return server ? server->text() : "error";
  };
  EXPECT_EQ(text("https://Results.Example.org"), "https://results.example.org");
  EXPECT_EQ(text("https://results.example.org:443/"), "https://results.example.org");
  EXPECT_EQ(text("HTTP://127.0.0.1:8080/a/b//"), "http://127.0.0.1:8080/a/b");
  EXPECT_EQ(text("http://[::1]:8080"), "http://[::1]:8080");
  for (const char* bad : {"", "results.example.org", "ftp://x", "https://", "https://:80", "http://a:0",
                          "http://a:65536", "http://a:8o", "http://u:p@a", "http://a/?x", "http://a b", "http://a\r\nb",
                          "http://[::1", "http://[x]", "http://[::1]8", "http://a/%2e", "http://[]", "http://["}) {
    EXPECT_EQ(text(bad), "error") << bad;
  }
  EXPECT_EQ(text("https://" + std::string(2000, 'a')), "error");
}

}  // namespace
}  // namespace capbench::submit
