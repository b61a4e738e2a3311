// Cells of a design by their levels, and the pairs of cells that differ in one factor. Internal to this room. Pure.
#ifndef CAPBENCH_HARNESS_STATS_CELLS_H_
#define CAPBENCH_HARNESS_STATS_CELLS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/stats/factorial.h"
#include "harness/stats/prepared.h"

namespace capbench::stats {

using Levels = std::vector<std::size_t>;

Status check_design(const FactorialData& data);

// A design that check_design() accepts, its cells ready for comparison. The data must stay.
struct PreparedDesign {
  const FactorialData* data = nullptr;
  PreparedTest test;                     // an arm for every cell
  std::map<Levels, std::size_t> usable;  // cells with usable trials
  std::optional<std::size_t> stock;      // all factors at their first level, if usable
  std::optional<std::size_t> unlocked;   // all at their last
  std::vector<std::size_t> group;        // per factor: equal numbers for those that only ever change together
  std::vector<bool> varies;              // per factor
};

PreparedDesign prepare_design(const FactorialData& data);

std::optional<std::size_t> cell_at(const PreparedDesign& design, const Levels& levels);

// Two usable cells that differ in `factor` alone.
struct FactorPair {
  std::size_t factor = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t with = 0;     // the cell at level `to`
  std::size_t without = 0;  // at level `from`
};

std::vector<FactorPair> removing_pairs(const PreparedDesign& design);
std::vector<FactorPair> adding_pairs(const PreparedDesign& design);
std::vector<FactorPair> simple_pairs(const PreparedDesign& design);  // neighbouring levels, every setting of the others

// How many different pairs of cells, over all tests, can carry a claim: those above and every cell against unlocked.
std::size_t pair_family(std::span<const PreparedDesign> designs);

// "coopmat2 off, float16 on": the cell's levels of all factors but one (or none left out: npos).
std::string setting_text(const FactorialData& data, const Levels& levels, std::size_t without);

}  // namespace capbench::stats

#endif  // CAPBENCH_HARNESS_STATS_CELLS_H_
