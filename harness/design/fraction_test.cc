#include "harness/design/fraction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

namespace capbench::design {
namespace {

suite::Factor on_off(const std::string& name) {
  return {suite::Factor::Kind::kCapability, name, "", {"off", "on"}};
}

suite::Design fractional(std::size_t factors) {
  suite::Design design;
  design.kinds = {suite::DesignKind::kFractional};
  for (std::size_t i = 0; i < factors; ++i) design.factors.push_back(on_off("x." + std::string(1, char('a' + i))));
  return design;
}

// +1 or -1: the product of the levels of a word's factors in a cell.
int product(Word word, Word cell) {
  return std::popcount(word & ~cell) % 2 == 0 ? 1 : -1;
}

// The published resolution and number of cells, by factors and generators.
TEST(Fraction, EveryOneOfTheTableHasThePublishedResolution) {
  struct Published {
    std::size_t factors, generators, resolution;
  };
  const std::vector<Published> published = {
      {4, 1, 4}, {5, 1, 5}, {6, 2, 4}, {6, 1, 6},  {7, 3, 4},  {7, 2, 4},  {7, 1, 7},  {8, 4, 4},  {8, 3, 4}, {8, 2, 5},
      {9, 4, 4}, {9, 3, 4}, {9, 2, 6}, {10, 5, 4}, {10, 4, 4}, {10, 3, 5}, {11, 6, 4}, {11, 5, 4}, {11, 4, 5}};
  ASSERT_EQ(fraction_table().size(), published.size());
  for (std::size_t i = 0; i < published.size(); ++i) {
    const Fraction& fraction = fraction_table()[i];
    EXPECT_EQ(fraction.factors, published[i].factors) << i;
    EXPECT_EQ(fraction.generators.size(), published[i].generators) << i;
    EXPECT_EQ(fraction.basic, fraction.factors - fraction.generators.size()) << i;
    EXPECT_EQ(resolution(fraction), published[i].resolution) << i;
    for (const Word generator : fraction.generators) {
      EXPECT_LT(generator, Word{1} << fraction.basic) << i;  // of basic factors only
    }
  }
}

// What resolution IV means, from the cells themselves and not from the words: main effects are orthogonal to each
// other and to every two-factor interaction.
TEST(Fraction, MainEffectsAreFreeOfEachOtherAndOfTwoFactorInteractions) {
  for (const Fraction& fraction : fraction_table()) {
    const std::vector<Word> cells = fraction_cells(fraction);
    ASSERT_EQ(cells.size(), std::size_t{1} << fraction.basic);
    EXPECT_EQ(std::set<Word>(cells.begin(), cells.end()).size(), cells.size());
    const auto correlation = [&](Word a, Word b) {
      int sum = 0;
      for (const Word cell : cells) sum += product(a, cell) * product(b, cell);
      return sum;
    };
    for (std::size_t i = 0; i < fraction.factors; ++i) {
      const Word main = Word{1} << i;
      EXPECT_EQ(correlation(main, 0), 0) << "balanced";
      for (std::size_t j = 0; j < fraction.factors; ++j) {
        if (j != i) {
          EXPECT_EQ(correlation(main, Word{1} << j), 0);
        }
        for (std::size_t k = j + 1; k < fraction.factors; ++k) {
          EXPECT_EQ(correlation(main, Word{1} << j | Word{1} << k), 0) << fraction.factors;
        }
      }
    }
  }
}

TEST(Fraction, WordsOfTheDefiningRelationAreConstantAndNoOthersAre) {
  for (const Fraction& fraction : fraction_table()) {
    const std::vector<Word> words = defining_relation(fraction);
    EXPECT_EQ(words.size(), (std::size_t{1} << fraction.generators.size()) - 1);
    const std::vector<Word> cells = fraction_cells(fraction);
    std::vector<Word> constant;
    for (Word word = 1; word < (Word{1} << fraction.factors); ++word) {
      const bool same = std::all_of(cells.begin(), cells.end(),
                                    [&](Word cell) { return product(word, cell) == product(word, cells[0]); });
      if (same) constant.push_back(word);
    }
    EXPECT_EQ(constant, words) << fraction.factors;
  }
}

TEST(Fraction, AllHighIsACell) {
  for (const Fraction& fraction : fraction_table()) {
    const std::vector<Word> cells = fraction_cells(fraction);
    EXPECT_NE(std::find(cells.begin(), cells.end(), (Word{1} << fraction.factors) - 1), cells.end());
  }
}

TEST(Fraction, TheSmallestWithTheResolutionIsFound) {
  EXPECT_FALSE(find_fraction(3, 4).has_value());
  EXPECT_FALSE(find_fraction(12, 4).has_value());
  EXPECT_FALSE(find_fraction(4, 5).has_value());
  EXPECT_EQ(find_fraction(4, 4)->basic, 3U);
  EXPECT_EQ(find_fraction(6, 4)->basic, 4U);
  EXPECT_EQ(find_fraction(6, 5)->basic, 5U);
  EXPECT_EQ(find_fraction(8, 5)->basic, 6U);
  EXPECT_EQ(find_fraction(11, 4)->basic, 5U);
  EXPECT_EQ(find_fraction(11, 5)->basic, 7U);
}

TEST(Aliases, OfFourFactorsAreThreePairsOfPairs) {
  const auto aliases = aliases_of(fractional(4));
  ASSERT_TRUE(aliases.has_value());
  EXPECT_EQ(aliases->resolution, 4U);
  EXPECT_EQ(aliases->defining_relation, (std::vector<std::string>{"a x b x c x d"}));
  EXPECT_EQ(alias_text(*aliases), "estimated together: a x b = c x d; a x c = b x d; a x d = b x c");
}

TEST(Aliases, OfResolutionFiveAreNone) {
  const auto aliases = aliases_of(fractional(5));
  ASSERT_TRUE(aliases.has_value());
  EXPECT_TRUE(aliases->confounded.empty());
  EXPECT_EQ(alias_text(*aliases), "");
}

// Two interactions are in one group exactly if their columns are equal in every cell.
TEST(Aliases, AreWhatCannotBeToldApartInTheCells) {
  for (std::size_t factors = 4; factors <= 11; ++factors) {
    const suite::Design design = fractional(factors);
    const auto aliases = aliases_of(design);
    const std::vector<Word> cells = fraction_cells(*find_fraction(factors, 4));
    std::set<std::set<std::string>> expected;
    std::vector<std::pair<std::string, std::vector<int>>> columns;
    for (std::size_t i = 0; i < factors; ++i) {
      for (std::size_t j = i + 1; j < factors; ++j) {
        std::vector<int> column;
        for (const Word cell : cells) column.push_back(product(Word{1} << i | Word{1} << j, cell));
        columns.emplace_back(std::string(1, char('a' + i)) + " x " + char('a' + j), column);
      }
    }
    for (const auto& [name, column] : columns) {
      std::set<std::string> group;
      for (const auto& [other, values] : columns) {
        if (values == column) group.insert(other);
      }
      if (group.size() > 1) expected.insert(group);
    }
    std::set<std::set<std::string>> found;
    for (const auto& group : aliases->confounded) found.insert({group.begin(), group.end()});
    EXPECT_EQ(found, expected) << factors;
  }
}

TEST(Aliases, OtherDesignsHaveNone) {
  suite::Design design = fractional(4);
  design.kinds = {suite::DesignKind::kFullFactorial};
  EXPECT_FALSE(aliases_of(design).has_value());
  EXPECT_FALSE(aliases_of(fractional(3)).has_value());
}

}  // namespace
}  // namespace capbench::design
