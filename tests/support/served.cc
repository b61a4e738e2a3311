#include "tests/support/served.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "reports/server/testing/bundles.h"
#include "schema/inbox.h"
#include "schema/store.h"

namespace capbench::testing {

using server::testing::numbered;

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Served::Served(const Sandbox& sandbox, std::vector<std::string> more, const std::string& db) {
  static std::atomic<int> counter{0};
  const std::string name = "serve" + std::to_string(counter++);
  out_ = sandbox.dir / (name + ".out");
  err_ = sandbox.dir / (name + ".err");
  std::vector<std::string> arguments{"serve",    "--db",        db.empty() ? (sandbox.dir / "results.db").string() : db,
                                     "--listen", "127.0.0.1:0", "--rate",
                                     "0",        "--read-rate", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  pid_ = start_command(sandbox.capbench_command(arguments), out_, err_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::string line;
  while (line.find('\n') == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no address: " + slurp(err_));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    line = slurp(out_);
  }
  port_ = std::stoi(line.substr(line.rfind(':') + 1));
}

Served::~Served() {
  if (pid_ > 0) end(SIGKILL);
}

void Served::signal(int number) const {
  ::kill(pid_, number);
}

int Served::end(int number) {
  signal(number);
  return wait_command(std::exchange(pid_, -1));
}

std::uint64_t Served::most_memory() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

httplib::Client client_of(const Served& served) {
  httplib::Client client("127.0.0.1", served.port());
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  client.set_read_timeout(60);
  return client;
}

Senders::Senders(const Served& served, int count, std::uint64_t first, bool may_break) : next(first) {
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([this, &served, may_break] {
      httplib::Client client = client_of(served);
      while (!stop) {
        const bundle::Sealed bundle = numbered(next++);
        const auto answer = client.Post(kSubmissions, bundle.archive, kBundleType);
        const std::lock_guard lock(mutex);
        if (answer && answer->status == 201) {
          taken.insert(bundle.id);
        } else if (answer || !may_break) {
          odd.push_back(answer ? answer->body : "no answer: " + httplib::to_string(answer.error()));
        } else {
          return;
        }
      }
    });
  }
}

void Senders::join() {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

void expect_all_there(const Served& served, const std::set<std::string>& ids) {
  httplib::Client client = client_of(served);
  for (const std::string& id : ids) {
    const auto answer = client.Get(std::string(kSubmissions) + "/" + id);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << id;
  }
}

void expect_verified(const Served& served) {
  httplib::Client client = client_of(served);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (client.Get("/metrics")->body.find("\ncapbench_inbox_bundles 0\n") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the inbox is not empty";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void expect_sound(const std::filesystem::path& db, const std::set<std::string>& acknowledged, bool exactly,
                  bool all_taken) {
  auto store = schema::Store::open(db, schema::OpenMode::kCreate);
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(store->check_integrity().ok());
  const auto bundles = store->bundles({});
  ASSERT_TRUE(bundles.ok());
  std::set<std::string> held;
  for (const auto& bundle : *bundles) held.insert(bundle.id);
  EXPECT_EQ(held.size(), bundles->size());
  EXPECT_EQ(store->trials({})->size(), 6 * held.size());
  const auto pending = schema::Inbox(*store).pending(100'000);
  ASSERT_TRUE(pending.ok());
  if (all_taken) {
    EXPECT_TRUE(pending->empty());
  }
  for (const schema::InboxEntry& entry : *pending) EXPECT_TRUE(held.insert(entry.id).second) << entry.id;
  for (const std::string& id : acknowledged) EXPECT_TRUE(held.count(id) == 1) << id;
  if (exactly) {
    EXPECT_EQ(held, acknowledged);
  }
}

}  // namespace capbench::testing
