#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/import/evidence/document.h"
#include "harness/import/evidence/names.h"

namespace capbench::imports::evidence {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

TEST(Names, ModeIsWhatTheWordsSay) {
  EXPECT_EQ(mode_said_by("tiny-host-minimal.json"), "bare-metal");
  EXPECT_EQ(mode_said_by("x/Bare_Metal.json"), "bare-metal");
  EXPECT_EQ(mode_said_by("mlx-stock-10x.json"), "stock");
  EXPECT_EQ(mode_said_by("mlx-safe-shim-10x.json"), "unlocked");
  EXPECT_EQ(mode_said_by("guest-no-shim.json"), "stock");
  EXPECT_EQ(mode_said_by("host/result.json"), "bare-metal");
  EXPECT_EQ(mode_said_by("host/unlocked.json"), "unlocked");
  EXPECT_EQ(mode_said_by("stock-vs-host.json"), "");
  EXPECT_EQ(mode_said_by("ghosts.json"), "");
}

TEST(Names, StemIsWithoutEndings) {
  EXPECT_EQ(stem_of("a/b.json"), "b");
  EXPECT_EQ(stem_of("a/b.JSON.stderr"), "b");
  EXPECT_EQ(stem_of("b.stderr.txt"), "b");
  EXPECT_EQ(stem_of(".json"), ".json");
  EXPECT_TRUE(is_log_name("x.stderr.txt"));
  EXPECT_FALSE(is_log_name("x.txt"));
}

TEST(Names, SafeNamesHoldForAnyBytes) {
  EXPECT_EQ(safe_name(" a/b,c\n ", "x"), "a_b_c_");
  EXPECT_EQ(safe_name("..", "x"), "x");
  EXPECT_EQ(safe_name(std::string(500, 'a'), "x").size(), 90U);
  EXPECT_EQ(safe_name("\xFF\x80", "x"), "__");
}

TEST(Sums, AreReadInEverySpelling) {
  const auto sums = parse_sums("\xEF\xBB\xBF" + kA + "  one.json\r\n\r\n" + kB +
                               " *sub/two three.json\r\nSHA256 (b) = " + std::string(64, 'C') + "\n");
  ASSERT_TRUE(sums);
  ASSERT_EQ(sums->size(), 3U);
  EXPECT_EQ((*sums)[0].name, "one.json");
  EXPECT_EQ((*sums)[0].line, 1U);
  EXPECT_EQ((*sums)[1].name, "sub/two three.json");
  EXPECT_EQ((*sums)[2].sha256, std::string(64, 'c'));
  EXPECT_EQ((*sums)[2].line, 4U);
  EXPECT_FALSE(parse_sums(""));
  EXPECT_FALSE(parse_sums(kA + "  one\nnot a digest\n"));
  EXPECT_FALSE(parse_sums(kA));
  EXPECT_FALSE(parse_sums(kA + "  "));
  EXPECT_FALSE(parse_sums(kA.substr(1) + "g  one\n"));
}

TEST(Sums, TellMissingAlteredAndUnlisted) {
  const std::vector<SumLine> lines = {{1, kA, "./same"}, {2, kA, "differs"}, {3, kA, "crlf"}, {4, kA, "gone"}};
  const SumsCheck check = check_sums("sub/SUMS", lines,
                                     {{"sub/SUMS", kB, kB},
                                      {"sub/same", kA, kA},
                                      {"sub/differs", kB, kB},
                                      {"sub/crlf", kB, kA},
                                      {"sub/more", kB, kB},
                                      {"elsewhere", kB, kB}});
  EXPECT_THAT(check.altered, ElementsAre("sub/differs", "sub/crlf"));
  ASSERT_EQ(check.findings.size(), 2U);
  EXPECT_EQ(check.findings[0], "sub/differs: sub/SUMS says aaaaaaaaaaaa..., its bytes are bbbbbbbbbbbb...");
  EXPECT_THAT(check.findings[1], HasSubstr("only its line ends differ"));
  EXPECT_THAT(check.notes, ElementsAre("sub/SUMS lists sub/gone, which is not here",
                                       "sub/more is not in sub/SUMS, so nothing vouches for its bytes"));
}

TEST(Table, ColumnsAreFoundByWhatTheySay) {
  const auto lines = parse_table(
      "workload,metric,unit,host_baremetal,stock_guest,safe_shim_guest,guest_ratio,shim_to_host_percent\r\n"
      "Tiny (llama.cpp),pp512,tokens/s,4871.99,431.8625,4786.7,11.0839,98.2494\r\n"
      "\"Mlx, 4bit\",tg128,tokens/s,,172.0882,170.8605,0.9929,\r\n");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2U);
  const TableLine& first = (*lines)[0];
  EXPECT_EQ(first.label, "Tiny (llama.cpp)");
  EXPECT_EQ(first.test, "pp512");
  ASSERT_EQ(first.figures.size(), 5U);
  EXPECT_EQ(first.figures.at(Figure::kBareMetal).value, 4871.99);
  EXPECT_EQ(first.figures.at(Figure::kUnlocked).value, 4786.7);
  EXPECT_NEAR(first.figures.at(Figure::kUnlocked).half_digit, 0.05, 1e-12);
  EXPECT_EQ(first.figures.at(Figure::kRatio).value, 11.0839);
  EXPECT_EQ(first.figures.at(Figure::kPercent).value, 98.2494);
  EXPECT_EQ((*lines)[1].figures.size(), 3U);
  EXPECT_EQ((*lines)[1].line, 3U);
}

TEST(Table, OtherNamesDelimitersAndPoints) {
  const auto lines = parse_table(
      "Test;Native;Vanilla VM;Hooked VM;Speed-up;% of native\npp 512;4871,99;431,86;4786,70;11,08x;98,25 %\n");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 1U);
  EXPECT_EQ((*lines)[0].test, "pp512");
  EXPECT_EQ((*lines)[0].figures.at(Figure::kStock).value, 431.86);
  EXPECT_EQ((*lines)[0].figures.at(Figure::kRatio).value, 11.08);
  EXPECT_EQ((*lines)[0].figures.at(Figure::kPercent).value, 98.25);
  EXPECT_NEAR((*lines)[0].figures.at(Figure::kPercent).half_digit, 0.005, 1e-12);
}

TEST(Table, OtherTextIsNone) {
  EXPECT_FALSE(parse_table(""));
  EXPECT_FALSE(parse_table("a,b\n"));
  EXPECT_FALSE(parse_table("test,color\npp512,red\n"));
  EXPECT_FALSE(parse_table("host,stock\n1,2\n"));
  EXPECT_FALSE(parse_table("build_commit,no_host,n_prompt,n_gen\nabc,0,512,0\n"));
  EXPECT_FALSE(parse_table("\"unclosed,host\nx"));
}

Cell cell(std::string name, std::string about) {
  return {std::move(name), "pp512", std::move(about), {{1000, 1000, 1000}}, {{100, 100.0004, 200}}, {{900, 900, 900}}};
}

std::vector<TableLine> lines_of(const std::string& row) {
  return parse_table("model,test,host,stock,shim,ratio,percent\n" + row + "\n").value_or(std::vector<TableLine>());
}

TEST(Table, FiguresAgreeAtTheirDigits) {
  const std::vector<Cell> cells = {cell("tiny, pp512", "tiny llama 1b"), cell("gemma, pp512", "gemma 4 12b")};
  const TableCheck good = check_table("t.csv", lines_of("Tiny 1B,pp512,1000,100.0004,900,9,90.0"), cells);
  EXPECT_THAT(good.findings, IsEmpty());
  EXPECT_THAT(good.notes, IsEmpty());
  EXPECT_EQ(good.exactly, 5U);
  // llama-bench prints 100.0004 as 100, and tables are made of what it prints.
  const TableCheck printed = check_table("t.csv", lines_of("Tiny 1B,pp512,,100.00000,,9.000000,"), cells);
  EXPECT_EQ(printed.exactly, 0U);
  EXPECT_EQ(printed.rounded, 2U);
  const TableCheck wrong = check_table("t.csv", lines_of("Tiny 1B,pp512,1000,100.1,900,9,90.0"), cells);
  EXPECT_THAT(wrong.findings,
              ElementsAre("t.csv line 2: stock of tiny, pp512 is 100.1 there, 100.0004 from the samples"));
}

TEST(Table, LinesThatCannotBeComparedAreNotes) {
  std::vector<Cell> cells = {cell("tiny, pp512", "tiny llama 1b"), cell("tiny2, pp512", "tiny llama 2b")};
  cells[0].bare_metal.clear();
  const auto note = [&](const std::string& row) {
    const TableCheck check = check_table("t.csv", lines_of(row), cells);
    EXPECT_THAT(check.findings, IsEmpty());
    return check.notes.empty() ? std::string() : check.notes.front();
  };
  EXPECT_THAT(note("Tiny,pp512,1,1,1,1,1"), HasSubstr("several results could be meant"));
  EXPECT_THAT(note("Qwen 3 large,pp512,1,1,1,1,1"), HasSubstr("no result is called that"));
  EXPECT_THAT(note("Tiny 1B,tg128,1,1,1,1,1"), HasSubstr("no result has that test"));
  EXPECT_THAT(note("Tiny 1B,pp512,1000,100.0004,900,9,"), HasSubstr("no samples give it"));
}

TEST(Documents, AreWhatTheirContentIs) {
  EXPECT_EQ(read_document("x", kA + "  y\n").role, Role::kSums);
  EXPECT_EQ(read_document("x", "test,host\npp512,1\n").role, Role::kTable);
  EXPECT_EQ(read_document("x", std::string("a\0b", 3)).role, Role::kBinary);
  EXPECT_EQ(read_document("x", "").role, Role::kText);
  EXPECT_EQ(read_document("x.md", "The shim prints [LumeMetalCapabilities] Enabled for x (a=1)").role, Role::kText);
  EXPECT_EQ(read_document("x", "[LumeMetalCapabilities] Enabled for x (a=1)").role, Role::kLog);
  EXPECT_EQ(read_document("x.err", "anything").role, Role::kLog);
  const Document table =
      read_document("smoke.txt",
                    "| model | size | params | backend | threads | test | t/s |\n"
                    "| --- | ---: | ---: | --- | ---: | ---: | ---: |\n"
                    "| llama 1B Q4_K - Medium | 636.18 MiB | 1.10 B | MTL,BLAS | 8 | pp512 | 4785.97 ± 0.00 |\n");
  EXPECT_EQ(table.role, Role::kResults);
  EXPECT_EQ(read_document("smoke.md", table.bytes).role, Role::kResults);
  EXPECT_EQ(read_document("README.md", "# What was measured\n\n" + table.bytes).role, Role::kText);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].repetitions, 1);
}

TEST(Documents, LastWordsAreTheFirstError) {
  EXPECT_EQ(last_words("Traceback (most recent call last):\n  File \"x\"\nRuntimeError: no set.\nException ignored in: "
                       "<x>\nValueError: later\n"),
            "RuntimeError: no set.");
  EXPECT_EQ(last_words("Traceback (most recent call last):\n  odd end\r\n"), "odd end");
  EXPECT_EQ(last_words("llama_model_load: ok\nzsh: Abort trap: 6\n"), "zsh: Abort trap: 6");
  EXPECT_EQ(last_words("ggml_metal_device_init: has bfloat = true\n"), "");
  EXPECT_LE(last_words("XError: " + std::string(10000, 'a')).size(), 300U);
}

}  // namespace
}  // namespace capbench::imports::evidence
