// What the pages are made from: every measurement of one or several stores without its samples
// (reports/measurements.h), grouped as the pages need it. Afterwards only read, so any number of threads may share it.
#ifndef CAPBENCH_REPORTS_SITE_MODEL_H_
#define CAPBENCH_REPORTS_SITE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "reports/estimates.h"
#include "reports/history.h"
#include "reports/measurements.h"
#include "reports/speedup.h"

namespace capbench::site {

using reports::Launch;
using reports::Measurement;
using reports::SeriesKey;
using reports::Texts;

// One series in one environment with one build.
struct Cell {
  std::uint32_t series = 0;
  Texts::Id build = 0;
  Texts::Id environment = 0;  // id; the empty text if unknown
  Texts::Id first_started = 0;
  std::uint32_t first = 0;  // of its measurements, in Measurements::all
  std::uint32_t n = 0;
};

// All of one key; which of its points are comparable is told by series_of().
struct Series {
  std::string id;           // 16 hex digits of what its key says, the same in every store
  std::uint32_t key = 0;    // in Measurements::keys
  std::uint32_t first = 0;  // of its cells
  std::uint32_t n = 0;
  std::uint32_t newest = 0;  // its newest cell
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

// The newest build of one suite on one machine: what the Speedup page shows.
struct SpeedupGroup {
  Texts::Id suite = 0;    // name
  Texts::Id machine = 0;  // id
  Texts::Id build = 0;    // 0 and not `counts`: nothing of it counts, the newest run is shown
  bool counts = false;
  std::vector<std::set<std::string>> runs;  // by store
  std::size_t rows = 0;                     // about, by the time they take
};

struct Model {
  std::vector<std::filesystem::path> stores;
  reports::Measurements m;
  reports::Decisions decisions;
  std::vector<Cell> cells;                 // by series, then environment and build
  std::vector<Series> series;              // by model, machine, suite, workload, test, guest, mode, arm
  std::vector<std::uint32_t> newest;       // launches that count, newest first
  std::vector<std::uint32_t> not_counted;  // the others, newest first; see why_not_counted()
  std::map<std::string, std::vector<std::uint32_t>> by_environment;  // cells by environment id; "": not known
  std::map<std::string, Environment> environments;
  std::map<std::string, std::string> machines;  // id -> label
  std::vector<Run> runs;                        // newest first
  std::vector<Submission> submissions;          // newest first
  std::vector<SpeedupGroup> speedup;            // by suite and machine
  std::size_t n_trials = 0;                     // that count
  std::string newest_start;                     // of all trials that count; empty without any
  std::string read_at;                          // UTC
  std::map<std::string, std::uint32_t> series_by_id;
  std::vector<std::uint32_t> series_of_key;
  // Launches that do not count, by what their series is called, newest first; see failures_of().
  std::map<std::array<Texts::Id, 7>, std::vector<std::uint32_t>> failures;

  const std::string& text(Texts::Id id) const { return m.text(id); }
  std::size_t n_results() const { return m.all.size(); }
  const SeriesKey& key(const Series& one) const { return m.keys[one.key]; }
  std::span<const Cell> cells_of(const Series& one) const { return std::span(cells).subspan(one.first, one.n); }
  std::span<const Measurement> measured(const Cell& cell) const { return std::span(m.all).subspan(cell.first, cell.n); }
  // nullptr if there is none of that id.
  const Series* find_series(std::string_view id) const;
  std::string machine_label(const std::string& machine_id) const;
};

// The headline of a cell and its interval between trials; of a single process none: see series_of().
std::optional<reports::Estimate> estimate_of(const Model& model, const Cell& cell);
// The launch of the measurements (places in Measurements::all) whose median is nearest to theirs.
std::uint32_t median_launch(const Model& model, std::span<const std::uint32_t> places);
// Those of the series' arm that do not count, and why; newest first.
std::span<const std::uint32_t> failures_of(const Model& model, const Series& series);

// Of several stores: what is in more than one of them counts once.
Result<Model> read_model(const std::vector<std::filesystem::path>& stores);

// The rows of some groups, as `capbench report speedup` has them; `stores` are the model's, open.
Result<reports::SpeedupReport> read_speedup_of(const Model& model, std::span<const SpeedupGroup> groups,
                                               std::span<schema::Store* const> stores);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_MODEL_H_
