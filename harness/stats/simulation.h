// Made-up trials for tests: noise between processes and within them, and what spoils real series. Test only.
#ifndef CAPBENCH_HARNESS_STATS_SIMULATION_H_
#define CAPBENCH_HARNESS_STATS_SIMULATION_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/stats/elementary.h"
#include "harness/stats/factorial.h"
#include "harness/stats/random.h"
#include "harness/stats/table.h"

namespace capbench::stats::simulation {

struct Noise {
  double between = 0.01;  // standard deviation of log speed between processes
  double within = 0.01;   // and within one
  bool skewed = false;    // centered exponential, slow to the one side, instead of normal
  double block = 0;       // standard deviation of what a block does to all arms
  double slow = 0;        // share of processes that are 5 to 20 % slow
  std::size_t samples = 5;
};

inline double normal(Random& random) {
  return std::sqrt(-2 * log_of(1 - random.unit())) * cos_of_turn(random.unit());
}

inline double deviate(Random& random, const Noise& noise) {
  return noise.skewed ? 1 + log_of(1 - random.unit()) : normal(random);
}

inline std::vector<double> block_effects(Random& random, const Noise& noise, std::size_t n_trials) {
  std::vector<double> effects(n_trials);
  for (double& effect : effects) effect = noise.block * normal(random);
  return effects;
}

// One arm over the given blocks.
inline std::vector<Trial> trials(Random& random, double speed, const Noise& noise, std::span<const double> blocks) {
  std::vector<Trial> out;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Trial trial{static_cast<std::int64_t>(i), {}};
    double center = blocks[i] + noise.between * deviate(random, noise);
    if (noise.slow > 0 && random.unit() < noise.slow) center += log_of(1 - (0.05 + 0.15 * random.unit()));
    for (std::size_t j = 0; j < noise.samples; ++j) {
      trial.samples.push_back(speed * exp_of(center + noise.within * deviate(random, noise)));
    }
    out.push_back(std::move(trial));
  }
  return out;
}

inline std::vector<Trial> trials(Random& random, double speed, const Noise& noise, std::size_t n_trials) {
  return trials(random, speed, noise, std::vector<double>(n_trials));
}

// Two-level factors ("off", "on") in full factorial; cell i has factor f on where bit f of i is set. `speed(i)` is its
// true speed.
template <class Speed>
FactorialData factorial(Random& random, const std::string& test, const std::vector<std::string>& factors,
                        const Speed& speed, const Noise& noise, std::size_t n_trials) {
  FactorialData data;
  data.test = test;
  for (const std::string& name : factors) data.factors.push_back({name, {"off", "on"}});
  const std::vector<double> blocks = block_effects(random, noise, n_trials);
  for (std::size_t i = 0; i < std::size_t{1} << factors.size(); ++i) {
    Cell cell;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      cell.levels.push_back((i >> f) & 1U);
      if (cell.levels.back() == 1) cell.arm += (cell.arm.empty() ? "" : "+") + factors[f];
    }
    if (cell.arm.empty()) cell.arm = "stock";
    cell.trials = trials(random, speed(i), noise, blocks);
    data.cells.push_back(std::move(cell));
  }
  return data;
}

// How often to repeat: `few` in the normal run; CAPBENCH_SIMULATIONS times as often where that is set, for the figures
// in README.md.
inline int repetitions(int few) {
  const char* times = std::getenv("CAPBENCH_SIMULATIONS");
  const int factor = times == nullptr ? 1 : std::atoi(times);
  return few * (factor > 0 ? factor : 1);
}

}  // namespace capbench::stats::simulation

#endif  // CAPBENCH_HARNESS_STATS_SIMULATION_H_
