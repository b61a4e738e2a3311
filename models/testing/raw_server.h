// An HTTP server on loopback that does exactly what a test tells it to, wrong things included.
#ifndef CAPBENCH_MODELS_TESTING_RAW_SERVER_H_
#define CAPBENCH_MODELS_TESTING_RAW_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace capbench::models::testing {

struct Request {
  int number = 0;  // from 0
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::uint64_t range_from = 0;                // of "Range: bytes=N-"
};

// Writes the answer to the socket. When it returns the connection is closed.
using Answer = std::function<void(const Request& request, int socket)>;

// One connection after another, on a port of 127.0.0.1 that the system chooses.
class RawServer {
 public:
  explicit RawServer(Answer answer);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string url(std::string_view target, std::string_view host = "127.0.0.1") const;
  std::vector<Request> requests() const;

 private:
  void serve();

  Answer answer_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

// False if the other side has gone.
bool send_all(int socket, std::string_view bytes);

// A well-behaved answer: 200 or, to a range, 206, of which only the first `count` bytes of the body are sent.
void send_file(const Request& request, int socket, std::string_view file, std::size_t count = SIZE_MAX,
               std::string_view entity_tag = "\"v1\"");

}  // namespace capbench::models::testing

#endif  // CAPBENCH_MODELS_TESTING_RAW_SERVER_H_
