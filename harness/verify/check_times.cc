// Times of day and durations.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/verify/checks.h"
#include "harness/verify/utc.h"

namespace capbench::verify {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kClockError = 600 * kSecond;  // of the clocks of two machines, one of which verifies
// llama-bench prints whole seconds, and takes its time before the process has begun to run the test.
constexpr std::int64_t kRounding = 2 * kSecond;
constexpr std::int64_t kNanosecondsInMillisecond = 1'000'000;

// Nothing is added that could overflow: samples are whatever the bundle says.
double sum_of_samples(const schema::TrialRecord& trial) {
  double sum = 0;
  for (const schema::ResultRecord& result : trial.results) {
    for (const std::int64_t ns : result.samples_ns) sum += static_cast<double>(ns);
  }
  return sum;
}

class Clock {
 public:
  Clock(std::string_view now, Rows& rows) : now_(parse_utc(now)), rows_(rows) {}

  // The time, if it is one. What is no time, or in the future, is told.
  std::optional<std::int64_t> read(const std::string& where, const std::string& text) {
    const auto time = parse_utc(text);
    if (!time) {
      rows_.failed(where, fmt::format("\"{:.40}\" is no time", text));
    } else if (now_ && *time > *now_ + kClockError) {
      rows_.failed(where, fmt::format("{} is in the future", text));
    } else {
      return time;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::int64_t> now_;
  Rows& rows_;
};

std::int64_t wall_ms(const schema::TrialRecord& trial) {
  return std::max<std::int64_t>(trial.wall_ns, 0) / kNanosecondsInMillisecond;
}

// What llama-bench's own clock says of each test; empty if it lies within the trial.
std::string test_time_problem(const TrialEntry& entry, std::int64_t started) {
  const schema::TrialRecord& trial = *entry.record;
  for (std::size_t i = 0; i < trial.results.size(); ++i) {
    const schema::ResultRecord& result = trial.results[i];
    const nlohmann::json& fields = (*entry.fields)[i];
    if (!fields.is_object()) continue;
    const auto said = fields.find("test_time");
    if (said == fields.end() || !said->is_string()) continue;
    const auto time = parse_utc(said->get_ref<const std::string&>());
    if (!time) continue;  // older versions print it otherwise
    if (*time < started - kRounding || *time > started + wall_ms(trial) + kRounding) {
      return fmt::format("{} was begun at {} by llama-bench's clock, outside of its trial ({}, {:.1f} s)", result.test,
                         said->get_ref<const std::string&>(), trial.started_at,
                         static_cast<double>(trial.wall_ns) / 1e9);
    }
  }
  return "";
}

// The trial's own times; whether all of them fit.
bool check_trial(const TrialEntry& trial, std::int64_t started, Rows& rows) {
  const schema::TrialRecord& record = *trial.record;
  bool fits = true;
  if (trial.run != nullptr) {
    const auto run = parse_utc(trial.run->started_at);
    if (run && started < *run) {
      rows.failed(place(trial.member, "started_at"),
                  fmt::format("{} is before its run began ({})", record.started_at, trial.run->started_at));
      fits = false;
    }
  }
  if (trial.imported) return fits;  // of a process whose length nobody measured
  if (const double sum = sum_of_samples(record); static_cast<double>(record.wall_ns) < sum) {
    rows.failed(place(trial.member, "wall_ns"), fmt::format("{:.3f} s, less than its samples add up to ({:.3f} s)",
                                                            static_cast<double>(record.wall_ns) / 1e9, sum / 1e9));
    fits = false;
  }
  if (std::string problem = test_time_problem(trial, started); !problem.empty()) {
    // Another machine has another clock.
    if (record.target == "local") {
      rows.failed(place(trial.member, "results"), std::move(problem));
    } else {
      rows.flagged(place(trial.member, "results"), std::move(problem));
    }
    fits = false;
  }
  return fits;
}

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const TrialEntry* trial = nullptr;
};

// One machine runs one trial at a time.
void check_overlaps(std::map<std::string, std::vector<Span>>& by_machine, Rows& rows) {
  for (auto& [machine, spans] : by_machine) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i].begin + kSecond >= spans[i - 1].end) continue;
      rows.flagged(place(spans[i].trial->member, "started_at"),
                   fmt::format("{}, while {:.19} was still running", spans[i].trial->record->started_at,
                               spans[i - 1].trial->member));
    }
  }
}

}  // namespace

void check_times(const Index& index, std::string_view now, Rows& rows) {
  Clock clock(now, rows);
  for (const schema::RunRecord& run : index.bundle().runs) {
    if (run.started_at.empty()) continue;  // imported from a file without times
    if (clock.read(place(bundle::run_member(run), "started_at"), run.started_at)) rows.passed();
  }
  std::map<std::string, std::vector<Span>> by_machine;
  for (const TrialEntry& trial : index.trials()) {
    const schema::TrialRecord& record = *trial.record;
    if (record.started_at.empty()) {
      rows.skipped(trial.member, "when it ran is not known");
      continue;
    }
    if (trial.imported && !parse_utc(record.started_at)) {
      rows.skipped(trial.member, "its source writes times otherwise");
      continue;
    }
    const auto started = clock.read(place(trial.member, "started_at"), record.started_at);
    if (!started || !check_trial(trial, *started, rows)) continue;
    rows.passed();
    if (!trial.imported && trial.run != nullptr && record.target == "local") {
      by_machine[trial.run->machine_id].push_back({*started, *started + wall_ms(record), &trial});
    }
  }
  check_overlaps(by_machine, rows);
  for (const schema::QualityRecord& check : index.bundle().quality) {
    const std::string where = place(bundle::quality_member(check), "checked_at");
    const auto checked = clock.read(where, check.checked_at);
    if (!checked) continue;
    const schema::RunRecord* run = index.run(check.run_id);
    const auto began = run == nullptr ? std::nullopt : parse_utc(run->started_at);
    if (began && *checked < *began) {
      rows.failed(where, fmt::format("{} is before its run began ({})", check.checked_at, run->started_at));
    } else {
      rows.passed();
    }
  }
}

}  // namespace capbench::verify
