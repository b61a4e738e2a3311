#include "shim/emulate/capability_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace capbench::emulate {
namespace {

using models::TensorType;

constexpr std::size_t kMaxCombinations = 4096;
constexpr std::size_t kRandomChecks = 32;
constexpr std::uint32_t kSeed = 20'260'928;
constexpr std::chrono::seconds kMaxTime{300};
constexpr std::int64_t kMib = 1 << 20U;

constexpr std::string_view kDeviceName = "device name";
constexpr std::string_view kTensorCompiler = "tensor compiler";

// A level index per factor.
using Point = std::vector<std::size_t>;

// One operator that is asked about.
struct Use {
  std::string situation;
  std::string role;
  std::string op;
  std::string types;
  Address tensor = 0;
};

struct Outcome {
  std::map<std::string, bool> flags;           // of properties
  std::map<std::string, std::string> numbers;  // of properties
  std::vector<bool> taken;                     // by use
  std::vector<Asked> asked;
  std::string failure;

  bool same_answers(const Outcome& other) const {
    return flags == other.flags && taken == other.taken && failure.empty() == other.failure.empty();
  }
};

// A mixture of experts in place of the feed-forward part.
ModelLayer with_experts(ModelLayer layer) {
  constexpr std::uint64_t kExperts = 8;
  const LayerWeight* const up = layer.find("ffn_up");
  if (up == nullptr || layer.experts != 0) return layer;
  const std::uint64_t inner = up->shape[1];
  const std::vector<TensorType> types{up->types.front()};
  layer.experts = kExperts;
  layer.experts_used = 2;
  layer.weights["ffn_gate_inp"] = {{layer.width, kExperts}, {TensorType::kF32}};
  layer.weights["ffn_up_exps"] = {{layer.width, inner, kExperts}, types};
  layer.weights["ffn_gate_exps"] = {{layer.width, inner, kExperts}, types};
  layer.weights["ffn_down_exps"] = {{inner, layer.width, kExperts}, types};
  return layer;
}

struct Variant {
  std::string name;  // what failures call it
  ModelLayer layer;
  Situation situation;
};

// The model itself, and what other models would ask: the usual weight and cache types, and experts.
std::vector<Variant> variants_of(const ModelLayer& model, std::uint64_t prompt) {
  std::vector<Variant> variants;
  for (const Situation& situation : situations_of(prompt)) {
    variants.push_back({"the model", model, situation});
    for (const TensorType type : {TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0, TensorType::kQ4_0}) {
      const std::string name(models::tensor_type_info(type).name);
      if (!situation.flash_attention) variants.push_back({name + " weights", with_weight_type(model, type), situation});
    }
    for (const TensorType type : {TensorType::kBF16, TensorType::kQ8_0}) {
      const std::string name(models::tensor_type_info(type).name);
      Situation other = situation;
      other.shape.cache = type;
      if (situation.flash_attention) variants.push_back({name + " cache", model, other});
    }
    if (!situation.flash_attention) variants.push_back({"experts", with_experts(model), situation});
  }
  return variants;
}

class Mapper {
 public:
  Mapper(Ggml& ggml, const DeviceProfile& guest) : ggml_(ggml), guest_(guest) {}

  // Builds the operators before anything has been asked of the device.
  void build(const std::vector<Variant>& variants, CapabilityMap& map) {
    for (const Variant& variant : variants) {
      const Process::Snapshot before = ggml_.process().save();
      const auto layer = build_decoder_layer(ggml_, variant.layer, variant.situation.shape);
      if (!layer.ok()) {
        ggml_.restore(before, guest_);
        map.not_asked.push_back(fmt::format("{}: {}", variant.name, layer.error().cause));
        continue;
      }
      const std::string situation = variant.situation.name + (variant.situation.flash_attention ? " fa" : "");
      for (const LayerOperator& op : *layer) uses_.push_back({situation, op.role, op.op, op.types, op.tensor});
    }
    start_ = ggml_.process().save();
  }

  // Then the outcomes mean nothing.
  bool out_of_time() const { return out_of_time_; }

  const std::vector<Use>& uses() const { return uses_; }
  std::vector<Factor>& factors() { return factors_; }
  const std::map<Point, Outcome>& outcomes() const { return outcomes_; }

  DeviceProfile device_at(const Point& point) const {
    DeviceProfile device = guest_;
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      const std::int64_t level = factors_[i].levels[point[i]];
      if (factors_[i].name == kDeviceName) {
        device.device = level != 0 ? "Apple M5" : "Apple Paravirtual device";
      } else if (factors_[i].name == kTensorCompiler) {
        device.tensor_compiler = level != 0;
      } else {
        set_capability(device, factors_[i].name, level);
      }
    }
    return device;
  }

  const Outcome& run(const Point& point) {
    const auto known = outcomes_.find(point);
    if (known != outcomes_.end()) return known->second;
    return outcomes_.emplace(point, run(device_at(point))).first->second;
  }

  Outcome run(const DeviceProfile& device) {
    Outcome outcome;
    outcome.taken.resize(uses_.size());
    if (std::chrono::steady_clock::now() - began_ > kMaxTime) {
      out_of_time_ = true;
      return outcome;
    }
    ggml_.restore(start_, device);
    const Status status = ggml_.initialise();
    if (status.ok()) {
      for (const auto& [name, value] : ggml_.logged_properties()) {
        if (value == "true" || value == "false") {
          outcome.flags[name] = value == "true";
        } else {
          outcome.numbers[name] = value;
        }
      }
      for (std::size_t i = 0; i < uses_.size(); ++i) outcome.taken[i] = ggml_.supports(uses_[i].tensor);
    }
    outcome.asked = ggml_.device().asked();
    const Machine& machine = ggml_.process().machine();
    if (!status.ok()) outcome.failure = status.error().cause;
    if (machine.failed()) outcome.failure = machine.error()->cause;
    return outcome;
  }

  // What the library asks is what is varied. It may ask more of a device that says yes, so both ends are asked.
  void find_factors() {
    std::set<std::int64_t> families;
    std::set<std::string> selectors;
    DeviceProfile least = guest_;
    DeviceProfile most = guest_;
    most.device = "Apple M5";
    most.tensor_compiler = true;
    for (const auto& [name, high] : {std::pair{"metal.apple_family", 1999},
                                     {"metal.mac_family", 2999},
                                     {"metal.common_family", 3999},
                                     {"metal.metal_family", 5999}}) {
      set_capability(least, name, 0);
      set_capability(most, name, high);
    }
    for (const DeviceProfile& device : {least, most}) {
      for (const Asked& asked : run(device).asked) {
        selectors.insert(asked.selector);
        if (asked.selector == "supportsFamily:") families.insert(std::strtoll(asked.argument.c_str(), nullptr, 10));
      }
    }
    for (const auto& [name, first] : {std::pair{"metal.apple_family", 1000},
                                      {"metal.mac_family", 2000},
                                      {"metal.common_family", 3000},
                                      {"metal.metal_family", 5000}}) {
      Factor factor{name, {0}, {}};
      for (const std::int64_t family : families) {
        if (family > first && family < first + 1000) factor.levels.push_back(family);
      }
      if (factor.levels.size() > 1) factors_.push_back(std::move(factor));
    }
    const auto add = [&](std::string_view selector, std::string_view name, std::vector<std::int64_t> levels) {
      if (selectors.contains(std::string(selector))) factors_.push_back({std::string(name), std::move(levels), {}});
    };
    add("maxThreadgroupMemoryLength", "metal.max_threadgroup_memory", {4096, 16384, 32768, 65536});
    add("recommendedMaxWorkingSetSize", "metal.recommended_working_set", {512 * kMib, 16384 * kMib});
    add("maxBufferLength", "metal.max_buffer_length", {256 * kMib, 8192 * kMib});
    add("hasUnifiedMemory", "metal.unified_memory", {0, 1});
    add("supportsBfloat16Format", "metal.bfloat", {0, 1});
    add("name", kDeviceName, {0, 1});
    add("newLibraryWithSource:options:error:", kTensorCompiler, {0, 1});
  }

  Point lowest() const {
    Point point(factors_.size());
    return point;
  }
  Point highest() const {
    Point point;
    for (const Factor& factor : factors_) point.push_back(factor.levels.size() - 1);
    return point;
  }

  // One factor at a time, from both ends; the levels at which an answer changes are its steps.
  void find_steps() {
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      std::set<std::size_t> steps{0};
      for (Point point : {lowest(), highest()}) {
        point[i] = 0;
        Outcome before = run(point);
        for (std::size_t level = 1; level < factors_[i].levels.size(); ++level) {
          point[i] = level;
          const Outcome& after = run(point);
          if (!after.same_answers(before)) steps.insert(level);
          before = after;
        }
      }
      steps_.emplace_back(steps.begin(), steps.end());
      for (const std::size_t level : steps) factors_[i].steps.push_back(factors_[i].levels[level]);
    }
  }

  // All combinations of the steps, the lowest first in every factor.
  Result<std::vector<Point>> combinations() const {
    std::vector<Point> points{lowest()};
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      if (points.size() * steps_[i].size() > kMaxCombinations) {
        return Error{ErrorKind::kUsage, "the map", fmt::format("more than {} devices to try", kMaxCombinations),
                     "explain without --map"};
      }
      std::vector<Point> more;
      for (const Point& point : points) {
        for (const std::size_t level : steps_[i]) {
          more.push_back(point);
          more.back()[i] = level;
        }
      }
      points = std::move(more);
    }
    return points;
  }

  std::vector<Point> random_points() const {
    std::mt19937 draw(kSeed);
    std::vector<Point> points;
    for (std::size_t n = 0; n < kRandomChecks; ++n) {
      Point point;
      for (const Factor& factor : factors_) point.push_back(draw() % factor.levels.size());
      points.push_back(std::move(point));
    }
    return points;
  }

  // The least points, of those, at which the outcome is yes.
  template <class IsYes>
  Needs needs(const std::vector<Point>& points, IsYes is_yes) const {
    std::vector<Point> least;
    const auto below = [](const Point& a, const Point& b) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) return false;
      }
      return true;
    };
    for (const Point& point : points) {
      if (!is_yes(outcomes_.at(point))) continue;
      if (std::any_of(least.begin(), least.end(), [&](const Point& other) { return below(other, point); })) continue;
      std::erase_if(least, [&](const Point& other) { return below(point, other); });
      least.push_back(point);
    }
    Needs result;
    for (const Point& point : least) {
      Answers answers;
      for (std::size_t i = 0; i < point.size(); ++i) {
        if (point[i] != 0) answers.all.push_back({i, factors_[i].levels[point[i]]});
      }
      result.push_back(std::move(answers));
    }
    // Fewest answers first, then by factor and level: the order in which combinations() lists them differs.
    std::sort(result.begin(), result.end(), [](const Answers& a, const Answers& b) {
      const auto key = [](const Answers& answers) {
        std::vector<std::pair<std::size_t, std::int64_t>> parts;
        for (const Answers::AtLeast& part : answers.all) parts.emplace_back(part.factor, part.level);
        return std::pair(parts.size(), parts);
      };
      return key(a) < key(b);
    });
    return result;
  }

  bool predicts(const Needs& needs, const Point& point) const {
    return std::any_of(needs.begin(), needs.end(), [&](const Answers& answers) {
      return std::all_of(answers.all.begin(), answers.all.end(), [&](const Answers::AtLeast& part) {
        return factors_[part.factor].levels[point[part.factor]] >= part.level;
      });
    });
  }

 private:
  Ggml& ggml_;
  const DeviceProfile& guest_;
  std::vector<Use> uses_;
  Process::Snapshot start_;
  std::vector<Factor> factors_;
  std::vector<std::vector<std::size_t>> steps_;  // level indices, by factor
  std::map<Point, Outcome> outcomes_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool out_of_time_ = false;
};

void add_unique(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// Uses of one operator with equal needs are one row.
std::vector<OperatorNeeds> group(const std::vector<Use>& uses, const std::vector<Needs>& needs) {
  std::vector<OperatorNeeds> rows;
  std::map<std::string, std::size_t> rows_of;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const OperatorNeeds& candidate) {
      return candidate.op == uses[i].op && candidate.needs == needs[i];
    });
    if (row == rows.end()) {
      ++rows_of[uses[i].op];
      row = rows.insert(rows.end(), {uses[i].op, {}, {}, {}, false, needs[i]});
    }
    add_unique(row->types, uses[i].types);
    add_unique(row->roles, uses[i].role);
    add_unique(row->situations, uses[i].situation);
  }
  for (OperatorNeeds& row : rows) row.whole = rows_of[row.op] == 1;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OperatorNeeds& a, const OperatorNeeds& b) { return a.op < b.op; });
  return rows;
}

std::string point_text(const std::vector<Factor>& factors, const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", factors[i].name, factors[i].levels[point[i]]);
  }
  return text;
}

}  // namespace

Result<CapabilityMap> map_capabilities(const ExplainInput& input) {
  if (!input.shim.empty()) {
    return Error{ErrorKind::kUsage, "--map with --shim", "the map varies the device's own answers",
                 "--map without --shim"};
  }
  auto libraries = read_ggml(input.library, "");
  if (!libraries.ok()) return libraries.error();
  auto loaded = Ggml::load(*libraries, input.guest, input.environment);
  if (!loaded.ok()) return loaded.error();

  CapabilityMap map;
  map.library = identify(input, *libraries);
  map.library.ggml = (*loaded)->version();
  map.model = input.model.model;
  Mapper mapper(**loaded, input.guest);
  mapper.build(variants_of(input.model, input.prompt), map);
  // Nothing varies if the library does not even start with the guest as it is.
  const Outcome as_given = mapper.run(input.guest);
  if (!as_given.failure.empty()) {
    return Error{ErrorKind::kUsage, map.library.name, as_given.failure, "a release that is known to run"};
  }
  mapper.find_factors();
  mapper.find_steps();
  const auto points = mapper.combinations();
  if (!points.ok()) return points.error();
  for (const Point& point : *points) mapper.run(point);
  const std::size_t before = mapper.outcomes().size();
  for (const Point& point : mapper.random_points()) mapper.run(point);
  if (mapper.out_of_time()) {
    return Error{ErrorKind::kUsage, map.library.name, fmt::format("not mapped after {} s", kMaxTime.count()),
                 "a release that is known to run, or a faster machine"};
  }
  map.factors = mapper.factors();
  map.runs = mapper.outcomes().size();
  map.checked = map.runs - before;

  std::set<std::string> flags;
  std::set<std::string> numbers;
  for (const auto& [point, outcome] : mapper.outcomes()) {
    for (const auto& flag : outcome.flags) flags.insert(flag.first);
    for (const auto& number : outcome.numbers) numbers.insert(number.first);
    if (!outcome.failure.empty() && map.failures.size() < 8) {
      map.failures.push_back(point_text(map.factors, point) + ": " + outcome.failure);
    }
  }
  const auto count_contradictions = [&](const Needs& needs, auto is_yes) {
    for (const auto& [point, outcome] : mapper.outcomes()) {
      if (mapper.predicts(needs, point) != is_yes(outcome)) ++map.contradictions;
    }
  };
  for (const std::string& name : flags) {
    const auto is_yes = [&name](const Outcome& outcome) {
      const auto found = outcome.flags.find(name);
      return found != outcome.flags.end() && found->second;
    };
    map.properties.push_back({name, mapper.needs(*points, is_yes)});
    count_contradictions(map.properties.back().needs, is_yes);
  }
  for (const std::string& name : numbers) {
    PropertyFollows follows{name, {}};
    const auto value = [&name](const Outcome& outcome) {
      const auto found = outcome.numbers.find(name);
      return found == outcome.numbers.end() ? std::string() : found->second;
    };
    for (std::size_t i = 0; i < map.factors.size(); ++i) {
      bool changes = false;
      for (Point point : {mapper.lowest(), mapper.highest()}) {
        point[i] = 0;
        const std::string first = value(mapper.outcomes().at(point));
        for (std::size_t level = 1; level < map.factors[i].levels.size(); ++level) {
          point[i] = level;
          changes = changes || value(mapper.outcomes().at(point)) != first;
        }
      }
      if (changes) follows.factors.push_back(i);
    }
    if (!follows.factors.empty()) map.follows.push_back(std::move(follows));
  }
  std::vector<Needs> by_use;
  for (std::size_t i = 0; i < mapper.uses().size(); ++i) {
    const auto is_yes = [i](const Outcome& outcome) { return static_cast<bool>(outcome.taken[i]); };
    by_use.push_back(mapper.needs(*points, is_yes));
    count_contradictions(by_use.back(), is_yes);
  }
  map.operators = group(mapper.uses(), by_use);
  return map;
}

}  // namespace capbench::emulate
