#include "harness/stats/factorial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/stats/cells.h"
#include "harness/stats/effects.h"
#include "harness/stats/options.h"

namespace capbench::stats {
namespace {

// The cells of a contrast by the levels of its factors, each part with its sign.
struct Part {
  Levels levels;  // of the contrast's factors
  double sign = 0;
};

struct Contrast {
  std::vector<Weight> weights;  // empty: none can be made
  std::string problem;
};

bool matches(const Levels& cell, const std::vector<std::size_t>& factors, const Levels& wanted) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (cell[factors[i]] != wanted[i]) return false;
  }
  return true;
}

// Whether the contrast gives no weight to the effect of any other factor by itself.
bool balanced(const PreparedDesign& design, const std::vector<std::size_t>& factors,
              const std::vector<Weight>& weights) {
  for (std::size_t f = 0; f < design.data->factors.size(); ++f) {
    if (std::find(factors.begin(), factors.end(), f) != factors.end()) continue;
    std::vector<double> sums(design.data->factors[f].levels.size());
    for (const Weight& weight : weights) sums[design.data->cells[weight.arm].levels[f]] += weight.weight;
    if (std::any_of(sums.begin(), sums.end(), [](double sum) { return std::fabs(sum) > 1e-9; })) return false;
  }
  return true;
}

// All usable cells: every part's mean with its sign.
std::vector<Weight> over_all_cells(const PreparedDesign& design, const std::vector<std::size_t>& factors,
                                   const std::vector<Part>& parts) {
  std::vector<Weight> weights;
  for (const Part& part : parts) {
    std::vector<std::size_t> cells;
    for (const auto& [levels, cell] : design.usable) {
      if (matches(levels, factors, part.levels)) cells.push_back(cell);
    }
    if (cells.empty()) return {};
    for (const std::size_t cell : cells) weights.push_back({cell, part.sign / static_cast<double>(cells.size())});
  }
  return weights;
}

// The settings of the other factors at which every part has its cell, and how many settings there are.
std::pair<std::vector<Weight>, std::size_t> over_matched_settings(const PreparedDesign& design,
                                                                  const std::vector<std::size_t>& factors,
                                                                  const std::vector<Part>& parts) {
  std::vector<Weight> weights;
  std::size_t settings = 0;
  for (const auto& [levels, cell] : design.usable) {
    if (!matches(levels, factors, parts.front().levels)) continue;
    std::vector<Weight> here;
    for (const Part& part : parts) {
      Levels wanted = levels;
      for (std::size_t i = 0; i < factors.size(); ++i) wanted[factors[i]] = part.levels[i];
      if (const auto found = cell_at(design, wanted)) here.push_back({*found, part.sign});
    }
    if (here.size() != parts.size()) continue;
    ++settings;
    weights.insert(weights.end(), here.begin(), here.end());
  }
  for (Weight& weight : weights) weight.weight /= static_cast<double>(settings);
  return {weights, settings};
}

Contrast contrast_of(const PreparedDesign& design, const std::vector<std::size_t>& factors,
                     const std::vector<Part>& parts) {
  Contrast contrast;
  contrast.weights = over_all_cells(design, factors, parts);
  if (!contrast.weights.empty() && balanced(design, factors, contrast.weights)) return contrast;
  auto [weights, settings] = over_matched_settings(design, factors, parts);
  contrast.weights = std::move(weights);
  if (settings == 0) {
    contrast.problem = "no cells tell it from the other factors";
    return contrast;
  }
  std::size_t all = 1;
  for (std::size_t f = 0; f < design.data->factors.size(); ++f) {
    if (std::find(factors.begin(), factors.end(), f) == factors.end()) all *= design.data->factors[f].levels.size();
  }
  contrast.problem = fmt::format("over {} of {} settings of the other factors: cells are missing", settings, all);
  return contrast;
}

std::vector<std::string> aliases_of(const FactorialData& data, const std::string& name) {
  std::vector<std::string> found;
  for (const Alias& alias : data.aliases) {
    std::vector<std::string> all = alias.with;
    all.push_back(alias.effect);
    if (std::find(all.begin(), all.end(), name) == all.end()) continue;
    for (const std::string& other : all) {
      if (other != name && std::find(found.begin(), found.end(), other) == found.end()) found.push_back(other);
    }
  }
  return found;
}

// An effect with its contrast, before the family is known.
struct Pending {
  Effect effect;
  Contrast contrast;
};

std::vector<Pending> main_effects(const PreparedDesign& design) {
  std::vector<Pending> out;
  const std::vector<Factor>& factors = design.data->factors;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    for (std::size_t level = 1; level < factors[f].levels.size(); ++level) {
      Pending one;
      one.effect.kind = EffectKind::kMain;
      one.effect.name = factors[f].name;
      if (factors[f].levels.size() > 2) {
        one.effect.name += " " + factors[f].levels[level] + " over " + factors[f].levels[0];
      }
      one.effect.factors = {f};
      one.effect.to = level;
      one.effect.aliases = aliases_of(*design.data, factors[f].name);
      one.contrast = contrast_of(design, {f}, {{{level}, 1}, {{0}, -1}});
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<Pending> interactions(const PreparedDesign& design) {
  std::vector<Pending> out;
  const std::vector<Factor>& factors = design.data->factors;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    for (std::size_t g = f + 1; g < factors.size(); ++g) {
      const std::size_t last_f = factors[f].levels.size() - 1;
      const std::size_t last_g = factors[g].levels.size() - 1;
      Pending one;
      one.effect.kind = EffectKind::kInteraction;
      one.effect.name = factors[f].name + " x " + factors[g].name;
      one.effect.factors = {f, g};
      one.effect.to = last_f;
      one.effect.aliases = aliases_of(*design.data, one.effect.name);
      one.contrast =
          contrast_of(design, {f, g}, {{{last_f, last_g}, 1}, {{0, last_g}, -1}, {{last_f, 0}, -1}, {{0, 0}, 1}});
      out.push_back(std::move(one));
    }
  }
  return out;
}

bool claims(const PreparedDesign& design, const std::vector<Weight>& weights) {
  return !weights.empty() && std::all_of(weights.begin(), weights.end(), [&](const Weight& weight) {
    return can_claim(design.test, weight.arm, weight.arm);
  });
}

std::vector<Effect> finished(const PreparedDesign& design, std::vector<Pending> pending, std::size_t family,
                             double confidence) {
  std::vector<Effect> effects;
  for (Pending& one : pending) {
    one.effect.problem = one.contrast.problem;
    if (!one.contrast.weights.empty()) {
      one.effect.alone = contrast_ratio(design.test, one.contrast.weights, {confidence, 1});
      one.effect.can_claim = claims(design, one.contrast.weights);
      if (one.effect.can_claim) {
        one.effect.simultaneous = contrast_ratio(design.test, one.contrast.weights, {confidence, family});
      }
    }
    effects.push_back(std::move(one.effect));
  }
  return effects;
}

void note_gaps(const PreparedDesign& design, std::vector<std::string>& notes) {
  const FactorialData& data = *design.data;
  for (std::size_t i = 0; i < data.cells.size(); ++i) {
    if (!usable(design.test, i)) {
      notes.push_back(fmt::format("empty cell ({}): {}", setting_text(data, data.cells[i].levels, data.factors.size()),
                                  design.test.arms[i].problem));
    }
  }
  for (std::size_t f = 0; f < data.factors.size(); ++f) {
    if (!design.varies[f]) notes.push_back(fmt::format("`{}` is never varied", data.factors[f].name));
    if (design.group[f] != f) {
      notes.push_back(fmt::format("`{}` and `{}` only ever change together", data.factors[design.group[f]].name,
                                  data.factors[f].name));
    }
  }
}

}  // namespace

std::vector<Effect> pair_effects(const PreparedDesign& design, EffectKind kind, const std::vector<FactorPair>& pairs,
                                 std::size_t family, const TableOptions& options, Ranks& ranks) {
  const FactorialData& data = *design.data;
  std::vector<Effect> effects;
  for (const FactorPair& pair : pairs) {
    const Factor& factor = data.factors[pair.factor];
    Effect effect;
    effect.kind = kind;
    effect.name = factor.name;
    if (factor.levels.size() > 2) effect.name += " " + factor.levels[pair.to] + " over " + factor.levels[pair.from];
    effect.factors = {pair.factor};
    effect.from = pair.from;
    effect.to = pair.to;
    effect.numerator = pair.with;
    effect.denominator = pair.without;
    effect.setting = setting_text(data, data.cells[pair.with].levels, pair.factor);
    effect.can_claim = can_claim(design.test, pair.with, pair.without);
    if (effect.can_claim) {
      effect.alone = claimable_ratio(design.test, pair.with, pair.without, {options.confidence, 1}, ranks);
      effect.simultaneous = claimable_ratio(design.test, pair.with, pair.without, {options.confidence, family}, ranks);
    } else {
      effect.alone =
          ratio_interval(data.cells[pair.with].trials, data.cells[pair.without].trials, interval_options(options))
              .value();
    }
    effects.push_back(std::move(effect));
  }
  return effects;
}

std::string to_text(DesignKind kind) {
  switch (kind) {
    case DesignKind::kOneAtATime:
      return "one at a time";
    case DesignKind::kLeaveOneOut:
      return "leave one out";
    case DesignKind::kBoth:
      return "one at a time and leave one out";
    case DesignKind::kFullFactorial:
      return "full factorial";
    case DesignKind::kOther:
      break;
  }
  return "other";
}

DesignKind design_kind(const FactorialData& data) {
  std::set<Levels> cells;
  bool from_stock = false;
  bool from_unlocked = false;
  bool from_either = false;  // two factors: stock plus one is unlocked less the other
  bool stock = false;
  bool neither = false;
  for (const Cell& cell : data.cells) {
    if (cell.levels.size() != data.factors.size()) return DesignKind::kOther;
    cells.insert(cell.levels);
    std::size_t over_stock = 0;
    std::size_t under_unlocked = 0;
    for (std::size_t f = 0; f < data.factors.size(); ++f) {
      over_stock += cell.levels[f] > 0 ? 1U : 0U;
      under_unlocked += cell.levels[f] + 1 < data.factors[f].levels.size() ? 1U : 0U;
    }
    stock |= over_stock == 0;
    if (over_stock == 0 || under_unlocked == 0) continue;
    if (over_stock == 1 && under_unlocked == 1 && data.factors.size() > 1) {
      from_either = true;
    } else if (over_stock == 1) {
      from_stock = true;
    } else if (under_unlocked == 1) {
      from_unlocked = true;
    } else {
      neither = true;
    }
  }
  std::size_t all = 1;
  for (const Factor& factor : data.factors) all *= std::max<std::size_t>(factor.levels.size(), 1);
  if (cells.size() == all && data.factors.size() > 1) return DesignKind::kFullFactorial;
  if (neither) return DesignKind::kOther;
  if (from_either) (stock ? from_stock : from_unlocked) = true;
  if (from_stock && from_unlocked) return DesignKind::kBoth;
  if (from_stock) return DesignKind::kOneAtATime;
  if (from_unlocked) return DesignKind::kLeaveOneOut;
  return data.factors.size() == 1 ? DesignKind::kBoth : DesignKind::kOther;
}

const RatioInterval* deciding(const std::optional<Effect>& effect) {
  if (!effect) return nullptr;
  if (effect->simultaneous) return &*effect->simultaneous;
  return effect->alone ? &*effect->alone : nullptr;
}

Loss loss_of(const RatioInterval& with_over_without) {
  Loss loss;
  loss.value = 1 - 1 / with_over_without.ratio;
  if (with_over_without.lo) loss.lo = 1 - 1 / *with_over_without.lo;
  if (with_over_without.hi) loss.hi = 1 - 1 / *with_over_without.hi;
  return loss;
}

Result<std::vector<FactorialAnalysis>> analyse_factorial(std::span<const FactorialData> tests,
                                                         const TableOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  std::vector<PreparedDesign> designs;
  for (const FactorialData& data : tests) {
    if (Status status = check_design(data); !status.ok()) return std::move(status).error();
    designs.push_back(prepare_design(data));
  }
  std::vector<std::vector<Pending>> main(designs.size());
  std::vector<std::vector<Pending>> pairs(designs.size());
  std::size_t averaged = 0;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    const DesignKind kind = design_kind(tests[i]);
    // One at a time there is nothing to average over: main effects would only repeat removing and adding.
    if (kind != DesignKind::kFullFactorial && kind != DesignKind::kOther) continue;
    main[i] = main_effects(designs[i]);
    pairs[i] = interactions(designs[i]);
    for (const auto* list : {&main[i], &pairs[i]}) {
      for (const Pending& one : *list) averaged += claims(designs[i], one.contrast.weights) ? 1U : 0U;
    }
  }
  const std::size_t family = pair_family(designs);
  std::vector<FactorialAnalysis> out;
  Ranks ranks;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    const PreparedDesign& design = designs[i];
    FactorialAnalysis analysis;
    analysis.test = tests[i].test;
    analysis.kind = design_kind(tests[i]);
    analysis.averaged_family = averaged;
    analysis.simple_family = family;
    analysis.main = finished(design, std::move(main[i]), averaged, options.confidence);
    analysis.interactions = finished(design, std::move(pairs[i]), averaged, options.confidence);
    analysis.removing = pair_effects(design, EffectKind::kRemoving, removing_pairs(design), family, options, ranks);
    analysis.adding = pair_effects(design, EffectKind::kAdding, adding_pairs(design), family, options, ranks);
    analysis.simple = pair_effects(design, EffectKind::kSimple, simple_pairs(design), family, options, ranks);
    note_gaps(design, analysis.notes);
    out.push_back(std::move(analysis));
  }
  return out;
}

}  // namespace capbench::stats
