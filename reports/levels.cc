#include "reports/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "reports/subject.h"
#include "shim/common/toggles.h"

namespace capbench::reports {
namespace {

constexpr std::size_t kMostFactors = 12;  // that one analysis takes

const std::string kUnset(suite::kUnset);
constexpr std::string_view kCpuIsa = "cpu.isa";
constexpr std::string_view kBest = "best";

// The capability that a variable of a published shim sets; empty for any other.
std::string capability_of_variable(const std::string& variable) {
  for (const shim::Toggle& toggle : shim::kToggles) {
    if (!toggle.alias.empty() && toggle.alias == variable) return std::string(toggle.name);
  }
  return "";
}

// Which variables steer the injection itself: no treatment of the application.
bool is_injection(const std::string& variable) {
  for (const shim::DomainInfo& domain : shim::kDomains) {
    if (domain.injection == variable) return true;
  }
  return variable.starts_with("CAPSHIM_") || variable == "VK_LAYER_PATH" || variable == "VK_ADD_LAYER_PATH";
}

// "-fa on -ctk q8_0 --no-warmup": {"-fa", "on"}, {"-ctk", "q8_0"}, {"--no-warmup", "given"}.
std::map<std::string, std::string> options_of(const std::vector<std::string>& args) {
  std::map<std::string, std::string> options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].starts_with("-")) continue;
    const bool has_value = i + 1 < args.size() && !args[i + 1].starts_with("-");
    options[args[i]] = has_value ? args[i + 1] : "given";
    if (has_value) ++i;
  }
  return options;
}

struct Place {
  std::string guest;  // empty for the host and for a stand-in
  std::string target;
  std::string executable;
  std::string device;

  // clang-tidy 14 takes the zero that is hidden here for a pointer.
  auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
};

Place place_of(const ArmFacts& facts) {
  Place place;
  const bool own_machine = !facts.guest.empty() && facts.guest != "stand-in";
  if (own_machine) place.guest = facts.guest;
  if (!facts.arm) return place;
  place.target = facts.arm->target == "local" ? "" : facts.arm->target;
  place.executable = facts.arm->executable;
  place.device = facts.arm->device;
  return place;
}

std::string place_text(const Place& place) {
  std::vector<std::string> parts;
  if (!place.guest.empty()) parts.push_back(place.guest == "vm" ? "VM" : place.guest);
  if (!place.target.empty()) parts.push_back("target " + place.target);
  if (!place.executable.empty()) parts.push_back("executable " + place.executable);
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What one arm says of a factor itself, before anything is observed.
struct Told {
  std::map<std::string, std::string> capabilities;
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> arguments;
};

Told told_of(const ArmFacts& facts) {
  Told told;
  told.capabilities = facts.requested;
  if (!facts.arm) return told;
  for (const auto& [name, value] : facts.arm->guest) told.capabilities[name] = value;
  for (const auto& [name, value] : facts.arm->env) {
    if (is_injection(name)) continue;
    const std::string capability = capability_of_variable(name);
    (capability.empty() ? told.variables[name] : told.capabilities[capability]) = value;
  }
  for (const auto& [name, value] : facts.arm->set) told.capabilities[name] = value;
  told.arguments = options_of(facts.arm->args);
  return told;
}

const suite::Factor* designed(const std::optional<suite::Design>& design, const std::string& name) {
  if (!design) return nullptr;
  const auto found = std::find_if(design->factors.begin(), design->factors.end(),
                                  [&](const suite::Factor& factor) { return factor.name == name; });
  return found == design->factors.end() ? nullptr : &*found;
}

std::string text_of(const std::optional<std::string>& level) {
  return level ? *level : kUnset;
}

// One place's arms and the names of everything that they say.
class Comparison {
 public:
  Comparison(const std::vector<ArmFacts>& arms, std::vector<std::size_t> members,
             const std::optional<suite::Design>& design)
      : arms_(arms), members_(std::move(members)), design_(design) {
    for (const std::size_t arm : members_) told_[arm] = told_of(arms_[arm]);
    find_own_answers();
    leave_out_unknown();
    find_factors();
  }

  const std::vector<VariedFactor>& factors() const { return factors_; }
  const std::vector<std::size_t>& members() const { return members_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t level(std::size_t arm, std::size_t factor) const { return levels_.at(arm)[factor]; }

 private:
  // What the device answers where nobody asked for anything.
  void find_own_answers() {
    for (const std::size_t arm : members_) {
      const Told& told = told_.at(arm);
      if (!told.variables.empty() || !arms_[arm].guest.empty()) continue;
      for (const auto& [name, value] : arms_[arm].observed) {
        if (!told.capabilities.contains(name)) own_.emplace(name, value);
      }
    }
  }

  // A host that was asked nothing and does not show an answer that other arms are about has no place among their
  // levels: whether it answers "on" or "off" is not known. It stays in the table of arms.
  void leave_out_unknown() {
    std::set<std::string> asked;
    for (const std::size_t arm : members_) {
      for (const auto& [name, value] : told_.at(arm).capabilities) asked.insert(name);
    }
    std::erase_if(members_, [&](std::size_t arm) {
      const Told& told = told_.at(arm);
      const bool is_plain = told.capabilities.empty() && told.variables.empty() && told.arguments.empty();
      if (!is_plain || !arms_[arm].guest.empty() || asked.empty()) return false;
      return std::any_of(asked.begin(), asked.end(), [&](const std::string& name) {
        return !arms_[arm].observed.contains(name) && !own_.contains(name) && !has_null_level(name);
      });
    });
  }

  bool has_null_level(const std::string& name) const {
    const suite::Factor* factor = designed(design_, name);
    return factor != nullptr && std::any_of(factor->levels.begin(), factor->levels.end(),
                                            [](const std::optional<std::string>& level) { return !level; });
  }

  // An instruction-set level admits libraries, and which one it came to is what was observed: "best" is "zen4" here,
  // and so is every level above it. Arms that got the same library were treated alike, whatever they were told.
  std::string resolved(std::size_t arm, const std::string& name, const std::string& level) const {
    if (name != kCpuIsa || level == kUnset) return level;
    const auto& observed = arms_[arm].observed;
    if (const auto found = observed.find(name); found != observed.end()) return found->second;
    // An arm that never ran would have got what the others got that were told the same.
    for (const std::size_t other : members_) {
      const auto& seen = arms_[other].observed;
      if (seen.contains(name) && told_level(other, name) == level) return seen.at(name);
    }
    const auto own = own_.find(name);
    return level == kBest && own != own_.end() ? own->second : level;
  }

  // As the arm has it; nothing if it says nothing.
  std::optional<std::string> told_level(std::size_t arm, const std::string& name) const {
    const ArmFacts& facts = arms_[arm];
    if (facts.arm) {
      if (const auto found = facts.arm->factors.find(name); found != facts.arm->factors.end()) return found->second;
    }
    const auto& told = told_.at(arm).capabilities;
    const auto found = told.find(name);
    return found == told.end() ? std::nullopt : std::optional(found->second);
  }

  std::string capability_level(std::size_t arm, const std::string& name) const {
    if (const auto told = told_level(arm, name)) return resolved(arm, name, *told);
    if (has_null_level(name)) return kUnset;
    const auto& observed = arms_[arm].observed;
    if (const auto found = observed.find(name); found != observed.end()) return found->second;
    const auto own = own_.find(name);
    return own != own_.end() && place_of(arms_[arm]).guest.empty() ? own->second : kUnset;
  }

  std::string level_text(std::size_t arm, const std::string& name, const std::string& kind) const {
    if (kind == "capability") return capability_level(arm, name);
    const auto& facts = arms_[arm];
    if (facts.arm) {
      if (const auto found = facts.arm->factors.find(name); found != facts.arm->factors.end()) return found->second;
    }
    const Told& told = told_.at(arm);
    const auto& said = kind == "variable" ? told.variables : told.arguments;
    const auto found = said.find(name);
    return found == said.end() ? kUnset : found->second;
  }

  // Answers that nobody asked for and that differ all the same. An arm without results adds none: nothing can be said
  // of what differs only there.
  std::set<std::string> changed_unasked(const std::map<std::string, std::string>& asked) const {
    std::map<std::string, std::set<std::string>> values;
    for (const std::size_t arm : members_) {
      if (!arms_[arm].usable) continue;
      for (const auto& [name, value] : arms_[arm].observed) values[name].insert(value);
    }
    std::set<std::string> out;
    for (const auto& [name, seen] : values) {
      const bool everywhere = std::all_of(members_.begin(), members_.end(), [&](std::size_t arm) {
        return arms_[arm].observed.contains(name) || !arms_[arm].usable;
      });
      if (seen.size() > 1 && everywhere && !asked.contains(name)) out.insert(name);
    }
    return out;
  }

  void find_factors() {
    std::map<std::string, std::string> kinds;  // by name
    for (const std::size_t arm : members_) {
      const Told& told = told_.at(arm);
      for (const auto& [name, value] : told.capabilities) kinds.emplace(name, "capability");
      for (const auto& [name, value] : told.variables) kinds.emplace(name, "variable");
      for (const auto& [name, value] : told.arguments) kinds.emplace(name, "argument");
    }
    if (design_) {
      for (const suite::Factor& factor : design_->factors) {
        constexpr const char* kKinds[] = {"capability", "variable", "argument"};
        kinds.emplace(factor.name, kKinds[static_cast<std::size_t>(factor.kind)]);
      }
    }
    leave_out_unanswered(kinds);
    const std::set<std::string> unasked = changed_unasked(kinds);
    for (const auto& [name, kind] : kinds) add_factor(name, kind, true);
    for (const std::string& name : unasked) add_factor(name, "capability", false);
    shorten_labels();
  }

  // What only arms without results vary is no question that the others could answer: counted among the factors, it
  // would leave no arm with everything unlocked. A design's factors stay, since their arms are its cells, and so does
  // whatever an unlocked arm without results asked for: that arm is then what is missing.
  void leave_out_unanswered(std::map<std::string, std::string>& kinds) {
    for (auto kind = kinds.begin(); kind != kinds.end();) {
      std::set<std::string> answered;
      std::vector<std::size_t> without_results;
      for (const std::size_t arm : members_) {
        if (arms_[arm].usable) answered.insert(level_text(arm, kind->first, kind->second));
      }
      for (const std::size_t arm : members_) {
        if (!arms_[arm].usable && !answered.contains(level_text(arm, kind->first, kind->second))) {
          without_results.push_back(arm);
        }
      }
      const bool unlocked_is_missing = std::any_of(without_results.begin(), without_results.end(),
                                                   [&](std::size_t arm) { return arms_[arm].mode == kUnlocked; });
      const bool open = answered.size() == 1 && !without_results.empty() && !unlocked_is_missing &&
                        designed(design_, kind->first) == nullptr;
      if (!open) {
        ++kind;
        continue;
      }
      std::vector<std::string> names;
      for (const std::size_t arm : without_results) {
        names.push_back("`" + arms_[arm].name + "`");
        std::erase(members_, arm);
      }
      notes_.push_back(fmt::format("{} differs only in {} without usable results ({}), so nothing is known of it",
                                   kind->second == "capability" ? short_capability(kind->first) : kind->first,
                                   names.size() == 1 ? "an arm" : "arms", fmt::join(names, ", ")));
      kind = kinds.erase(kind);
    }
  }

  void add_factor(const std::string& name, const std::string& kind, bool requested) {
    VariedFactor factor = {name, name, kind, {}, requested};
    std::map<std::size_t, std::string> level_by_arm;
    std::set<std::string> seen;
    for (const std::size_t arm : members_) {
      level_by_arm[arm] = level_text(arm, name, kind);
      seen.insert(level_by_arm[arm]);
    }
    if (seen.size() < 2) return;
    factor.levels = ordered(factor, seen, level_by_arm);
    for (const auto& [arm, level] : level_by_arm) {
      const auto at = std::find(factor.levels.begin(), factor.levels.end(), level);
      levels_[arm].push_back(static_cast<std::size_t>(at - factor.levels.begin()));
    }
    factors_.push_back(std::move(factor));
  }

  std::optional<std::string> level_of_mode(const std::map<std::size_t, std::string>& level_by_arm,
                                           const char* mode) const {
    for (const auto& [arm, level] : level_by_arm) {
      if (arms_[arm].mode == mode) return level;
    }
    return std::nullopt;
  }

  std::vector<std::string> ordered(const VariedFactor& factor, const std::set<std::string>& seen,
                                   const std::map<std::size_t, std::string>& level_by_arm) const {
    std::vector<std::string> out;
    if (const suite::Factor* said = designed(design_, factor.name); said != nullptr) {
      for (const std::string& level : designed_levels(*said, level_by_arm)) {
        if (seen.contains(level) && std::find(out.begin(), out.end(), level) == out.end()) out.push_back(level);
      }
    }
    std::vector<std::string> rest;
    for (const std::string& level : seen) {
      if (std::find(out.begin(), out.end(), level) == out.end()) rest.push_back(level);
    }
    std::sort(rest.begin(), rest.end(),
              [&](const auto& a, const auto& b) { return natural_place(factor, a) < natural_place(factor, b); });
    if (!out.empty()) {
      // Levels that no design names stand between its ends.
      out.insert(out.end() - 1, rest.begin(), rest.end());
      return out;
    }
    const auto stock = level_of_mode(level_by_arm, kStock);
    const auto unlocked = level_of_mode(level_by_arm, kUnlocked);
    if (stock && unlocked && *stock != *unlocked) {
      rest.erase(std::remove_if(rest.begin(), rest.end(),
                                [&](const auto& level) { return level == *stock || level == *unlocked; }),
                 rest.end());
      rest.insert(rest.begin(), *stock);
      rest.push_back(*unlocked);
    }
    return rest;
  }

  // A design's levels in its order, each as its arms got it.
  std::vector<std::string> designed_levels(const suite::Factor& factor,
                                           const std::map<std::size_t, std::string>& level_by_arm) const {
    std::vector<std::string> out;
    for (const auto& level : factor.levels) {
      out.push_back(text_of(level));
      for (const auto& [arm, got] : level_by_arm) {
        if (factor.kind != suite::Factor::Kind::kCapability || told_level(arm, factor.name) != out.back()) continue;
        out.back() = got;
        break;
      }
    }
    return out;
  }

  static std::tuple<int, std::int64_t, std::string> natural_place(const VariedFactor& factor,
                                                                  const std::string& level) {
    if (level == kUnset) return {factor.kind == "capability" ? 0 : 3, 0, level};
    if (level == "off") return {1, 0, level};
    if (level == "on") return {2, 0, level};
    const auto isa = std::find(shim::kCpuIsaLevels.begin(), shim::kCpuIsaLevels.end(), level);
    if (factor.name == kCpuIsa && isa != shim::kCpuIsaLevels.end()) {
      return {1, isa - shim::kCpuIsaLevels.begin(), level};
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(level.data(), level.data() + level.size(), number);
    const bool is_number = error == std::errc() && end == level.data() + level.size();
    return {1, is_number ? number : 0, level};
  }

  void shorten_labels() {
    std::map<std::string, int> uses;
    for (const VariedFactor& factor : factors_) ++uses[short_capability(factor.name)];
    for (VariedFactor& factor : factors_) {
      const suite::Factor* said = designed(design_, factor.name);
      if (said != nullptr && !said->label.empty()) {
        factor.label = said->label;
      } else if (factor.kind == "capability" && uses[short_capability(factor.name)] == 1) {
        factor.label = short_capability(factor.name);
      }
    }
  }

  const std::vector<ArmFacts>& arms_;
  std::vector<std::size_t> members_;
  const std::optional<suite::Design>& design_;
  std::map<std::size_t, Told> told_;
  std::map<std::string, std::string> own_;
  std::vector<VariedFactor> factors_;
  std::vector<std::string> notes_;
  std::map<std::size_t, std::vector<std::size_t>> levels_;  // by arm
};

// Sets of factors that no arm varies together: varied is everything that is not unlocked.
std::vector<std::vector<std::size_t>> split_factors(const Comparison& comparison) {
  const std::size_t n = comparison.factors().size();
  std::vector<std::size_t> group(n);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (const std::size_t arm : comparison.members()) {
    std::vector<std::size_t> varied;
    for (std::size_t i = 0; i < n; ++i) {
      if (comparison.level(arm, i) + 1 != comparison.factors()[i].levels.size()) varied.push_back(i);
    }
    for (std::size_t k = 1; k < varied.size(); ++k) {
      const std::size_t from = group[varied[k]];
      const std::size_t to = group[varied[0]];
      std::replace(group.begin(), group.end(), from, to);
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> sets;
  for (std::size_t i = 0; i < n; ++i) sets[group[i]].push_back(i);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [name, set] : sets) out.push_back(std::move(set));
  return out;
}

// Which of the arms that were told the same stands for them: one with trials, not a control, of the mode that most arms
// of the family have, without a guest below.
class Preference {
 public:
  Preference(const std::vector<ArmFacts>& arms, const std::vector<std::size_t>& members) : arms_(arms) {
    for (const std::size_t arm : members) ++uses_[arms_[arm].mode];
  }
  bool operator()(std::size_t a, std::size_t b) const { return rank(a) < rank(b); }

 private:
  std::tuple<bool, bool, int, bool, std::size_t> rank(std::size_t i) const {
    const ArmFacts& facts = arms_[i];
    const auto is_control = [](const std::string& role) {
      return role != suite::kRoleStock && role != suite::kRoleUnlocked;
    };
    const bool control = facts.arm && std::any_of(facts.arm->roles.begin(), facts.arm->roles.end(), is_control);
    return {!facts.usable, control, -uses_.at(facts.mode), !facts.guest.empty(), i};
  }
  const std::vector<ArmFacts>& arms_;
  std::map<std::string, int> uses_;
};

std::optional<FactorFamily> family_of(const std::vector<ArmFacts>& arms, const Comparison& comparison,
                                      const std::vector<std::size_t>& factors) {
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> arms_by_levels;
  std::vector<std::size_t> members;
  for (const std::size_t arm : comparison.members()) {
    bool elsewhere_unlocked = true;
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < comparison.factors().size(); ++i) {
      if (std::find(factors.begin(), factors.end(), i) != factors.end()) {
        levels.push_back(comparison.level(arm, i));
      } else {
        elsewhere_unlocked =
            elsewhere_unlocked && comparison.level(arm, i) + 1 == comparison.factors()[i].levels.size();
      }
    }
    if (!elsewhere_unlocked) continue;
    arms_by_levels[levels].push_back(arm);
    members.push_back(arm);
  }
  if (arms_by_levels.size() < 2) return std::nullopt;
  FactorFamily family;
  for (const std::size_t i : factors) family.factors.push_back(comparison.factors()[i]);
  const Preference preference(arms, members);
  for (auto& [levels, alike] : arms_by_levels) {
    std::sort(alike.begin(), alike.end(), preference);
    FactorFamily::Cell cell = {alike.front(), levels, {alike.begin() + 1, alike.end()}};
    family.cells.push_back(std::move(cell));
  }
  std::sort(family.cells.begin(), family.cells.end(), [](const auto& a, const auto& b) { return a.arm < b.arm; });
  if (family.factors.size() > kMostFactors) {
    family.notes.push_back(fmt::format("{} factors vary together, more than the {} that one analysis takes",
                                       family.factors.size(), kMostFactors));
  }
  return family;
}

}  // namespace

std::string short_capability(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::vector<FactorFamily> factor_families(const std::vector<ArmFacts>& arms,
                                          const std::optional<suite::Design>& design) {
  std::map<Place, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < arms.size(); ++i) places[place_of(arms[i])].push_back(i);
  std::vector<FactorFamily> families;
  for (auto& [place, members] : places) {
    if (members.size() < 2) continue;
    const Comparison comparison(arms, members, design);
    for (const std::vector<std::size_t>& factors : split_factors(comparison)) {
      std::optional<FactorFamily> family = family_of(arms, comparison, factors);
      if (!family) continue;
      family->place = place_text(place);
      family->notes.insert(family->notes.end(), comparison.notes().begin(), comparison.notes().end());
      families.push_back(std::move(*family));
    }
  }
  return families;
}

}  // namespace capbench::reports
