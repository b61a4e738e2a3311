// A PostgreSQL of the test's own: started once a test program, in a folder that goes with it, by a user without
// privileges, reachable by nobody else.
#ifndef CAPBENCH_SCHEMA_TEST_POSTGRES_H_
#define CAPBENCH_SCHEMA_TEST_POSTGRES_H_

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "schema/database.h"
#include "schema/test_records.h"

namespace capbench::schema::testing {

class Postgres {
 public:
  // Why there is none on this machine, in words for GTEST_SKIP(); empty if there is one.
  static const std::string& missing();
  // The one of this program. Throws if it does not start. Threads of the program must not have begun.
  static Postgres& get();

  // `durable`: a commit waits for the disk, as it does where results are kept; and in that folder, if one is named.
  explicit Postgres(bool durable = false, const std::string& folder = "");
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;
  ~Postgres();

  // An empty place for one store, in a schema of its own.
  std::string fresh();
  // Of a user with a password, over TCP; `rest` stands behind the host.
  std::string over_tcp(const std::string& user, const std::string& password,
                       const std::string& rest = "/postgres") const;
  // Runs SQL as the owner of everything, in the schema of an address that fresh() gave, if one is given.
  void run(const std::string& sql, const std::string& address = "");

  // Processor time of all its processes so far, seconds.
  double cpu_seconds() const;

  void stop(int signal);  // SIGINT: in order; SIGQUIT: at once, as if the machine had failed
  void start();

 private:
  std::string folder_;  // of its socket
  std::string data_;
  bool durable_;
  int port_ = 0;
  pid_t pid_ = -1;
  int schemas_ = 0;
};

// What a test of stores runs over: files always, and PostgreSQL where it is.
std::vector<Backend> backends();
std::string backend_name(Backend backend);

// An empty place for a store.
class Place {
 public:
  explicit Place(Backend backend);
  const std::filesystem::path& path() const { return path_; }

 private:
  Folder folder_;
  std::filesystem::path path_;
};

}  // namespace capbench::schema::testing

#endif  // CAPBENCH_SCHEMA_TEST_POSTGRES_H_
