// A run's progress as several lanes make it.
#ifndef CAPBENCH_HARNESS_RUNNER_SHARED_PROGRESS_H_
#define CAPBENCH_HARNESS_RUNNER_SHARED_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "harness/runner/progress.h"

namespace capbench::runner {

// Safe to use from several threads.
class SharedProgress {
 public:
  explicit SharedProgress(Progress& progress) : progress_(progress) {}

  void message(const std::string& line);
  // What there is to do: cells ("MODEL/WORKLOAD/ARM") with the number of their trials that are missing, by lane.
  void plan(std::size_t done, std::size_t total, std::map<std::string, std::map<std::string, std::size_t>> missing,
            std::chrono::nanoseconds pause);
  void show(const std::string& lane, const std::string& running);
  void trial_ended(const std::string& lane, const std::string& cell, const std::string& running,
                   const TrialNotice& notice);
  // It will be run again, so it is not done.
  void trial_cut_short(const std::string& lane);
  bool wants_ticks() const { return progress_.wants_ticks(); }

 private:
  ProgressState state() const;
  std::string all_running() const;

  mutable std::mutex mutex_;
  Progress& progress_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::size_t done_ = 0;
  std::size_t total_ = 0;
  std::chrono::nanoseconds pause_{0};                                      // before each trial
  std::map<std::string, std::map<std::string, std::size_t>> missing_;      // by lane and cell
  std::map<std::string, std::pair<std::chrono::nanoseconds, int>> walls_;  // by cell: total and count
  std::map<std::string, std::string> running_;                             // by lane
};

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_SHARED_PROGRESS_H_
