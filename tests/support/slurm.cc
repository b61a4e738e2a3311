#include "tests/support/slurm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// Debian keeps daemons in sbin, which is not on every PATH.
std::string program(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/", "/sbin/"}) {
    if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

// Two ports that are free now, held together so that they differ.
std::pair<int, int> free_ports() {
  int ports[2] = {0, 0};
  int sockets[2] = {-1, -1};
  for (int i = 0; i < 2; ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(sockets[i], reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        ::getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      ports[i] = ntohs(address.sin_port);
    }
  }
  for (const int socket : sockets) {
    if (socket >= 0) ::close(socket);
  }
  return {ports[0], ports[1]};
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// munged insists on a key and a socket folder that nobody else could have written.
void write_key(const fs::path& path) {
  std::random_device random;
  std::string key;
  for (int i = 0; i < 256; ++i) {
    const unsigned int word = random();
    key.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  std::ofstream(path, std::ios::binary) << key;
  ::chmod(path.c_str(), 0400);
}

}  // namespace

std::string Slurm::missing() {
  for (const char* name : {"munged", "slurmctld", "slurmd", "sbatch", "scontrol"}) {
    if (program(name).empty()) return fmt::format("no {}: Debian's slurm-wlm and munge have it", name);
  }
  if (::geteuid() != 0) return "slurmd starts jobs as their users, so this test must run as root";
  return "";
}

std::unique_ptr<Slurm> Slurm::start(std::string& why) {
  // Not in the test's own folder, whose name may be longer than the name of a socket can be.
  std::string made = "/tmp/capbench-slurm-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) {
    why = "no folder can be made in /tmp";
    return nullptr;
  }
  const fs::path folder = made;
  for (const char* name : {"munge", "state", "spool", "log"}) fs::create_directories(folder / name);
  // Every folder above a socket of munge must be closed to others, or have the sticky bit.
  ::chmod(folder.c_str(), 0755);
  ::chmod((folder / "munge").c_str(), 0755);
  write_key(folder / "munge.key");
  const auto [controller_port, node_port] = free_ports();
  const std::string at = folder.string();
  std::ofstream(folder / "slurm.conf") << fmt::format(
      "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={1}\nSlurmdPort={2}\n"
      "AuthType=auth/munge\nAuthInfo=socket={0}/munge/socket\nCredType=cred/munge\n"
      "SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={0}/state\nSlurmdSpoolDir={0}/spool\n"
      "SlurmctldPidFile={0}/slurmctld.pid\nSlurmdPidFile={0}/slurmd.pid\n"
      "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n"
      "AccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/none\nMpiDefault=none\n"
      "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
      "SchedulerType=sched/builtin\nSchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n"
      "ReturnToService=2\nKillWait=2\nMinJobAge=600\n"
      "NodeName=localhost NodeAddr=127.0.0.1 CPUs={3} State=UNKNOWN\n"
      "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
      at, controller_port, node_port, std::max(1U, std::thread::hardware_concurrency()));

  std::unique_ptr<Slurm> slurm(new Slurm(folder));
  const auto give_up = [&](const std::string& what) -> std::unique_ptr<Slurm> {
    why = what + "\n" + slurm->logs();
    return nullptr;
  };
  if (!slurm->launch({program("munged"), "--foreground", "--force", "--key-file=" + at + "/munge.key",
                      "--socket=" + at + "/munge/socket", "--pid-file=" + at + "/munge/pid",
                      "--log-file=" + at + "/munge/log", "--seed-file=" + at + "/munge/seed", "--num-threads=2"},
                     "munged")) {
    return give_up("munged cannot be started");
  }
  for (int i = 0; i < 200 && !fs::exists(folder / "munge/socket"); ++i) std::this_thread::sleep_for(milliseconds(50));
  if (!slurm->launch({program("slurmctld"), "-D", "-c", "-f", at + "/slurm.conf"}, "slurmctld")) {
    return give_up("slurmctld cannot be started");
  }
  if (!slurm->launch({program("slurmd"), "-D", "-c", "-N", "localhost", "-f", at + "/slurm.conf"}, "slurmd")) {
    return give_up("slurmd cannot be started");
  }
  for (int i = 0; i < 300; ++i) {
    const CommandResult nodes = slurm->client({"sinfo", "--noheader", "--format=%T"});
    if (nodes.exit_status == 0 && nodes.out == "idle\n") return slurm;
    std::this_thread::sleep_for(milliseconds(100));
  }
  return give_up("the node did not become idle within 30 s");
}

Slurm::~Slurm() {
  client({"scancel", "--full", "--user=root"});
  std::reverse(daemons_.begin(), daemons_.end());
  for (const pid_t daemon : daemons_) {
    ::kill(daemon, SIGTERM);
    for (int i = 0; i < 100 && ::waitpid(daemon, nullptr, WNOHANG) == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
      if (i == 98) ::kill(daemon, SIGKILL);
    }
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool Slurm::launch(const std::vector<std::string>& argv, const std::string& name) {
  Command command;
  command.argv = argv;
  command.env = env();
  const pid_t pid = start_command(command, folder_ / "log" / (name + ".out"), folder_ / "log" / (name + ".err"));
  if (pid <= 0) return false;
  daemons_.push_back(pid);
  return true;
}

std::map<std::string, std::string> Slurm::env() const {
  return {{"SLURM_CONF", (folder_ / "slurm.conf").string()}};
}

CommandResult Slurm::client(std::vector<std::string> argv) const {
  Command command;
  command.argv = std::move(argv);
  command.argv.front() = program(command.argv.front());
  command.env = env();
  command.timeout_s = 30;
  return run_command(command);
}

std::string Slurm::state(const std::string& job) const {
  const CommandResult shown = client({"scontrol", "--oneliner", "show", "job", job});
  const std::string key = "JobState=";
  const std::size_t at = shown.out.find(key);
  if (shown.exit_status != 0 || at == std::string::npos) return "";
  return shown.out.substr(at + key.size(), shown.out.find(' ', at) - at - key.size());
}

std::string Slurm::logs() const {
  constexpr std::size_t kTail = 1500;
  std::string text;
  for (const auto& entry : fs::directory_iterator(folder_ / "log")) {
    const std::string log = slurp(entry.path());
    if (log.empty()) continue;
    text += entry.path().filename().string() + ": " + log.substr(log.size() > kTail ? log.size() - kTail : 0) + "\n";
  }
  return text;
}

}  // namespace capbench::testing
