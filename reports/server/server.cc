#include "reports/server/server.h"

#include <optional>
#include <string>
#include <utility>

#include "reports/server/http/front.h"
#include "reports/server/metrics.h"
#include "reports/server/service.h"

namespace capbench::server {
namespace {

std::string front_metrics(const http::Front& front) {
  const http::FrontCounts& counts = front.counts();
  const auto line = [](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    return metric(name, type, help, static_cast<double>(value));
  };
  return line("capbench_connections", "gauge", "Open connections.", front.connections()) +
         line("capbench_connections_total", "counter", "Connections accepted.", counts.accepted) +
         line("capbench_connections_turned_away_total", "counter", "Connections over the limits.", counts.turned_away) +
         line("capbench_requests_refused_total", "counter", "Requests answered from their head alone.",
              counts.refused) +
         line("capbench_requests_timed_out_total", "counter", "Requests that did not come in time.", counts.timed_out) +
         line("capbench_requests_busy_total", "counter", "Requests that found no room.", counts.busy) +
         line("capbench_body_bytes", "gauge", "Bodies being received or handled.", front.body_bytes()) +
         line("capbench_waiting_reads", "gauge", "Reads that wait for a thread.", front.waiting(kReadLane)) +
         line("capbench_waiting_submissions", "gauge", "Submissions that wait for a thread.",
              front.waiting(kSubmissionLane));
}

}  // namespace

struct Server::State {
  std::unique_ptr<Service> service;
  std::unique_ptr<http::Front> front;
  std::optional<http::Listener> listener;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  stop();
}

Result<std::unique_ptr<Server>> Server::start(Options options) {
  http::FrontLimits limits = options.front;
  limits.body_bytes = options.bundle.archive_bytes;
  if (options.trust_proxy) {
    // Everybody comes from one address.
    limits.connections_per_address = limits.connections;
    limits.bodies_bytes_per_address = limits.bodies_bytes;
  }
  const std::vector<http::LaneSize> lanes{{options.read_threads, options.waiting},
                                          {options.submission_threads, options.waiting}};
  const http::Endpoint listen = options.listen;
  Result<std::unique_ptr<Service>> service = Service::open(std::move(options));
  if (!service) return std::move(service).error();
  auto state = std::make_unique<State>();
  state->service = std::move(*service);
  Service* const serving = state->service.get();
  http::FrontHandlers handlers;
  handlers.admit = [serving](const http::Head& head, std::string_view address) {
    return serving->admit(head, address);
  };
  handlers.lane = [serving](const http::Head& head) { return serving->lane(head); };
  handlers.handle = [serving](http::Request& request) { return serving->handle(request); };
  handlers.fields = security_fields();
  state->front = std::make_unique<http::Front>(limits, lanes, std::move(handlers));
  http::Front* const front = state->front.get();
  serving->set_more_metrics([front] { return front_metrics(*front); });
  Result<http::Listener> listener =
      http::Listener::open(listen, [front](Fd socket) { front->adopt(std::move(socket)); });
  if (!listener) return std::move(listener).error();
  state->listener = std::move(*listener);
  serving->begin_reading();
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

const http::Endpoint& Server::endpoint() const {
  return state_->listener->endpoint();
}

void Server::stop() {
  if (!state_->service) return;
  state_->service->set_stopping();
  state_->listener->stop();
  state_->front->stop();
  state_->service.reset();
}

}  // namespace capbench::server
