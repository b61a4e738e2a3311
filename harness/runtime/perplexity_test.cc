#include "harness/runtime/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/runtime/perplexity_args.h"

namespace capbench::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kBaseOut = "0.07 minutes\n[1]4.1590,[2]4.2336,[3]4.6388,[4]4.3863,\n\n";
constexpr std::string_view kBaseErr =
    "0.00.110.891 I perplexity: calculating perplexity over 4 chunks, n_ctx=128, batch_size=128, n_seq=1\n"
    "0.01.210.000 I perplexity: 1.10 seconds per pass - ETA 0.04.276.916 I Final estimate: PPL = 4.3863 +/- 0.53482\n";

constexpr std::string_view kCompareOut =
    "0.00 minutes\n"
    "\n"
    "chunk             PPL               ln(PPL(Q)/PPL(base))          KL Divergence              \u0394p RMS       \n"
    "   1       4.1563 \u00B1    1.1810      -0.00065 \u00B1    0.00599       0.00164 \u00B1    0.00017     1.414 "
    "\u00B1  "
    "0.166 %    93.651 \u00B1  3.097 %\n"
    "   2       4.2076 \u00B1    0.7293      -0.00615 \u00B1    0.00406       0.00163 \u00B1    0.00011     1.197 "
    "\u00B1  "
    "0.111 %    96.032 \u00B1  1.746 %\n"
    "\n"
    "====== Perplexity statistics ======\n"
    "Mean PPL(Q)                   :   4.363364 \u00B1   0.531331\n"
    "Mean PPL(base)                :   4.386310 \u00B1   0.534823\n"
    "Cor(ln(PPL(Q)), ln(PPL(base))):  99.97%\n"
    "Mean ln(PPL(Q)/PPL(base))     :  -0.005245 \u00B1   0.002780\n"
    "Mean PPL(Q)/PPL(base)         :   0.994769 \u00B1       -nan\n"
    "\n"
    "====== KL divergence statistics ======\n"
    "Mean    KLD:   0.001618 \u00B1   0.000076\n"
    "Maximum KLD:   0.006602\n"
    "99.9%   KLD:   0.006538\n"
    "99.0%   KLD:   0.005205\n"
    "Median  KLD:   0.001442\n"
    "Minimum KLD:   0.000004\n"
    "\n"
    "RMS \u0394p    :  1.170 \u00B1 0.073 %\n"
    "Same top p: 98.016 \u00B1 0.880 %\n";

PerplexityRun run() {
  return {"/x/llama-perplexity", "m.gguf", "t.txt", "b.kld", 128, 4};
}

TEST(PerplexityArgv, WritesTheBaseAndComparesWithIt) {
  PerplexityTreatment treatment;
  treatment.device = "Vulkan0/Vulkan1";
  treatment.threads = 2;
  treatment.flash_attention = "off";
  treatment.llama_bench_args = {"-ctk", "q8_0", "-ub", "256"};
  EXPECT_THAT(*perplexity_base_argv(run(), treatment),
              ElementsAre("/x/llama-perplexity", "-m", "m.gguf", "-c", "128", "-b", "128", "-ub", "128", "-t", "2",
                          "-ngl", "999", "-fa", "off", "-dev", "Vulkan0,Vulkan1", "-ctk", "q8_0",
                          "--kl-divergence-base", "b.kld", "-f", "t.txt", "--chunks", "4"));
  EXPECT_THAT(*perplexity_compare_argv(run(), {}, Batch::kDecode),
              ElementsAre("/x/llama-perplexity", "-m", "m.gguf", "-c", "128", "-b", "128", "-ub", "1", "-ngl", "999",
                          "--kl-divergence-base", "b.kld", "--kl-divergence"));
  treatment.llama_bench_args = {"--unheard-of", "1"};
  EXPECT_FALSE(perplexity_base_argv(run(), treatment).ok());
  EXPECT_FALSE(perplexity_compare_argv(run(), treatment, Batch::kPrompt).ok());
}

TEST(PerplexityArgs, TranslateWhatDecidesTheOutput) {
  const std::vector<std::string> args{"-fa",         "1",  "-nkvo", "1",  "-nopo", "0", "-ts", "3/1",   "-ot",
                                      "a=CPU;b=CPU", "-r", "3",     "-v", "-mmp",  "0", "-p",  "512,64"};
  EXPECT_THAT(*perplexity_args(args), ElementsAre("-fa", "on", "-nkvo", "-ts", "3,1", "-ot", "a=CPU,b=CPU"));
}

TEST(PerplexityArgs, RefuseWhatTheyCannotSay) {
  const auto cause = [](std::vector<std::string> args) {
    const auto translated = perplexity_args(args);
    return translated.ok() ? "" : to_string(translated.error());
  };
  EXPECT_THAT(cause({"--new-thing"}), HasSubstr("--new-thing"));
  EXPECT_THAT(cause({"-ctk"}), HasSubstr("missing"));
  EXPECT_THAT(cause({"-ctk", "f16,q8_0"}), HasSubstr("several values"));
  EXPECT_THAT(cause({"-fa", "0,1"}), HasSubstr("several values"));
  EXPECT_THAT(cause({"-nkvo", "yes"}), HasSubstr("neither 0 nor 1"));
}

TEST(PerplexityExtent, CountsPositionsAndBytes) {
  EXPECT_EQ(judged_positions(128, 4), 252);
  // What llama-perplexity wrote for models of 512, 2048 and 32,000 tokens.
  EXPECT_EQ(base_file_size(128, 4, 512), 262132U);
  EXPECT_EQ(base_file_size(128, 4, 2048), 1036276U);
  EXPECT_EQ(base_file_size(128, 4, 32000), 16132084U);
}

TEST(ParseBase, ReadsTheListAndTheEstimate) {
  for (const bool merged : {false, true}) {
    const std::string all = std::string(kBaseOut) + std::string(kBaseErr);
    const BaseFigures figures = merged ? parse_perplexity_base(all, "") : parse_perplexity_base(kBaseOut, kBaseErr);
    EXPECT_EQ(figures.problem.text, "");
    EXPECT_EQ(figures.chunks, 4);
    EXPECT_DOUBLE_EQ(figures.perplexity, 4.3863);
  }
}

TEST(ParseBase, TakesTheListWhereNoEstimateIsGiven) {
  // Constant logits: the deviation of the log-probabilities is 0.
  BaseFigures figures =
      parse_perplexity_base("[1]512.0000,[2]512.0000,\n", "E Unexpected negative standard deviation of log(prob)\n");
  EXPECT_EQ(figures.problem.text, "");
  EXPECT_DOUBLE_EQ(figures.perplexity, 512);
  figures = parse_perplexity_base("[1]nan,[2]nan,\n", "E Unexpected negative standard deviation of log(prob)\n");
  EXPECT_EQ(figures.problem.text, "");
  EXPECT_TRUE(std::isnan(figures.perplexity));
}

TEST(ParseBase, SaysWhatIsMissing) {
  BaseFigures figures =
      parse_perplexity_base("\n",
                            "E perplexity: you need at least 256 tokens to evaluate perplexity with a context of 128\n"
                            "E perplexity: the data file you provided tokenizes to only 40 tokens\n");
  EXPECT_THAT(figures.problem.text, HasSubstr("too short"));
  EXPECT_FALSE(figures.problem.cut_short);
  figures = parse_perplexity_base("[1]4.1,", "I perplexity : failed to decode\n");
  EXPECT_THAT(figures.problem.text, HasSubstr("decode"));
  figures = parse_perplexity_base("[1]4.1590,[2]4.2336,[3]4.6388,", "");
  EXPECT_TRUE(figures.problem.cut_short);
  EXPECT_TRUE(parse_perplexity_base("", "").problem.cut_short);
}

TEST(ParseCompare, ReadsEveryFigure) {
  const CompareFigures figures = parse_perplexity_compare(kCompareOut, "");
  EXPECT_EQ(figures.problem.text, "");
  EXPECT_EQ(figures.chunks, 2);
  EXPECT_TRUE(figures.finite);
  EXPECT_DOUBLE_EQ(figures.perplexity, 4.363364);
  EXPECT_DOUBLE_EQ(figures.base_perplexity, 4.386310);
  EXPECT_DOUBLE_EQ(figures.mean_kl, 0.001618);
  EXPECT_DOUBLE_EQ(figures.max_kl, 0.006602);
  EXPECT_DOUBLE_EQ(figures.min_kl, 0.000004);
  EXPECT_DOUBLE_EQ(figures.median_kl, 0.001442);
  EXPECT_DOUBLE_EQ(figures.p99_kl, 0.005205);
  EXPECT_DOUBLE_EQ(figures.same_top_percent, 98.016);
}

TEST(ParseCompare, SeesWhatIsNotANumber) {
  std::string text(kCompareOut);
  text.replace(text.find("0.001618"), 8, "     nan");
  EXPECT_FALSE(parse_perplexity_compare(text, "").finite);
  text = std::string(kCompareOut);
  text.replace(text.find("0.006602"), 8, "     inf");
  EXPECT_FALSE(parse_perplexity_compare(text, "").finite);
  // The rows alone tell, should it die while it sorts what is not a number.
  text =
      "   1          nan \u00B1       nan           nan \u00B1       nan           nan \u00B1       nan       nan "
      "\u00B1 nan %\n";
  EXPECT_FALSE(parse_perplexity_compare(text, "").finite);
}

TEST(ParseCompare, KnowsACutFromARefusal) {
  // The program may exit 0 without its last lines.
  for (std::size_t length = 0; length <= kCompareOut.find("Minimum KLD"); ++length) {
    const CompareFigures figures = parse_perplexity_compare(kCompareOut.substr(0, length), "");
    EXPECT_TRUE(figures.problem.cut_short) << length;
    EXPECT_NE(figures.problem.text, "");
  }
  for (const char* err : {"E kl_divergence: failed to open b.kld\n",
                          "E kl_divergence: b.kld does not look like a file containing log-probabilities\n",
                          "E kl_divergence: failed reading log-probs for chunk 2\n"}) {
    const CompareFigures figures = parse_perplexity_compare("\n", err);
    EXPECT_FALSE(figures.problem.cut_short);
    EXPECT_THAT(figures.problem.text, HasSubstr("base file"));
  }
  // It goes on after this one, over garbage.
  EXPECT_THAT(
      parse_perplexity_compare(kCompareOut, "E kl_divergence: inconsistent vocabulary (512 vs 2048)\n").problem.text,
      HasSubstr("another vocabulary"));
}

TEST(ParsePerplexity, SurvivesMutations) {
  std::mt19937 random(5);  // NOLINT: the same bytes every time
  for (const std::string_view whole : {kCompareOut, kBaseOut, kBaseErr}) {
    for (int i = 0; i < 3000; ++i) {
      std::string text(whole);
      for (auto n = random() % 6 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
      text.resize(random() % (text.size() + 1));
      EXPECT_LE(parse_perplexity_compare(text, text).chunks, 3);
      EXPECT_LE(parse_perplexity_base(text, text).chunks, 5);
    }
  }
}

}  // namespace
}  // namespace capbench::runtime
