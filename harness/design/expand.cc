#include "harness/design/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "harness/design/fraction.h"
#include "harness/suite/machine.h"

namespace capbench::design {
namespace {

using suite::Arm;
using suite::Design;
using suite::DesignKind;
using suite::Factor;
using Targets = std::map<std::string, suite::TargetSpec>;

constexpr std::size_t kNameBytes = 100;  // of an arm
constexpr std::string_view kImpossibleDevice = "NoSuchDevice0";

// Short names that people who know the capabilities use.
constexpr auto kShortNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"vulkan.cooperative_matrix", "coopmat"},
    {"vulkan.cooperative_matrix2", "coopmat2"},
    {"vulkan.cooperative_matrix_decode_vector", "coopmat2v"},
    {"vulkan.shader_float16", "float16"},
    {"vulkan.integer_dot_product", "int-dot"},
    {"vulkan.mixed_float_dot_product", "dot2"},
    {"vulkan.max_compute_shared_memory", "shared-memory"},
    {"metal.apple_family", "apple"},
    {"metal.max_threadgroup_memory", "threadgroup"},
    {"cpu.isa", "isa"},
});

// One cell: the index of a level for each factor.
using Cell = std::vector<std::size_t>;

std::size_t last_of(const Factor& factor) {
  return factor.levels.size() - 1;
}

// Off and on are named by the factor alone.
bool is_switch(const Factor& factor) {
  return factor.levels.size() == 2 && factor.levels[0] == "off" && factor.levels[1] == "on";
}

// A variable's value may be any text; a name is short, plain and has no '/'.
std::string setting(const Factor& factor, std::size_t level) {
  constexpr std::size_t kShown = 40;
  std::string text = level_text(factor.levels[level]);
  for (char& c : text) {
    if (c == '/' || c < 0x20 || c > 0x7E) c = '_';
  }
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return factor_label(factor) + "=" + text;
}

// Of the full factorial; saturates, since twenty factors of 32 levels are more than any integer.
std::size_t cell_count(const std::vector<Factor>& factors) {
  std::size_t count = 1;
  for (const Factor& factor : factors) count = std::min(kMostArms + 1, count * factor.levels.size());
  return count;
}

std::string cell_name(const std::vector<Factor>& factors, const Cell& cell) {
  std::string name = "f:";
  for (std::size_t i = 0; i < factors.size(); ++i) name += " " + setting(factors[i], cell[i]);
  if (name.size() <= kNameBytes) return name;
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";  // as many as a factor may have levels
  name = "f: ";
  for (const std::size_t level : cell) name += kDigits[std::min(level, kDigits.size() - 1)];
  return name;
}

class Expansion {
 public:
  Expansion(const Design& design, const Targets& targets) : design_(design), targets_(targets) {
    has_guest_ = !design.base.guest.empty() || !suite::guest_of(design.base.target, targets).empty();
    low_ = Cell(design.factors.size(), 0);
    for (const Factor& factor : design.factors) high_.push_back(last_of(factor));
  }

  Result<std::vector<Arm>> run() && {
    if (auto status = check(); !status) return std::move(status).error();
    low_name_ = reference_name(low_, suite::kRoleStock, "lowered");
    high_name_ = reference_name(high_, suite::kRoleUnlocked, "full");
    add(low_, low_name_, {std::string(suite::kRoleStock)});
    for (const DesignKind kind : design_.kinds) add_cells(kind);
    add(high_, high_name_, {std::string(suite::kRoleUnlocked)});
    for (const std::string& control : design_.controls) {
      if (auto status = add_control(control); !status) return std::move(status).error();
    }
    if (arms_.size() > kMostArms) return too_many();
    std::set<std::string_view> names;
    for (const Arm& arm : arms_) {
      if (arm.name.size() > kNameBytes) {
        return Error{
            ErrorKind::kUsage, "$.design.factors",
            fmt::format("they make an arm's name of {} bytes; expected at most {}", arm.name.size(), kNameBytes),
            R"(a short "label" for each factor)"};
      }
      if (!names.insert(arm.name).second) {
        return Error{ErrorKind::kUsage, "$.design.factors", fmt::format("two arms would be named \"{}\"", arm.name),
                     R"(a "label" of its own for each factor, and levels that differ in their first 40 bytes)"};
      }
    }
    return std::move(arms_);
  }

 private:
  static Error too_many() {
    return Error{ErrorKind::kUsage, "$.design", fmt::format("makes more than {} arms", kMostArms),
                 R"(fewer factors or levels, or "kind": ["leave-one-out", "one-at-a-time"])"};
  }

  Status check() const {
    for (std::size_t i = 0; i < design_.factors.size(); ++i) {
      const Factor& factor = design_.factors[i];
      const auto wrong = [&](std::string cause, std::string remedy) {
        return Error{ErrorKind::kUsage, fmt::format("$.design.factors[{}].levels", i), std::move(cause),
                     std::move(remedy)};
      };
      if (factor.levels.size() < 2) return wrong("fewer than two levels", "a stock level and an unlocked one");
      for (const DesignKind kind : design_.kinds) {
        if (factor.levels.size() == 2 || kind == DesignKind::kFullFactorial || kind == DesignKind::kOneAtATime) {
          continue;
        }
        return wrong(
            fmt::format("{} levels, and a {} design has two of each factor", factor.levels.size(), kind_name(kind)),
            R"(the first and the last, or "kind": "full-factorial")");
      }
    }
    const bool fractional =
        std::find(design_.kinds.begin(), design_.kinds.end(), DesignKind::kFractional) != design_.kinds.end();
    if (fractional && !find_fraction(design_.factors.size(), design_.resolution)) {
      const bool few = design_.factors.size() < kFewestFractionFactors;
      return Error{
          ErrorKind::kUsage, "$.design.kind",
          fmt::format("there is no fraction of resolution {} for {} factors; expected {} to {}", design_.resolution,
                      design_.factors.size(), kFewestFractionFactors, kMostFractionFactors),
          few ? R"("full-factorial", which is small here)"
              : (design_.resolution > 4 ? R"("resolution": 4, "full-factorial", or fewer factors)"
                                        : R"(["leave-one-out", "one-at-a-time"], or fewer factors)")};
    }
    const bool full =
        std::find(design_.kinds.begin(), design_.kinds.end(), DesignKind::kFullFactorial) != design_.kinds.end();
    if (full && cell_count(design_.factors) > kMostArms) return too_many();
    return {};
  }

  // The base with one level of each factor laid over it; named and moded later.
  Arm arm_of(const Cell& cell) const {
    const suite::DesignBase& base = design_.base;
    Arm arm;
    arm.mode = base.mode;
    arm.target = base.target;
    arm.guest = base.guest;
    arm.set = base.set;
    arm.env = base.env;
    arm.device = base.device;
    arm.shim = base.shim;
    arm.executable = base.executable;
    arm.args = base.args;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const Factor& factor = design_.factors[i];
      const auto& level = factor.levels[cell[i]];
      arm.factors[factor.name] = level_text(level);
      if (!level) continue;
      switch (factor.kind) {
        case Factor::Kind::kCapability: {
          const auto answered = arm.guest.find(factor.name);
          if (answered == arm.guest.end() || answered->second != *level) arm.set[factor.name] = *level;
          break;
        }
        case Factor::Kind::kEnvironment:
          arm.env[factor.name] = *level;
          break;
        case Factor::Kind::kArgument:
          arm.args.push_back(factor.name);
          arm.args.push_back(*level);
          break;
      }
    }
    if (arm.set.empty() && arm.guest.empty()) arm.shim.clear();
    return arm;
  }

  std::string mode_of(const Arm& arm, const Cell& cell) const {
    if (has_guest_ && cell == low_ && arm.set.empty()) return std::string(suite::kRoleStock);
    if (has_guest_ && cell == high_ && !arm.set.empty()) return std::string(suite::kRoleUnlocked);
    return design_.base.mode;
  }

  std::string reference_name(const Cell& cell, std::string_view mode, std::string_view otherwise) const {
    return std::string(mode_of(arm_of(cell), cell) == mode ? mode : otherwise);
  }

  // A cell that is there already keeps its name and learns what else it is.
  void add(const Cell& cell, std::string name, std::vector<std::string> roles) {
    Arm arm = arm_of(cell);
    arm.mode = mode_of(arm, cell);
    arm.name = std::move(name);
    arm.roles = std::move(roles);
    merge(std::move(arm));
  }

  void merge(Arm arm) {
    for (Arm& there : arms_) {
      if (!same_treatment(there, arm)) continue;
      there.roles.insert(there.roles.end(), arm.roles.begin(), arm.roles.end());
      std::sort(there.roles.begin(), there.roles.end());
      there.roles.erase(std::unique(there.roles.begin(), there.roles.end()), there.roles.end());
      return;
    }
    arms_.push_back(std::move(arm));
  }

  void add_cells(DesignKind kind) {
    switch (kind) {
      case DesignKind::kOneAtATime:
        return add_one_at_a_time();
      case DesignKind::kLeaveOneOut:
        return add_leave_one_out();
      case DesignKind::kFullFactorial:
        return add_full_factorial();
      case DesignKind::kFractional:
        return add_fraction();
    }
  }

  void add_one_at_a_time() {
    for (std::size_t i = 0; i < design_.factors.size(); ++i) {
      const Factor& factor = design_.factors[i];
      for (std::size_t level = 1; level < factor.levels.size(); ++level) {
        Cell cell = low_;
        cell[i] = level;
        if (cell == high_) continue;  // of a single factor: it is the unlocked reference
        add(cell, low_name_ + (is_switch(factor) ? " + " + factor_label(factor) : ", " + setting(factor, level)), {});
      }
    }
  }

  void add_leave_one_out() {
    for (std::size_t i = 0; i < design_.factors.size(); ++i) {
      const Factor& factor = design_.factors[i];
      Cell cell = high_;
      cell[i] = 0;
      if (cell == low_) continue;
      add(cell, high_name_ + (is_switch(factor) ? " - " + factor_label(factor) : ", " + setting(factor, 0)), {});
    }
  }

  void add_full_factorial() {
    // The first factor changes slowest, as its name stands first.
    Cell cell = low_;
    while (true) {
      if (cell != low_ && cell != high_) add(cell, cell_name(design_.factors, cell), {});
      std::size_t i = cell.size();
      while (i > 0 && cell[i - 1] == high_[i - 1]) cell[--i] = 0;
      if (i == 0) return;
      ++cell[i - 1];
    }
  }

  void add_fraction() {
    const auto fraction = find_fraction(design_.factors.size(), design_.resolution);
    for (const Word high : fraction_cells(*fraction)) {
      Cell cell = low_;
      for (std::size_t i = 0; i < cell.size(); ++i) {
        if ((high >> i & 1U) != 0) cell[i] = high_[i];
      }
      if (cell != low_ && cell != high_) add(cell, cell_name(design_.factors, cell), {});
    }
  }

  Status add_control(const std::string& control) {
    Arm arm;
    if (control == suite::kRolePlacebo) {
      auto made = placebo();
      if (!made) return std::move(made).error();
      arm = std::move(*made);
    } else if (control == suite::kRoleBareMetal || control == suite::kRoleBareMetalWithShim) {
      arm = bare_metal();
      if (control == suite::kRoleBareMetalWithShim) {
        set_levels(high_, arm.set);
        if (arm.set.empty()) return no_capability(control, "last");
        arm.shim = design_.base.shim;
      }
    } else {
      arm = without_gpu_guest();
      arm.device = control == suite::kRoleCpuOnly ? "none" : std::string(kImpossibleDevice);
      arm.expected_to_fail = control == suite::kRoleExpectedFailure;
    }
    arm.factors.clear();
    arm.name = control;
    arm.mode = control;
    arm.roles = {control};
    merge(std::move(arm));
    return {};
  }

  Error no_capability(const std::string& control, std::string_view end) const {
    return Error{ErrorKind::kUsage, "$.design.controls",
                 fmt::format("\"{}\" needs a capability with a {} level other than null", control, end),
                 fmt::format(R"(remove "{}", or write the level that the device answers)", control)};
  }

  // The levels of the capabilities in that cell, where they have one.
  void set_levels(const Cell& cell, std::map<std::string, std::string>& set) const {
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const Factor& factor = design_.factors[i];
      if (factor.kind != Factor::Kind::kCapability) continue;
      if (const auto& level = factor.levels[cell[i]]) set[factor.name] = *level;
    }
  }

  // The shim says what is answered anyway: what the stand-in answers; in another guest the first levels; without a
  // guest the last ones.
  Result<Arm> placebo() const {
    Arm arm = arm_of(has_guest_ ? low_ : high_);
    arm.set = design_.base.set;
    if (!design_.base.guest.empty()) {
      arm.set.insert(arm.guest.begin(), arm.guest.end());
    } else {
      set_levels(has_guest_ ? low_ : high_, arm.set);
    }
    if (arm.set.empty()) {
      return no_capability(std::string(suite::kRolePlacebo), has_guest_ ? "first" : "last");
    }
    arm.shim = design_.base.shim;
    return arm;
  }

  Arm bare_metal() const {
    Arm arm = arm_of(high_);
    arm.target = suite::machine_of(design_.base.target, targets_);
    arm.guest.clear();
    arm.set.clear();
    arm.shim.clear();
    return arm;
  }

  // The stock guest, but for what a stand-in says of a GPU: nobody would ask it.
  Arm without_gpu_guest() const {
    Arm arm = arm_of(low_);
    arm.set.clear();
    std::erase_if(arm.guest, [](const auto& answer) { return !answer.first.starts_with("cpu."); });
    if (arm.guest.empty()) arm.shim.clear();
    return arm;
  }

  const Design& design_;
  const Targets& targets_;
  bool has_guest_ = false;
  Cell low_;
  Cell high_;
  std::string low_name_;
  std::string high_name_;
  std::vector<Arm> arms_;
};

}  // namespace

std::string_view kind_name(DesignKind kind) {
  switch (kind) {
    case DesignKind::kOneAtATime:
      return "one-at-a-time";
    case DesignKind::kLeaveOneOut:
      return "leave-one-out";
    case DesignKind::kFullFactorial:
      return "full-factorial";
    case DesignKind::kFractional:
      return "fractional";
  }
  return "";
}

std::string factor_label(const Factor& factor) {
  if (!factor.label.empty()) return factor.label;
  if (factor.kind != Factor::Kind::kCapability) return factor.name;
  for (const auto& [name, label] : kShortNames) {
    if (name == factor.name) return std::string(label);
  }
  return factor.name.substr(factor.name.find('.') + 1);
}

std::string level_text(const std::optional<std::string>& level) {
  return level ? *level : std::string(suite::kUnset);
}

Result<std::vector<Arm>> expand(const Design& design, const Targets& targets) {
  return Expansion(design, targets).run();
}

Status expand_into(suite::Suite& suite) {
  suite.arms.resize(suite.arms.size() - std::min(suite.designed_arms, suite.arms.size()));
  suite.designed_arms = 0;
  for (Arm& arm : suite.arms) {
    arm.factors.clear();
    arm.roles.clear();
  }
  if (!suite.design) return {};
  auto made = expand(*suite.design, suite.targets);
  if (!made) return std::move(made).error();
  const std::size_t written = suite.arms.size();
  for (Arm& arm : *made) {
    const auto end = suite.arms.begin() + static_cast<std::ptrdiff_t>(written);
    const auto same =
        std::find_if(suite.arms.begin(), end, [&](const Arm& other) { return same_treatment(other, arm); });
    if (same != end) {
      same->factors = std::move(arm.factors);
      same->roles = std::move(arm.roles);
      continue;
    }
    const auto named = std::find_if(suite.arms.begin(), end, [&](const Arm& other) { return other.name == arm.name; });
    if (named != end) {
      return Error{ErrorKind::kUsage, fmt::format("$.arms[{}].name", named - suite.arms.begin()),
                   fmt::format("\"{}\" is also the name of an arm of the design, which is another treatment", arm.name),
                   "another name"};
    }
    suite.arms.push_back(std::move(arm));
    ++suite.designed_arms;
  }
  return {};
}

bool same_treatment(const Arm& a, const Arm& b) {
  return a.target == b.target && a.guest == b.guest && a.set == b.set && a.env == b.env && a.device == b.device &&
         a.shim == b.shim && a.executable == b.executable && a.args == b.args &&
         a.expected_to_fail == b.expected_to_fail;
}

}  // namespace capbench::design
