// The pages: which there are, and each of them as text. `capbench site` writes them all, `capbench serve` makes the one
// that is asked for; both come from here.
#ifndef CAPBENCH_REPORTS_SITE_SITE_H_
#define CAPBENCH_REPORTS_SITE_SITE_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "reports/ablation.h"
#include "reports/site/model.h"
#include "schema/database.h"
#include "schema/store.h"

namespace capbench::site {

struct Options {
  // Trials with a page of their own in a static copy: the newest, and those that a change is shown by. 0: every one.
  std::size_t most_trials = 2000;
  // Series with a page of their own in a static copy: those that changed, then those with most points. 0: every one.
  std::size_t most_series = 300;
  // Bundles with a page of their own in a static copy, the newest. 0: every one.
  std::size_t most_submissions = 1000;
  // What a page of raw output shows at most, bytes.
  std::size_t most_raw = 64U << 10U;
  // Trials that ablations are made of, the newest builds first; what goes over it is left to `capbench report
  // ablation`.
  std::size_t most_ablation_trials = 6000;
  // Whether the API of `capbench serve` is there too, to link to.
  bool served = false;
  // Applied to raw output, arguments and environments before they are shown; empty: as they are.
  std::function<std::string(std::string_view)> redact;
};

// One subject's ablation over all of its tests.
struct Ablation {
  std::string id;  // 16 hex digits
  std::vector<reports::AblationRow> tests;
};

// Where a series became slower or faster: as `capbench check` finds it, over builds.
struct Change {
  std::uint32_t series = 0;
  reports::SeriesChange change;  // its index is a place in the points of its setting
  std::string label;             // of the first point after it
  std::string date;
  std::uint32_t launch = 0;  // in the middle of that point
  bool newest_setting = true;
};

// What the list of series says of one.
struct SeriesSummary {
  std::uint32_t points = 0;  // builds, over all settings
  std::uint32_t settings = 0;
  std::uint32_t changes = 0;
  std::uint32_t open = 0;  // slower, and nobody has said anything
};

// A point of a series over builds, as pages of its trials show it.
struct Point {
  std::uint32_t first = 0;   // its first trial, in Measurements::all
  std::uint32_t median = 0;  // the launch in its middle
  std::uint32_t number = 0;  // in its setting, from 0: the one before it there stands before it in Site::points
  std::uint32_t of = 0;      // points of its setting
  std::uint32_t settings = 0;
};

// Everything that pages are made from. Read once, then shared by any number of threads.
// What was measured on a machine.
struct MachineSum {
  std::size_t results = 0;
  std::size_t runs = 0;
  std::string newest;                     // UTC, when its newest measurements began
  std::vector<std::string> environments;  // ids
};

struct Site {
  Options options;
  std::vector<std::filesystem::path> stores;
  Model model;
  std::vector<Change> changes;           // newest first
  std::vector<SeriesSummary> summaries;  // by series
  std::vector<Point> points;
  std::vector<std::uint32_t> point_of;                        // in `points`, by place in Measurements::all
  std::map<std::string, MachineSum> machines;                 // by id
  std::map<std::string, std::size_t> results_of_environment;  // by id
  // Of each environment the builds that can be compared, newest first.
  std::map<std::string, std::vector<Texts::Id>> builds;
  // The two newest builds of one environment that have something to compare; nothing if there are none.
  struct FirstPair {
    std::string environment;
    Texts::Id older = 0;
    Texts::Id newer = 0;
  };
  std::optional<FirstPair> first_pair;
  std::vector<Ablation> ablations;
  std::vector<std::string> left_out;  // suites whose ablation is too large, sentences
  // Groups [first, last) of Model::speedup on each part of that page.
  std::vector<std::pair<std::size_t, std::size_t>> speedup_parts;
  std::vector<reports::SpeedupRow> headlines;      // the largest ratios
  std::unordered_set<std::uint32_t> trial_pages;   // unless every one has a page
  std::unordered_set<std::uint32_t> series_pages;  // likewise
  bool every_trial = true;
  bool every_series = true;

  bool has_page(std::uint32_t launch) const { return every_trial || trial_pages.contains(launch); }
  bool has_page(const Series& series) const {
    return every_series || series_pages.contains(static_cast<std::uint32_t>(&series - model.series.data()));
  }
  bool has_page(const Submission& submission) const {
    const auto place = static_cast<std::size_t>(&submission - model.submissions.data());
    return options.most_submissions == 0 || place < options.most_submissions;
  }
};

// Errors are the stores'.
Result<Site> read_site(const std::vector<std::filesystem::path>& stores, const Options& options);

struct Connection {
  schema::Store store;
  schema::Database database;  // for queries that the store has no function for
};

// Connections for one thread, to the stores of a site in their order; opened when they are first needed.
class Connections {
 public:
  explicit Connections(const std::vector<std::filesystem::path>& stores) : stores_(stores), open_(stores.size()) {}
  Result<Connection*> at(std::size_t store);

 private:
  std::vector<std::filesystem::path> stores_;
  std::vector<std::unique_ptr<Connection>> open_;
};

// Of every page, relative to the first: "index.html", "history/0123456789abcdef.html", ...; and of data for scripts.
std::vector<std::string> page_paths(const Site& site);
// Nothing if there is none of that path. HTML, or a script if the path ends in ".js".
Result<std::optional<std::string>> render_page(const Site& site, Connections& connections, std::string_view path);

// Files that are part of the program, the same for every site.
struct Asset {
  std::string_view path;  // "assets/style.css"
  std::string_view type;  // media type
  std::string_view bytes;
};
const std::vector<Asset>& assets();

struct Written {
  std::size_t pages = 0;
  std::uint64_t bytes = 0;
};
// Writes every page and asset below `folder`, which is made if need be. A folder that holds other things is refused;
// pages of an earlier site that are none now are removed.
Result<Written> write_site(const Site& site, const std::filesystem::path& folder, unsigned threads);

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_SITE_H_
