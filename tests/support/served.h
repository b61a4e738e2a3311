// `capbench serve` as a process, clients that keep it busy, and what must be true of its store afterwards.
#ifndef CAPBENCH_TESTS_SUPPORT_SERVED_H_
#define CAPBENCH_TESTS_SUPPORT_SERVED_H_

#include <httplib.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/command.h"

namespace capbench::testing {

inline constexpr const char* kSubmissions = "/api/v1/submissions";
inline constexpr const char* kBundleType = "application/vnd.capbench.bundle";

std::string slurp(const std::filesystem::path& path);

// A server of its own process.
class Served {
 public:
  // Over the sandbox's results.db, or the store that `db` names.
  explicit Served(const Sandbox& sandbox, std::vector<std::string> more = {}, const std::string& db = "");
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served();

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void signal(int number) const;
  // The wait status.
  int end(int number);
  std::string err() const { return slurp(err_); }
  std::uint64_t most_memory() const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
  std::filesystem::path out_;
  std::filesystem::path err_;
};

httplib::Client client_of(const Served& served);

// Sends the bundles from `first` on until `stop`, and notes which were acknowledged.
struct Senders {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> next;
  std::mutex mutex;
  std::set<std::string> taken;  // ids
  std::vector<std::string> odd;
  std::vector<std::thread> threads;

  Senders(const Served& served, int count, std::uint64_t first, bool may_break);
  void join();
};

void expect_all_there(const Served& served, const std::set<std::string>& ids);

// Until nothing waits to be verified.
void expect_verified(const Served& served);

// Nothing lost, nothing twice, nothing broken: what was acknowledged was taken, or waits in the inbox.
void expect_sound(const std::filesystem::path& db, const std::set<std::string>& acknowledged, bool exactly,
                  bool all_taken = false);

}  // namespace capbench::testing

#endif  // CAPBENCH_TESTS_SUPPORT_SERVED_H_
