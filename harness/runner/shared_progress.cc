#include "harness/runner/shared_progress.h"

#include <algorithm>
#include <optional>

namespace capbench::runner {

using std::chrono::nanoseconds;
using Lock = std::lock_guard<std::mutex>;

void SharedProgress::message(const std::string& line) {
  const Lock lock(mutex_);
  progress_.message(line);
}

void SharedProgress::plan(std::size_t done, std::size_t total,
                          std::map<std::string, std::map<std::string, std::size_t>> missing, nanoseconds pause) {
  const Lock lock(mutex_);
  done_ = done;
  total_ = total;
  missing_ = std::move(missing);
  pause_ = pause;
}

void SharedProgress::show(const std::string& lane, const std::string& running) {
  const Lock lock(mutex_);
  running_[lane] = running;
  progress_.show(state());
}

void SharedProgress::trial_ended(const std::string& lane, const std::string& cell, const std::string& running,
                                 const TrialNotice& notice) {
  const Lock lock(mutex_);
  ++done_;
  if (std::size_t& left = missing_[lane][cell]; left > 0) --left;
  auto& wall = walls_[cell];
  wall.first += notice.wall;
  ++wall.second;
  ProgressState now = state();
  now.running = running;
  progress_.trial_ended(now, notice);
  running_.erase(lane);
}

void SharedProgress::trial_cut_short(const std::string& lane) {
  const Lock lock(mutex_);
  running_.erase(lane);
}

std::string SharedProgress::all_running() const {
  std::string text;
  for (const auto& [lane, running] : running_) text += (text.empty() ? "" : " | ") + running;
  return text;
}

// Lanes run side by side, so the slowest of them decides.
ProgressState SharedProgress::state() const {
  ProgressState state{done_, total_, all_running(), std::chrono::steady_clock::now() - started_, std::nullopt};
  nanoseconds total{0};
  int count = 0;
  for (const auto& [cell, wall] : walls_) {
    total += wall.first;
    count += wall.second;
  }
  if (count == 0) return state;
  nanoseconds longest{0};
  for (const auto& [lane, cells] : missing_) {
    nanoseconds left{0};
    for (const auto& [cell, trials] : cells) {
      const auto it = walls_.find(cell);
      const nanoseconds each = it != walls_.end() ? it->second.first / it->second.second : total / count;
      left += (each + pause_) * static_cast<std::int64_t>(trials);
    }
    longest = std::max(longest, left);
  }
  state.remaining = longest;
  return state;
}

}  // namespace capbench::runner
