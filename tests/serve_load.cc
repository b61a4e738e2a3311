// Load for `capbench serve`, in turns with a bare server of the same library: `scripts/bench serve`.
//
// The bare server's handler does nothing but insert the bytes into SQLite (the same journal and the same waiting for
// the disk), and its reads are fixed texts: the same bytes that capbench answered with.
#include <fmt/format.h>
#include <httplib.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "reports/server/testing/bundles.h"
#include "schema/store.h"
#include "tests/support/command.h"

namespace {

using namespace capbench;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kSubmissions = "/api/v1/submissions";
constexpr const char* kType = "application/vnd.capbench.bundle";
constexpr double kLeastRatio = 0.5;
constexpr double kMostMemory = 200e6;
constexpr double kMostPerSecond = 1600;  // a round has no more to submit; a faster server is done sooner

struct Options {
  std::string program;
  int rounds = 3;
  double round_s = 5;
  double both_s = 60;
  int clients = 16;
  double both_rate = 60;  // submissions a second while both happen
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Bundle {
  std::string id;
  std::string archive;
};

// Of about 20 KB each, made by both cores.
std::vector<Bundle> make_bundles(std::size_t count) {
  std::vector<Bundle> bundles(count);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  std::size_t noise = 0;
  while (server::testing::numbered(0, noise).archive.size() < 20'000) noise += 500;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) {
        bundle::Sealed sealed = server::testing::numbered(i, noise);
        bundles[i] = {std::move(sealed.id), std::move(sealed.archive)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return bundles;
}

// A child process that serves; ended with the object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  int end() {
    if (pid_ <= 0) return 0;
    ::kill(pid_, SIGTERM);
    return testing::wait_command(std::exchange(pid_, -1));
  }
  double most_memory() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) * 1024;
    }
    return 0;
  }

 private:
  pid_t pid_;
};

struct Served {
  std::unique_ptr<Child> child;
  int port = 0;
};

Served start_capbench(const Options& options, const fs::path& folder) {
  const fs::path out = folder / "serve.out";
  testing::Command command;
  command.argv = {
      options.program, "serve", "--db", (folder / "results.db").string(), "--listen", "127.0.0.1:0", "--rate", "0",
      "--read-rate",   "0"};
  Served served;
  served.child = std::make_unique<Child>(testing::start_command(command, out, folder / "serve.err"));
  for (int i = 0; i < 2000; ++i) {
    std::ifstream file(out);
    std::string line;
    if (std::getline(file, line) && !file.eof()) {
      served.port = std::stoi(line.substr(line.rfind(':') + 1));
      return served;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error("capbench serve does not start");
}

void must(int code, sqlite3* database) {
  if (code != SQLITE_OK && code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database));
}

// In the child process; never returns.
[[noreturn]] void serve_bare(int report, const fs::path& db, const std::map<std::string, std::string>& texts,
                             int threads) {
  std::signal(SIGTERM, SIG_DFL);
  sqlite3* database = nullptr;
  must(sqlite3_open(db.c_str(), &database), database);
  must(sqlite3_exec(database,
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                    "CREATE TABLE bundle (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
                    nullptr, nullptr, nullptr),
       database);
  sqlite3_stmt* insert = nullptr;
  must(sqlite3_prepare_v2(database, "INSERT INTO bundle (bytes) VALUES (?)", -1, &insert, nullptr), database);
  std::mutex mutex;
  httplib::Server server;
  server.new_task_queue = [threads] { return new httplib::ThreadPool(static_cast<std::size_t>(threads)); };
  server.set_keep_alive_max_count(1'000'000);
  server.set_tcp_nodelay(true);
  server.Post(kSubmissions, [&](const httplib::Request& request, httplib::Response& response) {
    {
      const std::lock_guard lock(mutex);
      sqlite3_bind_blob64(insert, 1, request.body.data(), request.body.size(), nullptr);
      const int code = sqlite3_step(insert);
      sqlite3_reset(insert);
      must(code, database);
    }
    response.status = 201;
    response.set_content("{}\n", "application/json");
  });
  for (const auto& [path, text] : texts) {
    server.Get(path, [&text](const httplib::Request&, httplib::Response& response) {
      response.set_content(text, "application/json");
    });
  }
  const int port = server.bind_to_any_port("127.0.0.1");
  if (::write(report, &port, sizeof port) != sizeof port) ::_exit(1);
  server.listen_after_bind();
  ::_exit(0);
}

Served start_bare(const fs::path& folder, const std::map<std::string, std::string>& texts, int threads) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    try {
      serve_bare(ends[1], folder / "bare.db", texts, threads);
    } catch (const std::exception& failure) {
      fmt::print(stderr, "bare server: {}\n", failure.what());
      ::_exit(1);
    }
  }
  Served served;
  served.child = std::make_unique<Child>(pid);
  if (::read(ends[0], &served.port, sizeof served.port) != sizeof served.port)
    throw std::runtime_error("no bare server");
  ::close(ends[0]);
  ::close(ends[1]);
  return served;
}

struct Rate {
  double count = 0;
  double seconds = 0;
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

Rate rate_of(std::vector<double>& took, double seconds) {
  if (took.empty()) throw std::runtime_error("nothing was answered");
  std::sort(took.begin(), took.end());
  const auto at = [&](double share) {
    return 1e3 * took[static_cast<std::size_t>(share * static_cast<double>(took.size() - 1))];
  };
  const auto count = static_cast<double>(took.size());
  return {count, seconds, count / seconds, at(0.5), at(0.99)};
}

// The library listens with room for five connections that wait: of sixteen at once some may be turned away, which says
// nothing of the server. So each client has its connection before the clock starts.
void connect(httplib::Client& client) {
  constexpr int kAttempts = 20;
  for (int i = 1; !client.Get("/healthz"); ++i) {
    if (i == kAttempts) throw std::runtime_error("a server takes no connection");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Each client asks again as soon as it has its answer. `ask` returns false when there is nothing more to ask.
Rate run_clients(int port, int clients, double seconds, const std::function<bool(httplib::Client&)>& ask) {
  std::mutex mutex;
  std::vector<double> all;
  std::vector<std::thread> threads;
  std::string failure;
  Clock::time_point start;
  std::barrier connected(clients, [&]() noexcept { start = Clock::now(); });
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      httplib::Client client("127.0.0.1", port);
      client.set_keep_alive(true);
      client.set_tcp_nodelay(true);
      client.set_read_timeout(60);
      std::vector<double> took;
      try {
        try {
          connect(client);
        } catch (...) {
          connected.arrive_and_drop();
          throw;
        }
        connected.arrive_and_wait();
        while (seconds_since(start) < seconds) {
          const auto before = Clock::now();
          if (!ask(client)) break;
          took.push_back(seconds_since(before));
        }
      } catch (const std::exception& thrown) {
        const std::lock_guard lock(mutex);
        failure = thrown.what();
      }
      const std::lock_guard lock(mutex);
      all.insert(all.end(), took.begin(), took.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw std::runtime_error(failure);
  return rate_of(all, seconds_since(start));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void print_rate(const char* who, const Rate& rate) {
  fmt::print("  {:<10} {:>9.1f}/s   p50 {:>7.2f} ms   p99 {:>7.2f} ms\n", who, rate.per_second, rate.p50_ms,
             rate.p99_ms);
}

class Bench {
 public:
  Bench(const Options& options, const fs::path& folder)
      : options_(options), folder_(folder), per_round_(static_cast<std::size_t>(options.round_s * kMostPerSecond)) {}

  int run() {
    const auto for_both = static_cast<std::size_t>(options_.both_s * options_.both_rate);
    const auto start = Clock::now();
    bundles_ = make_bundles(per_round_ * static_cast<std::size_t>(options_.rounds) + for_both + 50);
    fmt::print("{} bundles of {} bytes, made in {:.0f} s; {} clients\n", bundles_.size(), bundles_[0].archive.size(),
               seconds_since(start), options_.clients);
    capbench_ = start_capbench(options_, folder_);
    // So that the reads have something to say.
    httplib::Client client("127.0.0.1", capbench_.port);
    for (int i = 0; i < 50; ++i) submit(client);
    for (const char* path : {"/api/v1/bundles", "/api/v1/trials?limit=20", "/api/v1/machines", "/api/v1/suites"}) {
      const auto answer = client.Get(path);
      if (!answer || answer->status != 200) throw std::runtime_error(std::string("no answer to ") + path);
      // The library's routes are patterns without a query.
      texts_[std::string(path).substr(0, std::string(path).find('?'))] = answer->body;
      reads_.emplace_back(path);
    }
    bare_ = start_bare(folder_, texts_, options_.clients);
    verified();
    const bool submissions_fine = submissions();
    const bool reads_fine = reads();
    const bool both_fine = both();
    const double memory = capbench_.child->most_memory();
    fmt::print("memory     {:>9.1f} MB at most (limit {:.0f})\n", memory / 1e6, kMostMemory / 1e6);
    const int status = capbench_.child->end();
    const bool stopped = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return submissions_fine && reads_fine && both_fine && sound() && stopped && memory < kMostMemory ? 0 : 1;
  }

 private:
  void submit(httplib::Client& client) {
    const std::size_t i = next_++;
    if (i >= bundles_.size()) throw std::runtime_error("too few bundles were made");
    const auto answer = client.Post(kSubmissions, bundles_[i].archive, kType);
    if (!answer || answer->status != 201) {
      throw std::runtime_error("not taken: " + (answer ? answer->body : httplib::to_string(answer.error())));
    }
    const std::lock_guard lock(mutex_);
    taken_.insert(bundles_[i].id);
  }

  // How many bundles wait to be verified.
  double waiting() {
    httplib::Client client("127.0.0.1", capbench_.port);
    constexpr std::string_view kName = "\ncapbench_inbox_bundles ";
    const auto answer = client.Get("/metrics");
    const std::size_t at = answer ? answer->body.find(kName) : std::string::npos;
    if (at == std::string::npos) throw std::runtime_error("no metrics");
    return std::stod(answer->body.substr(at + kName.size()));
  }

  // Waits until all of them are. How long it took.
  double verified() {
    const auto start = Clock::now();
    while (waiting() > 0) {
      if (seconds_since(start) > 600) throw std::runtime_error("what was acknowledged is not verified");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return seconds_since(start);
  }

  // What was acknowledged first and verified behind it, and the rate of the whole.
  bool submissions() {
    fmt::print("submissions acknowledged, {} rounds of {:.0f} s in turns\n", options_.rounds, options_.round_s);
    std::vector<double> ratios;
    std::vector<double> behind;  // verified per second when nothing else happens
    std::vector<double> both;    // acknowledged and verified, per second of both times together
    for (int round = 0; round < options_.rounds; ++round) {
      std::atomic<std::size_t> tickets = 0;
      const Rate ours = run_clients(capbench_.port, options_.clients, options_.round_s, [&](httplib::Client& client) {
        if (tickets++ >= per_round_) return false;
        submit(client);
        return true;
      });
      const double left = waiting();
      const double took = verified();
      if (took > 0.2) behind.push_back(left / took);
      both.push_back(ours.count / (ours.seconds + took));
      fmt::print("  {:<10} {:>9.0f} of {:.0f} verified meanwhile, the rest in {:.1f} s\n", "", ours.count - left,
                 ours.count, took);
      std::atomic<std::size_t> next = 0;
      const Rate bare = run_clients(bare_.port, options_.clients, options_.round_s, [&](httplib::Client& client) {
        const auto answer = client.Post(kSubmissions, bundles_[next++ % bundles_.size()].archive, kType);
        if (!answer) throw std::runtime_error("the bare server did not answer: " + httplib::to_string(answer.error()));
        if (answer->status != 201) throw std::runtime_error(fmt::format("the bare server said {}", answer->status));
        return true;
      });
      print_rate("capbench", ours);
      print_rate("bare", bare);
      ratios.push_back(ours.per_second / bare.per_second);
    }
    fmt::print("  ratio      {:>9.2f} (at least {})\n", median(ratios), kLeastRatio);
    if (!behind.empty()) fmt::print("  verified   {:>9.1f}/s when nobody submits\n", median(behind));
    fmt::print("  both       {:>9.1f}/s acknowledged and verified\n", median(both));
    return median(ratios) >= kLeastRatio;
  }

  bool reads() {
    fmt::print("reads of the same bytes, {} rounds of {:.0f} s in turns\n", options_.rounds, options_.round_s);
    std::vector<double> ratios;
    const auto ask = [&](httplib::Client& client) {
      thread_local std::size_t i = 0;
      const auto answer = client.Get(reads_[i++ % reads_.size()]);
      if (!answer || answer->status != 200) throw std::runtime_error("a read was not answered");
      return true;
    };
    for (int round = 0; round < options_.rounds; ++round) {
      const Rate ours = run_clients(capbench_.port, options_.clients, options_.round_s, ask);
      const Rate bare = run_clients(bare_.port, options_.clients, options_.round_s, ask);
      print_rate("capbench", ours);
      print_rate("bare", bare);
      ratios.push_back(ours.per_second / bare.per_second);
    }
    fmt::print("  ratio      {:>9.2f} (at least {})\n", median(ratios), kLeastRatio);
    return median(ratios) >= kLeastRatio;
  }

  Rate read_until(const std::atomic<bool>& stop) {
    return run_clients(capbench_.port, options_.clients / 2, options_.both_s, [&](httplib::Client& client) {
      thread_local std::size_t i = 0;
      const auto answer = client.Get(reads_[i++ % reads_.size()]);
      if (!answer || answer->status != 200) throw std::runtime_error("a read was not answered");
      return !stop;
    });
  }

  bool both() {
    fmt::print("both at once for {:.0f} s, {:.0f} submissions a second offered\n", options_.both_s, options_.both_rate);
    const std::size_t before = taken_.size();
    std::atomic<bool> stop = false;
    Rate reading;
    std::string trouble;
    std::thread readers([&] {
      try {
        reading = read_until(stop);
      } catch (const std::exception& thrown) {
        trouble = thrown.what();
      }
    });
    const auto start = Clock::now();
    std::atomic<std::size_t> ticket = 0;
    const Rate writing =
        run_clients(capbench_.port, options_.clients / 2, options_.both_s, [&](httplib::Client& client) {
          // In time with the others, however long answers take.
          const double due = static_cast<double>(ticket++) / options_.both_rate;
          if (due >= options_.both_s) return false;
          while (seconds_since(start) < due) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          submit(client);
          return true;
        });
    stop = true;
    readers.join();
    if (!trouble.empty()) throw std::runtime_error(trouble);
    print_rate("submitted", writing);
    print_rate("read", reading);
    const double left = waiting();
    fmt::print("  taken      {:>9}, {:.0f} of them verified meanwhile, the rest in {:.1f} s\n", taken_.size() - before,
               static_cast<double>(taken_.size() - before) - left, verified());
    return true;
  }

  // What was acknowledged, against what is there.
  bool sound() const {
    auto store = schema::Store::open(folder_ / "results.db", schema::OpenMode::kCreate);
    if (!store || !store->check_integrity().ok()) return false;
    const auto bundles = store->bundles({});
    if (!bundles) return false;
    std::set<std::string> held;
    for (const auto& bundle : *bundles) held.insert(bundle.id);
    const bool same = held == taken_ && bundles->size() == taken_.size();
    fmt::print("kept       {:>9} of {} acknowledged, each once: {}\n", held.size(), taken_.size(), same ? "yes" : "NO");
    return same;
  }

  const Options options_;
  const fs::path folder_;
  const std::size_t per_round_;
  std::vector<Bundle> bundles_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> texts_;
  std::vector<std::string> reads_;
  Served capbench_;
  Served bare_;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Options options;
  std::string folder;
  CLI::App app{"Load for capbench serve, in turns with a bare server", "scripts/bench serve"};
  app.add_option("--program", options.program, "capbench")->required();
  app.add_option("--folder", folder, "for the stores; on the disk that is to be measured")->required();
  app.add_option("--rounds", options.rounds)->capture_default_str();
  app.add_option("--round-s", options.round_s)->capture_default_str();
  app.add_option("--both-s", options.both_s)->capture_default_str();
  app.add_option("--clients", options.clients)->capture_default_str();
  app.add_option("--both-rate", options.both_rate)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return Bench(options, folder).run();
  } catch (const std::exception& failure) {
    fmt::print(stderr, "serve_load: {}\n", failure.what());
    return 1;
  }
}
