// What the pages are made from: every counted result of one or several stores, summarised, without its samples.
// Reading is one pass over the results; afterwards the model is only read, so any number of threads may share it.
#ifndef CAPBENCH_REPORTS_SITE_MODEL_H_
#define CAPBENCH_REPORTS_SITE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "reports/estimates.h"
#include "reports/speedup.h"

namespace capbench::site {

// Each text once; a million results say the same few thousand words.
class Texts {
 public:
  using Id = std::uint32_t;
  Id add(std::string_view text);
  const std::string& operator[](Id id) const { return all_[id]; }
  std::size_t size() const { return all_.size(); }

 private:
  std::deque<std::string> all_;
  std::unordered_map<std::string_view, Id> index_;  // views into all_, whose elements stay where they are
};

// A SHA-256 as its 32 bytes.
using Digest = std::array<std::uint8_t, 32>;
std::optional<Digest> digest_of(std::string_view hex);
std::string hex_of(const Digest& digest);

// A trial that counts: ok, its treatment not invalid, not replaced by a later attempt, not a warm-up.
struct Trial {
  Digest id{};
  Texts::Id run = 0;
  Texts::Id started = 0;          // UTC
  std::uint32_t store = 0;        // which of the stores it lies in
  std::uint32_t first_place = 0;  // of its results, in Model::places
  std::uint32_t n_places = 0;
};

// What one arm of one test is called. Results that agree in all of it, and in build and environment, are one cell;
// cells that agree in all of it are one series.
struct SeriesKey {
  Texts::Id suite = 0;    // name
  Texts::Id machine = 0;  // id
  Texts::Id workload = 0;
  Texts::Id model = 0;
  Texts::Id model_kind = 0;
  Texts::Id test = 0;
  Texts::Id guest = 0;
  Texts::Id mode = 0;
  Texts::Id arm = 0;
  bool operator==(const SeriesKey&) const = default;
};

struct Measured {
  std::uint32_t trial = 0;  // index
  double median_ts = 0;     // of the trial's samples, tokens per second
};

struct Cell {
  std::uint32_t series = 0;
  Texts::Id build = 0;
  Texts::Id environment = 0;  // id; the empty text if unknown
  Texts::Id first_started = 0;
  std::vector<Measured> measured;  // in the order read
  bool proven = true;              // of every trial
  bool wrong = false;              // the output of some
};

struct Series {
  SeriesKey key;
  std::string id;                    // 16 hex digits of what its key says, the same in every store
  std::vector<std::uint32_t> cells;  // by first start, oldest first
};

struct Environment {
  std::string id;
  std::string machine_id;
  std::string label;
  bool is_virtual = false;
  std::string json;
  std::string chip;    // GPU if one is named, else the CPU
  std::string system;  // "macOS 15.5", "Linux 6.18.44"; empty if unknown
};

struct Run {
  std::string id;
  std::string suite_id;
  std::string suite;
  std::string machine_id;
  std::string started;
  std::string state;
  std::string version;     // of capbench
  std::size_t trials = 0;  // that count
  std::size_t not_counted = 0;
  std::uint32_t store = 0;
};

struct Submission {
  std::string id;
  std::string tier;
  std::string signer;
  std::string verdict;  // JSON
  std::string received;
  std::string withdrawn;  // empty while it stands
  std::string why;
  std::uint64_t bytes = 0;
  std::size_t trials = 0;
  std::uint32_t store = 0;
};

struct Model {
  Texts texts;
  std::vector<Trial> trials;
  std::vector<Cell> cells;
  std::vector<Series> series;         // by machine, model, workload, test, guest, mode, arm
  std::vector<std::uint32_t> places;  // cells, see Trial
  std::vector<std::uint32_t> newest;  // trials, newest first
  std::map<std::string, std::vector<std::uint32_t>> by_environment;  // cells by environment id; "": not known
  std::map<std::string, Environment> environments;
  std::map<std::string, std::string> machines;  // id -> label
  std::vector<Run> runs;                        // newest first
  std::vector<Submission> submissions;          // newest first
  reports::SpeedupReport speedup;               // the newest build of every suite on every machine
  std::size_t n_results = 0;
  std::size_t n_not_counted = 0;  // trials
  std::string newest_start;       // of all trials; empty without any
  std::string read_at;            // UTC

  const std::string& text(Texts::Id id) const { return texts[id]; }
  // nullptr if there is none of that id.
  const Series* find_series(std::string_view id) const;
  const Trial* find_trial(const Digest& id) const;
  std::string machine_label(const std::string& machine_id) const;

  std::unordered_map<std::string, std::uint32_t> series_by_id;
  std::vector<std::uint32_t> trials_by_id;  // sorted
};

// The headline of a cell and its interval between trials. With a single trial there is no interval: its samples are not
// part of the model.
std::optional<reports::Estimate> estimate_of(const Cell& cell);

// Of several stores: what is in more than one of them counts once.
Result<Model> read_model(const std::vector<std::filesystem::path>& stores);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_MODEL_H_
