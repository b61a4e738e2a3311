// Mutated suites: parse_suite answers with a suite or an error, never anything else, and what it accepts survives the
// round trip through its canonical form.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/stats/random.h"
#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

constexpr auto kTokens = std::to_array<std::string_view>({"{",
                                                          "}",
                                                          "[",
                                                          "]",
                                                          ",",
                                                          ":",
                                                          "\"",
                                                          "null",
                                                          "-1",
                                                          "0",
                                                          "1e9",
                                                          "1e999",
                                                          "0.5",
                                                          "18446744073709551616",
                                                          R"("\u0000")",
                                                          R"("\ud800")",
                                                          "\xFF",
                                                          "\xEF\xBB\xBF",
                                                          "\"r\"",
                                                          "\"p\"",
                                                          "\"set\"",
                                                          "\"guest\"",
                                                          "\"file\"",
                                                          "\"like\"",
                                                          "\"args\"",
                                                          "\"env\"",
                                                          "\"name\"",
                                                          "//",
                                                          "\"kind\"",
                                                          "\"machine\"",
                                                          "\"levels\"",
                                                          "\"factors\"",
                                                          "\"fractional\"",
                                                          "\"placebo\"",
                                                          "\"target\"",
                                                          "\"v\""});

std::size_t pick(stats::Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.below(count));
}

void mutate(std::string& text, stats::Random& random) {
  const std::size_t at = pick(random, text.size() + 1);
  const std::size_t length = std::min(pick(random, 12), text.size() - at);
  switch (random.below(6)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, kTokens[pick(random, kTokens.size())]);
      break;
    case 3:
      text.insert(at, text.substr(pick(random, text.size() + 1), 40));
      break;
    case 4:
      text.replace(at, length, kTokens[pick(random, kTokens.size())]);
      break;
    default: {
      // A digit for a digit: mostly still valid.
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit != std::string::npos) text[digit] = static_cast<char>('0' + static_cast<char>(random.below(10)));
    }
  }
}

TEST(Fuzz, MutatedSuitesParseOrFailWithAWellFormedError) {
  std::vector<std::string> seeds;
  for (const char* name : {"suites/quickstart.json", "suites/tinyllama-cpu.json"}) {
    const auto text = read_file(name);
    ASSERT_TRUE(text.ok()) << name;
    const auto suite = parse_suite(*text);
    ASSERT_TRUE(suite.ok()) << name;
    seeds.push_back(*text);
    seeds.push_back(canonical_json(*suite));
  }
  // Everything that a suite can say, so that every reader is reached.
  seeds.emplace_back(R"({"capbench": 1, "name": "s", "runtime": {"kind": "llama-bench", "executable": "x"},
    "targets": {"h": {"kind": "ssh", "port": 22, "require": {"os": "linux", "vcpu": 8}},
                "v": {"kind": "lume", "machine": "h", "start": ["a", "b"], "guest": "vm"}},
    "models": [{"name": "m", "catalog": "tiny"}], "workloads": [{"name": "w", "p": [1, 2], "n": 3, "args": ["-b", "5"]}],
    "arms": [{"name": "a", "mode": "x", "target": "v", "executable": "y", "args": ["-ub", "4"], "expect": "fails"}],
    "design": {"kind": ["fractional", "leave-one-out"], "resolution": 4, "controls": ["placebo", "cpu-only"],
      "base": {"mode": "y", "target": "v", "guest": {"x.a": "off"}, "env": {"E": "1"}, "device": "D"},
      "factors": [{"name": "x.a", "levels": ["off", "on"]}, {"name": "x.b", "label": "b", "levels": ["1", "2"]},
                  {"env": "A", "levels": ["1", null]}, {"arg": "-fa", "levels": ["off", "on"]}]},
    "protocol": {"trials": 8, "warmup_trials": 2, "preload_s": 1, "until": {"ci_half_width": 0.5, "max_trials": 9},
      "hygiene": {"gate": "wait", "wait_s": 4, "max_load": 2, "require_ac": true, "vms": "stopped"}},
    "quality": {"text": "t", "max_kl": 0.5, "chunks": 3, "ops": ["MUL_MAT"]}})");
  seeds.emplace_back(R"({"capbench": 1, "name": "s", "runtime": {"kind": "google-benchmark", "executable": "x"},
    "workloads": [{"name": "w", "filter": "x", "r": 2}],
    "design": {"kind": "full-factorial", "factors": [{"name": "x.a", "levels": ["1", "2", "3", null]}]}})");
  seeds.emplace_back(
      R"({"capbench": 1, "name": "s", "runtime": {"kind": "mlx-lm"}, "models": [{"name": "m", "file": "x"}],
    "workloads": [{"name": "w", "p": 1, "n": 2, "r": 3}], "arms": [{"name": "a", "mode": "x"}]})");
  for (std::size_t i = 4; i < seeds.size(); ++i) ASSERT_TRUE(parse_suite(seeds[i]).ok()) << i;
  stats::Random random(2024);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string text = seeds[pick(random, seeds.size())];
    for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i) mutate(text, random);
    const auto suite = parse_suite(text);
    if (suite.ok()) {
      ++accepted;
      const std::string canonical = canonical_json(*suite);
      const auto again = parse_suite(canonical);
      ASSERT_TRUE(again.ok()) << text << "\n" << canonical << "\n" << to_string(again.error());
      ASSERT_TRUE(*again == *suite) << text;
      ASSERT_EQ(canonical_json(*again), canonical);
    } else {
      ++refused;
      const Error& error = suite.error();
      ASSERT_TRUE(error.what.starts_with("$") || error.what.starts_with("line ")) << error.what;
      ASSERT_FALSE(error.cause.empty()) << text;
      ASSERT_LT(to_string(error).size(), 1000U) << text;
    }
  }
  // Both sides are really exercised.
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 3000);
}

TEST(Fuzz, ASuiteThatWasCutShortIsNeverASuite) {
  for (const char* name : {"suites/vulkan-factorial.json", "suites/mac-ablation-preference-on.json"}) {
    const auto text = read_file(name);
    ASSERT_TRUE(text.ok()) << name;
    const std::string whole = text->substr(0, text->rfind('}') + 1);
    ASSERT_TRUE(parse_suite(whole).ok()) << name;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto suite = parse_suite(whole.substr(0, length));
      ASSERT_FALSE(suite.ok()) << name << " " << length;
      ASSERT_TRUE(suite.error().what.starts_with("line ")) << suite.error().what;
    }
  }
}

TEST(Fuzz, FlippedBitsGiveASuiteOrAnError) {
  const auto text = read_file("suites/vulkan-factorial.json");
  ASSERT_TRUE(text.ok());
  for (std::size_t at = 0; at < text->size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = *text;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << bit));
      const auto suite = parse_suite(flipped);
      if (!suite.ok()) {
        ASSERT_FALSE(suite.error().what.empty());
        ASSERT_FALSE(suite.error().cause.empty());
        continue;
      }
      for (const Arm& arm : suite->arms) {
        ASSERT_LE(arm.name.size(), 100U);
        ASSERT_EQ(arm.name.find('/'), std::string::npos) << arm.name;
      }
      const auto again = parse_suite(canonical_json(*suite));
      ASSERT_TRUE(again.ok()) << to_string(again.error());
      ASSERT_EQ(*again, *suite);
    }
  }
}

TEST(Fuzz, GlobsEndWhateverTheirBytes) {
  stats::Random random(7);
  constexpr std::string_view kAlphabet = "ab*?[]!-\\/\xC3\xA9";
  const auto draw = [&](std::uint64_t longest) {
    std::string text;
    for (std::uint64_t i = 0, n = random.below(longest); i < n; ++i) text += kAlphabet[pick(random, kAlphabet.size())];
    return text;
  };
  int matched = 0;
  for (int round = 0; round < 20000; ++round) matched += matches_glob(draw(12), draw(12)) ? 1 : 0;
  EXPECT_GT(matched, 100);
  // Worst case of naive matchers.
  std::string stars;
  for (int i = 0; i < 50; ++i) stars += "*a";
  EXPECT_FALSE(matches_glob(stars + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace capbench::suite
