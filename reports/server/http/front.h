// Who waits for clients: one thread watches every connection until a whole request has come, and only then is a thread
// of a lane kept busy by it. A client that sends slowly, or nothing, or too much costs a place in a table and no
// thread; every wait has an end and every buffer a limit.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_FRONT_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_FRONT_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "reports/server/http/head.h"
#include "reports/server/http/lane.h"
#include "reports/server/http/message.h"

namespace capbench::http {

struct FrontLimits {
  HeadLimits head;
  std::uint64_t body_bytes = 8U << 20U;     // of one body
  std::uint64_t bodies_bytes = 48U << 20U;  // of all bodies that are received or handled now
  std::uint64_t bodies_bytes_per_address = 16U << 20U;
  std::size_t connections = 512;
  std::size_t connections_per_address = 64;
  std::size_t requests_per_connection = 10'000;
  std::chrono::milliseconds head_time = std::chrono::seconds(10);  // from the first byte to the empty line
  std::chrono::milliseconds idle_time = std::chrono::seconds(15);  // between requests
  // For a body or a reply: so long, and as long again as the bytes take at the rate.
  std::chrono::milliseconds transfer_time = std::chrono::seconds(10);
  std::uint64_t transfer_bytes_per_s = 32U << 10U;
  std::chrono::milliseconds grace = std::chrono::seconds(10);  // for requests that have begun when it stops
};

// What went wrong before a request could be handled; grows only.
struct FrontCounts {
  std::atomic<std::uint64_t> accepted = 0;     // connections
  std::atomic<std::uint64_t> turned_away = 0;  // connections over the limits
  std::atomic<std::uint64_t> refused = 0;      // requests answered from their head alone
  std::atomic<std::uint64_t> timed_out = 0;
  std::atomic<std::uint64_t> busy = 0;  // requests that found their lane full, or no room for their body
};

struct FrontHandlers {
  // Asked when the head has come, by any thread; must not wait. A reply refuses the request: its body is not read.
  std::function<std::optional<Reply>(const Head& head, std::string_view address)> admit;
  // Which lane, from 0.
  std::function<std::size_t(const Head& head)> lane;
  // In a thread of that lane. What it throws is answered with 500.
  std::function<Reply(Request& request)> handle;
  std::vector<Field> fields;  // of every reply
};

class Front {
 public:
  Front(const FrontLimits& limits, const std::vector<LaneSize>& lanes, FrontHandlers handlers);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  ~Front();

  // A connected socket. Any thread.
  void adopt(Fd socket);
  // Idle connections are closed, requests that have begun may end within the grace, and those that are complete are
  // answered. Returns when that is done. adopt() must not be called any more.
  void stop();

  const FrontCounts& counts() const;
  std::size_t connections() const;
  std::size_t waiting(std::size_t lane) const;
  std::uint64_t body_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_FRONT_H_
