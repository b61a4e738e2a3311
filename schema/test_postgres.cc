#include "schema/test_postgres.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace capbench::schema::testing {
namespace {

namespace fs = std::filesystem;

// Where `initdb` and `postgres` lie: Debian keeps them off the PATH, a folder a version. Empty: nowhere.
fs::path programs() {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(version.path() / "bin" / "initdb", ignored)) found.push_back(version.path() / "bin");
  }
  if (!found.empty()) return *std::max_element(found.begin(), found.end());
  for (const char* folder : {"/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"}) {
    if (fs::exists(fs::path(folder) / "initdb", ignored)) return folder;
  }
  return {};
}

// PostgreSQL refuses to run as root.
void become_unprivileged() {
  if (::geteuid() != 0) return;
  const passwd* user = ::getpwnam("postgres");
  if (user == nullptr) user = ::getpwnam("nobody");
  if (user == nullptr || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0) ::_exit(99);
}

pid_t begin(const std::vector<std::string>& command, const fs::path& log) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  become_unprivileged();
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
#endif
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  if (std::freopen(log.c_str(), "ae", stdout) == nullptr || ::dup2(1, 2) < 0) ::_exit(98);
  // A test may ignore what a server must hear.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(97);
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool fine = ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  ::close(fd);
  if (!fine) throw std::runtime_error("no free port");
  return ::ntohs(address.sin_port);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

const std::string& Postgres::missing() {
  static const std::string why =
      programs().empty() ? "PostgreSQL is not installed (Debian: postgresql); scripts/setup installs it" : "";
  return why;
}

Postgres& Postgres::get() {
  static Postgres one;
  return one;
}

Postgres::Postgres(bool durable, const std::string& folder) : durable_(durable) {
  // The name of a socket must be short.
  folder_ = "/tmp/capbench-pg-XXXXXX";
  if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder for PostgreSQL");
  if (::geteuid() == 0) {
    const passwd* user = ::getpwnam("postgres");
    if (user == nullptr) user = ::getpwnam("nobody");
    if (user == nullptr || ::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw std::runtime_error("no user for PostgreSQL");
    }
    if (!folder.empty() && ::chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw std::runtime_error("no folder for PostgreSQL");
    }
  }
  data_ = (folder.empty() ? folder_ : folder) + "/data";
  const fs::path log = fs::path(folder_) / "log";
  const pid_t made = begin({programs() / "initdb", "-D", data_, "-U", "capbench", "-A", "scram-sha-256", "-E", "UTF8",
                            "--locale=C", "--no-sync", "--auth-local=trust"},
                           log);
  int status = 0;
  if (::waitpid(made, &status, 0) != made || status != 0) throw std::runtime_error("initdb: " + text_of(log));
  port_ = free_port();
  start();
}

Postgres::~Postgres() {
  if (pid_ > 0) stop(SIGQUIT);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Postgres::start() {
  const std::string port = std::to_string(port_);
  // Losing data with the machine is no harm here, and a test has many connections.
  pid_ = begin({programs() / "postgres", "-D", data_, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c",
                "unix_socket_directories=" + folder_, "-c", durable_ ? "fsync=on" : "fsync=off", "-c",
                "max_connections=200", "-c", "shared_buffers=64MB", "-c", "max_wal_size=256MB"},
               fs::path(folder_) / "log");
  const std::string conninfo = "host=" + folder_ + " port=" + port + " user=capbench dbname=postgres";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (PQping(conninfo.c_str()) != PQPING_OK) {
    if (std::chrono::steady_clock::now() > deadline || ::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      throw std::runtime_error("postgres: " + text_of(fs::path(folder_) / "log"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void Postgres::stop(int signal) {
  ::kill(pid_, signal);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

double Postgres::cpu_seconds() const {
  // Of each process its own time and that of those that it has waited for: fields 14 to 17 of proc(5).
  double ticks = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = text_of(entry.path() / "stat");
    const std::size_t end = stat.rfind(')');  // of its name, which may hold anything
    if (end == std::string::npos) continue;
    std::istringstream fields(stat.substr(end + 1));
    std::string state;
    pid_t parent = 0;
    fields >> state >> parent;
    if (parent != pid_ && name != std::to_string(pid_)) continue;
    std::string skipped;
    for (int i = 5; i <= 13; ++i) fields >> skipped;
    for (int i = 14; i <= 17; ++i) {
      double more = 0;
      fields >> more;
      ticks += more;
    }
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string Postgres::fresh() {
  const std::string name = "s" + std::to_string(::getpid()) + "_" + std::to_string(++schemas_);
  run("CREATE SCHEMA " + name);
  return "postgresql://capbench@/postgres?host=" + folder_ + "&port=" + std::to_string(port_) +
         "&options=-csearch_path%3D" + name;
}

std::string Postgres::over_tcp(const std::string& user, const std::string& password, const std::string& rest) const {
  return "postgresql://" + user + ":" + password + "@127.0.0.1:" + std::to_string(port_) + rest;
}

void Postgres::run(const std::string& sql, const std::string& address) {
  const std::string conninfo =
      address.empty() ? "host=" + folder_ + " port=" + std::to_string(port_) + " user=capbench dbname=postgres"
                      : address;
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(conninfo.c_str()), &PQfinish);
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), sql.c_str()), &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
}

std::vector<Backend> backends() {
  std::vector<Backend> all{Backend::kSqlite};
  if (Postgres::missing().empty()) all.push_back(Backend::kPostgres);
  return all;
}

std::string backend_name(Backend backend) {
  return backend == Backend::kSqlite ? "SQLite" : "PostgreSQL";
}

Place::Place(Backend backend)
    : path_(backend == Backend::kSqlite ? folder_ / "results.db" : fs::path(Postgres::get().fresh())) {}

}  // namespace capbench::schema::testing
