#include "harness/cli/reproduction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/verify/reproduced.h"
#include "harness/verify/verdict.h"
#include "schema/bundle/bundle.h"

namespace capbench::cli {
namespace {

using nlohmann::json;
using verify::Party;

// A bundle of the store, as it stands for its ratios.
struct Entry {
  schema::BundleRecord record;
  Party party;
};

// Nothing: there is none, it is withdrawn, or it does not count for reproduction.
Result<std::optional<Entry>> entry_of(schema::Store& store, std::string_view id) {
  auto record = store.bundle(id);
  if (!record) return std::move(record).error();
  const bool counts = record->has_value() && (*record)->withdrawn_at.empty() && !(*record)->signer.empty() &&
                      (*record)->tier != verify::kSelfReported;
  if (!counts) return std::optional<Entry>();
  const auto archive = store.bundle_archive(id);
  if (!archive) return archive.error();
  if (!archive->has_value()) return std::optional<Entry>();
  const auto opened = bundle::open_bundle(**archive);
  if (!opened) return std::optional<Entry>();
  Entry entry{std::move(**record), {std::string(id), "", verify::measured_ratios(opened->bundle)}};
  entry.party.signer = entry.record.signer;
  return std::optional(std::move(entry));
}

// `entry` first, then those that may have measured the same.
Result<std::vector<Entry>> with_others(schema::Store& store, Entry entry) {
  const auto others = store.bundles_like(entry.record.id, kMostCompared);
  if (!others) return others.error();
  std::vector<Entry> all;
  all.push_back(std::move(entry));
  for (const std::string& id : *others) {
    auto other = entry_of(store, id);
    if (!other) return std::move(other).error();
    if (other->has_value()) all.push_back(std::move(**other));
  }
  return all;
}

// The verdict with or without its row of reproduction, which names the bundles that did it.
std::string verdict_with(const std::string& verdict, const verify::Reproduction* found) {
  json whole = json::parse(verdict, nullptr, false);
  if (!whole.is_object()) whole = json::object();
  if (!whole.contains("checks") || !whole["checks"].is_array()) whole["checks"] = json::array();
  json& checks = whole["checks"];
  checks.erase(
      std::remove_if(checks.begin(), checks.end(),
                     [](const json& row) { return row.is_object() && row.value("name", "") == verify::kReproduced; }),
      checks.end());
  if (found != nullptr) {
    std::string by;
    for (const verify::Reproduction::Row& row : found->rows) {
      if (by.find(row.by) == std::string::npos) by += (by.empty() ? "" : ", ") + row.by;
    }
    checks.push_back(
        {{"name", verify::kReproduced}, {"outcome", "passed"}, {"detail", found->why}, {"where", "bundle " + by}});
  }
  whole["tier"] = found != nullptr ? verify::kReproduced : verify::kConsistent;
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<TierChange> change_of(const Entry& entry, const std::vector<Party>& parties) {
  const verify::Reproduction found = verify::find_reproduction(entry.party, parties);
  const bool is_now = entry.record.tier == verify::kReproduced;
  if (found.reproduced == is_now) return std::nullopt;
  return TierChange{entry.record.id, std::string(found.reproduced ? verify::kReproduced : verify::kConsistent),
                    verdict_with(entry.record.verdict, found.reproduced ? &found : nullptr)};
}

std::vector<Party> parties_of(const std::vector<Entry>& entries) {
  std::vector<Party> parties;
  parties.reserve(entries.size());
  for (const Entry& entry : entries) parties.push_back(entry.party);
  return parties;
}

// Those that are called reproduced by a bundle that was withdrawn.
Result<std::vector<TierChange>> after_withdrawal(schema::Store& store, std::string_view id) {
  schema::BundleFilter filter;
  filter.tier = std::string(verify::kReproduced);
  filter.standing = true;
  const auto reproduced = store.bundles(filter);
  if (!reproduced) return reproduced.error();
  std::vector<TierChange> changes;
  for (const schema::BundleRecord& record : *reproduced) {
    if (record.verdict.find(id) == std::string::npos) continue;
    auto entry = entry_of(store, record.id);
    if (!entry) return std::move(entry).error();
    if (!entry->has_value()) continue;
    auto all = with_others(store, std::move(**entry));
    if (!all) return std::move(all).error();
    if (auto change = change_of(all->front(), parties_of(*all))) changes.push_back(std::move(*change));
  }
  return changes;
}

}  // namespace

Result<std::vector<TierChange>> changed_tiers(schema::Store& store, std::string_view id) {
  const auto record = store.bundle(id);
  if (!record) return record.error();
  if (!record->has_value()) return std::vector<TierChange>();
  if (!(*record)->withdrawn_at.empty()) return after_withdrawal(store, id);
  auto entry = entry_of(store, id);
  if (!entry) return std::move(entry).error();
  if (!entry->has_value() || (*entry)->party.ratios.empty()) return std::vector<TierChange>();
  auto all = with_others(store, std::move(**entry));
  if (!all) return std::move(all).error();
  const std::vector<Party> parties = parties_of(*all);
  std::vector<TierChange> changes;
  for (const Entry& one : *all) {
    auto change = change_of(one, parties);
    // Of others not everything that they were compared with is here: what they have they keep.
    if (change && (one.record.id == id || change->tier == verify::kReproduced)) changes.push_back(std::move(*change));
  }
  return changes;
}

}  // namespace capbench::cli
