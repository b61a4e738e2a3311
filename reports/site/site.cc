#include "reports/site/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "base/beside.h"
#include "base/digest.h"
#include "base/parallel.h"
#include "harness/stats/summary.h"
#include "reports/read_ablation.h"
#include "reports/site/database.h"
#include "reports/site/pages.h"

namespace capbench::site {
namespace {

constexpr std::size_t kHeadlines = 12;

struct FoundSeries {
  std::vector<Change> changes;
  SeriesSummary summary;
  std::vector<Point> points;
};

// `point_of` gets the places in `points` of what the series measured.
FoundSeries look_at(const Model& model, std::uint32_t index, std::vector<std::uint32_t>& point_of) {
  FoundSeries found;
  const std::vector<reports::Series> settings =
      reports::series_of(model.m, model.series[index].key, reports::Axis::kBuilds, {false, true}, model.decisions);
  found.summary.settings = static_cast<std::uint32_t>(settings.size());
  for (const reports::Series& series : settings) {
    found.summary.points += static_cast<std::uint32_t>(series.points.size());
    const std::size_t first = found.points.size();
    for (const reports::SeriesPoint& point : series.points) {
      for (const std::uint32_t place : point.places) point_of[place] = static_cast<std::uint32_t>(found.points.size());
      found.points.push_back({point.places.front(), median_launch(model, point.places),
                              static_cast<std::uint32_t>(found.points.size() - first),
                              static_cast<std::uint32_t>(series.points.size()), found.summary.settings});
    }
    for (const reports::SeriesChange& change : series.changes) {
      const reports::SeriesPoint& point = series.points[change.index];
      found.changes.push_back({index, change, point.label, point.date, found.points[first + change.index].median,
                               &series == &settings.front()});
      ++found.summary.changes;
      if (change.ratio < 1 && change.state == "open") ++found.summary.open;
    }
  }
  return found;
}

void look_at_series(Site& site, unsigned threads) {
  const Model& model = site.model;
  std::vector<FoundSeries> found(model.series.size());
  site.point_of.resize(model.m.all.size());
  for_each_index(found.size(), threads,
                 [&](std::size_t i) { found[i] = look_at(model, static_cast<std::uint32_t>(i), site.point_of); });
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    FoundSeries& some = found[i];
    const auto first = static_cast<std::uint32_t>(site.points.size());
    const std::uint32_t key = model.series[i].key;
    for (std::uint32_t p = model.m.first_of_key[key]; p < model.m.first_of_key[key + 1]; ++p) site.point_of[p] += first;
    site.points.insert(site.points.end(), some.points.begin(), some.points.end());
    std::move(some.changes.begin(), some.changes.end(), std::back_inserter(site.changes));
    site.summaries.push_back(some.summary);
  }
  std::stable_sort(site.changes.begin(), site.changes.end(),
                   [](const Change& a, const Change& b) { return b.date < a.date; });
}

double median_of(const Model& model, const Cell& cell) {
  std::vector<double> medians;
  for (const Measurement& one : model.measured(cell)) medians.push_back(one.median_ts);
  return stats::median(medians);
}

// The groups with the largest ratios of unlocked over stock, by medians alone; the largest first.
std::vector<SpeedupGroup> promising_groups(const Model& model) {
  constexpr std::size_t kMost = 2 * kHeadlines;
  std::map<std::pair<Texts::Id, Texts::Id>, std::size_t> places;
  for (std::size_t i = 0; i < model.speedup.size(); ++i) places[{model.speedup[i].suite, model.speedup[i].machine}] = i;
  struct Pair {
    double stock = 0;  // the slowest
    double unlocked = 0;
  };
  std::map<std::tuple<std::size_t, std::string_view, std::string_view, std::string_view, std::string_view>, Pair> pairs;
  for (const Cell& cell : model.cells) {
    const SeriesKey& key = model.key(model.series[cell.series]);
    const bool stock = key.mode == reports::kStock;
    if (!stock && key.mode != reports::kUnlocked) continue;
    const Launch& launch = model.m.launches[model.m.all[cell.first].launch];
    const std::size_t group = places.at({launch.suite, launch.machine_id});
    if (model.speedup[group].build != cell.build) continue;
    Pair& pair = pairs[{group, key.model, key.workload, key.test, key.guest}];
    const double speed = median_of(model, cell);
    if (stock) {
      pair.stock = pair.stock == 0 ? speed : std::min(pair.stock, speed);
    } else {
      pair.unlocked = std::max(pair.unlocked, speed);
    }
  }
  std::map<std::size_t, double> best;
  for (const auto& [name, pair] : pairs) {
    if (pair.stock > 0 && pair.unlocked > 0) {
      best[std::get<0>(name)] = std::max(best[std::get<0>(name)], pair.unlocked / pair.stock);
    }
  }
  std::vector<std::pair<double, std::size_t>> order;
  for (const auto& [group, ratio] : best) order.emplace_back(ratio, group);
  std::sort(order.rbegin(), order.rend());
  if (order.size() > kMost) order.resize(kMost);
  std::vector<SpeedupGroup> groups;
  for (const auto& [ratio, group] : order) groups.push_back(model.speedup[group]);
  return groups;
}

// The largest ratio of each suite, machine and model, among those whose output is not known to be wrong and whose
// treatment is not invalid; the largest first.
Status find_headlines(Site& site, std::span<schema::Store* const> stores) {
  auto report = read_speedup_of(site.model, promising_groups(site.model), stores);
  if (!report) return std::move(report).error();
  std::map<std::tuple<std::string, std::string, std::string>, reports::SpeedupRow*> best;
  for (reports::SpeedupRow& row : report->rows) {
    if (!row.speedup || row.quality == "wrong" || row.treatment == "invalid") continue;
    reports::SpeedupRow*& place = best[{row.suite, row.machine_id, row.model}];
    if (place == nullptr || place->speedup->value < row.speedup->value) place = &row;
  }
  for (const auto& [key, row] : best) site.headlines.push_back(std::move(*row));
  std::stable_sort(site.headlines.begin(), site.headlines.end(),
                   [](const auto& a, const auto& b) { return a.speedup->value > b.speedup->value; });
  if (site.headlines.size() > kHeadlines) site.headlines.resize(kHeadlines);
  return {};
}

// Parts of the list of speedups: whole groups, until there are enough rows.
void split_speedups(Site& site) {
  const std::vector<SpeedupGroup>& groups = site.model.speedup;
  std::size_t first = 0;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    rows += groups[i].rows;
    if (rows < kSpeedupRows && i + 1 < groups.size()) continue;
    site.speedup_parts.emplace_back(first, i + 1);
    first = i + 1;
    rows = 0;
  }
  if (site.speedup_parts.empty()) site.speedup_parts.emplace_back(0, 0);
}

std::string ablation_id(const reports::AblationRow& row) {
  std::string name;
  for (const std::string& part : {row.suite_id, row.machine_id, row.executable_sha256, row.build, row.workload,
                                  row.model, row.model_kind, row.guest, row.device}) {
    name += part;
    name += '\0';
  }
  return sha256(name).substr(0, 16);
}

void add_ablation(Site& site, reports::AblationReport report) {
  for (reports::AblationRow& row : report.rows) {
    const bool varies = std::any_of(row.families.begin(), row.families.end(),
                                    [](const auto& family) { return !family.levels.factors.empty(); });
    if (!varies) continue;
    const std::string id = ablation_id(row);
    const auto same =
        std::find_if(site.ablations.begin(), site.ablations.end(), [&](const Ablation& one) { return one.id == id; });
    if (same == site.ablations.end()) {
      site.ablations.push_back({id, {}});
      site.ablations.back().tests.push_back(std::move(row));
    } else {
      same->tests.push_back(std::move(row));
    }
  }
}

// The runs of a suite on one machine.
struct SuiteRuns {
  std::size_t trials = 0;
  std::vector<const Run*> runs;  // newest first
};

// Suites with an arm besides the three modes', by store; the newest runs first, as far as they go.
Status add_ablations(Site& site, std::uint32_t number, schema::Store& store) {
  const Model& model = site.model;
  std::map<std::string_view, std::set<std::string_view>> arms;
  for (const SeriesKey& key : model.m.keys) arms[key.suite].insert(key.arm);
  std::map<std::string, std::map<std::string, SuiteRuns>> suites;  // by id and machine
  std::map<std::string, std::string> names;
  for (const Run& run : model.runs) {
    const auto found = arms.find(run.suite);
    if (run.store != number || found == arms.end() || found->second.size() <= 3) continue;
    SuiteRuns& place = suites[run.suite_id][run.machine_id];
    place.trials += run.trials + run.not_counted;
    place.runs.push_back(&run);
    names[run.suite_id] = run.suite;
  }
  std::size_t room = site.options.most_ablation_trials;
  for (const auto& [suite, machines] : suites) {
    std::size_t all = 0;
    for (const auto& [machine, place] : machines) all += place.trials;
    if (all <= room) {
      room -= all;
      schema::TrialFilter filter;
      filter.suite = suite;
      auto report = reports::read_ablation(store, filter);
      if (!report) return std::move(report).error();
      add_ablation(site, std::move(*report));
      continue;
    }
    std::size_t shown = 0;
    for (const auto& [machine, place] : machines) {
      const Run& newest = *place.runs.front();
      if (newest.trials + newest.not_counted > room) continue;
      room -= newest.trials + newest.not_counted;
      schema::TrialFilter filter;
      filter.run_id = newest.id;
      auto report = reports::read_ablation(store, filter);
      if (!report) return std::move(report).error();
      add_ablation(site, std::move(*report));
      ++shown;
    }
    site.left_out.push_back(
        fmt::format("Suite {} has {} trials; here is the newest run of {} of its {} machines: `capbench report "
                    "ablation --suite {}`",
                    names[suite], count(all), shown, machines.size(), suite.substr(0, 12)));
  }
  return {};
}

// What is made of whole trials: the largest speedups, and ablations.
Status draw_from_trials(Site& site) {
  Connections connections(site.stores);
  std::vector<schema::Store*> open;
  for (std::size_t i = 0; i < site.stores.size(); ++i) {
    Result<Connection*> connection = connections.at(i);
    if (!connection) return std::move(connection).error();
    open.push_back(&(*connection)->store);
  }
  if (Status status = find_headlines(site, open); !status) return status;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (Status status = add_ablations(site, static_cast<std::uint32_t>(i), *open[i]); !status) return status;
  }
  return {};
}

// Those that changed, then those with most points.
void choose_series(Site& site) {
  const std::size_t most = site.options.most_series;
  site.every_series = most == 0 || site.model.series.size() <= most;
  if (site.every_series) return;
  for (const Change& change : site.changes) {
    if (site.series_pages.size() < most) site.series_pages.insert(change.series);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (std::uint32_t i = 0; i < site.summaries.size(); ++i) order.emplace_back(site.summaries[i].points, i);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  });
  for (const auto& [points, series] : order) {
    if (site.series_pages.size() >= most) break;
    site.series_pages.insert(series);
  }
}

// The newest, those that failed of late, and what changes and series open, as far as there is room.
void choose_trials(Site& site) {
  const std::size_t most = site.options.most_trials;
  const Model& model = site.model;
  site.every_trial = most == 0 || model.m.launches.size() <= most;
  if (site.every_trial) return;
  const auto open = [&](std::uint32_t launch) {
    if (site.trial_pages.size() < most) site.trial_pages.insert(launch);
  };
  for (const Change& change : site.changes) open(change.launch);
  for (const Series& series : model.series) {
    if (!site.has_page(series)) continue;
    const Cell& newest = model.cells[series.newest];
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = newest.first; i < newest.first + newest.n; ++i) places.push_back(i);
    open(median_launch(model, places));
  }
  for (std::size_t i = 0; i < std::min(model.not_counted.size(), kFailureRows); ++i) open(model.not_counted[i]);
  for (const std::uint32_t launch : model.newest) {
    if (site.trial_pages.size() >= most) break;
    site.trial_pages.insert(launch);
  }
}

std::string environment_key(const std::string& id) {
  return id.empty() ? "unknown" : id.substr(0, 16);
}

void sum_machines(Site& site) {
  const Model& model = site.model;
  for (const auto& [id, cells] : model.by_environment) {
    std::map<std::string_view, std::pair<std::size_t, Texts::Id>> of_machine;  // results, newest start
    for (const std::uint32_t place : cells) {
      const Cell& cell = model.cells[place];
      const auto [found, is_new] =
          of_machine.try_emplace(model.key(model.series[cell.series]).machine_id, 0U, cell.first_started);
      found->second.first += cell.n;
      if (model.text(found->second.second) < model.text(cell.first_started)) found->second.second = cell.first_started;
      site.results_of_environment[id] += cell.n;
    }
    for (const auto& [machine, sum] : of_machine) {
      MachineSum& place = site.machines[std::string(machine)];
      place.results += sum.first;
      place.newest = std::max(place.newest, model.text(sum.second));
    }
  }
  for (const Run& run : model.runs) ++site.machines[run.machine_id].runs;
  for (const auto& [id, environment] : model.environments) {
    site.machines[environment.machine_id].environments.push_back(id);
  }
}

void list_builds(Site& site) {
  const Model& model = site.model;
  for (const auto& [environment, cells] : model.by_environment) {
    std::map<Texts::Id, std::string> newest;
    for (const std::uint32_t cell : cells) {
      std::string& start = newest[model.cells[cell].build];
      start = std::max(start, model.text(model.cells[cell].first_started));
    }
    std::vector<std::pair<std::string, Texts::Id>> order;
    for (const auto& [build, start] : newest) order.emplace_back(start, build);
    std::sort(order.rbegin(), order.rend());
    if (order.size() > kMostBuilds) order.resize(kMostBuilds);
    for (const auto& [start, build] : order) site.builds[environment].push_back(build);
  }
}

// What the page of comparisons opens with: of the environment that was measured last, a pair with series in common.
void find_first_pair(Site& site) {
  const Model& model = site.model;
  std::vector<std::pair<std::string, std::string>> order;  // when it was measured last, and the environment
  for (const auto& [environment, builds] : site.builds) {
    std::string last;
    for (const std::uint32_t place : model.by_environment.at(environment)) {
      last = std::max(last, model.text(model.cells[place].first_started));
    }
    order.emplace_back(std::move(last), environment);
  }
  std::sort(order.rbegin(), order.rend());
  for (const auto& [last, environment] : order) {
    const std::vector<Texts::Id>& builds = site.builds.at(environment);
    if (builds.size() < 2) continue;
    std::map<Texts::Id, std::set<std::uint32_t>> series;
    for (const std::uint32_t place : model.by_environment.at(environment)) {
      series[model.cells[place].build].insert(model.cells[place].series);
    }
    const auto share = [&](Texts::Id a, Texts::Id b) {
      const std::set<std::uint32_t>& other = series[b];
      return std::any_of(series[a].begin(), series[a].end(), [&](std::uint32_t one) { return other.contains(one); });
    };
    // The newest build with anything before it.
    for (std::size_t i = 0; i < builds.size(); ++i) {
      const auto before = std::find_if(builds.begin() + static_cast<std::ptrdiff_t>(i) + 1, builds.end(),
                                       [&](Texts::Id older) { return share(builds[i], older); });
      if (before == builds.end()) continue;
      site.first_pair = Site::FirstPair{environment, *before, builds[i]};
      return;
    }
  }
}

// "history-3.html" of stem "history" -> 3; "history.html" -> 1; nothing for a part that is not there.
std::optional<std::size_t> part_of(std::string_view path, std::string_view stem, std::size_t parts) {
  if (!path.starts_with(stem) || !path.ends_with(".html")) return std::nullopt;
  path.remove_prefix(stem.size());
  path.remove_suffix(5);
  if (path.empty()) return 1;
  if (path.front() != '-') return std::nullopt;
  path.remove_prefix(1);
  std::size_t part = 0;
  const auto [end, failure] = std::from_chars(path.data(), path.data() + path.size(), part);
  if (failure != std::errc() || end != path.data() + path.size() || part < 2 || part > parts) return std::nullopt;
  return part;
}

// "trial/ID.html" of folder "trial" -> ID.
std::optional<std::string_view> inside(std::string_view path, std::string_view folder, std::string_view ending) {
  if (!path.starts_with(folder) || path.size() <= folder.size() + ending.size() || path[folder.size()] != '/' ||
      !path.ends_with(ending)) {
    return std::nullopt;
  }
  path.remove_prefix(folder.size() + 1);
  path.remove_suffix(ending.size());
  return path;
}

using Rendered = Result<std::optional<std::string>>;

Rendered some(Result<std::string> text) {
  if (!text) return std::move(text).error();
  return std::optional<std::string>(std::move(*text));
}

Rendered one_of_many(const Site& site, Connections& connections, std::string_view path) {
  if (const auto id = inside(path, "trial", ".html")) {
    const std::optional<reports::Digest> digest = reports::digest_bytes(*id);
    const Launch* launch = digest ? site.model.m.find(*digest) : nullptr;
    if (launch == nullptr) return std::optional<std::string>();
    return trial_page(site, connections, static_cast<std::uint32_t>(launch - site.model.m.launches.data()));
  }
  if (const auto id = inside(path, "history", ".html")) {
    const Series* series = site.model.find_series(*id);
    if (series == nullptr) return std::optional<std::string>();
    return some(history_page(site, *series));
  }
  if (const auto id = inside(path, "ablation", ".html")) {
    for (const Ablation& ablation : site.ablations) {
      if (ablation.id == *id) return some(ablation_page(site, ablation));
    }
    return std::optional<std::string>();
  }
  if (const auto id = inside(path, "submission", ".html")) {
    for (const Submission& submission : site.model.submissions) {
      if (submission.id == *id) return some(submission_page(site, connections, submission));
    }
    return std::optional<std::string>();
  }
  if (const auto id = inside(path, "compare", ".js")) {
    for (const auto& [environment, builds] : site.builds) {
      if (environment_key(environment) == *id) return some(compare_data(site, environment));
    }
  }
  return std::optional<std::string>();
}

}  // namespace

Result<Site> read_site(const std::vector<std::filesystem::path>& stores, const Options& options) {
  Site site;
  site.options = options;
  site.stores = stores;
  Result<Model> model = read_model(stores);
  if (!model) return std::move(model).error();
  site.model = std::move(*model);
  // Neither needs what series are found to be, nor writes where that is written.
  Beside drawing("the site", [&] { return draw_from_trials(site); });
  look_at_series(site, std::max(1U, std::min(4U, std::thread::hardware_concurrency())));
  if (Status drawn = drawing.finish(); !drawn) return std::move(drawn).error();
  split_speedups(site);
  sum_machines(site);
  list_builds(site);
  find_first_pair(site);
  choose_series(site);
  choose_trials(site);
  return site;
}

Result<Connection*> Connections::at(std::size_t store) {
  if (!open_[store]) {
    auto opened = schema::Store::open(stores_[store], schema::OpenMode::kReadOnly);
    if (!opened) return std::move(opened).error();
    auto database = open_database(stores_[store]);
    if (!database) return std::move(database).error();
    open_[store] = std::make_unique<Connection>(Connection{std::move(*opened), std::move(*database)});
  }
  return open_[store].get();
}

std::vector<std::string> page_paths(const Site& site) {
  std::vector<std::string> paths{"index.html", "ablation.html", "compare.html", "map.html"};
  const auto parts = [&](std::string_view stem, std::size_t n) {
    for (std::size_t i = 1; i <= n; ++i) paths.push_back(part_name(stem, i));
  };
  parts("speedup", speedup_parts(site));
  parts("history", history_parts(site));
  parts("machines", machine_parts(site));
  parts("submissions", submission_parts(site));
  parts("not-counted", failure_parts(site));
  for (const Ablation& ablation : site.ablations) paths.push_back("ablation/" + ablation.id + ".html");
  for (const Series& series : site.model.series) {
    if (site.has_page(series)) paths.push_back("history/" + series.id + ".html");
  }
  for (const Submission& submission : site.model.submissions) {
    if (site.has_page(submission)) paths.push_back("submission/" + submission.id + ".html");
  }
  for (const auto& [environment, builds] : site.builds) {
    paths.push_back("compare/" + environment_key(environment) + ".js");
  }
  for (std::uint32_t i = 0; i < site.model.m.launches.size(); ++i) {
    if (site.has_page(i)) paths.push_back("trial/" + reports::digest_hex(site.model.m.launches[i].id) + ".html");
  }
  return paths;
}

Rendered render_page(const Site& site, Connections& connections, std::string_view path) {
  if (path == "index.html") return some(overview_page(site));
  if (path == "ablation.html") return some(ablation_index(site));
  if (path == "compare.html") return some(compare_page(site));
  if (path == "map.html") return some(map_page(site));
  if (const auto part = part_of(path, "speedup", speedup_parts(site)))
    return some(speedup_page(site, connections, *part));
  if (const auto part = part_of(path, "history", history_parts(site))) return some(history_index(site, *part));
  if (const auto part = part_of(path, "machines", machine_parts(site))) return some(machines_page(site, *part));
  if (const auto part = part_of(path, "submissions", submission_parts(site)))
    return some(submissions_page(site, *part));
  if (const auto part = part_of(path, "not-counted", failure_parts(site))) return some(failures_page(site, *part));
  return one_of_many(site, connections, path);
}

}  // namespace capbench::site
