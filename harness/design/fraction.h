// Two-level fractional factorials of resolution IV and better. Pure, thread-safe.
//
// The generators are the minimum-aberration ones that textbooks tabulate (Box, Hunter and Hunter, "Statistics for
// Experimenters", 2nd edition, table 6.22; Montgomery, "Design and Analysis of Experiments", 8th edition, table 8.14).
#ifndef CAPBENCH_HARNESS_DESIGN_FRACTION_H_
#define CAPBENCH_HARNESS_DESIGN_FRACTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/suite/structs.h"

namespace capbench::design {

// A set of factors: bit i stands for the i-th. A word of a defining relation, or an interaction.
using Word = std::uint32_t;

struct Fraction {
  std::size_t factors = 0;
  std::size_t basic = 0;         // the first ones, which run through a full factorial: 2^basic cells
  std::vector<Word> generators;  // of each further factor, the basic ones whose product it is, all with a plus sign
};

inline constexpr std::size_t kFewestFractionFactors = 4;
inline constexpr std::size_t kMostFractionFactors = 11;

// The smallest tabulated fraction with at least that resolution; nothing if there is none (4 to 11 factors, resolution
// 4 or 5).
std::optional<Fraction> find_fraction(std::size_t factors, std::int64_t wanted_resolution);

// Every fraction of the table.
std::span<const Fraction> fraction_table();

// Which factors are at their high (last) level, cell by cell, 2^basic of them. The cell with all factors high is among
// them; the one with all low only if every generator has an odd number of letters.
std::vector<Word> fraction_cells(const Fraction& fraction);

// Every word whose product of levels is constant: 2^(factors - basic) - 1 of them, none empty.
std::vector<Word> defining_relation(const Fraction& fraction);

// The shortest word's length: III confounds main effects with two-factor interactions, IV only these with each other.
std::size_t resolution(const Fraction& fraction);

// What a fraction cannot tell apart, in words for a report.
struct Aliases {
  std::size_t resolution = 0;
  std::vector<std::string> defining_relation;  // "coopmat x coopmat2 x int-dot x float16"
  // Two-factor interactions that share one estimate: {"coopmat x coopmat2", "int-dot x float16"}.
  std::vector<std::vector<std::string>> confounded;
};

// Of a design with the fractional kind; nothing if it has none, or its factors have no tabulated fraction.
std::optional<Aliases> aliases_of(const suite::Design& design);

// "estimated together: coopmat x coopmat2 = int-dot x float16; ...", empty if all two-factor interactions are free.
std::string alias_text(const Aliases& aliases);

}  // namespace capbench::design

#endif  // CAPBENCH_HARNESS_DESIGN_FRACTION_H_
