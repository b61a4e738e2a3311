// A results server: submissions, their data, and pages over HTTP. No TLS: it is meant to stand behind a proxy that has
// it, or to be used on the machine itself.
//
// A submission that was answered with 201 is on disk (SQLite's WAL, synchronous=FULL): neither killing the server nor a
// power cut takes it back, as far as the disk keeps what it says it has written.
#ifndef CAPBENCH_REPORTS_SERVER_SERVER_H_
#define CAPBENCH_REPORTS_SERVER_SERVER_H_

#include <memory>

#include "base/result.h"
#include "reports/server/http/listener.h"
#include "reports/server/options.h"

namespace capbench::server {

class Server {
 public:
  // Serves from now on, in threads of its own.
  static Result<std::unique_ptr<Server>> start(Options options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  const http::Endpoint& endpoint() const;
  // Accepts no more, finishes what has been accepted and closes the store.
  void stop();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_SERVER_H_
