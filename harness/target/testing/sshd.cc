#include "harness/target/testing/sshd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "harness/target/frame.h"
#include "harness/target/kept_run.h"
#include "harness/target/shell.h"
#include "harness/target/tool.h"

namespace capbench::target::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "/usr/sbin/sshd";

Error cannot(std::string what, std::string cause) {
  return Error{ErrorKind::kMachine, std::move(what), std::move(cause), "install openssh-server, and run as root"};
}

Status run(const std::vector<std::string>& argv) {
  auto output = make_local_tools()->run({argv, "", 0, "", {}}, {});
  if (!output) return std::move(output).error();
  if (output->exit_status != 0) return cannot(quote_all(argv), last_line(output->err + output->out));
  return {};
}

sockaddr_in address_of(const std::string& address, int port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

Fd stream_socket() {
  return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool connect_to(const Fd& socket, const std::string& address, int port) {
  const sockaddr_in to = address_of(address, port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

// Bound to a free port of loopback.
Fd listen_on_free_port(int& port) {
  Fd socket = stream_socket();
  sockaddr_in at = address_of("127.0.0.1", 0);
  socklen_t size = sizeof at;
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(socket.get(), 64) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return {};
  }
  port = ntohs(at.sin_port);
  return socket;
}

}  // namespace

class Link {
 public:
  virtual ~Link() = default;
  virtual void cut() = 0;
  virtual void restore() = 0;
  virtual void slow_down() {}
};

namespace {

// Passes bytes on between connections to its own port and the server's, until it is told to fall silent.
class Relay : public Link {
 public:
  Relay(Fd listener, int server_port) : listener_(std::move(listener)), server_port_(server_port) {
    thread_ = std::thread([this] { pass(); });
  }
  ~Relay() override {
    end_ = true;
    wake();
    thread_.join();
  }
  void cut() override {
    is_cut_ = true;
    wake();
  }
  void restore() override {
    is_cut_ = false;
    wake();
  }
  void slow_down() override { pause_ms_ = 6; }

 private:
  struct Pair {
    Fd client;
    Fd server;
    bool is_dead = false;  // it was open when the link was cut
  };

  void wake() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

  void pass() {
    while (!end_) {
      const bool cut = is_cut_;
      std::vector<pollfd> fds{pollfd{wake_.get(), POLLIN, 0}, pollfd{cut ? -1 : listener_.get(), POLLIN, 0}};
      for (Pair& pair : pairs_) {
        pair.is_dead = pair.is_dead || cut;
        fds.push_back(pollfd{pair.is_dead ? -1 : pair.client.get(), POLLIN, 0});
        fds.push_back(pollfd{pair.is_dead ? -1 : pair.server.get(), POLLIN, 0});
      }
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
        continue;  // what came meanwhile may have been cut off
      }
      std::size_t at = 2;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        const bool open = (fds[at].revents == 0 || forward(pair->client, pair->server)) &&
                          (fds[at + 1].revents == 0 || forward(pair->server, pair->client));
        pair = open ? std::next(pair) : pairs_.erase(pair);
      }
      if (fds[1].revents != 0) accept();
    }
  }

  void accept() {
    Pair pair;
    pair.client = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    pair.server = stream_socket();
    if (pair.client.valid() && connect_to(pair.server, "127.0.0.1", server_port_)) pairs_.push_back(std::move(pair));
  }

  bool forward(const Fd& from, const Fd& to) const {
    if (pause_ms_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms_));
    std::array<char, 1U << 16U> buffer{};
    const ssize_t n = ::recv(from.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return false;
    for (ssize_t sent = 0; sent < n;) {
      const ssize_t more = ::send(to.get(), buffer.data() + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
      if (more <= 0) return false;
      sent += more;
    }
    return true;
  }

  Fd listener_;
  int server_port_;
  Fd wake_{::eventfd(0, EFD_CLOEXEC)};
  std::atomic<bool> is_cut_ = false;
  std::atomic<bool> end_ = false;
  std::atomic<int> pause_ms_ = 0;  // before each piece of 64 KiB
  std::list<Pair> pairs_;
  std::thread thread_;
};

// A namespace with one end of a virtual cable; the other is here.
class Namespace : public Link {
 public:
  static Result<std::unique_ptr<Namespace>> make() {
    auto made = std::unique_ptr<Namespace>(new Namespace);
    // Interface names have 15 letters at most.
    made->name_ = "cb" + std::to_string(::getpid() % 100000) + make_nonce().substr(0, 4);
    const std::string& name = made->name_;
    const std::string subnet =
        "10." + std::to_string(200 + ::getpid() % 50) + "." + std::to_string(::getpid() / 50 % 250) + ".";
    made->address = subnet + "2";
    const std::string near = name + "a";
    const std::string far = name + "b";
    for (const auto& argv : std::vector<std::vector<std::string>>{
             {"ip", "netns", "add", name},
             {"ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name},
             {"ip", "address", "add", subnet + "1/30", "dev", near},
             {"ip", "link", "set", near, "up"},
             {"ip", "-n", name, "address", "add", subnet + "2/30", "dev", far},
             {"ip", "-n", name, "link", "set", "lo", "up"},
             {"ip", "-n", name, "link", "set", far, "up"}}) {
      if (auto status = run(argv); !status) return std::move(status).error();
    }
    return made;
  }
  ~Namespace() override {
    (void)run({"ip", "link", "delete", name_ + "a"}).ok();
    (void)run({"ip", "netns", "delete", name_}).ok();
  }
  void cut() override { (void)run({"ip", "link", "set", name_ + "a", "down"}).ok(); }
  void restore() override { (void)run({"ip", "link", "set", name_ + "a", "up"}).ok(); }
  const std::string& name() const { return name_; }

  std::string address;

 private:
  Namespace() = default;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<Sshd>> Sshd::start(const std::string& folder, Route route) {
  if (::access(kProgram, X_OK) != 0) return cannot(kProgram, "not there");
  auto sshd = std::unique_ptr<Sshd>(new Sshd);
  sshd->folder_ = folder;
  sshd->work_dir_ = folder + "/far-side";
  std::error_code ignored;
  fs::create_directories("/run/sshd", ignored);  // a server that runs as root insists on it
  for (const char* key : {"host_key", "user_key"}) {
    fs::remove(folder + "/" + key, ignored);
    if (auto status = run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", folder + "/" + key});
        !status) {
      return std::move(status).error();
    }
  }
  fs::copy_file(folder + "/user_key.pub", folder + "/authorized_keys", fs::copy_options::overwrite_existing, ignored);

  std::vector<std::string> argv;
  std::string listen = "127.0.0.1";
  int server_port = 0;
  if (route == Route::kRelay) {
    Fd listener = listen_on_free_port(sshd->port_);
    if (!listener.valid()) return cannot("a port", errno_text(errno));
    listen_on_free_port(server_port).reset();
    sshd->address_ = listen;
    sshd->link_ = std::make_unique<Relay>(std::move(listener), server_port);
  } else {
    auto space = Namespace::make();
    if (!space) return std::move(space).error();
    listen = sshd->address_ = (*space)->address;
    server_port = sshd->port_ = 2222;
    argv = {"/usr/bin/env", "ip", "netns", "exec", (*space)->name()};
    sshd->link_ = std::move(*space);
  }
  // What the user's own shell does at its start is none of the test's concern: another home.
  std::ofstream(folder + "/sshd_config") << "Port " << server_port << "\nListenAddress " << listen << "\nHostKey \""
                                         << folder << "/host_key\"\nAuthorizedKeysFile \"" << folder
                                         << "/authorized_keys\"\nPidFile none\nStrictModes no\nUsePAM no\n"
                                            "SetEnv \"HOME="
                                         << folder
                                         << "\"\n"
                                            "PermitRootLogin yes\nPasswordAuthentication no\n"
                                            "KbdInteractiveAuthentication no\nMaxStartups 100\nUseDNS no\n";
  std::string host_key = read_file(folder + "/host_key.pub").ok() ? *read_file(folder + "/host_key.pub") : "";
  std::ofstream(folder + "/known_hosts") << "[" << sshd->address_ << "]:" << sshd->port_ << " " << host_key;

  KeptCommand command;
  argv.insert(argv.end(), {kProgram, "-D", "-E", folder + "/sshd.log", "-f", folder + "/sshd_config"});
  command.argv = argv;
  command.environment = environment_with({}, {});
  auto server = start_kept_job(std::move(command));
  if (!server) return std::move(server).error();
  sshd->server_ = std::move(*server);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  // Not through the relay, which answers before the server does.
  while (!connect_to(stream_socket(), listen, server_port)) {
    if (std::chrono::steady_clock::now() > until) {
      const auto log = read_file(folder + "/sshd.log");
      return cannot("sshd", "does not answer: " + (log ? last_line(*log) : std::string()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return sshd;
}

Sshd::~Sshd() {
  server_.socket.reset();  // the keeper ends the server and its sessions
  if (server_.keeper > 0) ::waitpid(server_.keeper, nullptr, 0);
}

TargetSpec Sshd::spec() const {
  TargetSpec spec;
  spec.kind = "ssh";
  spec.options = {{"address", address_},
                  {"port", std::to_string(port_)},
                  {"identity", folder_ + "/user_key"},
                  {"known_hosts", folder_ + "/known_hosts"},
                  {"work_dir", work_dir_},
                  {"lost_after_s", "4"}};
  return spec;
}

std::string Sshd::spec_json() const {
  std::string json = R"({"kind": "ssh")";
  for (const auto& [key, value] : spec().options) {
    const bool is_number = key == "port" || key == "lost_after_s";
    json += ", \"" + key + "\": " + (is_number ? value : "\"" + value + "\"");
  }
  return json + "}";
}

void Sshd::cut() {
  link_->cut();
}

void Sshd::slow_down() {
  link_->slow_down();
}

void Sshd::restore() {
  link_->restore();
}

}  // namespace capbench::target::testing
