#include "harness/runner/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace capbench::runner {
namespace {

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string times(const ProgressState& state) {
  std::string text = clock_text(state.elapsed) + " elapsed";
  if (state.remaining) text += ", " + clock_text(*state.remaining) + " left";
  return text;
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string trial_line(const ProgressState& state, const TrialNotice& notice) {
  const std::string round = notice.block < 0 ? "before the blocks" : fmt::format("block {}", notice.block);
  std::string line = fmt::format("trial {}/{}  {}  {}: {} in {:.2f} s ({})", state.done, state.total, state.running,
                                 round, notice.status, seconds(notice.wall), times(state));
  if (!notice.reason.empty()) line += "\n    " + notice.reason;
  return line + "\n";
}

class PlainProgress : public Progress {
 public:
  void message(const std::string& line) override { write_stderr(line + "\n"); }
  void show(const ProgressState& /*state*/) override {}
  void trial_ended(const ProgressState& state, const TrialNotice& notice) override {
    write_stderr(trial_line(state, notice));
  }
  bool wants_ticks() const override { return false; }
};

class QuietProgress : public PlainProgress {
 public:
  void trial_ended(const ProgressState& state, const TrialNotice& notice) override {
    if (notice.status != "ok") PlainProgress::trial_ended(state, notice);
  }
};

class TerminalProgress : public Progress {
 public:
  explicit TerminalProgress(std::size_t columns) : columns_(columns) {}
  ~TerminalProgress() override { clear(); }

  void message(const std::string& line) override {
    clear();
    write_stderr(line + "\n");
  }
  void show(const ProgressState& state) override {
    write_stderr("\r\x1b[K" + progress_bar(state, columns_));
    shown_ = true;
  }
  void trial_ended(const ProgressState& state, const TrialNotice& notice) override {
    if (notice.status != "ok") {
      clear();
      write_stderr(trial_line(state, notice));
    }
    show(state);
  }
  bool wants_ticks() const override { return true; }

 private:
  void clear() {
    if (shown_) write_stderr("\r\x1b[K");
    shown_ = false;
  }

  std::size_t columns_;
  bool shown_ = false;
};

}  // namespace

std::string clock_text(std::chrono::nanoseconds duration) {
  const auto total = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  const auto hours = total / 3600;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

std::string progress_bar(const ProgressState& state, std::size_t columns) {
  constexpr std::size_t kWidth = 16;
  const std::size_t filled = state.total == 0 ? 0 : std::min(kWidth, state.done * kWidth / state.total);
  const std::string head = fmt::format("[{}{}] {}/{}  ", std::string(filled, '#'), std::string(kWidth - filled, '.'),
                                       state.done, state.total);
  const std::string tail = "  " + times(state);
  // The last column stays free: writing it would wrap the line on some terminals. What runs is what gives way.
  const std::size_t room = columns > head.size() + tail.size() + 1 ? columns - head.size() - tail.size() - 1 : 0;
  std::string running = state.running;
  if (running.size() > room) {
    running.resize(room);
    // Not in the middle of a character.
    while (!running.empty() && (static_cast<unsigned char>(state.running[running.size()]) & 0xC0U) == 0x80U) {
      running.pop_back();
    }
  }
  std::string bar = head + running + tail;
  if (columns > 0 && bar.size() >= columns) bar.resize(columns - 1);
  return bar;
}

std::unique_ptr<Progress> make_terminal_progress(std::size_t columns) {
  return std::make_unique<TerminalProgress>(columns);
}
std::unique_ptr<Progress> make_plain_progress() {
  return std::make_unique<PlainProgress>();
}
std::unique_ptr<Progress> make_quiet_progress() {
  return std::make_unique<QuietProgress>();
}

}  // namespace capbench::runner
