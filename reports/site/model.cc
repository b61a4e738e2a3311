#include "reports/site/model.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/digest.h"
#include "reports/read_speedup.h"
#include "reports/site/database.h"
#include "schema/store.h"

namespace capbench::site {
namespace {

using schema::Database;
using schema::Statement;

// Of each place in a plan the last attempt. The columns of `trial` come first and those of `result` after them: one
// walk along the trials, with their results looked up by key.
constexpr std::string_view kResults = R"sql(
SELECT t.id, t.run_id, s.name, coalesce(e.machine_id, u.machine_id), coalesce(t.environment_id, ''), t.workload,
  t.model, t.model_kind, t.guest, t.mode, t.arm, t.started_at, t.treatment, t.quality, r.test, r.build, r.median_ts
FROM trial AS t
JOIN run AS u ON u.id = t.run_id
JOIN suite AS s ON s.id = t.suite_id
LEFT JOIN environment AS e ON e.id = t.environment_id
CROSS JOIN result AS r ON r.trial_id = t.id
WHERE t.status = 'ok' AND t.treatment <> 'invalid' AND t.block >= 0 AND r.median_ts > 0
  AND NOT EXISTS (
    SELECT 1 FROM trial AS later
    WHERE later.run_id = t.run_id AND later.arm = t.arm AND later.workload = t.workload AND later.model = t.model
      AND later.block = t.block AND later.attempt > t.attempt)
ORDER BY t.rowid, r.ordinal
)sql";

constexpr std::string_view kRuns = R"sql(
SELECT u.id, u.suite_id, s.name, u.machine_id, u.started_at, u.state, u.harness_version,
  (SELECT count(*) FROM trial AS t WHERE t.run_id = u.id)
FROM run AS u JOIN suite AS s ON s.id = u.suite_id
)sql";

constexpr std::string_view kSubmissions = R"sql(
SELECT b.id, b.tier, b.signer, b.verdict, b.received_at, coalesce(b.withdrawn_at, ''), b.why, b.size,
  (SELECT count(*) FROM bundle_trial AS t WHERE t.bundle_id = b.id)
FROM bundle AS b
)sql";

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6U) + (seed >> 2U));
}

struct SeriesHash {
  std::size_t operator()(const SeriesKey& key) const {
    std::size_t seed = 0;
    for (const Texts::Id id :
         {key.suite, key.machine, key.workload, key.model, key.model_kind, key.test, key.guest, key.mode, key.arm}) {
      seed = mix(seed, id);
    }
    return seed;
  }
};

struct CellKey {
  std::uint32_t series = 0;
  Texts::Id build = 0;
  Texts::Id environment = 0;
  bool operator==(const CellKey&) const = default;
};
struct CellHash {
  std::size_t operator()(const CellKey& key) const { return mix(mix(mix(0, key.series), key.build), key.environment); }
};
struct DigestHash {
  std::size_t operator()(const Digest& digest) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) value = value << 8U | digest[i];
    return value;
  }
};

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

// Reads one store after another into one model.
class Reading {
 public:
  Status add(const std::filesystem::path& path, std::uint32_t store) {
    Result<Database> database = open_database(path);
    if (!database) return std::move(database).error();
    Result<schema::Transaction> view = schema::Transaction::begin(*database, schema::Transaction::Kind::kRead);
    if (!view) return std::move(view).error();
    if (Status status = add_environments(*database); !status) return status;
    if (Status status = add_results(*database, store); !status) return status;
    if (Status status = add_runs(*database, store); !status) return status;
    return add_submissions(*database, store);
  }

  Model finish() {
    for (Cell& cell : model_.cells) model_.series[cell.series].cells.push_back(index_of(cell));
    const auto by_start = [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(model_.text(model_.cells[a].first_started), a) <
             std::tie(model_.text(model_.cells[b].first_started), b);
    };
    for (Series& series : model_.series) std::sort(series.cells.begin(), series.cells.end(), by_start);
    sort_series();
    const auto number = static_cast<std::uint32_t>(model_.trials.size());
    for (std::uint32_t i = 0; i < number; ++i) {
      model_.newest.push_back(i);
      model_.trials_by_id.push_back(i);
    }
    const std::vector<std::uint32_t> rank = ranks_of_starts();
    std::sort(model_.newest.begin(), model_.newest.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(rank[model_.trials[b].started], b) < std::pair(rank[model_.trials[a].started], a);
    });
    std::unordered_map<Texts::Id, std::vector<std::uint32_t>> by_environment;
    for (const Cell& cell : model_.cells) by_environment[cell.environment].push_back(index_of(cell));
    for (auto& [environment, cells] : by_environment) {
      model_.by_environment[model_.text(environment)] = std::move(cells);
    }
    std::sort(model_.trials_by_id.begin(), model_.trials_by_id.end(),
              [&](std::uint32_t a, std::uint32_t b) { return model_.trials[a].id < model_.trials[b].id; });
    if (!model_.newest.empty()) model_.newest_start = model_.text(model_.trials[model_.newest.front()].started);
    const auto newer = [](const auto& a, const auto& b) {
      return std::tie(b.started, b.id) < std::tie(a.started, a.id);
    };
    std::sort(model_.runs.begin(), model_.runs.end(), newer);
    std::sort(model_.submissions.begin(), model_.submissions.end(), [](const Submission& a, const Submission& b) {
      return std::tie(b.received, b.id) < std::tie(a.received, a.id);
    });
    model_.read_at = now_utc();
    return std::move(model_);
  }

  const Model& model() const { return model_; }

 private:
  // Of each text that is a trial's start, its place among them: numbers are compared faster than texts.
  std::vector<std::uint32_t> ranks_of_starts() const {
    std::vector<std::uint32_t> rank(model_.texts.size());
    std::vector<Texts::Id> starts;
    for (const Trial& trial : model_.trials) {
      if (rank[trial.started] == 0) starts.push_back(trial.started);
      rank[trial.started] = 1;
    }
    std::sort(starts.begin(), starts.end(), [&](Texts::Id a, Texts::Id b) { return model_.text(a) < model_.text(b); });
    for (std::uint32_t i = 0; i < starts.size(); ++i) rank[starts[i]] = i;
    return rank;
  }

  std::uint32_t index_of(const Cell& cell) const { return static_cast<std::uint32_t>(&cell - model_.cells.data()); }

  // By what people look for; cells keep their series' new place.
  void sort_series() {
    std::vector<std::uint32_t> order(model_.series.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto names = [&](std::uint32_t i) {
      const SeriesKey& k = model_.series[i].key;
      return std::tie(model_.text(k.model), model_.text(k.model_kind), model_.text(k.machine), model_.text(k.suite),
                      model_.text(k.workload), model_.text(k.test), model_.text(k.guest), model_.text(k.mode),
                      model_.text(k.arm));
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return names(a) < names(b); });
    std::vector<Series> sorted;
    std::vector<std::uint32_t> place(order.size());
    for (const std::uint32_t old : order) {
      place[old] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back(std::move(model_.series[old]));
    }
    model_.series = std::move(sorted);
    for (Cell& cell : model_.cells) cell.series = place[cell.series];
    for (std::uint32_t i = 0; i < model_.series.size(); ++i) model_.series_by_id[model_.series[i].id] = i;
  }

  Status add_environments(Database& database) {
    auto statement = database.prepare("SELECT id, machine_id, machine_label, is_virtual, json FROM environment");
    if (!statement) return std::move(statement).error();
    for (;;) {
      const Result<bool> row = statement->step();
      if (!row) return row.error();
      if (!*row) return {};
      Environment environment;
      environment.id = statement->text(0);
      environment.machine_id = statement->text(1);
      environment.label = statement->text(2);
      environment.is_virtual = statement->integer(3) != 0;
      environment.json = statement->text(4);
      describe(environment);
      model_.machines.emplace(environment.machine_id, environment.label);
      model_.environments.emplace(environment.id, std::move(environment));
    }
  }

  Status add_results(Database& database, std::uint32_t store) {
    auto statement = database.prepare(kResults);
    if (!statement) return std::move(statement).error();
    std::string last_id;
    bool counts = false;
    for (;;) {
      const Result<bool> row = statement->step();
      if (!row) return row.error();
      if (!*row) return {};
      const std::string_view id = statement->bytes(0);
      if (id != last_id) {
        last_id = id;
        counts = begin_trial(*statement, id, store);
      }
      if (counts) add_result(*statement);
    }
  }

  // False for one that another store has brought already.
  bool begin_trial(const Statement& row, std::string_view id, std::uint32_t store) {
    const std::optional<Digest> digest = digest_of(id);
    if (!digest || !seen_.insert(*digest).second) return false;
    Trial trial;
    trial.id = *digest;
    trial.run = model_.texts.add(row.bytes(1));
    trial.started = model_.texts.add(row.bytes(11));
    trial.store = store;
    trial.first_place = static_cast<std::uint32_t>(model_.places.size());
    model_.trials.push_back(trial);
    ++trials_of_run_[trial.run];
    // What only differs from result to result is left for add_result().
    SeriesKey& key = series_;
    key.suite = model_.texts.add(row.bytes(2));
    key.machine = model_.texts.add(row.bytes(3));
    environment_ = model_.texts.add(row.bytes(4));
    key.workload = model_.texts.add(row.bytes(5));
    key.model = model_.texts.add(row.bytes(6));
    key.model_kind = model_.texts.add(row.bytes(7));
    key.guest = model_.texts.add(row.bytes(8));
    key.mode = model_.texts.add(row.bytes(9));
    key.arm = model_.texts.add(row.bytes(10));
    proven_ = row.bytes(12) == "proven";
    wrong_ = row.bytes(13) == "wrong";
    return true;
  }

  void add_result(const Statement& row) {
    series_.test = model_.texts.add(row.bytes(14));
    const auto [series, is_new_series] =
        series_index_.try_emplace(series_, static_cast<std::uint32_t>(model_.series.size()));
    if (is_new_series) add_series();
    const CellKey key{series->second, model_.texts.add(row.bytes(15)), environment_};
    const auto [cell_place, is_new] = cell_index_.try_emplace(key, static_cast<std::uint32_t>(model_.cells.size()));
    Trial& trial = model_.trials.back();
    if (is_new) {
      Cell cell;
      cell.series = key.series;
      cell.build = key.build;
      cell.environment = key.environment;
      cell.first_started = trial.started;
      model_.cells.push_back(std::move(cell));
    }
    Cell& cell = model_.cells[cell_place->second];
    if (model_.text(trial.started) < model_.text(cell.first_started)) cell.first_started = trial.started;
    cell.measured.push_back({static_cast<std::uint32_t>(model_.trials.size() - 1), row.real(16)});
    cell.proven = cell.proven && proven_;
    cell.wrong = cell.wrong || wrong_;
    model_.places.push_back(cell_place->second);
    ++trial.n_places;
    ++model_.n_results;
  }

  void add_series() {
    Series series;
    series.key = series_;
    std::string name;
    for (const Texts::Id id : {series_.suite, series_.machine, series_.workload, series_.model, series_.model_kind,
                               series_.test, series_.guest, series_.mode, series_.arm}) {
      name += model_.text(id);
      name += '\0';
    }
    series.id = sha256(name).substr(0, 16);
    model_.series.push_back(std::move(series));
  }

  Status add_runs(Database& database, std::uint32_t store) {
    auto statement = database.prepare(kRuns);
    if (!statement) return std::move(statement).error();
    for (;;) {
      const Result<bool> row = statement->step();
      if (!row) return row.error();
      if (!*row) return {};
      Run run;
      run.id = statement->text(0);
      if (!runs_.insert(run.id).second) continue;
      run.suite_id = statement->text(1);
      run.suite = statement->text(2);
      run.machine_id = statement->text(3);
      run.started = statement->text(4);
      run.state = statement->text(5);
      run.version = statement->text(6);
      const auto all = static_cast<std::size_t>(statement->integer(7));
      const auto counted = trials_of_run_.find(model_.texts.add(run.id));
      run.trials = counted == trials_of_run_.end() ? 0 : counted->second;
      run.not_counted = all > run.trials ? all - run.trials : 0;
      run.store = store;
      model_.n_not_counted += run.not_counted;
      model_.runs.push_back(std::move(run));
    }
  }

  Status add_submissions(Database& database, std::uint32_t store) {
    const Result<bool> table = database.has_table("bundle_trial");
    if (!table) return table.error();
    if (!*table) return {};  // an older store
    auto statement = database.prepare(kSubmissions);
    if (!statement) return std::move(statement).error();
    for (;;) {
      const Result<bool> row = statement->step();
      if (!row) return row.error();
      if (!*row) return {};
      Submission bundle;
      bundle.id = statement->text(0);
      if (!submissions_.insert(bundle.id).second) continue;
      bundle.tier = statement->text(1);
      bundle.signer = statement->text(2);
      bundle.verdict = statement->text(3);
      bundle.received = statement->text(4);
      bundle.withdrawn = statement->text(5);
      bundle.why = statement->text(6);
      bundle.bytes = static_cast<std::uint64_t>(statement->integer(7));
      bundle.trials = static_cast<std::size_t>(statement->integer(8));
      bundle.store = store;
      model_.submissions.push_back(std::move(bundle));
    }
  }

  Model model_;
  std::unordered_set<Digest, DigestHash> seen_;
  std::unordered_map<SeriesKey, std::uint32_t, SeriesHash> series_index_;
  std::unordered_map<CellKey, std::uint32_t, CellHash> cell_index_;
  std::unordered_map<Texts::Id, std::size_t> trials_of_run_;
  std::set<std::string> runs_;
  std::set<std::string> submissions_;
  // Of the trial being read.
  SeriesKey series_;
  Texts::Id environment_ = 0;
  bool proven_ = false;
  bool wrong_ = false;
};

// The runs behind the newest build of every suite on every machine, by store.
std::vector<std::set<std::string>> newest_runs(const Model& model, std::size_t stores) {
  struct Newest {
    std::string started;
    Texts::Id build = 0;
  };
  std::map<std::pair<Texts::Id, Texts::Id>, Newest> newest;  // by suite and machine
  const auto place = [&](const Cell& cell) {
    const SeriesKey& key = model.series[cell.series].key;
    return std::pair(key.suite, key.machine);
  };
  for (const Cell& cell : model.cells) {
    Newest& best = newest[place(cell)];
    const std::string& started = model.text(cell.first_started);
    if (best.started.empty() || started > best.started) best = {started, cell.build};
  }
  std::vector<std::set<std::string>> runs(stores);
  for (const Cell& cell : model.cells) {
    if (newest[place(cell)].build != cell.build) continue;
    for (const Measured& measured : cell.measured) {
      const Trial& trial = model.trials[measured.trial];
      runs[trial.store].insert(model.text(trial.run));
    }
  }
  return runs;
}

Status read_newest(const std::vector<std::filesystem::path>& stores, Model& model) {
  const std::vector<std::set<std::string>> runs = newest_runs(model, stores.size());
  std::vector<schema::TrialView> trials;
  reports::Background background;
  for (const Run& run : model.runs) background.capbench_by_run[run.id] = run.version;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    auto store = schema::Store::open(stores[i], schema::OpenMode::kReadOnly);
    if (!store) return std::move(store).error();
    for (const std::string& run : runs[i]) {
      schema::TrialFilter filter;
      filter.run_id = run;
      auto some = store->trials(filter);
      if (!some) return std::move(some).error();
      for (schema::TrialView& view : *some) {
        const std::string& suite = view.trial.suite_id;
        if (!background.description_by_suite.contains(suite)) {
          auto json = store->suite_json(suite);
          if (!json) return std::move(json).error();
          background.description_by_suite[suite] = *json ? reports::suite_description(**json) : "";
        }
        trials.push_back(std::move(view));
      }
    }
  }
  model.speedup = reports::build_speedup(trials, background);
  return {};
}

}  // namespace

Texts::Id Texts::add(std::string_view text) {
  if (const auto found = index_.find(text); found != index_.end()) return found->second;
  const auto id = static_cast<Id>(all_.size());
  all_.emplace_back(text);
  index_.emplace(all_.back(), id);
  return id;
}

std::optional<Digest> digest_of(std::string_view hex) {
  if (!is_sha256(hex)) return std::nullopt;
  const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(value(hex[2 * i]) << 4U | value(hex[2 * i + 1]));
  }
  return digest;
}

std::string hex_of(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

const Series* Model::find_series(std::string_view id) const {
  const auto found = series_by_id.find(std::string(id));
  return found == series_by_id.end() ? nullptr : &series[found->second];
}

const Trial* Model::find_trial(const Digest& id) const {
  const auto found = std::lower_bound(trials_by_id.begin(), trials_by_id.end(), id,
                                      [&](std::uint32_t place, const Digest& d) { return trials[place].id < d; });
  return found == trials_by_id.end() || trials[*found].id != id ? nullptr : &trials[*found];
}

std::string Model::machine_label(const std::string& machine_id) const {
  const auto found = machines.find(machine_id);
  return found == machines.end() || found->second.empty() ? machine_id : found->second;
}

std::optional<reports::Estimate> estimate_of(const Cell& cell) {
  std::vector<stats::Trial> trials;
  for (const Measured& one : cell.measured)
    trials.push_back({static_cast<std::int64_t>(trials.size()), {one.median_ts}});
  return reports::headline(trials);
}

Result<Model> read_model(const std::vector<std::filesystem::path>& stores) {
  Reading reading;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (Status status = reading.add(stores[i], static_cast<std::uint32_t>(i)); !status) {
      return std::move(status).error();
    }
  }
  Model model = reading.finish();
  if (Status status = read_newest(stores, model); !status) return std::move(status).error();
  return model;
}

}  // namespace capbench::site
