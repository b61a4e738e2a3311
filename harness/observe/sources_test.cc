#include "harness/observe/sources.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "harness/observe/environment.h"
#include "harness/observe/run_command.h"
#include "harness/observe/text.h"
#include "harness/observe/variables.h"

namespace capbench::observe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

class SourcesTest : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / "sources";

  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void write(const std::string& name, const std::string& text, bool executable = false) const {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(replace_file(folder_ / name, text).ok());
    fs::permissions(folder_ / name, executable ? fs::perms::owner_all : fs::perms::owner_read | fs::perms::owner_write);
  }

  // What a real sh makes of the script.
  std::string run_script(const std::vector<Source>& table, const std::string& before = "") const {
    write("facts.sh", facts_script(table, "n0nce"));
    const std::string command =
        fmt::format("{} /bin/sh '{}' 2>'{}'", before, (folder_ / "facts.sh").string(), (folder_ / "stderr").string());
    FILE* pipe = ::popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string output;
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
    EXPECT_EQ(::pclose(pipe), 0);
    return output;
  }

  SourceTexts collect(const std::vector<Source>& table, const std::string& before = "") const {
    auto texts = parse_facts_output(run_script(table, before), "n0nce");
    EXPECT_TRUE(texts.ok()) << (texts.ok() ? "" : to_string(texts.error()));
    return texts.ok() ? *texts : SourceTexts{};
  }

  Source here(std::string name, SourceKind kind) const {
    Source source;
    source.name = std::move(name);
    source.os = this_os();
    source.kind = kind;
    return source;
  }

  Source asking(std::string name, std::vector<std::vector<std::string>> commands) const {
    Source source = here(std::move(name), SourceKind::kCommand);
    source.commands = std::move(commands);
    source.limit_s = 10;
    return source;
  }
};

TEST_F(SourcesTest, TheScriptTellsTheSameFactsAsReadingDirectly) {
  const auto table = sources(Purpose::kEnvironment);
  const schema::EnvironmentRecord direct = collect_environment();
  const SourceTexts texts = collect(table);
  EXPECT_EQ(environment_from(texts).json, direct.json);
  EXPECT_EQ(environment_from(texts).id, direct.id);
  EXPECT_EQ(collect_environment().json, direct.json) << "the same machine gives the same environment twice";
}

TEST_F(SourcesTest, TheScriptIsSilentOnStandardError) {
  collect(all_sources(), "env PATH=");
  const auto complaints = read_file(folder_ / "stderr");
  ASSERT_TRUE(complaints.ok());
  EXPECT_EQ(*complaints, "");
}

TEST_F(SourcesTest, BothWaysReadEverySourceKindAlike) {
  write("a file", "one\ntwo\n\n");
  write("no end", "text without its line's end");
  write("lines/1/value", "first\nsecond\n");
  write("lines/2/value", "only");
  write("lines/3/value", "");
  write("tool", "#!/bin/sh\nprintf 'said %s\\n' \"$1\"; exit $2\n", true);
  std::vector<Source> table;
  const auto file = [&](const char* name, const char* path) {
    Source source = here(name, SourceKind::kFile);
    source.patterns = {(folder_ / path).string()};
    table.push_back(source);
  };
  file("whole", "a file");
  file("unended", "no end");
  file("absent", "nothing");
  table.push_back(here("lines", SourceKind::kFirstLines));
  table.back().patterns = {(folder_ / "lines/*/value").string(), (folder_ / "no/match*").string()};
  table.push_back(here("paths", SourceKind::kPaths));
  table.back().patterns = {(folder_ / "lines/[12]").string(), (folder_ / "absent").string()};
  const std::string tool = (folder_ / "tool").string();
  table.push_back(asking("says", {{"sh", tool, "it's \"quoted\" $HOME `x` \\", "0"}}));
  table.push_back(asking("second", {{"sh", tool, "a", "3"}, {"sh", tool, "b", "0"}, {"sh", tool, "c", "0"}}));
  table.push_back(asking("both fail", {{"sh", tool, "a", "3"}, {"sh", tool, "b", "4"}}));
  table.push_back(asking("missing", {{"capbench-no-such-program"}}));
  table.push_back(asking("asked", {{"sh", tool, "d", "0"}}));
  table.back().only_with = {(folder_ / "absent").string(), (folder_ / "lines/*/value").string()};
  table.push_back(asking("unasked", {{"sh", tool, "e", "0"}}));
  table.back().only_with = {(folder_ / "absent").string(), (folder_ / "no/match*").string()};
  table.push_back(here("uname", SourceKind::kUname));
  table.push_back(here("personal", SourceKind::kPersonal));
  for (Source& source : table) {
    if (source.name == "both fail") source.name = "both_fail";
  }

  const SourceTexts direct = read_sources_locally(table, run_command);
  EXPECT_EQ(collect(table), direct);
  EXPECT_EQ(direct.at("whole"), (SourceText{"one\ntwo\n\n", 0}));
  EXPECT_EQ(direct.at("unended"), (SourceText{"text without its line's end", 0}));
  EXPECT_EQ(direct.at("absent"), (SourceText{"", 1}));
  EXPECT_EQ(direct.at("asked"), (SourceText{"said d\n", 0}));
  EXPECT_EQ(direct.at("unasked"), (SourceText{"", 127}));
  const std::string lines = (folder_ / "lines").string();
  EXPECT_EQ(direct.at("lines").text, lines + "/1/value\tfirst\n" + lines + "/2/value\tonly\n");
  EXPECT_EQ(direct.at("paths").text, "rw " + lines + "/1\nrw " + lines + "/2\n");
  EXPECT_EQ(direct.at("says"), (SourceText{"said it's \"quoted\" $HOME `x` \\\n", 0}));
  EXPECT_EQ(direct.at("second"), (SourceText{"said a\nsaid b\n", 0}));
  EXPECT_EQ(direct.at("both_fail"), (SourceText{"said a\nsaid b\n", 4}));
  EXPECT_EQ(direct.at("missing"), (SourceText{"", 127}));
}

TEST_F(SourcesTest, ACommandThatHangsIsEndedAndTheOthersGoOn) {
  write("hangs", "#!/bin/sh\necho started\nexec sleep 60\n", true);
  Source hanging = asking("hangs", {{"sh", (folder_ / "hangs").string()}});
  hanging.limit_s = 1;
  const std::vector<Source> table{hanging, asking("next", {{"echo", "next"}})};
  for (const bool direct : {false, true}) {
    const auto start = Clock::now();
    const SourceTexts texts = direct ? read_sources_locally(table, run_command) : collect(table);
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(texts.at("hangs"), (SourceText{"started\n", 137}));
    EXPECT_EQ(texts.at("next"), (SourceText{"next\n", 0}));
  }
}

TEST_F(SourcesTest, ACommandThatFloodsIsCut) {
  Source flood = asking("flood", {{"sh", "-c", "while :; do echo 0123456789; done"}});
  flood.max_bytes = 25;
  const std::vector<Source> table{flood, asking("next", {{"echo", "next"}})};
  for (const bool direct : {false, true}) {
    const SourceTexts texts = direct ? read_sources_locally(table, run_command) : collect(table);
    EXPECT_EQ(texts.at("flood").text, "0123456789\n0123456789\n012");
    EXPECT_EQ(texts.at("next"), (SourceText{"next\n", 0}));
  }
}

TEST_F(SourcesTest, ABackgroundProcessOfACommandKeepsNobodyWaiting) {
  const std::vector<Source> table{asking("forks", {{"sh", "-c", "sleep 60 >/dev/null & echo done"}})};
  const auto start = Clock::now();
  EXPECT_EQ(collect(table).at("forks").text, "done\n");
  EXPECT_EQ(read_sources_locally(table, run_command).at("forks").text, "done\n");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
}

TEST_F(SourcesTest, NothingInjectedReachesACommand) {
  const std::vector<Source> table{
      here("variables", SourceKind::kVariables),
      asking("seen",
             {{"sh", "-c", "echo \"$LD_PRELOAD|$VK_INSTANCE_LAYERS|$LUME_METAL_X|$CAPSHIM_SET|$GGML_X|$LC_ALL\""}})};
  const std::string given =
      "LD_PRELOAD=/no/such/capbench.so VK_INSTANCE_LAYERS=VK_LAYER_x LUME_METAL_X=1009 CAPSHIM_SET=cpu.isa=best "
      "GGML_X='two words' NOT_OURS=1";
  const SourceTexts texts = collect(table, "env " + given);
  EXPECT_EQ(texts.at("seen").text, "||||two words|C\n");
  const TextMap variables = key_values(texts.at("variables").text, '=');
  EXPECT_EQ(value_of(variables, "LD_PRELOAD"), "/no/such/capbench.so");
  EXPECT_EQ(value_of(variables, "VK_INSTANCE_LAYERS"), "VK_LAYER_x");
  EXPECT_EQ(value_of(variables, "LUME_METAL_X"), "1009");
  EXPECT_EQ(value_of(variables, "CAPSHIM_SET"), "cpu.isa=best");
  EXPECT_EQ(value_of(variables, "GGML_X"), "two words");
  EXPECT_FALSE(variables.contains("NOT_OURS"));
}

TEST_F(SourcesTest, AHostileEnvironmentDoesNotStopTheScript) {
  const std::vector<Source> table{asking("next", {{"echo", "next"}}), here("uname", SourceKind::kUname)};
  EXPECT_EQ(collect(table, "env -i").at("next").text, "next\n");
  EXPECT_EQ(collect(table, "env PATH= ENV=/nowhere LC_ALL=xx_YY.bad IFS=/").at("next").text, "next\n");
  EXPECT_EQ(collect(table, "cd / && env HOME='/no \"such $(place)'").at("next").text, "next\n");
  // What the user's PATH holds comes after the system's own tools.
  write("uname", "#!/bin/sh\necho Darwin 1 2\n", true);
  EXPECT_EQ(collect(table, fmt::format("env PATH='{}'", folder_.string())).at("uname").text,
            read_sources_locally(table, run_command).at("uname").text);
}

TEST_F(SourcesTest, HygieneIsCheapWithoutGpuTools) {
  std::vector<Source> table = sources(this_os(), Purpose::kHygiene);
  std::erase_if(table, [](const Source& source) { return source.kind == SourceKind::kCommand; });
  table.push_back(asking("missing", {{"capbench-no-such-program"}}));
  // The processor's time, since others may use the machine too; the best of several, since the first fills caches.
  std::clock_t fastest = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 20; ++i) {
    const std::clock_t start = std::clock();
    read_sources_locally(table, run_command);
    fastest = std::min(fastest, std::clock() - start);
  }
  const double ms = 1000.0 * static_cast<double>(fastest) / CLOCKS_PER_SEC;
  RecordProperty("fastest_us", static_cast<int>(1000 * ms));
  EXPECT_LT(ms, 10) << "a machine with a thousand processes aside, it takes less than 3 ms";
}

TEST(FactsScript, TheTableHasNamesThatTheScriptCanPrint) {
  for (const Source& source : all_sources()) {
    EXPECT_EQ(source.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."),
              std::string::npos)
        << source.name;
    EXPECT_GT(source.limit_s, 0);
    EXPECT_GT(source.max_bytes, 0U);
  }
  // The nonce is only ever letters and digits.
  EXPECT_EQ(facts_script({}, "a'; rm -rf /;'b"), facts_script({}, "armrfb"));
}

TEST(ParseFactsOutput, SkipsWhatTheToolPrintsAround) {
  const std::string output =
      "[2026] INFO: connecting\r\n\r\n@@n begin one\r\ntext\r\n\r\n@@n end one 0\r\nnoise\r\n@@n begin two\r\n\r\n"
      "@@n end two 3\r\n\r\n@@n done\r\n\nlogout\n";
  const auto texts = parse_facts_output(output, "n");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(*texts, (SourceTexts{{"one", {"text\n", 0}}, {"two", {"", 3}}}));
}

TEST(ParseFactsOutput, AForgedMarkNeedsTheNonce) {
  const std::string output =
      "\n@@n begin one\n@@m end one 0\n@@n end two 0\n@@m done\nreal\n\n@@n end one 0\n\n@@n done\n";
  const auto texts = parse_facts_output(output, "n");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->size(), 1U);
  EXPECT_THAT(texts->at("one").text, HasSubstr("real"));
}

TEST(ParseFactsOutput, SurvivesTruncationAndFlippedBits) {
  const std::string whole =
      "\n@@n begin one\ntext\n\n@@n end one 0\n\n@@n begin two\nmore\n\n@@n end two 1\n\n@@n done\n";
  ASSERT_TRUE(parse_facts_output(whole, "n").ok());
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    const auto texts = parse_facts_output(std::string_view(whole).substr(0, length), "n");
    ASSERT_FALSE(texts.ok()) << length;
    EXPECT_NE(texts.error().remedy, "");
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto texts = parse_facts_output(flipped, "n");
    EXPECT_TRUE(!texts.ok() || texts->size() <= 2U);
  }
  EXPECT_FALSE(parse_facts_output("", "n").ok());
  // Marks without their beginning, a begin within a begin, an absurd status.
  const auto odd =
      parse_facts_output("@@n end x 0\n@@n begin a\n@@n begin b\nt\n\n@@n end b 99999999999\n@@n done\n", "n");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(*odd, (SourceTexts{{"b", {"t\n", 255}}}));
}

TEST(RunCommand, SaysHowItEnded) {
  Source source;
  source.limit_s = 10;
  EXPECT_EQ(run_command("/bin/sh", {"sh", "-c", "echo a; exit 7"}, source), (SourceText{"a\n", 7}));
  EXPECT_EQ(run_command("/bin/sh", {"sh", "-c", "kill -TERM $$"}, source), (SourceText{"", 143}));
  EXPECT_EQ(run_command("/no/such/program", {"x"}, source), (SourceText{"", 127}));
  EXPECT_EQ(run_command("/bin/sh", {"sh", "-c", "cat; echo end"}, source), (SourceText{"end\n", 0}));
  source.limit_s = 1;
  EXPECT_EQ(run_command("/bin/sh", {"sh", "-c", "exec >/dev/null; sleep 60"}, source), (SourceText{"", 137}));
}

TEST(Text, ReadsNumbersThatAreNumbers) {
  EXPECT_EQ(to_integer(" 42\n"), 42);
  EXPECT_EQ(to_integer("42 kB"), std::nullopt);
  EXPECT_EQ(to_integer("99999999999999999999"), std::nullopt);
  EXPECT_EQ(to_number("3.5"), 3.5);
  for (const char* bad : {"", "nan", "inf", "0x10", "1e999", "[N/A]", "-", "1.2.3"})
    EXPECT_EQ(to_number(bad), std::nullopt);
  EXPECT_EQ(starting_number("512.00M"), 512);
  EXPECT_EQ(starting_number("92%"), 92);
  EXPECT_EQ(starting_number(std::string(100000, '9')), std::nullopt);
}

TEST(Text, ReadsTablesByTheirTitles) {
  const auto rows =
      csv_rows("Field \"x\" is not a valid field\n\nindex, memory.total [MiB]\n0, 5\n1, 6, 7\n2, 8\n", "index");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(value_of(rows[0], "memory.total"), "5");
  EXPECT_EQ(value_of(rows[1], "index"), "2");
  EXPECT_TRUE(csv_rows("No devices were found\n", "index").empty());
}

}  // namespace
}  // namespace capbench::observe
