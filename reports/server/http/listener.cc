#include "reports/server/http/listener.h"

#include <httplib.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

namespace capbench::http {
namespace {

constexpr int kBacklog = 512;

Error endpoint_error(std::string_view text, std::string cause) {
  return {ErrorKind::kUsage, "the address " + std::string(text), std::move(cause),
          "give ADDRESS:PORT, as in 127.0.0.1:8080 or [::1]:8080"};
}

// Its own handling of requests is not used: it reads heads of any length, and a slow client keeps a thread busy.
class Acceptor : public httplib::Server {
 public:
  explicit Acceptor(std::function<void(Fd)> take) : take_(std::move(take)) {
    // The library would share the port with any other program of this user.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    new_task_queue = [] { return new httplib::ThreadPool(1); };
  }

  // Its queue holds five connections, fewer than come in a moment.
  void lengthen_queue() { ::listen(svr_sock_, kBacklog); }

 private:
  bool process_and_close_socket(socket_t socket) override {
    take_(Fd(socket));
    return true;
  }

  std::function<void(Fd)> take_;
};

}  // namespace

struct Listener::State {
  State(Endpoint chosen, std::function<void(Fd)> take) : endpoint(std::move(chosen)), acceptor(std::move(take)) {}
  Endpoint endpoint;
  Acceptor acceptor;
  std::thread thread;
};

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return endpoint_error(text, "has no port");
  Endpoint endpoint;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (failure != std::errc() || end != port.data() + port.size() || endpoint.port < 0 || endpoint.port > 65535) {
    return endpoint_error(text, "its port is not a number from 0 to 65535");
  }
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) {
    return endpoint_error(text, host.empty() ? "has no host" : "is ambiguous: an IPv6 address needs brackets");
  }
  endpoint.host = host;
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return (brackets ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;
Listener::~Listener() {
  if (state_) stop();
}

Result<Listener> Listener::open(const Endpoint& endpoint, std::function<void(Fd)> take) {
  auto state = std::make_unique<State>(endpoint, std::move(take));
  errno = 0;
  const int port = endpoint.port == 0 ? state->acceptor.bind_to_any_port(endpoint.host)
                   : state->acceptor.bind_to_port(endpoint.host, endpoint.port) ? endpoint.port
                                                                                : -1;
  if (port <= 0) {
    const int code = errno;
    return Error{ErrorKind::kMachine, "listening on " + to_string(endpoint),
                 code == 0 ? "not an address of this machine" : errno_text(code),
                 code == EADDRINUSE ? "stop who listens there, or choose another port with --listen"
                                    : "choose another address with --listen"};
  }
  state->endpoint.port = port;
  state->acceptor.lengthen_queue();
  State* const raw = state.get();
  state->thread = std::thread([raw] { raw->acceptor.listen_after_bind(); });
  // stop() has no effect before this.
  for (int i = 0; i < 5000 && !raw->acceptor.is_running(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Listener(std::move(state));
}

const Endpoint& Listener::endpoint() const {
  return state_->endpoint;
}

void Listener::stop() {
  if (!state_->thread.joinable()) return;
  state_->acceptor.stop();
  state_->thread.join();
}

}  // namespace capbench::http
