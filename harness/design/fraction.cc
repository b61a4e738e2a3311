#include "harness/design/fraction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "harness/design/expand.h"

namespace capbench::design {
namespace {

// "ABCE": the letters are the basic factors, A the first. As the tables leave out I, so does this alphabet.
Word word(std::string_view letters) {
  constexpr std::string_view kAlphabet = "ABCDEFGHJKL";
  Word result = 0;
  for (const char letter : letters) result |= Word{1} << kAlphabet.find(letter);
  return result;
}

std::vector<Fraction> make_table() {
  const auto fraction = [](std::size_t factors, std::initializer_list<std::string_view> generators) {
    Fraction result;
    result.factors = factors;
    result.basic = factors - generators.size();
    for (const std::string_view letters : generators) result.generators.push_back(word(letters));
    return result;
  };
  // For each number of factors by rising size.
  return {
      fraction(4, {"ABC"}),                                      // IV, 8 cells
      fraction(5, {"ABCD"}),                                     // V, 16
      fraction(6, {"ABC", "BCD"}),                               // IV, 16
      fraction(6, {"ABCDE"}),                                    // VI, 32
      fraction(7, {"ABC", "BCD", "ACD"}),                        // IV, 16
      fraction(7, {"ABCD", "ABDE"}),                             // IV, 32
      fraction(7, {"ABCDEF"}),                                   // VII, 64
      fraction(8, {"BCD", "ACD", "ABC", "ABD"}),                 // IV, 16
      fraction(8, {"ABC", "ABD", "BCDE"}),                       // IV, 32
      fraction(8, {"ABCD", "ABEF"}),                             // V, 64
      fraction(9, {"BCDE", "ACDE", "ABDE", "ABCE"}),             // IV, 32
      fraction(9, {"ABCD", "ACEF", "CDEF"}),                     // IV, 64
      fraction(9, {"ACDFG", "BCEFG"}),                           // VI, 128
      fraction(10, {"ABCD", "ABCE", "ABDE", "ACDE", "BCDE"}),    // IV, 32
      fraction(10, {"BCDF", "ACDF", "ABDE", "ABCE"}),            // IV, 64
      fraction(10, {"ABCG", "BCDE", "ACDF"}),                    // V, 128
      fraction(11, {"ABC", "BCD", "CDE", "ACD", "ADE", "BDE"}),  // IV, 32
      fraction(11, {"CDE", "ABCD", "ABF", "BDEF", "ADEF"}),      // IV, 64
      fraction(11, {"ABCG", "BCDE", "ACDF", "ABCDEFG"}),         // V, 128
  };
}

std::string interaction(Word word, const std::vector<std::string>& labels) {
  std::vector<std::string_view> parts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if ((word >> i & 1U) != 0) parts.emplace_back(labels[i]);
  }
  return fmt::format("{}", fmt::join(parts, " x "));
}

}  // namespace

std::span<const Fraction> fraction_table() {
  static const std::vector<Fraction> table = make_table();
  return table;
}

std::optional<Fraction> find_fraction(std::size_t factors, std::int64_t wanted_resolution) {
  for (const Fraction& fraction : fraction_table()) {
    if (fraction.factors == factors && static_cast<std::int64_t>(resolution(fraction)) >= wanted_resolution)
      return fraction;
  }
  return std::nullopt;
}

std::vector<Word> fraction_cells(const Fraction& fraction) {
  std::vector<Word> cells;
  for (Word basic = 0; basic < (Word{1} << fraction.basic); ++basic) {
    Word cell = basic;
    for (std::size_t i = 0; i < fraction.generators.size(); ++i) {
      // The product of levels -1 and +1: high where an even number of its factors is low.
      const int low = std::popcount(fraction.generators[i] & ~basic);
      if (low % 2 == 0) cell |= Word{1} << (fraction.basic + i);
    }
    cells.push_back(cell);
  }
  return cells;
}

std::vector<Word> defining_relation(const Fraction& fraction) {
  std::vector<Word> words;
  const std::size_t count = std::size_t{1} << fraction.generators.size();
  for (std::size_t chosen = 1; chosen < count; ++chosen) {
    Word product = 0;
    for (std::size_t i = 0; i < fraction.generators.size(); ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      product ^= fraction.generators[i] | Word{1} << (fraction.basic + i);
    }
    words.push_back(product);
  }
  std::sort(words.begin(), words.end());
  return words;
}

std::size_t resolution(const Fraction& fraction) {
  std::size_t shortest = fraction.factors + 1;
  for (const Word word : defining_relation(fraction)) {
    shortest = std::min(shortest, static_cast<std::size_t>(std::popcount(word)));
  }
  return shortest;
}

std::optional<Aliases> aliases_of(const suite::Design& design) {
  const bool fractional =
      std::find(design.kinds.begin(), design.kinds.end(), suite::DesignKind::kFractional) != design.kinds.end();
  if (!fractional) return std::nullopt;
  const auto fraction = find_fraction(design.factors.size(), design.resolution);
  if (!fraction) return std::nullopt;
  std::vector<std::string> labels;
  for (const suite::Factor& factor : design.factors) labels.push_back(factor_label(factor));
  Aliases aliases;
  aliases.resolution = resolution(*fraction);
  const std::vector<Word> words = defining_relation(*fraction);
  for (const Word word : words) aliases.defining_relation.push_back(interaction(word, labels));
  std::map<Word, std::vector<std::string>> groups;  // by the smallest word of the coset
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = i + 1; j < labels.size(); ++j) {
      const Word pair = Word{1} << i | Word{1} << j;
      Word smallest = pair;
      for (const Word word : words) smallest = std::min(smallest, pair ^ word);
      groups[smallest].push_back(interaction(pair, labels));
    }
  }
  for (auto& [smallest, pairs] : groups) {
    if (pairs.size() > 1) aliases.confounded.push_back(std::move(pairs));
  }
  return aliases;
}

std::string alias_text(const Aliases& aliases) {
  if (aliases.confounded.empty()) return "";
  std::vector<std::string> groups;
  for (const auto& pairs : aliases.confounded) groups.push_back(fmt::format("{}", fmt::join(pairs, " = ")));
  return fmt::format("estimated together: {}", fmt::join(groups, "; "));
}

}  // namespace capbench::design
