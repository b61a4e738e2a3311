// How much longer does `capbench run` of N trials take than a shell loop that launches the same llama-bench N times?
// Both do the same work side by side: pairs, the order within a pair drawn at random, and the interval is that of the
// mean log ratio of the pairs (Student's t). The harness's memory and processor time are read from the kernel's own
// counters in a run of its own, so that reading them disturbs no timing.
//
// Most of a trial is llama-bench's own --delay: the speed at which a virtual machine computes wanders by 10 % from one
// trial to the next, and 30 pairs could not see 2 % of overhead in that; waiting is exact. That the harness takes
// nothing from a trial that computes is what its processor time shows. --compute fills the whole trial with computing.
//
// Exits 1 when the upper end of the interval or the memory is over its limit.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "harness/stats/distribution.h"
#include "harness/stats/summary.h"
#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/suites.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kTimeLimit = 1.02;
constexpr double kMemoryLimitMb = 30;
constexpr int kDelayS = 1;

struct Options {
  int pairs = 30;
  int trials = 3;
  double trial_s = 2.2;
  bool compute = false;
  std::uint64_t seed = 1;
};

double seconds_of(const Command& command, const Sandbox& sandbox) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = start_command(command, sandbox.dir / "out", sandbox.dir / "err");
  const int status = wait_command(pid);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const auto err = read_file(sandbox.dir / "err");
    throw std::runtime_error(fmt::format("{} failed: {}", command.argv[0], err.ok() ? *err : std::string()));
  }
  return seconds;
}

// The most memory it ever held, in MiB; nothing once the process is gone.
std::optional<double> high_water_mb(const fs::path& proc) {
  const auto status = read_file(proc / "status");
  if (!status.ok()) return std::nullopt;
  const std::size_t at = status->find("VmHWM:");
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(status->c_str() + at + 6, nullptr) / 1024;
}

// User and system time of the process itself, without what it started, in seconds.
std::optional<double> processor_s(const fs::path& proc) {
  const auto stat = read_file(proc / "stat");
  if (!stat.ok()) return std::nullopt;
  std::istringstream fields(stat->substr(stat->rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) return std::nullopt;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Cost {
  double memory_mb = 0;    // of the harness and one keeper
  double processor_s = 0;  // of the harness and every keeper
};

// The harness's own processes are it and its keepers, which are the same program; never more than one keeper at a time.
Cost harness_cost(const Command& command, const Sandbox& sandbox) {
  const fs::path program = fs::canonical(command.argv[0]);
  const pid_t pid = start_command(command, sandbox.dir / "out", sandbox.dir / "err");
  std::map<std::string, double> memory;
  std::map<std::string, double> processor;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::error_code gone;
      if (fs::read_symlink(entry.path() / "exe", gone) != program) continue;
      const auto arguments = read_file(entry.path() / "cmdline");
      if (!arguments.ok() || arguments->find(sandbox.dir.string()) == std::string::npos) continue;
      const std::string id = entry.path().filename();
      if (const auto peak = high_water_mb(entry.path())) memory[id] = std::max(memory[id], *peak);
      if (const auto used = processor_s(entry.path())) processor[id] = std::max(processor[id], *used);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Cost cost;
  double keeper = 0;
  for (const auto& [id, peak] : memory) {
    if (id == std::to_string(pid)) {
      cost.memory_mb = peak;
    } else {
      keeper = std::max(keeper, peak);
    }
  }
  cost.memory_mb += keeper;
  for (const auto& [id, used] : processor) cost.processor_s += used;
  return cost;
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The wall time of one trial with `repetitions`, in seconds; also writes the twin and warms every cache.
double one_trial(const Sandbox& sandbox, SuiteOptions options, int repetitions, std::vector<std::string>* argv) {
  options.repetitions = repetitions;
  options.trials = 1;
  const std::string suite = write_suite(sandbox, options);
  const std::string db = (sandbox.dir / fmt::format("pilot-{}.db", repetitions)).string();
  seconds_of(sandbox.capbench_command({"run", suite, "--db", db, "--quiet"}), sandbox);
  auto store = schema::Store::open(db, schema::OpenMode::kReadOnly);
  if (!store) throw std::runtime_error(to_string(store.error()));
  const auto trials = store->trials({});
  if (!trials || trials->size() != 1 || trials->front().trial.status != "ok") {
    throw std::runtime_error("the pilot trial did not end ok");
  }
  *argv = trials->front().trial.argv;
  return static_cast<double>(trials->front().trial.wall_ns) / 1e9;
}

int run(const Options& options) {
  if (llama_dir().empty()) {
    fmt::print(stderr, "error: {}\n", kNoLlama);
    return 3;
  }
  const Sandbox sandbox;
  SuiteOptions suite_options;
  suite_options.executable = (llama_dir() / "llama-bench").string();
  suite_options.model = R"("like": "quickstart")";
  suite_options.prompt = "32";
  suite_options.gen = "8";
  suite_options.with_shim_arms = false;

  std::vector<std::string> argv;
  // A delay before each of the two tests.
  if (!options.compute) suite_options.more = fmt::format(R"(, "args": ["--delay", "{}"])", kDelayS);

  // The first writes the twin and fills every cache. A trial is mostly repetitions, so scaling converges at once.
  one_trial(sandbox, suite_options, 5, &argv);
  int repetitions = options.compute ? 20 : 1;
  double trial_s = one_trial(sandbox, suite_options, repetitions, &argv);
  for (int attempt = 0; attempt < 4 && trial_s < options.trial_s; ++attempt) {
    repetitions = std::clamp(static_cast<int>(std::ceil(repetitions * options.trial_s / trial_s * 1.02)), 1, 10000);
    trial_s = one_trial(sandbox, suite_options, repetitions, &argv);
  }
  fmt::print("{} pairs of {} trials of about {:.2f} s (-p 32 -n 8 -r {} -t 1{})\n", options.pairs, options.trials,
             trial_s, repetitions, options.compute ? "" : " --delay 1");
  if (trial_s < 2) {
    fmt::print(stderr, "error: a trial takes only {:.2f} s; try: --trial-s {:.1f}\n", trial_s, options.trial_s * 1.2);
    return 3;
  }

  suite_options.repetitions = repetitions;
  suite_options.trials = options.trials;
  const std::string suite = write_suite(sandbox, suite_options);
  std::string line;
  for (const std::string& word : argv) line += quoted(word) + " ";
  const Command loop{{"/bin/sh", "-c",
                      fmt::format("i=0; while [ $i -lt {} ]; do {} >{}/loop-$i.out 2>{}/loop-$i.err || exit 1; "
                                  "i=$((i+1)); done",
                                  options.trials, line, sandbox.dir.string(), sandbox.dir.string())},
                     sandbox.env(),
                     3600};

  std::mt19937_64 random(options.seed);
  std::vector<double> logs;
  std::vector<double> ours;
  std::vector<double> loops;
  for (int pair = 0; pair < options.pairs; ++pair) {
    const Command harness = sandbox.capbench_command(
        {"run", suite, "--db", (sandbox.dir / fmt::format("pair-{}.db", pair)).string(), "--quiet"});
    double a = 0;
    double b = 0;
    if (random() % 2 == 0) {
      a = seconds_of(harness, sandbox);
      b = seconds_of(loop, sandbox);
    } else {
      b = seconds_of(loop, sandbox);
      a = seconds_of(harness, sandbox);
    }
    ours.push_back(a);
    loops.push_back(b);
    logs.push_back(std::log(a / b));
    fmt::print(stderr, "pair {:2}/{}: capbench {:.3f} s, shell loop {:.3f} s, {:.4f}x\n", pair + 1, options.pairs, a, b,
               a / b);
  }
  const auto n = static_cast<double>(logs.size());
  double mean = 0;
  for (const double v : logs) mean += v / n;
  double squares = 0;
  for (const double v : logs) squares += (v - mean) * (v - mean);
  const double half = stats::student_t_quantile(0.975, n - 1) * std::sqrt(squares / (n - 1) / n);
  const double upper = std::exp(mean + half);
  const Cost cost = harness_cost(
      sandbox.capbench_command({"run", suite, "--db", (sandbox.dir / "memory.db").string(), "--quiet"}), sandbox);

  fmt::print("capbench run   median {:.3f} s\n", stats::median(ours));
  fmt::print("shell loop     median {:.3f} s\n", stats::median(loops));
  fmt::print("ratio          {:.4f}x, 95 % interval {:.4f} to {:.4f} (limit {:.2f}): {}\n", std::exp(mean),
             std::exp(mean - half), upper, kTimeLimit, upper <= kTimeLimit ? "ok" : "OVER");
  const bool small = cost.memory_mb > 0 && cost.memory_mb <= kMemoryLimitMb;
  fmt::print("memory         {:.1f} MiB, harness and keeper (limit {:.0f}): {}\n", cost.memory_mb, kMemoryLimitMb,
             small ? "ok" : "OVER");
  fmt::print("processor      {:.2f} s in a run of {} trials\n", cost.processor_s, options.trials);
  return upper <= kTimeLimit && small ? 0 : 1;
}

}  // namespace
}  // namespace capbench::testing

int main(int argc, char** argv) {
  capbench::testing::Options options;
  CLI::App app("Wall time of `capbench run` against a shell loop of the same llama-bench, in interleaved pairs.");
  app.add_option("--pairs", options.pairs, "pairs")->check(CLI::Range(3, 1000))->capture_default_str();
  app.add_option("--trials", options.trials, "trials in each half of a pair")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--trial-s", options.trial_s, "aim for trials of this length, seconds")
      ->check(CLI::Range(2.0, 600.0))
      ->capture_default_str();
  app.add_flag("--compute", options.compute, "fill the whole trial with computing instead of llama-bench's --delay");
  app.add_option("--seed", options.seed, "of the order within pairs")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return capbench::testing::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
}
