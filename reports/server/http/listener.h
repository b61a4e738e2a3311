// The listening socket: cpp-httplib binds it and accepts connections, which go to a Front as they are.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_LISTENER_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_LISTENER_H_

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace capbench::http {

struct Endpoint {
  std::string host;  // a name or an address; "::1" without brackets
  int port = 0;      // 0: the system chooses
};

// "127.0.0.1:8080", "[::1]:0", "localhost:8080".
Result<Endpoint> parse_endpoint(std::string_view text);
std::string to_string(const Endpoint& endpoint);

class Listener {
 public:
  // `take` gets each connection, in a thread of the listener's own. An error says why it cannot listen there.
  static Result<Listener> open(const Endpoint& endpoint, std::function<void(Fd)> take);
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;
  ~Listener();

  const Endpoint& endpoint() const;  // with the port that it got
  // Accepts no more. Returns when `take` will not be called again.
  void stop();

 private:
  struct State;
  explicit Listener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_LISTENER_H_
