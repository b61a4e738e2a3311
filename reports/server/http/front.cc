#include "reports/server/http/front.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "reports/server/http/problem.h"
#include "reports/server/http/quota.h"
#include "reports/server/http/wire.h"

namespace capbench::http {
namespace {

constexpr std::size_t kReceiveAtOnce = 64U << 10U;
// Bodies up to this find room when large ones have taken theirs.
constexpr std::uint64_t kSmallBody = 256U << 10U;
constexpr std::uint64_t kLargeBodiesPercent = 75;
// How long a thread that has nothing else to do stays with a connection it has just answered: clients in a hurry are
// served without a detour through the table.
constexpr std::chrono::milliseconds kStay{2};
// After a refusal the rest of what the client sends is thrown away for so long, or it would never see the reply.
constexpr std::chrono::milliseconds kDrainTime{2000};

enum class Phase { kHead, kBody, kDrain };

struct Connection {
  Fd fd;
  std::string address;
  Quota::Share place;
  Quota::Share room;  // for the body
  Phase phase = Phase::kHead;
  std::string in;            // received, not used yet
  std::size_t searched = 0;  // of `in`, for the end of the head
  Head head;
  Clock::time_point deadline;
  std::size_t served = 0;
  bool is_idle() const { return phase == Phase::kHead && in.empty(); }
};

using ConnectionPtr = std::unique_ptr<Connection>;

enum class Step {
  kMore,   // the request is not complete
  kReady,  // it is
  kGone,   // to be closed now
};

Error busy_error(std::string cause) {
  return {ErrorKind::kMachine, "this server", std::move(cause), "try again in a moment"};
}

}  // namespace

struct Front::State {
  FrontLimits limits;
  FrontHandlers handlers;
  FrontCounts counts;
  Quota places;
  Quota rooms;
  std::vector<std::unique_ptr<Lane<ConnectionPtr>>> lanes;

  std::mutex mutex;
  std::vector<ConnectionPtr> arrivals;  // for the watching thread
  Fd wake_read;
  Fd wake_write;
  std::atomic<bool> stopping = false;
  std::vector<ConnectionPtr> watched;  // the watching thread's own
  std::thread watcher;

  State(const FrontLimits& chosen, FrontHandlers own)
      : limits(chosen),
        handlers(std::move(own)),
        places(chosen.connections, chosen.connections_per_address),
        rooms(chosen.bodies_bytes, chosen.bodies_bytes_per_address) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe(ends.data()) == 0) {
      wake_read = Fd(ends[0]);
      wake_write = Fd(ends[1]);
      for (const int end : ends) {
        ::fcntl(end, F_SETFL, O_NONBLOCK);
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
      }
    }
  }

  void wake() const {
    // A full pipe wakes as well.
    static_cast<void>(!::write(wake_write.get(), "", 1));
  }

  Clock::time_point transfer_deadline(std::uint64_t bytes) const {
    return Clock::now() + limits.transfer_time +
           std::chrono::milliseconds(bytes * 1000 / std::max<std::uint64_t>(limits.transfer_bytes_per_s, 1));
  }

  bool send(Connection& connection, Reply& reply, bool keep_alive, bool without_body,
            Clock::time_point deadline) const {
    reply.fields.insert(reply.fields.end(), handlers.fields.begin(), handlers.fields.end());
    const std::string head = head_text(reply, keep_alive, http_date());
    const bool has_body = reply.body != nullptr && !without_body;
    return send_all(connection.fd.get(), head, has_body ? std::string_view(*reply.body) : std::string_view(), deadline);
  }

  // Answers at once, without waiting, and lets the connection end.
  Step refuse(Connection& connection, Reply reply, bool may_go_on) {
    counts.refused.fetch_add(1, std::memory_order_relaxed);
    // Whoever has sent more already has it thrown away: refusals would cost this thread more than them.
    const bool keep = may_go_on && connection.head.keep_alive && connection.head.content_length == 0 &&
                      connection.in.empty() && !stopping;
    const bool sent = send(connection, reply, keep, connection.head.method == "HEAD", Clock::now());
    connection.room.give_back();
    if (!sent) return Step::kGone;
    if (keep) {
      begin_next(connection);
      return Step::kMore;
    }
    ::shutdown(connection.fd.get(), SHUT_WR);
    connection.phase = Phase::kDrain;
    connection.in.clear();
    connection.deadline = Clock::now() + kDrainTime;
    return Step::kMore;
  }

  Step refuse(Connection& connection, const Refusal& refusal) {
    return refuse(connection, problem(refusal.status, refusal.error), false);
  }

  Step decline(Connection& connection, const std::string& cause) {
    counts.busy.fetch_add(1, std::memory_order_relaxed);
    Reply reply = problem(503, busy_error(cause));
    reply.with("Retry-After", "1");
    return refuse(connection, std::move(reply), false);
  }

  void begin_next(Connection& connection) const {
    connection.phase = Phase::kHead;
    connection.searched = 0;
    connection.head = Head();
    connection.deadline = Clock::now() + (connection.in.empty() ? limits.idle_time : limits.head_time);
  }

  // As far as what has been received goes.
  Step advance(Connection& connection) {
    if (connection.phase == Phase::kDrain) {
      connection.in.clear();
      return Step::kMore;
    }
    if (connection.phase == Phase::kHead) {
      // Some clients end a body with an empty line that does not belong to it.
      while (connection.in.compare(0, 2, "\r\n") == 0) connection.in.erase(0, 2);
      const std::optional<std::size_t> end = find_body(connection.in, connection.searched);
      if (!end) {
        connection.searched = connection.in.size();
        if (const std::optional<Refusal> refusal = check_beginning(connection.in, limits.head)) {
          return refuse(connection, *refusal);
        }
        return Step::kMore;
      }
      std::variant<Head, Refusal> parsed = parse_head(std::string_view(connection.in).substr(0, *end), limits.head);
      if (const Refusal* refusal = std::get_if<Refusal>(&parsed)) return refuse(connection, *refusal);
      connection.in.erase(0, *end);
      connection.head = std::move(std::get<Head>(parsed));
      if (const Step step = begin_body(connection); step != Step::kReady) return step;
    }
    return connection.in.size() < connection.head.content_length ? Step::kMore : Step::kReady;
  }

  // kReady: the body may come.
  Step begin_body(Connection& connection) {
    const Head& head = connection.head;
    if (std::optional<Reply> refusal = handlers.admit(head, connection.address)) {
      return refuse(connection, std::move(*refusal), true);
    }
    if (head.content_length > limits.body_bytes) {
      return refuse(connection, Refusal{413,
                                        {ErrorKind::kUsage, "the body",
                                         std::to_string(head.content_length) + " bytes, more than " +
                                             std::to_string(limits.body_bytes) + " that are taken",
                                         "send less"}});
    }
    if (head.content_length > 0) {
      connection.room = rooms.take(connection.address, head.content_length,
                                   head.content_length > kSmallBody ? kLargeBodiesPercent : 100);
      if (!connection.room) return decline(connection, "others are sending too much at the moment");
      connection.in.reserve(head.content_length);
    }
    if (head.expects_continue && connection.in.size() < head.content_length &&
        !send_all(connection.fd.get(), "HTTP/1.1 100 Continue\r\n\r\n", {}, Clock::now())) {
      return Step::kGone;
    }
    connection.phase = Phase::kBody;
    connection.deadline = transfer_deadline(head.content_length);
    return Step::kReady;
  }

  // To the threads of its lane.
  Step dispatch(ConnectionPtr& connection) {
    const std::size_t lane = std::min(handlers.lane(connection->head), lanes.size() - 1);
    if (lanes[lane]->offer(connection)) return Step::kReady;
    return decline(*connection, "too many requests are waiting");
  }

  void give_to_watcher(ConnectionPtr connection) {
    {
      const std::lock_guard lock(mutex);
      arrivals.push_back(std::move(connection));
    }
    wake();
  }

  // A lane's thread with a complete request, and with those that follow it at once.
  void serve(ConnectionPtr connection, std::size_t lane) {
    for (;;) {
      const bool keep = answer(*connection);
      if (!keep) {
        if (connection->phase == Phase::kDrain) give_to_watcher(std::move(connection));
        return;
      }
      begin_next(*connection);
      if (lanes[lane]->waiting() > 0) return give_to_watcher(std::move(connection));
      if (connection->in.empty() && wait_readable(connection->fd.get(), kStay) &&
          receive(connection->fd.get(), connection->in, kReceiveAtOnce) == Received::kEnd) {
        return;
      }
      if (connection->in.empty()) return give_to_watcher(std::move(connection));
      connection->deadline = Clock::now() + limits.head_time;
      switch (advance(*connection)) {
        case Step::kGone:
          return;
        case Step::kMore:
          return give_to_watcher(std::move(connection));
        case Step::kReady:
          break;
      }
      if (handlers.lane(connection->head) != lane || lanes[lane]->waiting() > 0) {
        const Step step = dispatch(connection);
        if (step == Step::kMore) give_to_watcher(std::move(connection));
        return;
      }
    }
  }

  // Whether the connection goes on.
  bool answer(Connection& connection) {
    Request request;
    const std::size_t length = connection.head.content_length;
    const bool head_alone = connection.head.method == "HEAD";
    bool keep = connection.head.keep_alive;
    request.head = std::move(connection.head);
    request.address = connection.address;
    if (connection.in.size() == length) {
      request.body = std::exchange(connection.in, {});
    } else {
      request.body = connection.in.substr(0, length);
      connection.in.erase(0, length);
    }
    Reply reply;
    try {
      reply = handlers.handle(request);
    } catch (const std::exception& failure) {
      reply = problem(500, {ErrorKind::kMachine, "this server", failure.what(), "try again, or tell who runs it"});
    }
    request.body = std::string();
    connection.room.give_back();
    ++connection.served;
    keep = keep && !reply.close && !stopping && connection.served < limits.requests_per_connection;
    const std::uint64_t size = reply.body == nullptr ? 0 : reply.body->size();
    if (!send(connection, reply, keep, head_alone, transfer_deadline(size))) return false;
    if (!keep && !connection.in.empty()) {
      ::shutdown(connection.fd.get(), SHUT_WR);
      connection.phase = Phase::kDrain;
      connection.in.clear();
      connection.deadline = Clock::now() + kDrainTime;
    }
    return keep;
  }

  // The watching thread from here on.

  void settle(ConnectionPtr connection, Step step) {
    if (step == Step::kReady) step = dispatch(connection);
    if (step == Step::kMore) watched.push_back(std::move(connection));
  }

  void take_arrivals() {
    std::vector<ConnectionPtr> taken;
    {
      const std::lock_guard lock(mutex);
      taken.swap(arrivals);
    }
    for (ConnectionPtr& connection : taken) {
      if (connection->place) {
        const Step step = advance(*connection);
        settle(std::move(connection), step);
      } else {
        welcome(std::move(connection));
      }
    }
  }

  void welcome(ConnectionPtr connection) {
    counts.accepted.fetch_add(1, std::memory_order_relaxed);
    connection->place = places.take(connection->address, 1);
    if (!connection->place && close_an_idle_one(connection->address)) {
      connection->place = places.take(connection->address, 1);
    }
    if (!connection->place) {
      counts.turned_away.fetch_add(1, std::memory_order_relaxed);
      Reply reply = problem(503, busy_error("too many connections"));
      reply.with("Retry-After", "1");
      static_cast<void>(send(*connection, reply, false, false, Clock::now()));
      return;
    }
    connection->deadline = Clock::now() + limits.head_time;
    watched.push_back(std::move(connection));
  }

  // Preferably one of the same address, so that nobody drives others out.
  bool close_an_idle_one(const std::string& address) {
    auto chosen = watched.end();
    for (auto it = watched.begin(); it != watched.end(); ++it) {
      if (!(*it)->is_idle() || (*it)->served == 0) continue;
      if (chosen == watched.end() || ((*it)->address == address && (*chosen)->address != address)) chosen = it;
    }
    if (chosen == watched.end()) return false;
    watched.erase(chosen);
    return true;
  }

  // Bytes or the end of a connection.
  Step read(Connection& connection) {
    if (connection.is_idle()) connection.deadline = Clock::now() + limits.head_time;
    const Received received = receive(connection.fd.get(), connection.in, kReceiveAtOnce);
    if (received == Received::kEnd) return Step::kGone;
    if (received == Received::kNothingYet) return Step::kMore;
    return advance(connection);
  }

  void expire(Connection& connection) {
    if (connection.phase == Phase::kDrain || connection.is_idle()) return;
    counts.timed_out.fetch_add(1, std::memory_order_relaxed);
    Reply reply = problem(408, {ErrorKind::kUsage, "the request", "did not come within the time that it may take",
                                "send it again, faster"});
    static_cast<void>(send(connection, reply, false, false, Clock::now()));
  }

  void watch() {
    std::optional<Clock::time_point> end;
    std::vector<pollfd> polled;
    for (;;) {
      take_arrivals();
      if (stopping && !end) {
        end = Clock::now() + limits.grace;
        drop_idle();
      }
      if (end && (watched.empty() || Clock::now() >= *end)) break;
      // Deadlines are looked at ten times a second: they need no more.
      polled.clear();
      for (const ConnectionPtr& connection : watched) polled.push_back({connection->fd.get(), POLLIN, 0});
      polled.push_back({wake_read.get(), POLLIN, 0});
      static_cast<void>(::poll(polled.data(), static_cast<nfds_t>(polled.size()), watched.empty() ? -1 : 100));
      std::array<char, 256> woken{};
      if (polled.back().revents != 0) static_cast<void>(!::read(wake_read.get(), woken.data(), woken.size()));
      std::vector<ConnectionPtr> before = std::exchange(watched, {});
      watched.reserve(before.size());
      const auto now = Clock::now();
      for (std::size_t i = 0; i < before.size(); ++i) {
        Step step = Step::kMore;
        if (polled[i].revents != 0) step = read(*before[i]);
        if (step == Step::kMore && before[i]->deadline <= now) {
          expire(*before[i]);
          step = Step::kGone;
        }
        settle(std::move(before[i]), step);
      }
    }
    watched.clear();
  }

  // A request that is on its way already is not idle.
  void drop_idle() {
    std::vector<ConnectionPtr> before = std::exchange(watched, {});
    for (ConnectionPtr& connection : before) {
      const Step step = read(*connection);
      if (step == Step::kMore && (connection->is_idle() || connection->phase == Phase::kDrain)) continue;
      settle(std::move(connection), step);
    }
  }
};

Front::Front(const FrontLimits& limits, const std::vector<LaneSize>& lanes, FrontHandlers handlers)
    : state_(std::make_unique<State>(limits, std::move(handlers))) {
  State* const state = state_.get();
  state->lanes.resize(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    state->lanes[i] = std::make_unique<Lane<ConnectionPtr>>(
        lanes[i], [state, i](ConnectionPtr connection) { state->serve(std::move(connection), i); });
  }
  state->watcher = std::thread([state] { state->watch(); });
}

Front::~Front() {
  stop();
}

void Front::adopt(Fd socket) {
  auto connection = std::make_unique<Connection>();
  connection->address = peer_address(socket.get());
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  connection->fd = std::move(socket);
  state_->give_to_watcher(std::move(connection));
}

void Front::stop() {
  if (state_->stopping.exchange(true)) return;
  state_->wake();
  if (state_->watcher.joinable()) state_->watcher.join();
  for (const auto& lane : state_->lanes) lane->finish();
}

const FrontCounts& Front::counts() const {
  return state_->counts;
}

std::size_t Front::connections() const {
  return static_cast<std::size_t>(state_->places.used());
}

std::size_t Front::waiting(std::size_t lane) const {
  return state_->lanes.at(lane)->waiting();
}

std::uint64_t Front::body_bytes() const {
  return state_->rooms.used();
}

}  // namespace capbench::http
