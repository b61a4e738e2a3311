#include "reports/site/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "reports/read_ablation.h"
#include "reports/site/database.h"
#include "reports/site/pages.h"

namespace capbench::site {
namespace {

// As `capbench check`: five points on either side, p under 0.01, 2 % or more.
constexpr std::size_t kFewestPoints = 10;

std::vector<Change> changes_of(const Model& model, std::uint32_t index) {
  const Series& series = model.series[index];
  if (series.cells.size() < kFewestPoints) return {};
  std::vector<double> values;
  for (const std::uint32_t cell : series.cells) {
    std::vector<double> medians;
    for (const Measured& one : model.cells[cell].measured) medians.push_back(one.median_ts);
    values.push_back(stats::median(medians));
  }
  std::vector<Change> changes;
  // A value that is no speed does not get into the model.
  if (const auto found = stats::find_change_points(values); found.ok()) {
    for (const stats::ChangePoint& point : *found) changes.push_back({index, point});
  }
  return changes;
}

void find_changes(Site& site, unsigned threads) {
  const Model& model = site.model;
  std::atomic<std::uint32_t> next = 0;
  std::vector<std::vector<Change>> found(model.series.size());
  const auto work = [&] {
    for (std::uint32_t i = next++; i < model.series.size(); i = next++) found[i] = changes_of(model, i);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (const std::vector<Change>& some : found) site.changes.insert(site.changes.end(), some.begin(), some.end());
  const auto start = [&](const Change& change) -> const std::string& {
    return model.text(model.cells[model.series[change.series].cells[change.point.index]].first_started);
  };
  std::stable_sort(site.changes.begin(), site.changes.end(),
                   [&](const Change& a, const Change& b) { return start(b) < start(a); });
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

// Suites with an arm besides the three modes', by store.
Status add_ablations(Site& site, std::size_t store) {
  const Model& model = site.model;
  std::map<std::string, std::set<Texts::Id>> arms;
  for (const Series& series : model.series) arms[model.text(series.key.suite)].insert(series.key.arm);
  std::map<std::string, std::size_t> trials;
  std::map<std::string, std::string> names;
  for (const Run& run : model.runs) {
    if (run.store != store) continue;
    trials[run.suite_id] += run.trials + run.not_counted;
    names[run.suite_id] = run.suite;
  }
  std::optional<schema::Store> opened;
  for (const auto& [suite, count] : trials) {
    if (arms[names[suite]].size() <= 3) continue;
    if (count > site.options.most_ablation_trials) {
      site.left_out.push_back(
          fmt::format("Suite {} has {} trials, too many for a page: `capbench report ablation --suite {}`",
                      names[suite], count, suite.substr(0, 12)));
      continue;
    }
    if (!opened) {
      auto store_opened = schema::Store::open(site.stores[store], schema::OpenMode::kReadOnly);
      if (!store_opened) return std::move(store_opened).error();
      opened = std::move(*store_opened);
    }
    schema::TrialFilter filter;
    filter.suite = suite;
    auto report = reports::read_ablation(*opened, filter);
    if (!report) return std::move(report).error();
    for (reports::AblationRow& row : report->rows) {
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
  return {};
}

// The newest, and what points and changes open, as far as there is room.
void choose_trials(Site& site) {
  const std::size_t most = site.options.most_trials;
  site.every_trial = most == 0 || site.model.trials.size() <= most;
  if (site.every_trial) return;
  const auto open = [&](std::uint32_t cell) {
    if (site.trial_pages.size() < most) site.trial_pages.insert(median_trial(site.model.cells[cell]));
  };
  for (const Change& change : site.changes) {
    const Series& series = site.model.series[change.series];
    open(series.cells[change.point.index]);
    open(series.cells[change.point.index - 1]);
  }
  for (const Series& series : site.model.series) open(series.cells.back());
  for (const std::uint32_t trial : site.model.newest) {
    if (site.trial_pages.size() >= most) break;
    site.trial_pages.insert(trial);
  }
}

std::string environment_key(const std::string& id) {
  return id.empty() ? "unknown" : id.substr(0, 16);
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
    const std::optional<Digest> digest = digest_of(*id);
    const Trial* trial = digest ? site.model.find_trial(*digest) : nullptr;
    if (trial == nullptr) return std::optional<std::string>();
    return trial_page(site, connections, static_cast<std::uint32_t>(trial - site.model.trials.data()));
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
  find_changes(site, std::max(1U, std::min(4U, std::thread::hardware_concurrency())));
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (Status status = add_ablations(site, i); !status) return std::move(status).error();
  }
  list_builds(site);
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
  for (const Ablation& ablation : site.ablations) paths.push_back("ablation/" + ablation.id + ".html");
  for (const Series& series : site.model.series) paths.push_back("history/" + series.id + ".html");
  for (const Submission& submission : site.model.submissions) paths.push_back("submission/" + submission.id + ".html");
  for (const auto& [environment, builds] : site.builds) {
    paths.push_back("compare/" + environment_key(environment) + ".js");
  }
  for (std::uint32_t i = 0; i < site.model.trials.size(); ++i) {
    if (site.has_page(i)) paths.push_back("trial/" + hex_of(site.model.trials[i].id) + ".html");
  }
  return paths;
}

Rendered render_page(const Site& site, Connections& connections, std::string_view path) {
  if (path == "index.html") return some(overview_page(site));
  if (path == "ablation.html") return some(ablation_index(site));
  if (path == "compare.html") return some(compare_page(site));
  if (path == "map.html") return some(map_page(site));
  if (const auto part = part_of(path, "speedup", speedup_parts(site))) return some(speedup_page(site, *part));
  if (const auto part = part_of(path, "history", history_parts(site))) return some(history_index(site, *part));
  if (const auto part = part_of(path, "machines", machine_parts(site))) return some(machines_page(site, *part));
  if (const auto part = part_of(path, "submissions", submission_parts(site)))
    return some(submissions_page(site, *part));
  return one_of_many(site, connections, path);
}

}  // namespace capbench::site
