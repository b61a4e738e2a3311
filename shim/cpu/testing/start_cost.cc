// What the preload adds to a process's start: starts a program that ends at once, with and without the shim in turn.
//   start_cost SHIM [PAIRS [NAME=VALUE...]]
// Prints wall time and the processor time that the kernel charged; only the latter is steady on a busy machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Start {
  bool ok = false;
  double wall_us = 0;
  double cpu_us = 0;
};

double microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

Start time_one(std::vector<std::string> environment) {
  std::string program = "/bin/true";
  char* argv[] = {program.data(), nullptr};
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t pid = -1;
  int status = -1;
  rusage usage{};
  const bool started = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, variables.data()) == 0;
  if (started) wait4(pid, &status, 0, &usage);
  const auto end = std::chrono::steady_clock::now();
  posix_spawn_file_actions_destroy(&actions);
  return {started && status == 0, std::chrono::duration<double, std::micro>(end - begin).count(),
          microseconds(usage.ru_utime) + microseconds(usage.ru_stime)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: start_cost SHIM [PAIRS [NAME=VALUE...]]\n");
    return 2;
  }
  const int pairs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 500;
  std::vector<std::string> shimmed = {std::string("LD_PRELOAD=") + argv[1]};
  for (int i = 3; i < argc; ++i) shimmed.emplace_back(argv[i]);
  std::vector<double> wall;
  std::vector<double> cpu;
  std::vector<double> wall_added;
  std::vector<double> cpu_added;
  for (int i = 0; i < pairs; ++i) {
    const Start plain = time_one({});
    const Start with = time_one(shimmed);
    if (!plain.ok || !with.ok) {
      fmt::print(stderr, "start_cost: /bin/true failed; try: the shim's absolute path\n");
      return 1;
    }
    wall.push_back(plain.wall_us);
    cpu.push_back(plain.cpu_us);
    wall_added.push_back(with.wall_us - plain.wall_us);
    cpu_added.push_back(with.cpu_us - plain.cpu_us);
  }
  fmt::print(
      "{} pairs, medians: a start takes {:.0f} us of wall time and {:.0f} us of processor time; the shim adds {:.0f} "
      "us and {:.0f} us\n",
      pairs, median(wall), median(cpu), median(wall_added), median(cpu_added));
  return 0;
}
