#include "harness/stats/sufficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "harness/stats/cells.h"
#include "harness/stats/condition.h"
#include "harness/stats/effects.h"
#include "harness/stats/options.h"
#include "harness/stats/sentence.h"

namespace capbench::stats {
namespace {

bool at_most(const Levels& a, const Levels& b) {
  for (std::size_t f = 0; f < a.size(); ++f) {
    if (a[f] > b[f]) return false;
  }
  return true;
}

// Of losing something: `ratio` is the speed without it over the speed with it.
Claim claim_of(const std::optional<RatioInterval>& without_over_with, double margin) {
  if (!without_over_with || !without_over_with->lo || !without_over_with->hi) return Claim::kUnknown;
  if (*without_over_with->lo >= 1 - margin) return Claim::kWithin;
  if (*without_over_with->hi < 1 - margin) return Claim::kBeyond;
  return Claim::kUnknown;
}

Claim claim_of_effect(const Effect& effect, double margin) {
  if (!effect.simultaneous || !effect.simultaneous->lo || !effect.simultaneous->hi) return Claim::kUnknown;
  if (1 / *effect.simultaneous->hi >= 1 - margin) return Claim::kWithin;
  if (1 / *effect.simultaneous->lo < 1 - margin) return Claim::kBeyond;
  return Claim::kUnknown;
}

// Everything that finding needs of one test.
struct Finder {
  const PreparedDesign& design;
  std::size_t test = 0;
  std::size_t family = 0;
  const TableOptions& options;
  Ranks& ranks;
  Dependence found;
  std::vector<Effect> simple;

  std::size_t n_factors() const { return design.data->factors.size(); }
  std::size_t last(std::size_t f) const { return design.data->factors[f].levels.size() - 1; }
  const Levels& levels(std::size_t cell) const { return design.data->cells[cell].levels; }
  // Of any combination of levels; nothing for one that has no cell.
  std::optional<Claim> claim_at(const Levels& wanted) const {
    const auto cell = cell_at(design, wanted);
    if (!cell) return std::nullopt;
    return design.unlocked == cell ? Claim::kWithin : found.arms[*cell].claim;
  }
};

void compare_arms(Finder& finder) {
  const PreparedDesign& design = finder.design;
  bool all_known = design.unlocked.has_value();
  double worst = 0;
  for (std::size_t cell = 0; cell < design.data->cells.size(); ++cell) {
    ArmClaim arm;
    arm.cell = cell;
    if (design.unlocked && cell != *design.unlocked) {
      Compared compared;
      compared.of = {finder.test, cell, *design.unlocked};
      compared.problem = design.test.arms[cell].problem;
      compared.can_claim = compared.problem.empty() && can_claim(design.test, cell, *design.unlocked);
      if (compared.can_claim) {
        const double confidence = finder.options.confidence;
        compared.alone = claimable_ratio(design.test, cell, *design.unlocked, {confidence, 1}, finder.ranks);
        compared.simultaneous =
            claimable_ratio(design.test, cell, *design.unlocked, {confidence, finder.family}, finder.ranks);
        arm.claim = claim_of(compared.simultaneous, finder.found.margin);
        arm.faster = *compared.simultaneous->lo > 1;
        worst = std::max(worst, 1 - *compared.simultaneous->lo);
      } else if (compared.problem.empty()) {
        compared.alone = ratio_interval(design.data->cells[cell].trials, design.data->cells[*design.unlocked].trials,
                                        interval_options(finder.options))
                             .value();
      }
      all_known = all_known && compared.can_claim;
      arm.over_unlocked = std::move(compared);
    }
    finder.found.arms.push_back(std::move(arm));
  }
  if (all_known && finder.found.arms.size() > 1) finder.found.nothing_over = worst;
}

std::string set_text(const FactorialData& data, const std::vector<std::size_t>& factors, const Levels& levels,
                     bool sufficient) {
  std::vector<std::string> names;
  for (const std::size_t f : factors) {
    const Factor& factor = data.factors[f];
    names.push_back(factor.levels.size() == 2 ? factor.name : factor.name + " " + factor.levels[levels[f]]);
  }
  if (names.empty()) return "nothing";
  return sufficient ? joined(names, "and") : joined(names, "with");
}

// Whether levels are possible, given that some factors only ever change together: those of a group are all as in
// `cell`, or all as in `end`.
bool keeps_groups(const PreparedDesign& design, const Levels& levels, const Levels& cell, const Levels& end) {
  for (std::size_t f = 0; f < levels.size(); ++f) {
    const std::size_t leader = design.group[f];
    if (leader == f || cell[f] == end[f] || cell[leader] == end[leader]) continue;
    if ((levels[f] == cell[f]) != (levels[leader] == cell[leader])) return false;
  }
  return true;
}

// Whether all combinations strictly between a cell and an end (stock or unlocked, included) have the claim.
bool all_between(const Finder& finder, std::size_t cell, bool up, Claim claim) {
  const Levels& start = finder.levels(cell);
  Levels end;
  for (std::size_t f = 0; f < finder.n_factors(); ++f) end.push_back(up ? finder.last(f) : 0);
  Levels low;
  Levels high;
  for (std::size_t f = 0; f < start.size(); ++f) {
    low.push_back(std::min(start[f], end[f]));
    high.push_back(std::max(start[f], end[f]));
  }
  Levels levels = low;
  for (;;) {
    const bool possible = levels != start && keeps_groups(finder.design, levels, start, end);
    if (possible && finder.claim_at(levels) != claim) return false;
    std::size_t f = 0;
    while (f < levels.size() && levels[f] == high[f]) {
      levels[f] = low[f];
      ++f;
    }
    if (f == levels.size()) return true;
    ++levels[f];
  }
}

// Cells with the claim that no other such cell lies below (sufficient sets) or above (cuts), the smallest sets first.
std::vector<SetClaim> extreme_sets(const Finder& finder, Claim claim, bool up) {
  std::vector<SetClaim> sets;
  if (!finder.design.unlocked) return sets;
  // Unlocked suffices by itself, but says something only beside arms that were compared with it.
  const bool compared = std::any_of(finder.found.arms.begin(), finder.found.arms.end(), [](const ArmClaim& arm) {
    return arm.over_unlocked && arm.over_unlocked->can_claim;
  });
  if (!compared) return sets;
  std::vector<std::size_t> cells;
  for (const auto& [levels, cell] : finder.design.usable) {
    if (finder.claim_at(levels) == claim) cells.push_back(cell);
  }
  for (const std::size_t cell : cells) {
    const bool extreme = std::none_of(cells.begin(), cells.end(), [&](std::size_t other) {
      if (other == cell) return false;
      return up ? at_most(finder.levels(cell), finder.levels(other))
                : at_most(finder.levels(other), finder.levels(cell));
    });
    if (!extreme) continue;
    SetClaim set;
    set.cell = cell;
    for (std::size_t f = 0; f < finder.n_factors(); ++f) {
      const std::size_t level = finder.levels(cell)[f];
      if (up ? level < finder.last(f) : level > 0) set.factors.push_back(f);
    }
    set.text = set_text(*finder.design.data, set.factors, finder.levels(cell), !up);
    set.minimal_shown = all_between(finder, cell, up, up ? Claim::kWithin : Claim::kBeyond);
    sets.push_back(std::move(set));
  }
  std::sort(sets.begin(), sets.end(), [](const SetClaim& a, const SetClaim& b) {
    return std::make_tuple(a.factors.size(), a.factors, a.cell) < std::make_tuple(b.factors.size(), b.factors, b.cell);
  });
  return sets;
}

// Whether every removal of one factor and of two from unlocked has results.
bool sees_redundancy(const Finder& finder) {
  if (!finder.design.unlocked) return false;
  for (std::size_t f = 0; f < finder.n_factors(); ++f) {
    for (std::size_t g = f; g < finder.n_factors(); ++g) {
      Levels levels = finder.levels(*finder.design.unlocked);
      levels[f] = 0;
      levels[g] = 0;
      if (!cell_at(finder.design, levels)) return false;
    }
  }
  return true;
}

// The settings of the other factors at which `factor` was varied, and whether it matters there at any step.
std::vector<SettingClaim> settings_of(const Finder& finder, std::size_t factor) {
  std::map<Levels, Claim> claims;
  for (const Effect& effect : finder.simple) {
    if (effect.factors.front() != factor) continue;
    Levels levels = finder.levels(effect.numerator);
    levels[factor] = 0;
    const Claim claim = claim_of_effect(effect, finder.found.margin);
    const auto [entry, fresh] = claims.emplace(std::move(levels), claim);
    if (fresh || entry->second == Claim::kBeyond) continue;
    if (claim == Claim::kBeyond || entry->second == Claim::kWithin) entry->second = claim;
  }
  std::vector<SettingClaim> settings;
  for (const auto& [levels, claim] : claims) settings.push_back({levels, claim});
  return settings;
}

std::string range_text(const Loss& loss) {
  return loss.lo && loss.hi
             ? fmt::format("{} ({:.1f} to {:.1f} %)", percent(loss.value), 100 * *loss.lo, 100 * *loss.hi)
             : percent(loss.value);
}

Loss loss_of_arm(const ArmClaim& arm) {
  const RatioInterval& ratio = *arm.over_unlocked->simultaneous;
  return {1 - ratio.ratio, 1 - *ratio.hi, 1 - *ratio.lo};
}

// The smallest removal that is shown to lose more than the margin, and that shows within it once `factor` is back.
std::optional<std::size_t> deciding_cut(const Finder& finder, std::size_t factor) {
  std::optional<std::size_t> best;
  std::size_t best_size = 0;
  for (const auto& [key, cell] : finder.design.usable) {
    if (key[factor] == finder.last(factor) || finder.claim_at(key) != Claim::kBeyond) continue;
    Levels back = key;
    back[factor] = finder.last(factor);
    if (finder.claim_at(back) != Claim::kWithin) continue;
    std::size_t size = 0;
    for (std::size_t f = 0; f < key.size(); ++f) size += key[f] < finder.last(f) ? 1U : 0U;
    if (best && size >= best_size) continue;
    best = cell;
    best_size = size;
  }
  return best;
}

// An arm without `factor` that cannot tell, though it might be a cut: with the factor back it is not shown to lose.
std::optional<std::size_t> open_arm(const Finder& finder, std::size_t factor) {
  for (const ArmClaim& arm : finder.found.arms) {
    const Levels& levels = finder.levels(arm.cell);
    if (levels[factor] == finder.last(factor) || arm.claim != Claim::kUnknown) continue;
    Levels back = levels;
    back[factor] = finder.last(factor);
    if (finder.claim_at(back) != Claim::kBeyond) return arm.cell;
  }
  return std::nullopt;
}

// Whether every level of the factor below the last, all others unlocked, is shown to change no more than the margin or
// to gain; nothing without such arms.
std::optional<bool> removing_changes_nothing(const Finder& finder, std::size_t factor) {
  std::optional<bool> nothing;
  for (std::size_t level = 0; level < finder.last(factor); ++level) {
    Levels levels = finder.levels(*finder.design.unlocked);
    levels[factor] = level;
    const auto cell = cell_at(finder.design, levels);
    if (!cell) continue;
    const ArmClaim& arm = finder.found.arms[*cell];
    const bool within = arm.claim == Claim::kWithin &&
                        (arm.faster || *arm.over_unlocked->simultaneous->hi <= 1 / (1 - finder.found.margin));
    nothing = nothing.value_or(true) && within;
  }
  return nothing;
}

std::string others_text(const Finder& finder, const std::vector<std::size_t>& factors) {
  std::vector<std::string> names;
  for (const std::size_t f : factors) names.push_back("`" + finder.design.data->factors[f].name + "`");
  return joined(names, "and");
}

void judge(const Finder& finder, FactorVerdict& verdict) {
  const std::size_t factor = verdict.factor;
  const PreparedDesign& design = finder.design;
  std::vector<std::size_t> companions;
  for (std::size_t f = 0; f < finder.n_factors(); ++f) {
    if (f != factor && design.group[f] == design.group[factor]) companions.push_back(f);
  }
  if (!design.varies[factor]) {
    verdict.why = "it is never varied";
    return;
  }
  if (!companions.empty()) {
    verdict.verdict = Verdict::kCannotTellWhich;
    verdict.why = "changed together with " + others_text(finder, companions);
    return;
  }
  if (!design.unlocked) {
    verdict.why = "no arm with everything unlocked has results";
    return;
  }
  if (const auto cut = deciding_cut(finder, factor)) {
    verdict.verdict = Verdict::kYes;
    for (std::size_t f = 0; f < finder.n_factors(); ++f) {
      if (f != factor && finder.levels(*cut)[f] < finder.last(f)) verdict.stand_ins.push_back(f);
    }
    const std::string with =
        verdict.stand_ins.empty() ? "" : " together with " + others_text(finder, verdict.stand_ins);
    verdict.why = "removing it" + with + " costs " + range_text(loss_of_arm(finder.found.arms[*cut]));
    return;
  }
  const std::optional<bool> nothing = removing_changes_nothing(finder, factor);
  if (!nothing) {
    verdict.why = "no arm leaves it alone out";
    return;
  }
  if (!*nothing) {
    verdict.why = verdict.removing && verdict.removing->simultaneous
                      ? "removing it costs " + range_text(loss_of(*verdict.removing->simultaneous))
                      : "that takes three trials or more in every arm";
    return;
  }
  if (const auto open = open_arm(finder, factor)) {
    verdict.why = "alone it is not needed, but arm `" + design.data->cells[*open].arm + "` cannot tell";
    return;
  }
  verdict.verdict = Verdict::kNo;
  verdict.why = verdict.removing && verdict.removing->simultaneous
                    ? "removing it costs " + range_text(loss_of(*verdict.removing->simultaneous))
                    : "lower levels cost no more than the margin";
  if (!finder.found.sees_redundancy && finder.n_factors() > 1) verdict.why += "; stand-ins cannot be seen";
}

// Sufficient sets that a cut leaves in place, and arms that beat unlocked: more is not always faster.
void note_surprises(Finder& finder) {
  const FactorialData& data = *finder.design.data;
  for (const SetClaim& set : finder.found.sufficient) {
    for (const SetClaim& cut : finder.found.cuts) {
      if (!at_most(finder.levels(set.cell), finder.levels(cut.cell))) continue;
      finder.found.notes.push_back(fmt::format("more is slower: arm `{}` suffices, arm `{}` has all of it and does not",
                                               data.cells[set.cell].arm, data.cells[cut.cell].arm));
    }
  }
  for (const ArmClaim& arm : finder.found.arms) {
    if (!arm.faster) continue;
    const Loss loss = loss_of_arm(arm);
    finder.found.notes.push_back(fmt::format("arm `{}` is faster than everything unlocked by {:.1f} to {:.1f} %",
                                             data.cells[arm.cell].arm, -100 * *loss.hi, -100 * *loss.lo));
  }
}

void note_design(Finder& finder) {
  const PreparedDesign& design = finder.design;
  for (std::size_t i = 0; i < design.data->cells.size(); ++i) {
    if (!usable(design.test, i)) finder.found.notes.push_back("empty cell: " + design.test.arms[i].problem);
  }
  if (!finder.found.sees_redundancy && finder.n_factors() > 1) {
    finder.found.notes.push_back(
        "redundancy cannot be seen: not every pair of factors was left out together from everything unlocked");
  }
}

Dependence find_one(Finder finder) {
  const PreparedDesign& design = finder.design;
  compare_arms(finder);
  finder.found.sees_redundancy = sees_redundancy(finder);
  finder.found.sufficient = extreme_sets(finder, Claim::kWithin, false);
  finder.found.cuts = extreme_sets(finder, Claim::kBeyond, true);
  finder.simple =
      pair_effects(design, EffectKind::kSimple, simple_pairs(design), finder.family, finder.options, finder.ranks);
  std::vector<FactorVerdict> verdicts(finder.n_factors());
  std::vector<Condition> conditions;
  for (Effect& effect : pair_effects(design, EffectKind::kRemoving, removing_pairs(design), finder.family,
                                     finder.options, finder.ranks)) {
    verdicts[effect.factors.front()].removing = std::move(effect);
  }
  for (Effect& effect :
       pair_effects(design, EffectKind::kAdding, adding_pairs(design), finder.family, finder.options, finder.ranks)) {
    verdicts[effect.factors.front()].adding = std::move(effect);
  }
  for (std::size_t f = 0; f < verdicts.size(); ++f) {
    FactorVerdict& verdict = verdicts[f];
    verdict.factor = f;
    judge(finder, verdict);
    conditions.push_back(describe_condition(design, f, settings_of(finder, f)));
    verdict.condition = conditions.back().text;
    for (const Effect& effect : finder.simple) {
      if (effect.factors.front() != f || !effect.simultaneous) continue;
      verdict.loses_at_most = std::max(verdict.loses_at_most.value_or(0), *loss_of(*effect.simultaneous).hi);
    }
  }
  finder.found.factors = std::move(verdicts);
  note_design(finder);
  note_surprises(finder);
  finder.found.sentence = sentence_of(design, finder.found, conditions);
  return std::move(finder.found);
}

}  // namespace

std::string to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kYes:
      return "yes";
    case Verdict::kNo:
      return "no";
    case Verdict::kCannotTell:
      break;
    case Verdict::kCannotTellWhich:
      return "cannot tell which";
  }
  return "cannot tell";
}

Result<std::vector<Dependence>> find_dependence(std::span<const FactorialData> tests, std::span<const double> margins,
                                                const TableOptions& options) {
  if (Status status = check_options(options); !status.ok()) return std::move(status).error();
  if (margins.size() != tests.size()) {
    return Error{ErrorKind::kUsage, "margins", fmt::format("{} for {} tests", margins.size(), tests.size()),
                 "give one for each test"};
  }
  std::vector<PreparedDesign> designs;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (!(margins[i] > 0 && margins[i] < 1)) {
      return Error{ErrorKind::kUsage, "margin of test `" + tests[i].test + "`", "expected a share over 0 and under 1",
                   "use 0.02"};
    }
    if (Status status = check_design(tests[i]); !status.ok()) return std::move(status).error();
    designs.push_back(prepare_design(tests[i]));
  }
  const std::size_t family = pair_family(designs);
  Ranks ranks;
  std::vector<Dependence> out;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    Finder finder{designs[i], i, family, options, ranks, {}, {}};
    finder.found.test = tests[i].test;
    finder.found.margin = margins[i];
    finder.found.confidence = options.confidence;
    finder.found.comparisons = family;
    finder.found.kind = design_kind(tests[i]);
    out.push_back(find_one(std::move(finder)));
  }
  return out;
}

std::string join_sentences(std::span<const Dependence> tests) {
  std::string text;
  for (const Dependence& test : tests) {
    if (!text.empty()) text += "; ";
    text += test.sentence;
  }
  return text.empty() ? text : text + ".";
}

}  // namespace capbench::stats
