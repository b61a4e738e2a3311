// Bytes to and from a socket, never waiting longer than said. For this room only.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_WIRE_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_WIRE_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace capbench::http {

using Clock = std::chrono::steady_clock;

// Whether the descriptor can be read (or is at its end) before the time is over.
bool wait_readable(int fd, std::chrono::milliseconds patience);

enum class Received { kBytes, kNothingYet, kEnd };
// Appends what is there now, at most `most` bytes.
Received receive(int fd, std::string& into, std::size_t most);

// Both, in one call if the system takes them; false if they did not go before the deadline or the peer is gone.
bool send_all(int fd, std::string_view head, std::string_view body, Clock::time_point deadline);

// The peer's address in numbers; empty if there is none.
std::string peer_address(int fd);

// "Mon, 30 Nov 2026 14:00:00 GMT", now.
std::string http_date();

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_WIRE_H_
