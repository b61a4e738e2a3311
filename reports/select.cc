#include "reports/select.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "reports/device.h"
#include "reports/estimates.h"
#include "reports/subject.h"

namespace capbench::reports {
namespace {

using schema::ResultRecord;
using schema::TrialView;

// What every row of one launch's result shares, guests aside: RowKey with an empty guest.
RowKey base_key(const TrialView& view) {
  RowKey key;
  key.suite_id = view.trial.suite_id;
  key.machine_id = view.machine_id;
  key.workload = view.trial.workload;
  key.model = view.trial.model;
  key.model_kind = view.trial.model_kind;
  return key;
}

RowKey result_key(const TrialView& view, const ResultRecord& result, std::int64_t repeat) {
  RowKey key = base_key(view);
  key.executable_sha256 = view.executable_sha256;
  key.build = result.build;
  key.test = result.test;
  key.repeat = repeat;
  key.n_prompt = result.n_prompt;
  key.n_gen = result.n_gen;
  key.n_depth = result.n_depth;
  return key;
}

// Each result of a trial with its key.
std::map<RowKey, const ResultRecord*> results_by_key(const TrialView& view) {
  std::map<RowKey, const ResultRecord*> out;
  std::map<std::string, std::int64_t> seen;
  for (const ResultRecord& result : view.trial.results) {
    out.emplace(result_key(view, result, seen[result.test]++), &result);
  }
  return out;
}

// A trial whose source states means alone. Those say of which build and tests they are.
bool has_only_means(const TrialView& view) {
  return view.trial.status == "ok" && view.trial.results.empty() && !view.trial.stated.empty();
}

// Whether a trial without this row's result should have had it: what it does not know of its build does not speak
// against it. A trial that is ok and has other results measured something else.
bool could_be_of(const TrialView& view, const RowKey& key) {
  if (!view.executable_sha256.empty() && view.executable_sha256 != key.executable_sha256) return false;
  const auto& results = view.trial.results;
  if (has_only_means(view)) {
    return std::any_of(view.trial.stated.begin(), view.trial.stated.end(), [&](const auto& stated) {
      return stated.build == key.build && (key.test.empty() || stated.test == key.test);
    });
  }
  if (view.trial.status == "ok" && !results.empty()) return false;
  return results.empty() || std::any_of(results.begin(), results.end(),
                                        [&](const ResultRecord& result) { return result.build == key.build; });
}

bool is_guest_mode(const std::string& mode) {
  return mode == kStock || mode == kUnlocked;
}

// The guests whose rows a trial stands in. A host's arm stands in every guest's.
bool stands_in(const TrialView& view, const std::string& guest) {
  return view.trial.guest == guest || (view.trial.guest.empty() && !is_guest_mode(view.trial.mode));
}

// Runs number their blocks from 0 each; here every block of every run gets a number of its own.
void number_blocks(RowTrials& row) {
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> numbers;
  const auto name = [](const Point& point) { return std::pair(point.view->trial.run_id, point.view->trial.block); };
  for (const Point& point : row.points) numbers.emplace(name(point), 0);
  std::int64_t next = 0;
  for (auto& [block, number] : numbers) number = next++;
  for (Point& point : row.points) point.block = numbers.at(name(point));
}

std::set<std::string> guests_of(const std::vector<const TrialView*>& views) {
  std::set<std::string> guests;
  for (const TrialView* view : views) {
    if (!view->trial.guest.empty() || is_guest_mode(view->trial.mode)) guests.insert(view->trial.guest);
  }
  if (guests.empty()) guests.insert("");
  return guests;
}

Point make_point(const TrialView& view, const ResultRecord* result) {
  Point point;
  point.view = &view;
  if (result != nullptr) point.device = device_of(*result);
  if (result != nullptr) point.ts = usable_samples(result->n_prompt + result->n_gen, result->samples_ns);
  point.counted = view.trial.status == "ok" && view.trial.treatment != "invalid" && !point.ts.empty();
  return point;
}

// One row, or one for each device if an arm ran on several.
void split_by_device(const RowTrials& all, std::vector<RowTrials>& rows) {
  std::map<std::pair<std::string, std::int64_t>, BlockDevices> devices;
  const auto name = [](const Point& point) { return std::pair(point.view->trial.run_id, point.view->trial.block); };
  for (const Point& point : all.points) {
    BlockDevices& block = devices[name(point)];
    std::tie(block.run_id, block.block) = name(point);
    if (!point.device.empty()) block.by_arm.emplace(point.view->trial.arm, point.device);
  }
  std::vector<BlockDevices> blocks;
  for (auto& [place, block] : devices) blocks.push_back(std::move(block));
  for (const std::vector<std::size_t>& set : sets_of_one_device(blocks)) {
    std::set<std::pair<std::string, std::int64_t>> members;
    for (const std::size_t i : set) members.emplace(blocks[i].run_id, blocks[i].block);
    RowTrials row;
    row.key = all.key;
    std::copy_if(all.points.begin(), all.points.end(), std::back_inserter(row.points),
                 [&](const Point& point) { return members.contains(name(point)); });
    number_blocks(row);
    rows.push_back(std::move(row));
  }
}

bool has_place(const TrialView& view, const std::set<RowKey>& keys) {
  if (view.trial.status == "ok" && !view.trial.results.empty()) return true;
  return std::any_of(keys.begin(), keys.end(), [&](const RowKey& key) { return could_be_of(view, key); });
}

// The keys of one cell (suite, machine, workload, model): every result seen, and one without a test for each trial that
// could not have been part of any.
std::set<RowKey> keys_of(const std::vector<const TrialView*>& views) {
  std::set<RowKey> keys;
  for (const TrialView* view : views) {
    for (const auto& [key, result] : results_by_key(*view)) keys.insert(key);
  }
  // Those that know their executable first, so that the others can join them.
  for (const bool knows_executable : {true, false}) {
    for (const TrialView* view : views) {
      if (!view->executable_sha256.empty() != knows_executable || has_place(*view, keys)) continue;
      RowKey key = base_key(*view);
      key.executable_sha256 = view->executable_sha256;
      if (has_only_means(*view)) key.build = view->trial.stated.front().build;
      keys.insert(key);
    }
  }
  return keys;
}

}  // namespace

std::vector<const TrialView*> latest_attempts(const std::vector<TrialView>& trials) {
  // A run is of one suite on one machine; should two ever share a name, they are kept apart.
  using Slot = std::tuple<std::string, std::string, std::string, std::int64_t, std::string, std::string, std::string,
                          std::string>;
  std::map<Slot, const TrialView*> latest;
  for (const TrialView& view : trials) {
    const auto& trial = view.trial;
    const Slot slot{trial.run_id, trial.suite_id, view.machine_id, trial.block,
                    trial.mode,   trial.arm,      trial.model,     trial.workload};
    const auto rank = [](const TrialView& v) { return std::tie(v.trial.attempt, v.trial.started_at, v.trial.id); };
    const TrialView*& held = latest[slot];
    if (held == nullptr || rank(*held) < rank(view)) held = &view;
  }
  std::vector<const TrialView*> out;
  out.reserve(latest.size());
  for (const auto& [slot, view] : latest) out.push_back(view);
  return out;
}

std::vector<RowTrials> select_rows(const std::vector<TrialView>& trials) {
  std::map<RowKey, std::vector<const TrialView*>> cells;
  for (const TrialView* view : latest_attempts(trials)) {
    // Warm-up trials stand before the first block.
    if (view->trial.block >= 0) cells[base_key(*view)].push_back(view);
  }

  std::vector<RowTrials> rows;
  for (const auto& [cell, views] : cells) {
    std::vector<std::map<RowKey, const ResultRecord*>> results;
    results.reserve(views.size());
    for (const TrialView* view : views) results.push_back(results_by_key(*view));

    for (const RowKey& key : keys_of(views)) {
      std::vector<std::pair<const TrialView*, const ResultRecord*>> members;
      for (std::size_t i = 0; i < views.size(); ++i) {
        const auto found = results[i].find(key);
        if (found != results[i].end()) {
          members.emplace_back(views[i], found->second);
        } else if (could_be_of(*views[i], key)) {
          members.emplace_back(views[i], nullptr);
        }
      }
      std::vector<const TrialView*> member_views;
      member_views.reserve(members.size());
      for (const auto& member : members) member_views.push_back(member.first);
      for (const std::string& guest : guests_of(member_views)) {
        RowTrials row;
        row.key = key;
        row.key.guest = guest;
        for (const auto& [view, result] : members) {
          if (stands_in(*view, guest)) row.points.push_back(make_point(*view, result));
        }
        split_by_device(row, rows);
      }
    }
  }
  return rows;
}

}  // namespace capbench::reports
