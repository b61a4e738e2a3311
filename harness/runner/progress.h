// What a run tells the person who waits for it.
#ifndef CAPBENCH_HARNESS_RUNNER_PROGRESS_H_
#define CAPBENCH_HARNESS_RUNNER_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace capbench::runner {

// Where the run is. Durations are wall time.
struct ProgressState {
  std::size_t done = 0;  // trials finished, earlier sittings included
  std::size_t total = 0;
  std::string running;  // "ARM  MODEL  WORKLOAD" of the trial that runs
  std::chrono::nanoseconds elapsed{0};
  std::optional<std::chrono::nanoseconds> remaining;  // unknown until something like it has been measured
};

// A trial that has just ended.
struct TrialNotice {
  std::string status;
  std::string reason;
  std::int64_t block = 0;
  std::chrono::nanoseconds wall{0};
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void message(const std::string& line) = 0;  // something worth knowing, once
  virtual void show(const ProgressState& state) = 0;  // called when a trial starts and on every tick
  virtual void trial_ended(const ProgressState& state, const TrialNotice& notice) = 0;
  virtual bool wants_ticks() const = 0;  // false: nothing is shown while a trial runs, so the harness need not wake
};

// A bar that redraws itself on stderr, at most `columns` wide.
std::unique_ptr<Progress> make_terminal_progress(std::size_t columns);
// One plain line per trial on stderr.
std::unique_ptr<Progress> make_plain_progress();
// Only messages and trials that are not ok.
std::unique_ptr<Progress> make_quiet_progress();

// The bar, for tests: "[####......]  4/15  stock  twin  pp128+tg32  0:31 elapsed, 1:02 left", cut to `columns`.
std::string progress_bar(const ProgressState& state, std::size_t columns);

// "0:07", "12:05", "3:00:00".
std::string clock_text(std::chrono::nanoseconds duration);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_PROGRESS_H_
