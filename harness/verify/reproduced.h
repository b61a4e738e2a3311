// Has somebody else, on another machine of the same kind, measured the same ratios? Pure, thread-safe.
//
// Compared are ratios, never speeds: each arm over the stock arm of its run (over the first bare-metal arm where there
// is no stock). Two ratios are equivalent if the 90 % interval of their quotient lies within 1/(1+margin) .. 1+margin:
// two one-sided tests at 5 % each (Schuirmann 1987), by Welch on the logarithms of trial medians. So a wide interval
// never qualifies, and neither does an arm of fewer than three trials. Every ratio must pass, so nothing has to be
// corrected for their number (an intersection-union test, Berger 1982).
#ifndef CAPBENCH_HARNESS_VERIFY_REPRODUCED_H_
#define CAPBENCH_HARNESS_VERIFY_REPRODUCED_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/stats/summary.h"
#include "schema/bundle/bundle.h"

namespace capbench::verify {

inline constexpr double kReproductionMargin = 0.05;

// What must be the same for two ratios to be of the same thing.
struct RatioKey {
  std::string machine_kind;  // processor, GPUs, system: of both arms' environments
  std::string model;         // digest of the file
  std::string workload;      // runtime, arguments and test
  std::string treatment;     // what the arm was given, and how it differs from its reference

  friend bool operator==(const RatioKey&, const RatioKey&) = default;
  friend auto operator<=>(const RatioKey&, const RatioKey&) = default;
};

struct MeasuredRatio {
  RatioKey key;
  std::string label;       // for people: "unlocked over stock, TinyLlama pp512"
  std::string machine_id;  // of the physical host
  std::vector<stats::Trial> arm;
  std::vector<stats::Trial> reference;
};

// Of the trials that count: ok, proven, output passed, no warm-up, last attempt. By key and machine.
std::vector<MeasuredRatio> measured_ratios(const bundle::Bundle& bundle);

// One bundle as far as reproduction is concerned. It must be at least `consistent`.
struct Party {
  std::string bundle_id;
  std::string signer;  // fingerprint; empty: not signed, and then it neither reproduces nor is reproduced
  std::vector<MeasuredRatio> ratios;
};

struct Equivalence {
  double quotient = 0;       // of the two ratios, by the logarithms' means
  std::optional<double> lo;  // 90 %; nothing: too few trials
  std::optional<double> hi;
  bool equivalent = false;
};
// Errors: as stats::check_trials.
Result<Equivalence> compare_ratios(const MeasuredRatio& a, const MeasuredRatio& b, double margin);

struct Reproduction {
  bool reproduced = false;
  std::string why;  // what is missing, or who reproduced it
  struct Row {
    std::string label;
    std::string by;  // bundle id of the one that came nearest; empty: nobody measured it
    Equivalence found;
  };
  std::vector<Row> rows;  // of every ratio of `mine`
};

// Reproduced: every ratio of `mine` is equivalent to one that another signer measured on another machine.
Reproduction find_reproduction(const Party& mine, std::span<const Party> others, double margin = kReproductionMargin);

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_REPRODUCED_H_
