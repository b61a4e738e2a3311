#include "reports/server/http/wire.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace capbench::http {
namespace {

// Where the flag is missing (macOS), the program ignores SIGPIPE.
#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
#else
constexpr int kSendFlags = MSG_DONTWAIT;
#endif

bool wait_for(int fd, short events, std::chrono::milliseconds patience) {
  pollfd waiting{fd, events, 0};
  const auto deadline = Clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

bool wait_readable(int fd, std::chrono::milliseconds patience) {
  return wait_for(fd, POLLIN, patience);
}

Received receive(int fd, std::string& into, std::size_t most) {
  const std::size_t before = into.size();
  into.resize(before + most);
  ssize_t count = 0;
  do {
    count = ::recv(fd, into.data() + before, most, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  into.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count > 0) return Received::kBytes;
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::kNothingYet;
  return Received::kEnd;
}

bool send_all(int fd, std::string_view head, std::string_view body, Clock::time_point deadline) {
  while (!head.empty() || !body.empty()) {
    std::array<iovec, 2> parts{};
    std::size_t used = 0;
    for (const std::string_view part : {head, body}) {
      // The interface is older than const.
      if (!part.empty()) parts.at(used++) = {const_cast<char*>(part.data()), part.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = used;
    const ssize_t count = ::sendmsg(fd, &message, kSendFlags);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0 || !wait_for(fd, POLLOUT, left)) return false;
      continue;
    }
    const auto sent = static_cast<std::size_t>(count);
    const std::size_t of_head = std::min(sent, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(sent - of_head);
  }
  return true;
}

std::string peer_address(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(fd, generic, &size) != 0) return "";
  if (::getnameinfo(generic, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text.data();
}

std::string http_date() {
  // Not strftime: its names depend on the locale.
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  const auto two = [](int value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  return std::string(kDays.at(static_cast<std::size_t>(utc.tm_wday))) + ", " + two(utc.tm_mday) + " " +
         kMonths.at(static_cast<std::size_t>(utc.tm_mon)) + " " + std::to_string(1900 + utc.tm_year) + " " +
         two(utc.tm_hour) + ":" + two(utc.tm_min) + ":" + two(utc.tm_sec) + " GMT";
}

}  // namespace capbench::http
