#include "reports/site/model.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "reports/read_speedup.h"
#include "reports/site/database.h"
#include "schema/store.h"

namespace capbench::site {
namespace {

using schema::Database;
using schema::Statement;

constexpr std::string_view kEnvironments = "SELECT id, machine_id, machine_label, is_virtual, json FROM environment";
constexpr std::string_view kRuns =
    "SELECT u.id, u.suite_id, s.name, u.machine_id, u.started_at, u.state, u.harness_version FROM run AS u "
    "JOIN suite AS s ON s.id = u.suite_id";
constexpr std::string_view kSubmissions =
    "SELECT b.id, b.tier, b.signer, b.verdict, b.received_at, coalesce(b.withdrawn_at, ''), b.why, b.size, "
    "coalesce(t.trials, 0) FROM bundle AS b LEFT JOIN (SELECT bundle_id, count(*) AS trials FROM bundle_trial "
    "GROUP BY bundle_id) AS t ON t.bundle_id = b.id";

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

std::string string_of(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void describe(Environment& environment) {
  const auto json = nlohmann::json::parse(environment.json, nullptr, false);
  if (!json.is_object()) return;
  environment.chip = string_of(json, "gpu");
  if (const auto gpus = json.find("gpus"); environment.chip.empty() && gpus != json.end() && gpus->is_array()) {
    for (const nlohmann::json& gpu : *gpus) {
      if (gpu.is_object() && environment.chip.empty()) environment.chip = string_of(gpu, "name");
    }
  }
  if (environment.chip.empty()) environment.chip = string_of(json, "chip");
  if (environment.chip.empty()) environment.chip = string_of(json, "cpu");
  if (environment.chip.empty()) environment.chip = string_of(json, "machine");
  const std::string os = string_of(json, "os");
  // Of Linux the kernel is what drivers live in; of macOS the release is.
  const std::string version = os == "Linux" ? string_of(json, "kernel") : string_of(json, "os_version");
  environment.system = os.empty() || version.empty() ? os + version : os + " " + version;
}

// Calls take(row) for each row of a query.
template <class Take>
Status each(Database& database, std::string_view sql, const Take& take) {
  auto statement = database.prepare(sql);
  if (!statement) return std::move(statement).error();
  for (;;) {
    const Result<bool> row = statement->step();
    if (!row) return row.error();
    if (!*row) return {};
    take(*statement);
  }
}

Status add_environments(Database& database, Model& model) {
  return each(database, kEnvironments, [&](const Statement& row) {
    if (model.environments.contains(row.text(0))) return;
    Environment environment;
    environment.id = row.text(0);
    environment.machine_id = row.text(1);
    environment.label = row.text(2);
    environment.is_virtual = row.integer(3) != 0;
    environment.json = row.text(4);
    describe(environment);
    model.machines.emplace(environment.machine_id, environment.label);
    model.environments.emplace(environment.id, std::move(environment));
  });
}

struct Counts {
  std::size_t counted = 0;
  std::size_t others = 0;
};

Status add_runs(Database& database, std::uint32_t store, const std::map<std::string_view, Counts>& trials,
                std::set<std::string>& known, Model& model) {
  return each(database, kRuns, [&](const Statement& row) {
    Run run;
    run.id = row.text(0);
    if (!known.insert(run.id).second) return;
    run.suite_id = row.text(1);
    run.suite = row.text(2);
    run.machine_id = row.text(3);
    run.started = row.text(4);
    run.state = row.text(5);
    run.version = row.text(6);
    if (const auto counts = trials.find(run.id); counts != trials.end()) {
      run.trials = counts->second.counted;
      run.not_counted = counts->second.others;
    }
    run.store = store;
    model.runs.push_back(std::move(run));
  });
}

Status add_submissions(Database& database, std::uint32_t store, std::set<std::string>& known, Model& model) {
  const Result<bool> table = database.has_table("bundle_trial");
  if (!table) return table.error();
  if (!*table) return {};  // an older store
  return each(database, kSubmissions, [&](const Statement& row) {
    Submission bundle;
    bundle.id = row.text(0);
    if (!known.insert(bundle.id).second) return;
    bundle.tier = row.text(1);
    bundle.signer = row.text(2);
    bundle.verdict = row.text(3);
    bundle.received = row.text(4);
    bundle.withdrawn = row.text(5);
    bundle.why = row.text(6);
    bundle.bytes = static_cast<std::uint64_t>(row.integer(7));
    bundle.trials = static_cast<std::size_t>(row.integer(8));
    bundle.store = store;
    model.submissions.push_back(std::move(bundle));
  });
}

std::array<Texts::Id, 7> arm_of(const Launch& launch) {
  return {launch.suite, launch.machine_id, launch.workload, launch.model, launch.model_kind, launch.guest, launch.arm};
}

std::string series_id(const SeriesKey& key) {
  std::string name;
  for (const std::string* part : {&key.suite, &key.machine_id, &key.device, &key.workload, &key.model, &key.model_kind,
                                  &key.test, &key.guest, &key.mode, &key.arm, &key.machine}) {
    name += *part;
    name += '\0';
  }
  return sha256(name).substr(0, 16);
}

// Series and cells of the measurements, which come by key, environment and build.
void make_series(Model& model) {
  const reports::Measurements& m = model.m;
  std::vector<std::uint32_t> order(m.keys.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // By what people look for.
  const auto names = [&](std::uint32_t i) {
    const SeriesKey& k = m.keys[i];
    return std::tie(k.model, k.model_kind, k.machine, k.machine_id, k.suite, k.workload, k.test, k.guest, k.mode, k.arm,
                    k.device);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return names(a) < names(b); });
  model.series_of_key.resize(order.size());
  for (const std::uint32_t key : order) {
    const auto number = static_cast<std::uint32_t>(model.series.size());
    Series series;
    series.key = key;
    series.id = series_id(m.keys[key]);
    series.first = static_cast<std::uint32_t>(model.cells.size());
    for (std::uint32_t i = m.first_of_key[key]; i < m.first_of_key[key + 1]; ++i) {
      const Launch& launch = m.launches[m.all[i].launch];
      const bool is_new = model.cells.size() == series.first || model.cells.back().build != m.all[i].build ||
                          model.cells.back().environment != launch.environment;
      if (is_new) model.cells.push_back({number, m.all[i].build, launch.environment, launch.started, i, 0});
      ++model.cells.back().n;
    }
    series.n = static_cast<std::uint32_t>(model.cells.size()) - series.first;
    series.newest = series.first;
    for (std::uint32_t c = series.first; c < model.cells.size(); ++c) {
      if (m.text(model.cells[series.newest].first_started) <= m.text(model.cells[c].first_started)) series.newest = c;
    }
    model.series_of_key[key] = number;
    model.series_by_id[series.id] = number;
    model.series.push_back(std::move(series));
  }
  std::unordered_map<Texts::Id, std::vector<std::uint32_t>> by_environment;
  for (std::uint32_t i = 0; i < model.cells.size(); ++i) by_environment[model.cells[i].environment].push_back(i);
  for (auto& [environment, cells] : by_environment) model.by_environment[m.text(environment)] = std::move(cells);
}

void sort_launches(Model& model) {
  const reports::Measurements& m = model.m;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  order.reserve(m.launches.size());
  for (std::uint32_t i = 0; i < m.launches.size(); ++i) order.emplace_back(m.launches[i].order, i);
  std::sort(order.rbegin(), order.rend());
  for (const auto& [start, i] : order) {
    const Launch& launch = m.launches[i];
    if (launch.counts) {
      model.newest.push_back(i);
    } else {
      model.not_counted.push_back(i);
      model.failures[arm_of(launch)].push_back(i);
    }
  }
  model.n_trials = model.newest.size();
  if (!model.newest.empty()) model.newest_start = m.text(m.launches[model.newest.front()].started);
}

// Where nothing counts, the newest run: what became of it is shown too.
void make_speedup_groups(Model& model) {
  const reports::Measurements& m = model.m;
  struct Newest {
    Texts::Id started = 0;
    Texts::Id build = 0;
    bool counts = false;
    Texts::Id run = 0;
  };
  using Place = std::pair<Texts::Id, Texts::Id>;
  std::map<Place, Newest> newest;
  for (const Cell& cell : model.cells) {
    const Launch& launch = m.launches[m.all[cell.first].launch];
    Newest& best = newest[{launch.suite, launch.machine_id}];
    if (!best.counts || m.text(best.started) < m.text(cell.first_started)) {
      best = {cell.first_started, cell.build, true, 0};
    }
  }
  for (const std::uint32_t i : model.not_counted) {
    const Launch& launch = m.launches[i];
    const auto [place, is_new] = newest.try_emplace({launch.suite, launch.machine_id});
    if (is_new) place->second = {launch.started, 0, false, launch.run};
  }
  std::map<Place, SpeedupGroup> groups;
  for (const auto& [place, best] : newest) {
    SpeedupGroup& group = groups[place];
    group.suite = place.first;
    group.machine = place.second;
    group.build = best.build;
    group.counts = best.counts;
    group.runs.resize(model.stores.size());
  }
  std::map<Place, std::set<std::array<std::string_view, 4>>> rows;
  for (const Cell& cell : model.cells) {
    const Launch& of_cell = m.launches[m.all[cell.first].launch];
    const Place place{of_cell.suite, of_cell.machine_id};
    if (newest[place].build != cell.build) continue;
    const SeriesKey& key = model.key(model.series[cell.series]);
    // The interval of a single process is drawn by bootstrap, which takes as long as three of the others.
    const bool is_new = rows[place].insert({key.workload, key.model, key.model_kind, key.test}).second;
    if (is_new) groups[place].rows += cell.n == 1 ? 3 : 1;
    for (const Measurement& one : model.measured(cell)) {
      const Launch& launch = m.launches[one.launch];
      groups[place].runs[launch.store].insert(m.text(launch.run));
    }
  }
  for (const std::uint32_t i : model.not_counted) {
    const Launch& launch = m.launches[i];
    const Newest& best = newest[{launch.suite, launch.machine_id}];
    if (!best.counts && best.run == launch.run) {
      groups[{launch.suite, launch.machine_id}].runs[launch.store].insert(m.text(launch.run));
    }
  }
  for (auto& [place, group] : groups) {
    group.rows = std::max<std::size_t>(1, group.rows);
    model.speedup.push_back(std::move(group));
  }
  std::sort(model.speedup.begin(), model.speedup.end(), [&](const SpeedupGroup& a, const SpeedupGroup& b) {
    const auto name = [&](const SpeedupGroup& group) {
      return std::tuple(m.text(group.suite), model.machine_label(m.text(group.machine)), m.text(group.machine));
    };
    return name(a) < name(b);
  });
}

std::map<std::string_view, Counts> counts_of_runs(const reports::Measurements& m) {
  std::map<Texts::Id, Counts> counts;
  for (const Launch& launch : m.launches) ++(launch.counts ? counts[launch.run].counted : counts[launch.run].others);
  std::map<std::string_view, Counts> named;
  for (const auto& [run, sums] : counts) named[m.text(run)] = sums;
  return named;
}

}  // namespace

const Series* Model::find_series(std::string_view id) const {
  const auto found = series_by_id.find(std::string(id));
  return found == series_by_id.end() ? nullptr : &series[found->second];
}

std::string Model::machine_label(const std::string& machine_id) const {
  const auto found = machines.find(machine_id);
  return found == machines.end() || found->second.empty() ? machine_id : found->second;
}

std::optional<reports::Estimate> estimate_of(const Model& model, const Cell& cell) {
  std::vector<stats::Trial> trials;
  for (const Measurement& one : model.measured(cell)) {
    trials.push_back({static_cast<std::int64_t>(trials.size()), {one.median_ts}});
  }
  return reports::headline(trials);
}

std::uint32_t median_launch(const Model& model, std::span<const std::uint32_t> places) {
  std::vector<std::pair<double, std::uint32_t>> sorted;
  for (const std::uint32_t place : places) sorted.emplace_back(model.m.all[place].median_ts, model.m.all[place].launch);
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2].second;
}

std::span<const std::uint32_t> failures_of(const Model& model, const Series& series) {
  const Launch& launch = model.m.launches[model.m.all[model.m.first_of_key[series.key]].launch];
  const auto found = model.failures.find(arm_of(launch));
  if (found == model.failures.end()) return {};
  return found->second;
}

Result<Model> read_model(const std::vector<std::filesystem::path>& paths) {
  Model model;
  model.stores = paths;
  std::vector<schema::Store> open;
  std::vector<schema::Store*> stores;
  open.reserve(paths.size());
  for (const std::filesystem::path& path : paths) {
    auto store = schema::Store::open(path, schema::OpenMode::kReadOnly);
    if (!store) return std::move(store).error();
    open.push_back(std::move(*store));
    stores.push_back(&open.back());
  }
  auto measurements = reports::read_measurements(stores);
  if (!measurements) return std::move(measurements).error();
  model.m = std::move(*measurements);
  auto decisions = reports::read_decisions(stores);
  if (!decisions) return std::move(decisions).error();
  model.decisions = std::move(*decisions);
  const std::map<std::string_view, Counts> counts = counts_of_runs(model.m);
  std::set<std::string> runs;
  std::set<std::string> submissions;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Result<Database> database = open_database(paths[i]);
    if (!database) return std::move(database).error();
    const auto store = static_cast<std::uint32_t>(i);
    if (Status status = add_environments(*database, model); !status) return std::move(status).error();
    if (Status status = add_runs(*database, store, counts, runs, model); !status) return std::move(status).error();
    if (Status status = add_submissions(*database, store, submissions, model); !status)
      return std::move(status).error();
  }
  const auto newer = [](const auto& a, const auto& b) { return std::tie(b.started, b.id) < std::tie(a.started, a.id); };
  std::sort(model.runs.begin(), model.runs.end(), newer);
  std::sort(model.submissions.begin(), model.submissions.end(), [](const Submission& a, const Submission& b) {
    return std::tie(b.received, b.id) < std::tie(a.received, a.id);
  });
  make_series(model);
  sort_launches(model);
  make_speedup_groups(model);
  model.read_at = now_utc();
  return model;
}

Result<reports::SpeedupReport> read_speedup_of(const Model& model, std::span<const SpeedupGroup> groups,
                                               std::span<schema::Store* const> stores) {
  std::vector<schema::TrialView> trials;
  std::set<std::string> runs;
  reports::Background background;
  for (const SpeedupGroup& group : groups) {
    for (std::size_t i = 0; i < group.runs.size(); ++i) {
      for (const std::string& run : group.runs[i]) {
        schema::TrialFilter filter;
        filter.run_id = run;
        auto some = stores[i]->trials(filter);
        if (!some) return std::move(some).error();
        for (schema::TrialView& view : *some) {
          const std::string& suite = view.trial.suite_id;
          if (!background.description_by_suite.contains(suite)) {
            auto json = stores[i]->suite_json(suite);
            if (!json) return std::move(json).error();
            background.description_by_suite[suite] = *json ? reports::suite_description(**json) : "";
          }
          runs.insert(run);
          trials.push_back(std::move(view));
        }
      }
    }
  }
  for (const Run& run : model.runs) {
    if (runs.contains(run.id)) background.capbench_by_run[run.id] = run.version;
  }
  return reports::build_speedup(trials, background);
}

}  // namespace capbench::site
