#include "harness/stats/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace capbench::stats {
namespace {

// A level asked of some of the factors.
using Literals = std::vector<std::optional<std::size_t>>;

bool holds(const Literals& literals, const Levels& levels) {
  for (std::size_t f = 0; f < literals.size(); ++f) {
    if (literals[f] && *literals[f] != levels[f]) return false;
  }
  return true;
}

std::size_t size_of(const Literals& literals) {
  return static_cast<std::size_t>(
      std::count_if(literals.begin(), literals.end(), [](const auto& literal) { return literal.has_value(); }));
}

// All combinations of levels of the factors that may be asked for, by counting.
class Search {
 public:
  Search(const PreparedDesign& design, std::size_t factor) : design_(design) {
    for (std::size_t f = 0; f < design.data->factors.size(); ++f) {
      if (design.varies[f] && design.group[f] == f && design.group[factor] != f) asked_.push_back(f);
    }
  }

  // The fewest literals that hold at every setting with claim `all` and at none with claim `none`; among equals those
  // that hold at the fewest settings that cannot tell. Several if they are equal in that too.
  std::vector<Literals> best(std::span<const SettingClaim> settings, Claim all, Claim none) const {
    std::vector<Literals> best;
    std::pair<std::size_t, std::size_t> best_score;
    Literals literals(design_.data->factors.size());
    do {
      std::size_t unknown = 0;
      bool fits = true;
      for (const SettingClaim& setting : settings) {
        const bool inside = holds(literals, setting.levels);
        fits = fits && (setting.claim != all || inside) && (setting.claim != none || !inside);
        unknown += setting.claim == Claim::kUnknown && inside ? 1U : 0U;
      }
      const std::pair score(size_of(literals), unknown);
      if (!fits || (!best.empty() && score > best_score)) continue;
      if (!best.empty() && score < best_score) best.clear();
      best_score = score;
      best.push_back(literals);
    } while (next(literals));
    return best;
  }

  // How many combinations of levels of the factors that may be asked for there are.
  std::size_t combinations() const {
    std::size_t count = 1;
    for (const std::size_t f : asked_) count *= design_.data->factors[f].levels.size();
    return count;
  }

 private:
  // Counts on: nothing asked, then each level, factor by factor. False when all have been.
  bool next(Literals& literals) const {
    for (const std::size_t f : asked_) {
      std::optional<std::size_t>& literal = literals[f];
      if (!literal) {
        literal = 0;
        return true;
      }
      if (*literal + 1 < design_.data->factors[f].levels.size()) {
        ++*literal;
        return true;
      }
      literal.reset();
    }
    return false;
  }

  const PreparedDesign& design_;
  std::vector<std::size_t> asked_;
};

// The level that `factor` has wherever `other`, which only ever changes together with it, has `level`.
std::size_t level_beside(const PreparedDesign& design, std::size_t factor, std::size_t other, std::size_t level) {
  const auto cell = std::find_if(design.usable.begin(), design.usable.end(),
                                 [&](const auto& entry) { return entry.first[other] == level; });
  return cell == design.usable.end() ? level : cell->first[factor];
}

// With those that only ever change together with one that is asked for.
Literals with_companions(const PreparedDesign& design, const Literals& literals) {
  Literals all = literals;
  for (std::size_t f = 0; f < all.size(); ++f) {
    const std::size_t asked = design.group[f];
    if (literals[asked]) all[f] = level_beside(design, f, asked, *literals[asked]);
  }
  return all;
}

std::string literal_text(const FactorialData& data, const Literals& literals) {
  std::vector<std::string> with;
  std::vector<std::string> without;
  for (std::size_t f = 0; f < literals.size(); ++f) {
    if (!literals[f]) continue;
    const Factor& factor = data.factors[f];
    if (factor.levels.size() > 2) {
      with.push_back(factor.name + " " + factor.levels[*literals[f]]);
    } else {
      (*literals[f] == 0 ? without : with).push_back(factor.name);
    }
  }
  std::string text = with.empty() ? "" : "with " + joined(with, "and");
  if (!without.empty()) text += (text.empty() ? "without " : " and without ") + joined(without, "and");
  return text;
}

// "only without a"; where settings that cannot tell leave several that are equally good: "only without a, or only
// without b: what was measured fits either".
std::string alternatives_text(const PreparedDesign& design, const std::string& word, std::span<const Literals> found) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (const Literals& literals : found) {
    if (texts.size() == kMost) break;
    texts.push_back(word + " " + literal_text(*design.data, with_companions(design, literals)));
  }
  if (found.size() == 1) return texts.front();
  std::string text = fmt::format("{}", fmt::join(texts, ", or "));
  if (found.size() > kMost) text += fmt::format(", or by one of {} more conditions", found.size() - kMost);
  return text + (found.size() == 2 ? ": what was measured fits either" : ": what was measured fits each");
}

}  // namespace

std::string joined(std::span<const std::string> names, const std::string& last_word) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " " + last_word + " " : ", ";
    text += names[i];
  }
  return text;
}

Condition describe_condition(const PreparedDesign& design, std::size_t factor, std::span<const SettingClaim> settings) {
  const auto count = [&](Claim claim) {
    return std::count_if(settings.begin(), settings.end(), [&](const auto& setting) { return setting.claim == claim; });
  };
  const auto beyond = count(Claim::kBeyond);
  const auto unknown = count(Claim::kUnknown);
  Condition condition;
  if (beyond == 0) return condition;
  const Search search(design, factor);
  const std::size_t run = settings.size();
  const bool every = run >= search.combinations();
  const std::string rest = unknown == 0 ? "" : fmt::format(" (cannot tell at {} of {} settings)", unknown, run);
  const std::string others = every ? "settings of the others"
                                   : fmt::format("settings of the others that were run, of {}", search.combinations());
  if (count(Claim::kWithin) == 0 && unknown == 0) {
    if (every) {
      condition.text = "at every setting of the others";
    } else {
      condition.text =
          run == 1 ? "at the one setting of the others that was run" : fmt::format("at all {} {}", run, others);
    }
    return condition;
  }
  const std::string counted = fmt::format("at {} of {} {}{}", beyond, run, others, rest);
  if (count(Claim::kWithin) == 0) {
    condition.text = counted;
    return condition;
  }
  // Where settings were left out several descriptions may fit what was run: then none is given.
  const std::string missing = every ? "" : fmt::format(" (of the {} {})", run, others);
  const std::vector<Literals> found = search.best(settings, Claim::kBeyond, Claim::kWithin);
  if (found.size() == 1 || (every && !found.empty())) {
    condition.text = alternatives_text(design, "only", found) + missing + rest;
    const Literals only = with_companions(design, found.front());
    for (std::size_t f = 0; f < only.size(); ++f) {
      if (only[f]) condition.without.push_back(f);
    }
    const bool plain = std::all_of(condition.without.begin(), condition.without.end(), [&](std::size_t f) {
      return *only[f] == 0 && design.data->factors[f].levels.size() == 2;
    });
    if (!plain || unknown > 0 || !every) condition.without.clear();
    return condition;
  }
  const std::vector<Literals> unless = search.best(settings, Claim::kWithin, Claim::kBeyond);
  if (unless.size() == 1 || (every && !unless.empty())) {
    condition.text = alternatives_text(design, "except", unless) + missing + rest;
    return condition;
  }
  condition.text = counted;
  return condition;
}

}  // namespace capbench::stats
