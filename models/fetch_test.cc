#include "models/fetch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "models/testing/raw_server.h"

namespace capbench::models {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::RawServer;
using testing::Request;
using testing::send_all;
using testing::send_file;

std::string random_bytes(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);  // NOLINT: the same bytes every time
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

class Fetch : public ::testing::Test {
 protected:
  Fetch() : folder_(fs::path(::testing::TempDir()) / "fetch"), path_(folder_ / "model.gguf") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.first_wait = milliseconds(1);
    options_.read_timeout = milliseconds(2000);
    options_.note = [this](const std::string& text) { notes_ += text + "\n"; };
  }

  void serve(testing::Answer answer) { server_ = std::make_unique<RawServer>(std::move(answer)); }

  FetchSource source(std::string_view target = "/model.gguf") const {
    return {server_->url(target), file_.size(), sha256(file_)};
  }

  Error error_of(const FetchSource& from) const {
    const auto report = fetch(from, path_, options_);
    EXPECT_FALSE(report.ok());
    return report.ok() ? Error{} : report.error();
  }

  fs::path partial() const { return path_.string() + ".partial"; }
  std::size_t files_left() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }

  void expect_whole(const Result<FetchReport>& report) const {
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    EXPECT_EQ(report->sha256, sha256(file_));
    EXPECT_EQ(report->size, file_.size());
    EXPECT_EQ(*read_file(path_), file_);
    EXPECT_EQ(files_left(), 1U);  // no partial file, no version file
  }

  const std::string file_ = random_bytes(300'000);
  fs::path folder_;
  fs::path path_;
  FetchOptions options_;
  std::string notes_;
  std::unique_ptr<RawServer> server_;
};

TEST_F(Fetch, DownloadsThroughRedirectsAndReportsProgress) {
  serve([this](const Request& request, int socket) {
    if (request.target == "/model.gguf") {
      send_all(socket, "HTTP/1.1 302 Found\r\nLocation: /cdn/x?signature=a%2Bb,c;d\r\nContent-Length: 4\r\n\r\nbody");
    } else {
      send_file(request, socket, file_);
    }
  });
  std::uint64_t last = 0;
  options_.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    EXPECT_EQ(total, file_.size());
    last = done;
    return true;
  };
  expect_whole(fetch(source(), path_, options_));
  EXPECT_EQ(last, file_.size());
  // A signed address arrives as it was given.
  EXPECT_EQ(server_->requests().at(1).target, "/cdn/x?signature=a%2Bb,c;d");
  const auto again = fetch(source(), path_, options_);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->was_there);
  EXPECT_EQ(server_->requests().size(), 2U);
}

TEST_F(Fetch, GoesOnWhereTheLineWasCut) {
  std::mt19937 random(9);  // NOLINT: the same places every time
  serve([&](const Request& request, int socket) { send_file(request, socket, file_, random() % 40'000); });
  options_.attempts = 50;
  expect_whole(fetch(source(), path_, options_));
  const auto requests = server_->requests();
  EXPECT_GT(requests.size(), 7U);
  std::uint64_t from = 0;
  for (const Request& request : requests) {
    EXPECT_GE(request.range_from, from);
    from = request.range_from;
    if (from > 0) {
      EXPECT_EQ(request.headers.at("if-range"), "\"v1\"");
    }
  }
  EXPECT_THAT(notes_, HasSubstr("the line was cut"));
}

TEST_F(Fetch, ALineCutInTheHeadersIsNoAnswer) {
  serve([this](const Request& request, int socket) {
    if (request.number < 3) {
      send_all(
          socket,
          std::string_view("HTTP/1.1 200 OK\r\nContent-Le").substr(0, 9 * static_cast<std::size_t>(request.number)));
    } else {
      send_file(request, socket, file_);
    }
  });
  expect_whole(fetch(source(), path_, options_));
}

TEST_F(Fetch, WrongBytesAreRemoved) {
  std::string wrong = file_;
  wrong[150'000] = static_cast<char>(wrong[150'000] ^ 1);
  serve([&](const Request& request, int socket) { send_file(request, socket, wrong); });
  const Error error = error_of(source());
  EXPECT_EQ(error.kind, ErrorKind::kFinding);
  EXPECT_THAT(to_string(error), HasSubstr("SHA-256 is " + sha256(wrong) + ", pinned is " + sha256(file_)));
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(Fetch, AServerThatIgnoresRangesStartsAnew) {
  serve([this](Request request, int socket) {
    const bool first = request.number == 0;
    request.headers.erase("range");
    request.range_from = 0;
    send_file(request, socket, file_, first ? 100'000 : SIZE_MAX);
  });
  expect_whole(fetch(source(), path_, options_));
  EXPECT_THAT(notes_, HasSubstr("from the start"));
}

TEST_F(Fetch, AnotherVersionIsNotAppended) {
  const std::string other = random_bytes(file_.size(), 2);
  serve([&](const Request& request, int socket) {
    if (request.number == 0) return send_file(request, socket, other, 100'000, "\"old\"");
    send_file(request, socket, file_, SIZE_MAX, "\"new\"");
  });
  expect_whole(fetch(source(), path_, options_));
}

TEST_F(Fetch, WithoutADigestOnlyTheSameVersionIsContinued) {
  serve([this](const Request& request, int socket) {
    send_file(request, socket, file_, request.number == 0 ? 100'000 : SIZE_MAX, "W/\"weak\"");
  });
  FetchSource unpinned = source();
  unpinned.sha256.clear();
  unpinned.size = 0;
  const auto report = fetch(unpinned, path_, options_);
  expect_whole(report);
  EXPECT_FALSE(report->pinned);
  EXPECT_EQ(server_->requests().at(1).headers.count("range"), 0U);
}

TEST_F(Fetch, AWrongLengthIsAFinding) {
  serve([this](const Request& request, int socket) { send_file(request, socket, file_ + "more"); });
  const Error error = error_of(source());
  EXPECT_EQ(error.kind, ErrorKind::kFinding);
  EXPECT_THAT(error.cause, HasSubstr("300004 bytes, pinned are 300000"));
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(Fetch, MoreThanPinnedIsNeverWritten) {
  serve([this](const Request&, int socket) {
    send_all(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 4; ++i) {
      const std::string piece = file_.substr(0, 100'000);
      if (!send_all(socket, fmt::format("{:x}\r\n{}\r\n", piece.size(), piece))) return;
    }
    send_all(socket, "0\r\n\r\n");
  });
  const Error error = error_of(source());
  EXPECT_EQ(error.kind, ErrorKind::kFinding);
  EXPECT_THAT(error.cause, HasSubstr("more than 300000"));
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(Fetch, AnotherPartThanAskedForIsNotAppended) {
  serve([this](const Request& request, int socket) {
    if (request.number == 0) return send_file(request, socket, file_, 100'000);
    if (request.number == 1) {
      const std::string body = file_.substr(50'000);
      send_all(socket, fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 50000-299999/300000\r\n"
                                   "Content-Length: {}\r\n\r\n{}",
                                   body.size(), body));
      return;
    }
    send_file(request, socket, file_);
  });
  expect_whole(fetch(source(), path_, options_));
  EXPECT_EQ(server_->requests().size(), 3U);
}

TEST_F(Fetch, ARangeBehindTheEndStartsAnew) {
  // What is here is of a longer version.
  ASSERT_TRUE(replace_file(partial(), random_bytes(200'000, 3)).ok());
  serve([this](const Request& request, int socket) {
    if (request.number > 0) return send_file(request, socket, file_);
    send_all(socket, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */100\r\nContent-Length: 0\r\n\r\n");
  });
  expect_whole(fetch(source(), path_, options_));
}

TEST_F(Fetch, APartialFileThatIsTooLongOrWrongDoesNotSurvive) {
  serve([this](const Request& request, int socket) { send_file(request, socket, file_); });
  ASSERT_TRUE(replace_file(partial(), file_ + "more").ok());
  expect_whole(fetch(source(), path_, options_));
  fs::remove(path_);
  ASSERT_TRUE(replace_file(partial(), random_bytes(file_.size(), 4)).ok());
  EXPECT_EQ(error_of(source()).kind, ErrorKind::kFinding);
  EXPECT_EQ(files_left(), 0U);
  expect_whole(fetch(source(), path_, options_));
}

TEST_F(Fetch, RefusalsAreFinalAndSayWhatToDo) {
  for (const int status : {401, 403, 404, 410, 400}) {
    serve([&](const Request&, int socket) {
      send_all(socket, fmt::format("HTTP/1.1 {} No\r\nContent-Length: 2\r\n\r\nno", status));
    });
    const Error error = error_of(source());
    EXPECT_EQ(error.kind, ErrorKind::kMachine);
    EXPECT_THAT(error.cause, HasSubstr(std::to_string(status)));
    EXPECT_NE(error.remedy, "");
    EXPECT_EQ(server_->requests().size(), 1U);
    EXPECT_EQ(files_left(), 0U);
  }
}

TEST_F(Fetch, WaitsForAServerInTrouble) {
  serve([this](const Request& request, int socket) {
    if (request.number < 3) {
      send_all(socket, "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n");
    } else {
      send_file(request, socket, file_);
    }
  });
  expect_whole(fetch(source(), path_, options_));
  EXPECT_THAT(notes_, HasSubstr("the server says 503; again in 0.001 s"));
}

TEST_F(Fetch, GivesUpAfterFruitlessAttemptsAndKeepsWhatCame) {
  serve([this](const Request& request, int socket) {
    if (request.number == 0) send_file(request, socket, file_, 100'000);
  });
  const Error error = error_of(source());
  EXPECT_EQ(error.kind, ErrorKind::kMachine);
  EXPECT_THAT(error.cause, HasSubstr("6 times in a row"));
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(fs::file_size(partial()), 100'000U);
  serve([this](const Request& request, int socket) { send_file(request, socket, file_); });
  const auto report = fetch(source(), path_, options_);
  expect_whole(report);
  EXPECT_EQ(report->resumed_from, 100'000U);
  EXPECT_EQ(server_->requests().at(0).range_from, 100'000U);
}

TEST_F(Fetch, AServerThatStallsIsLeft) {
  options_.read_timeout = milliseconds(100);
  serve([this](const Request& request, int socket) {
    send_file(request, socket, file_, request.number == 0 ? 100'000 : SIZE_MAX);
    if (request.number == 0) std::this_thread::sleep_for(milliseconds(400));
  });
  expect_whole(fetch(source(), path_, options_));
}

TEST_F(Fetch, StopsWhenAskedAndGoesOnLater) {
  serve([this](const Request& request, int socket) { send_file(request, socket, file_); });
  options_.progress = [](std::uint64_t done, std::uint64_t) { return done < 50'000; };
  EXPECT_EQ(error_of(source()).kind, ErrorKind::kInterrupted);
  EXPECT_GE(fs::file_size(partial()), 50'000U);
  EXPECT_FALSE(fs::exists(path_));
  options_.progress = nullptr;
  expect_whole(fetch(source(), path_, options_));
}

TEST_F(Fetch, SurvivesBeingKilled) {
  serve([this](const Request& request, int socket) {
    send_file(request, socket, file_, request.number == 0 ? 120'000 : SIZE_MAX);
    if (request.number == 0) std::this_thread::sleep_for(milliseconds(1500));
  });
  const FetchSource from = source();
  const pid_t child = ::fork();
  if (child == 0) {
    (void)fetch(from, path_, options_);
    ::_exit(0);
  }
  for (int i = 0; i < 200 && (!fs::exists(partial()) || fs::file_size(partial()) < 100'000); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  // While it runs nobody else writes the same file.
  EXPECT_THAT(error_of(from).cause, HasSubstr("another download"));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(fs::exists(path_));
  const auto report = fetch(from, path_, options_);
  expect_whole(report);
  EXPECT_GE(report->resumed_from, 100'000U);
}

TEST_F(Fetch, AFullDiskKeepsWhatCame) {
  serve([this](const Request& request, int socket) { send_file(request, socket, file_); });
  const FetchSource from = source();
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{123'456, 123'456};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto report = fetch(from, path_, options_);
    ::_exit(!report.ok() && report.error().kind == ErrorKind::kMachine && !report.error().remedy.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(fs::file_size(partial()), 123'456U);
  expect_whole(fetch(from, path_, options_));
}

TEST_F(Fetch, AFileThatIsThereIsNeverTouched) {
  serve([this](const Request& request, int socket) { send_file(request, socket, file_); });
  ASSERT_TRUE(replace_file(path_, "mine").ok());
  EXPECT_EQ(error_of(source()).kind, ErrorKind::kFinding);
  EXPECT_EQ(*read_file(path_), "mine");
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(Fetch, TheTokenStaysWithTheFirstHost) {
  options_.token = "secret";
  serve([this](const Request& request, int socket) {
    if (request.target == "/model.gguf") {
      send_all(socket, fmt::format("HTTP/1.1 307 Go\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
                                   server_->url("/elsewhere", "localhost")));
    } else {
      send_file(request, socket, file_);
    }
  });
  expect_whole(fetch(source(), path_, options_));
  const auto requests = server_->requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(requests[1].headers.count("authorization"), 0U);
}

TEST_F(Fetch, RefusesCirclesAndNonsense) {
  serve([](const Request&, int socket) {
    send_all(socket, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_THAT(error_of(source()).cause, HasSubstr("circles"));
  serve([](const Request&, int socket) {
    send_all(socket, "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_THAT(error_of(source()).cause, HasSubstr("neither https"));
  options_.attempts = 2;
  serve([](const Request&, int socket) { send_all(socket, "garbage\n\n\0\xFF"); });
  EXPECT_EQ(error_of(source()).kind, ErrorKind::kMachine);
  serve([](const Request&, int socket) {
    send_all(socket, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc");
  });
  EXPECT_THAT(error_of(source()).cause, HasSubstr("packs the file"));
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(Fetch, NobodyListeningIsOneError) {
  serve([](const Request&, int) {});
  const FetchSource from = source();
  server_.reset();
  options_.attempts = 2;
  EXPECT_THAT(error_of(from).cause, HasSubstr("no answer from 127.0.0.1"));
}

// `openssl s_server -WWW` in a folder, with a certificate of its own for localhost.
class TlsServer {
 public:
  explicit TlsServer(const fs::path& folder) {
    const std::string make = fmt::format(
        "cd '{}' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem >/dev/null 2>&1",
        folder.string());
    if (std::system(make.c_str()) != 0) return;
    port_ = free_port();
    child_ = ::fork();
    if (child_ == 0) {
      const std::string port = std::to_string(port_);
      if (::chdir(folder.c_str()) == 0 && std::freopen("/dev/null", "w", stdout) != nullptr) {
        ::execlp("openssl", "openssl", "s_server", "-accept", port.c_str(), "-cert", "cert.pem", "-key", "key.pem",
                 "-WWW", "-quiet", nullptr);
      }
      ::_exit(1);
    }
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  bool running() const { return child_ > 0; }
  std::string url(std::string_view host) const { return fmt::format("https://{}:{}/served.gguf", host, port_); }

 private:
  static int free_port() {
    const Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd.get(), any, length) != 0 || ::getsockname(fd.get(), any, &length) != 0) return 0;
    return ntohs(address.sin_port);
  }

  pid_t child_ = -1;
  int port_ = 0;
};

TEST_F(Fetch, TrustsOnlyCertificatesOfKnownAuthoritiesForTheHost) {
  ASSERT_TRUE(replace_file(folder_ / "served.gguf", file_).ok());
  const TlsServer tls(folder_);
  if (!tls.running()) GTEST_SKIP() << "needs the openssl program";
  options_.attempts = 100;
  options_.longest_wait = milliseconds(100);
  const auto from = [&](std::string_view host) { return FetchSource{tls.url(host), file_.size(), sha256(file_)}; };
  const Error unknown = error_of(from("localhost"));
  EXPECT_EQ(unknown.kind, ErrorKind::kMachine);
  EXPECT_THAT(unknown.cause, HasSubstr("certificate"));
  ::setenv("SSL_CERT_FILE", (folder_ / "cert.pem").c_str(), 1);
  EXPECT_THAT(error_of(from("127.0.0.1")).cause, HasSubstr("IP address mismatch"));
  const auto report = fetch(from("localhost"), path_, options_);
  ::unsetenv("SSL_CERT_FILE");
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(*read_file(path_), file_);
}

TEST(FetchSource, IsThePinnedRevisionOfTheFile) {
  const auto source = source_of(*find_model("gemma-4-12b"));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->url,
            "https://huggingface.co/google/gemma-4-12B-it-qat-q4_0-gguf/resolve/"
            "29d097773436b69ff9feafd636ab4cf873786537/gemma-4-12b-it-qat-q4_0.gguf");
  EXPECT_EQ(source->size, 6975879296U);
  EXPECT_EQ(source_of(*find_model("gemma-4-12b"), "http://mirror/")->url.substr(0, 21), "http://mirror/google/");
  EXPECT_THAT(source_of(*find_model("tiny")).error().remedy, HasSubstr("synth"));
  EXPECT_FALSE(source_of(*find_model("llama-3.2-3b-mlx")).ok());
}

}  // namespace
}  // namespace capbench::models
