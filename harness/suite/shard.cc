#include "harness/suite/shard.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace capbench::suite {
namespace {

// Far beyond what a scheduler's array can hold.
constexpr std::size_t kMost = 1'000'000;

// Digits only, without a sign or blanks.
bool read_number(std::string_view text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= kMost;
}

// Of each machine, by name, its place in the order that blocks are dealt in.
std::map<std::string, std::size_t> machine_places(const Suite& suite) {
  std::map<std::string, std::size_t> places;
  for (const Arm& arm : suite.arms) places.emplace(machine_of(suite, arm), 0);
  std::size_t place = 0;
  for (auto& [machine, number] : places) number = place++;
  return places;
}

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  Shard shard;
  if (slash == std::string_view::npos || !read_number(text.substr(0, slash), shard.index) ||
      !read_number(text.substr(slash + 1), shard.count) || shard.index > shard.count) {
    return Error{ErrorKind::kUsage, fmt::format("--shard {}", text), "is not I/N with I from 1 to N",
                 "--shard 2/8 for the second of eight"};
  }
  return shard;
}

std::string to_string(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

std::size_t shards_at_most(const Suite& suite) {
  return machine_places(suite).size() * static_cast<std::size_t>(suite.protocol.trials);
}

Status check_shard(const Suite& suite, const Shard& shard) {
  if (shard.is_whole()) return {};
  if (suite.protocol.until) {
    return Error{ErrorKind::kUsage, "--shard " + to_string(shard),
                 "the suite adds blocks until its intervals are narrow, which no shard can see alone",
                 "a fixed number of `trials` instead of `until`"};
  }
  const std::size_t most = shards_at_most(suite);
  if (shard.count > most) {
    return Error{
        ErrorKind::kUsage, "--shard " + to_string(shard),
        fmt::format("blocks are not split, and the suite has {} ({} on each machine)", most, suite.protocol.trials),
        fmt::format("at most {} shards", most)};
  }
  return {};
}

void keep_shard(const Suite& suite, const Shard& shard, std::vector<PlannedTrial>& plan) {
  if (shard.is_whole()) return;
  const auto places = machine_places(suite);
  const auto blocks = static_cast<std::size_t>(suite.protocol.trials);
  const std::size_t units = places.size() * blocks;
  const std::size_t begin = (shard.index - 1) * units / shard.count;
  const std::size_t end = shard.index * units / shard.count;
  const auto holds = [&](std::size_t unit) { return unit >= begin && unit < end; };

  std::set<std::size_t> measured_here;  // places of machines
  for (std::size_t unit = begin; unit < end; ++unit) measured_here.insert(unit / blocks);
  std::erase_if(plan, [&](const PlannedTrial& trial) {
    const std::size_t place = places.at(machine_of(suite, suite.arms[trial.arm]));
    if (trial.is_measured()) return !holds(place * blocks + static_cast<std::size_t>(trial.block));
    if (suite.protocol.verbose_trial && trial.block == verbose_block(suite.protocol)) return !holds(place * blocks);
    return !measured_here.contains(place);
  });
}

}  // namespace capbench::suite
