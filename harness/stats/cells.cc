#include "harness/stats/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace capbench::stats {
namespace {

constexpr std::size_t kMostFactors = 10;
constexpr std::size_t kMostCells = 1024;

Error design_error(const FactorialData& data, std::string cause, std::string remedy) {
  return {ErrorKind::kUsage, "design of test `" + data.test + "`", std::move(cause), std::move(remedy)};
}

Status check_factors(const FactorialData& data) {
  if (data.factors.empty()) return design_error(data, "it has no factors", "name what is varied");
  if (data.factors.size() > kMostFactors) {
    return design_error(data, fmt::format("{} factors, more than {}", data.factors.size(), kMostFactors),
                        "vary fewer at a time");
  }
  std::set<std::string> names;
  for (const Factor& factor : data.factors) {
    if (!names.insert(factor.name).second) {
      return design_error(data, "two factors are named `" + factor.name + "`", "name each once");
    }
    if (factor.levels.size() < 2) {
      return design_error(data, "factor `" + factor.name + "` has fewer than two levels", "give stock and unlocked");
    }
  }
  return {};
}

Status check_cells(const FactorialData& data) {
  if (data.cells.empty()) return design_error(data, "it has no cells", "give one arm for each combination of levels");
  if (data.cells.size() > kMostCells) {
    return design_error(data, fmt::format("{} cells, more than {}", data.cells.size(), kMostCells),
                        "use a fraction of the design");
  }
  std::map<Levels, std::string> seen;
  for (const Cell& cell : data.cells) {
    bool fits = cell.levels.size() == data.factors.size();
    for (std::size_t f = 0; fits && f < cell.levels.size(); ++f) fits = cell.levels[f] < data.factors[f].levels.size();
    if (!fits) {
      return design_error(data, "cell `" + cell.arm + "` does not give an existing level of every factor",
                          "give one level for each factor");
    }
    const auto [found, fresh] = seen.emplace(cell.levels, cell.arm);
    if (fresh) continue;
    return design_error(data, "cells `" + found->second + "` and `" + cell.arm + "` have the same levels",
                        "choose one, or pool their trials");
  }
  return {};
}

Levels all_at(const FactorialData& data, bool last) {
  Levels levels;
  for (const Factor& factor : data.factors) levels.push_back(last ? factor.levels.size() - 1 : 0);
  return levels;
}

// Whether each level of the one goes with one level of the other, throughout, both ways.
bool together(const PreparedDesign& design, std::size_t a, std::size_t b) {
  std::map<std::size_t, std::size_t> forth;
  std::map<std::size_t, std::size_t> back;
  for (const auto& [levels, cell] : design.usable) {
    if (forth.emplace(levels[a], levels[b]).first->second != levels[b]) return false;
    if (back.emplace(levels[b], levels[a]).first->second != levels[a]) return false;
  }
  return true;
}

void find_groups(PreparedDesign& design) {
  const std::size_t n = design.data->factors.size();
  design.varies.assign(n, false);
  for (std::size_t f = 0; f < n; ++f) {
    std::set<std::size_t> levels;
    for (const auto& [key, cell] : design.usable) levels.insert(key[f]);
    design.varies[f] = levels.size() > 1;
  }
  for (std::size_t f = 0; f < n; ++f) {
    std::size_t group = f;
    for (std::size_t earlier = 0; earlier < f && group == f; ++earlier) {
      if (design.varies[f] && design.varies[earlier] && together(design, earlier, f)) group = design.group[earlier];
    }
    design.group.push_back(group);
  }
}

void add_pair(const PreparedDesign& design, std::size_t factor, std::size_t from, std::size_t to, std::size_t with,
              std::vector<FactorPair>& out) {
  Levels levels = design.data->cells[with].levels;
  levels[factor] = from;
  const std::optional<std::size_t> without = cell_at(design, levels);
  if (without) out.push_back({factor, from, to, with, *without});
}

}  // namespace

Status check_design(const FactorialData& data) {
  if (Status status = check_factors(data); !status.ok()) return status;
  return check_cells(data);
}

PreparedDesign prepare_design(const FactorialData& data) {
  PreparedDesign design;
  design.data = &data;
  std::vector<ArmView> views;
  for (const Cell& cell : data.cells) views.push_back({cell.arm, cell.trials, cell.why_empty});
  design.test = prepare(std::move(views));
  for (std::size_t i = 0; i < data.cells.size(); ++i) {
    if (usable(design.test, i)) design.usable.emplace(data.cells[i].levels, i);
  }
  design.stock = cell_at(design, all_at(data, false));
  design.unlocked = cell_at(design, all_at(data, true));
  find_groups(design);
  return design;
}

std::optional<std::size_t> cell_at(const PreparedDesign& design, const Levels& levels) {
  const auto found = design.usable.find(levels);
  if (found == design.usable.end()) return std::nullopt;
  return found->second;
}

std::vector<FactorPair> removing_pairs(const PreparedDesign& design) {
  std::vector<FactorPair> pairs;
  if (!design.unlocked) return pairs;
  for (std::size_t f = 0; f < design.data->factors.size(); ++f) {
    add_pair(design, f, 0, design.data->factors[f].levels.size() - 1, *design.unlocked, pairs);
  }
  return pairs;
}

std::vector<FactorPair> adding_pairs(const PreparedDesign& design) {
  std::vector<FactorPair> pairs;
  if (!design.stock) return pairs;
  for (std::size_t f = 0; f < design.data->factors.size(); ++f) {
    const std::size_t last = design.data->factors[f].levels.size() - 1;
    Levels levels = design.data->cells[*design.stock].levels;
    levels[f] = last;
    if (const auto with = cell_at(design, levels)) pairs.push_back({f, 0, last, *with, *design.stock});
  }
  return pairs;
}

std::vector<FactorPair> simple_pairs(const PreparedDesign& design) {
  std::vector<FactorPair> pairs;
  for (std::size_t f = 0; f < design.data->factors.size(); ++f) {
    for (const auto& [levels, cell] : design.usable) {
      if (levels[f] > 0) add_pair(design, f, levels[f] - 1, levels[f], cell, pairs);
    }
  }
  return pairs;
}

std::size_t pair_family(std::span<const PreparedDesign> designs) {
  std::size_t family = 0;
  for (const PreparedDesign& design : designs) {
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    const auto add = [&](std::size_t a, std::size_t b) {
      if (a != b && can_claim(design.test, a, b)) pairs.insert(std::minmax(a, b));
    };
    for (const auto& list : {removing_pairs(design), adding_pairs(design), simple_pairs(design)}) {
      for (const FactorPair& pair : list) add(pair.with, pair.without);
    }
    for (const auto& [levels, cell] : design.usable) {
      if (design.unlocked) add(cell, *design.unlocked);
    }
    family += pairs.size();
  }
  return family;
}

std::string setting_text(const FactorialData& data, const Levels& levels, std::size_t without) {
  std::string text;
  for (std::size_t f = 0; f < data.factors.size(); ++f) {
    if (f == without) continue;
    if (!text.empty()) text += ", ";
    text += data.factors[f].name + " " + data.factors[f].levels[levels[f]];
  }
  return text;
}

}  // namespace capbench::stats
