#include "harness/stats/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace capbench::stats {
namespace {

// Factors that only ever change together go by one name.
std::string group_name(const PreparedDesign& design, std::size_t factor) {
  std::vector<std::string> names;
  for (std::size_t f = 0; f < design.group.size(); ++f) {
    if (design.group[f] == design.group[factor]) names.push_back(design.data->factors[f].name);
  }
  return names.size() == 1 ? names.front() : joined(names, "and") + " together";
}

bool confounded(const PreparedDesign& design, std::size_t factor) {
  return std::count(design.group.begin(), design.group.end(), design.group[factor]) > 1;
}

// What at least must be there so that a cut does not happen.
struct Clause {
  std::string text;
  bool which = true;  // false: it names factors that only ever change together
};

Clause clause_of(const PreparedDesign& design, const SetClaim& cut) {
  const std::vector<Factor>& factors = design.data->factors;
  const Levels& levels = design.data->cells[cut.cell].levels;
  std::vector<std::string> parts;
  Clause clause;
  std::set<std::size_t> seen;
  for (const std::size_t f : cut.factors) {
    if (!seen.insert(design.group[f]).second) continue;
    clause.which = clause.which && !confounded(design, f);
    const bool two = factors[f].levels.size() == 2 || confounded(design, f);
    parts.push_back(two ? group_name(design, f) : factors[f].name + " over " + factors[f].levels[levels[f]]);
  }
  if (parts.size() == 1) {
    clause.text = parts.front();
  } else if (cut.minimal_shown) {
    clause.text = "(" + joined(parts, "or") + ")";
  } else {
    clause.text = "something among " + joined(parts, "and");
  }
  return clause;
}

std::vector<std::string> names_of(const PreparedDesign& design, const std::vector<std::size_t>& factors) {
  std::vector<std::string> names;
  for (const std::size_t f : factors) names.push_back(design.data->factors[f].name);
  return names;
}

// "; a and b matter only without them": factors outside the clauses, by what they are conditional on.
std::string conditional_text(const PreparedDesign& design, const std::vector<Condition>& conditions,
                             const std::set<std::size_t>& mentioned) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> by_text;
  for (std::size_t f = 0; f < conditions.size(); ++f) {
    if (mentioned.contains(f) || conditions[f].text.empty()) continue;
    const std::set<std::size_t> without(conditions[f].without.begin(), conditions[f].without.end());
    std::string text = conditions[f].text;
    if (!without.empty() && without == mentioned) text = without.size() > 1 ? "only without them" : "only without it";
    const auto same = std::find_if(by_text.begin(), by_text.end(), [&](const auto& one) { return one.first == text; });
    if (same == by_text.end()) {
      by_text.push_back({text, {f}});
    } else {
      same->second.push_back(f);
    }
  }
  std::string out;
  for (const auto& [text, factors] : by_text) {
    out += fmt::format("; {} {} {}", joined(names_of(design, factors), "and"),
                       factors.size() > 1 ? "matter" : "matters", text);
  }
  return out;
}

std::string unknown_text(const PreparedDesign& design, const Dependence& found,
                         const std::vector<Condition>& conditions, const std::set<std::size_t>& mentioned) {
  std::vector<std::size_t> unknown;
  for (const FactorVerdict& factor : found.factors) {
    const bool open = factor.verdict == Verdict::kCannotTell || factor.verdict == Verdict::kCannotTellWhich;
    if (open && !mentioned.contains(factor.factor) && conditions[factor.factor].text.empty()) {
      unknown.push_back(factor.factor);
    }
  }
  return unknown.empty() ? "" : "; cannot tell for " + joined(names_of(design, unknown), "and");
}

std::string with_cuts(const PreparedDesign& design, const Dependence& found, const std::vector<Condition>& conditions) {
  std::vector<std::string> clauses;
  std::set<std::size_t> mentioned;
  bool which = true;
  for (const SetClaim& cut : found.cuts) {
    const Clause clause = clause_of(design, cut);
    which = which && clause.which;
    if (std::find(clauses.begin(), clauses.end(), clause.text) == clauses.end()) clauses.push_back(clause.text);
    mentioned.insert(cut.factors.begin(), cut.factors.end());
  }
  std::string text = found.test + " depends on " + joined(clauses, "and");
  if (!which) text += " (cannot tell which)";
  text += conditional_text(design, conditions, mentioned);
  text += unknown_text(design, found, conditions, mentioned);
  return text;
}

// No arm with everything unlocked: what each adds to stock is all there is.
std::string without_unlocked(const PreparedDesign& design, const Dependence& found) {
  std::string text = found.test + ": cannot tell, no arm with everything unlocked has results";
  for (const FactorVerdict& factor : found.factors) {
    if (factor.adding && factor.adding->simultaneous && *factor.adding->simultaneous->lo > 1 / (1 - found.margin)) {
      text += fmt::format("; adding {} gives {:.2f} x", design.data->factors[factor.factor].name,
                          factor.adding->simultaneous->ratio);
    }
  }
  return text;
}

std::string without_cuts(const PreparedDesign& design, const Dependence& found,
                         const std::vector<Condition>& conditions) {
  if (!design.unlocked) return without_unlocked(design, found);
  std::set<std::size_t> groups;
  std::vector<std::size_t> varied;
  for (std::size_t f = 0; f < design.varies.size(); ++f) {
    if (!design.varies[f]) continue;
    groups.insert(design.group[f]);
    varied.push_back(f);
  }
  if (varied.empty()) return found.test + ": cannot tell, nothing was varied";
  if (groups.size() == 1 && varied.size() > 1 && design.stock) {
    const ArmClaim& stock = found.arms[*design.stock];
    return fmt::format("{}: {} changed together give {:.2f} x ({}); cannot tell which", found.test,
                       joined(names_of(design, varied), "and"), 1 / stock.over_unlocked->alone->ratio,
                       stock.over_unlocked->alone->label);
  }
  const bool claims = std::any_of(found.arms.begin(), found.arms.end(), [](const ArmClaim& arm) {
    return arm.over_unlocked && arm.over_unlocked->can_claim;
  });
  if (!claims) return found.test + ": cannot tell, that takes three trials or more in every arm";
  const std::string limit = found.nothing_over ? " (nothing over " + percent_at_most(*found.nothing_over) + ")" : "";
  const bool none = std::all_of(found.factors.begin(), found.factors.end(),
                                [](const FactorVerdict& factor) { return factor.verdict == Verdict::kNo; });
  const std::string tail = conditional_text(design, conditions, {});
  if (none && found.sees_redundancy) {
    return fmt::format("{} depends on none of {}{}{}", found.test, joined(names_of(design, varied), "and"), limit,
                       tail);
  }
  if (none) {
    return fmt::format("{} needs no single one of {}{}{}", found.test, joined(names_of(design, varied), "and"), limit,
                       tail);
  }
  std::string text = found.test + ": cannot tell at this noise" + limit + tail;
  std::vector<std::size_t> no;
  for (const FactorVerdict& factor : found.factors) {
    if (factor.verdict == Verdict::kNo && conditions[factor.factor].text.empty()) no.push_back(factor.factor);
  }
  if (!no.empty()) text += "; not on " + joined(names_of(design, no), "and");
  return text;
}

}  // namespace

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string percent_at_most(double share) {
  const double value = 100 * share;
  return value >= 10 ? fmt::format("{:.0f} %", std::ceil(value)) : fmt::format("{:.1f} %", std::ceil(value * 10) / 10);
}

std::string sentence_of(const PreparedDesign& design, const Dependence& found,
                        const std::vector<Condition>& conditions) {
  std::string text =
      found.cuts.empty() ? without_cuts(design, found, conditions) : with_cuts(design, found, conditions);
  if (!found.sees_redundancy && design.data->factors.size() > 1) text += "; redundancy cannot be seen in this design";
  return text;
}

}  // namespace capbench::stats
