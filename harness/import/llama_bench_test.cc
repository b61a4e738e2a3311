// The quirks of llama-bench's printers and of the people who paste what they print.
#include "harness/import/llama_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/import/markdown.h"
#include "harness/import/row_builder.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

RowList read(std::string_view bytes) {
  RowList list;
  LlamaBenchReader reader(list);
  reader.feed(bytes);
  reader.finish();
  return list;
}

std::string reason(std::string_view bytes) {
  const RowList list = read(bytes);
  EXPECT_THAT(list.rows, IsEmpty());
  EXPECT_THAT(list.quarantined, SizeIs(1));
  return list.quarantined.empty() ? "" : list.quarantined[0].reason;
}

nlohmann::json fields(const ImportedRow& row) {
  return nlohmann::json::parse(row.result.fields);
}

// A row as llama-bench prints it: 512 tokens in 0.1 s and in 0.2 s.
constexpr std::string_view kRow =
    R"({"build_commit": "abc1234", "build_number": 7, "backends": "CUDA", "model_filename": "m.gguf", )"
    R"("model_type": "llama 7B Q4_0", "model_size": 1000, "model_n_params": 2000, "n_prompt": 512, "n_gen": 0, )"
    R"("n_depth": 0, "avg_ns": 150000000, "stddev_ns": 70710678, "avg_ts": 3840.000000, "stddev_ts": 1810.193360, )"
    R"("samples_ns": [ 100000000, 200000000 ],"samples_ts": [ 5120, 2560 ]})";

std::string row_with(std::string_view from, std::string_view to) {
  std::string row(kRow);
  const std::size_t at = row.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return row.replace(at, from.size(), to);
}

TEST(Jsonl, KeepsSamplesAndEveryField) {
  const RowList list = read(row_with(R"("n_depth": 0)", R"("n_depth": 4096, "new": {"a": [1, 2.50e+3]})"));
  ASSERT_THAT(list.rows, SizeIs(1));
  const ImportedRow& row = list.rows[0];
  EXPECT_EQ(row.result.test, "pp512 @ d4096");
  EXPECT_EQ(row.result.build, "abc1234 (7)");
  EXPECT_THAT(row.result.samples_ns, ElementsAre(100000000, 200000000));
  EXPECT_DOUBLE_EQ(row.result.median_ts, 3840);
  EXPECT_EQ(row.repetitions, 2);
  EXPECT_EQ(fields(row).at("new").at("a").at(1), 2500.0);
  EXPECT_THAT(row.flags, IsEmpty());
  EXPECT_THAT(list.notes, IsEmpty());
}

TEST(Jsonl, RowsBetweenLogLinesColoursAndBothKindsOfLineEnd) {
  std::string text = "\xEF\xBB\xBFggml_cuda_init: found 1 device\r\n";
  text += "\x1B[32m" + std::string(kRow) + "\x1B[0m\r\n[2025-01-01 12:00:00] info: {\"level\": 1}\n";
  text += "{\"level\":\"info\",\"msg\":\"not a row\"}\n....." + std::string(kRow) + "\n";
  const RowList list = read(text);
  EXPECT_THAT(list.rows, SizeIs(2));
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_EQ(list.rows[0].place.line, 2U);
  EXPECT_EQ(list.rows[1].place.line, 5U);
}

TEST(Json, LogLinesInsideARowAreSkipped) {
  const RowList list = read(
      "[\nload_backend: loaded CUDA\n  {\n    \"n_prompt\": 512,\nggml_metal_init: ok\n    \"n_gen\": 0,\n"
      "    \"samples_ns\": [ 100000000 ]\nggml_metal_free: done\n  }\n]\n");
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_THAT(list.notes, IsEmpty());
}

TEST(Json, ATruncatedArrayKeepsItsWholeRowsAndSaysWhatIsLost) {
  const std::string row(kRow);
  const RowList list = read("[\n" + row + ",\n" + row + ",\n" + row.substr(0, 200));
  EXPECT_THAT(list.rows, SizeIs(2));
  ASSERT_THAT(list.quarantined, SizeIs(1));
  EXPECT_THAT(list.quarantined[0].reason, HasSubstr("ends in the middle"));
  ASSERT_THAT(list.notes, SizeIs(1));
  EXPECT_EQ(list.notes[0].line, 1U);
  EXPECT_EQ(list.notes[0].text, "the JSON array that begins here is cut short: its 2 whole rows are kept");
}

TEST(Json, ANewDocumentBehindACutOneIsRead) {
  const std::string row(kRow);
  const RowList list = read("[\n" + row + ",\n  {\n    \"build_commit\": \"abc1\n[\n" + row + "\n]\n");
  EXPECT_THAT(list.rows, SizeIs(2));
  EXPECT_THAT(list.notes, SizeIs(1));
}

TEST(Json, AWholeArrayOnOneLine) {
  const std::string row(kRow);
  const RowList list = read("[" + row + "," + row + "]");
  EXPECT_THAT(list.rows, SizeIs(2));
  EXPECT_THAT(list.notes, IsEmpty());
}

TEST(Json, Utf16WithItsMarkAsPowerShellWritesIt) {
  std::string text = "\xFF\xFE";
  for (const char c : std::string(kRow) + "\r\n") {
    text.push_back(c);
    text.push_back('\0');
  }
  EXPECT_THAT(read(text).rows, SizeIs(1));
}

TEST(Json, EscapesOfSignedBytesAreRepaired) {
  RowList list = read(row_with("m.gguf", R"(zo\uffffffc3\uffffffa9.gguf)"));
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_EQ(list.rows[0].model_filename, "zo\xC3\xA9.gguf");
  EXPECT_EQ(fields(list.rows[0]).at("model_filename"), "zo\xC3\xA9.gguf");
  EXPECT_THAT(list.rows[0].flags, Contains("text repaired"));
  // What llama-bench's buffer of 8 bytes leaves of them: the bytes are lost, not the text around.
  list = read(row_with("m.gguf", R"(zo\ufffff\ufffff.gguf)"));
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_EQ(list.rows[0].model_filename, "zo\xEF\xBF\xBD\xEF\xBF\xBD.gguf");
  EXPECT_THAT(list.rows[0].flags, Contains("text repaired"));
}

TEST(Json, OrdinaryEscapesAndBadBytes) {
  const RowList list = read(row_with("m.gguf", "a\\\\b\\u00e9\\ud83d\\ude00\\\"\xFF.gguf"));
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_EQ(list.rows[0].model_filename, "a\\b\xC3\xA9\xF0\x9F\x98\x80\"\xEF\xBF\xBD.gguf");
  EXPECT_EQ(fields(list.rows[0]).at("model_filename"), list.rows[0].model_filename);
}

TEST(Json, OnlyAveragesAreAMeanAndNoMedian) {
  const std::string row(kRow);
  const RowList list = read(row.substr(0, row.find(R"(, "samples_ns")")) + "}");
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_TRUE(list.rows[0].mean_only());
  EXPECT_EQ(list.rows[0].result.median_ts, 0);
  EXPECT_EQ(list.rows[0].mean_ts, 3840);
  EXPECT_EQ(list.rows[0].stddev_ts, 1810.19336);
  EXPECT_FALSE(list.rows[0].repetitions.has_value());
  EXPECT_EQ(stated(list.rows[0]).mean_ts, 3840);
}

TEST(Json, RatesStandInForTimes) {
  const RowList list = read(row_with(R"("samples_ns": [ 100000000, 200000000 ],)", ""));
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_THAT(list.rows[0].result.samples_ns, ElementsAre(100000000, 200000000));
  EXPECT_THAT(list.rows[0].flags, Contains("samples from rates"));
  EXPECT_EQ(fields(list.rows[0]).at("samples_ts").size(), 2U);
}

TEST(Json, ADeviationThatIsNoNumberSaysNothingAgainstTheRow) {
  const RowList list = read(row_with("1810.193360", "-nan"));
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_TRUE(fields(list.rows[0]).at("stddev_ts").is_null());
}

TEST(Quarantine, NamesTheTrueReason) {
  EXPECT_EQ(reason(row_with("512", "-512")), "impossible n_prompt: -512");
  EXPECT_EQ(reason(row_with("512", "0")), "n_prompt and n_gen are both 0");
  EXPECT_EQ(reason(row_with(R"("n_gen": 0, )", "")), "no field \"n_gen\"");
  EXPECT_EQ(reason(row_with("3840.000000", "nan")), "impossible avg_ts: nan");
  EXPECT_EQ(reason(row_with("150000000", "-3")), "impossible avg_ns: -3");
  EXPECT_EQ(reason(row_with("[ 100000000", "[ 0")), "impossible sample: 0 ns");
  EXPECT_EQ(reason(row_with("[ 100000000", "[ 99999999999999999999")), "impossible sample: 99999999999999999999 ns");
  EXPECT_EQ(reason(row_with("3840.000000", "3900.000000")),
            "avg_ts 3900.000000 contradicts its samples, whose mean is 3840.000000");
  EXPECT_EQ(reason(row_with("150000000", "150000500")),
            "avg_ns 150000500 contradicts its samples, whose mean is 150000000");
  EXPECT_EQ(reason(row_with("[ 5120", "[ 5121")), "sample 1: 5121 tokens/s contradicts 100000000 ns");
  EXPECT_EQ(reason(row_with("[ 5120, 2560 ]", "[ 5120 ]")), "1 samples_ts beside 2 samples_ns");
  EXPECT_EQ(reason(row_with(R"("n_depth": 0)", R"("n_gen": 0)")), "the field \"n_gen\" stands twice");
  EXPECT_EQ(reason(row_with("1000", "-1000")), "impossible model_size: -1000");
  EXPECT_EQ(reason(row_with(R"("n_depth": 0)", R"("n_depth": 0,,)")),
            "not a whole JSON object: expected the name of a field");
  EXPECT_EQ(reason(row_with("m.gguf", R"(C:\models)")), "not a whole JSON object: a backslash that escapes nothing");
}

TEST(Quarantine, KeepsPlaceAndText) {
  const RowList list = read("log\n" + std::string(kRow) + "\n" + row_with("512", "-1") + "\n" + std::string(kRow));
  EXPECT_THAT(list.rows, SizeIs(2));
  ASSERT_THAT(list.quarantined, SizeIs(1));
  EXPECT_EQ(list.quarantined[0].place.line, 3U);
  EXPECT_EQ(list.quarantined[0].place.offset, 5 + kRow.size());
  EXPECT_THAT(list.quarantined[0].text, HasSubstr("\"n_prompt\": -1"));
}

constexpr std::string_view kTable =
    "| model                          |       size |     params | backend    | ngl |  fa |            test |        "
    "t/s |\n"
    "| ------------------------------ | ---------: | ---------: | ---------- | --: | --: | --------------: | "
    "---------: |\n"
    "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |   1 |           pp512 | 2368.80 "
    "\xC2\xB1 93.24 |\n"
    "| llama 7B Q4_0                  | 494.03 MiB |   494.03 M | CUDA       |  99 |   0 |   tg128 @ d4096 | 131.42 "
    "\xC2\xB1 0.00 |\n"
    "\n"
    "build: 8cf427ff (5163)\n";

TEST(Markdown, ReadsEveryColumnAndTheBuildBehindTheTable) {
  const RowList list = read(kTable);
  ASSERT_THAT(list.rows, SizeIs(2));
  EXPECT_THAT(list.notes, IsEmpty());
  EXPECT_EQ(list.rows[0].result.build, "8cf427ff (5163)");
  EXPECT_EQ(list.rows[0].result.model_size, 3822520893);
  EXPECT_EQ(list.rows[0].result.model_n_params, 6740000000);
  EXPECT_EQ(list.rows[1].result.model_n_params, 494030000);
  EXPECT_EQ(fields(list.rows[0]).at("flash_attn"), 1);
  EXPECT_EQ(fields(list.rows[0]).at("n_gpu_layers"), 99);
  EXPECT_EQ(fields(list.rows[0]).at("build_number"), 5163);
  EXPECT_EQ(list.rows[1].result.test, "tg128 @ d4096");
  // A deviation of 0.00 is that of a single repetition.
  EXPECT_EQ(list.rows[1].repetitions, 1);
  EXPECT_FALSE(list.rows[1].stddev_ts.has_value());
  EXPECT_FALSE(list.rows[0].repetitions.has_value());
}

TEST(Markdown, PastedIntoAnIssue) {
  const RowList list = read(
      "> Here you go:\r\n> \r\n> model | size | params | backend | ngl | test | t/s\r\n"
      "> --- | ---: | ---: | --- | --: | --: | ---:\r\n"
      "> llama 7B Q4_0 | 3,56 GiB | 6,74 B | ROCm | 99 | **pp 512** | **132,19 \xC2\xB1 0,55**\r\n"
      "> system_info: n_threads = 8 | AVX = 1 | AVX2 = 1\r\n"
      "> llama 7B Q4_0 | 3,56 GiB | 6,74 B | ROCm | 99 | `pp 512+tg 128` | 1.234\xC3\x82\xC2\xB1 0.5\r\n");
  ASSERT_THAT(list.rows, SizeIs(2));
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_EQ(list.rows[0].mean_ts, 132.19);
  EXPECT_EQ(list.rows[0].stddev_ts, 0.55);
  EXPECT_EQ(list.rows[0].result.test, "pp512");
  EXPECT_EQ(list.rows[0].result.model_size, 3822520893);
  EXPECT_EQ(list.rows[1].result.test, "pp512+tg128");
  EXPECT_EQ(list.rows[1].mean_ts, 1.234);
  ASSERT_THAT(list.notes, SizeIs(1));
  EXPECT_THAT(list.notes[0].text, HasSubstr("no `build:` line"));
}

TEST(Markdown, SeveralTablesAndForeignOnes) {
  const std::string table(kTable);
  const std::string foreign = "| GPU | price |\n| --- | --- |\n| A | 1 |\n\n";
  const std::string no_footer = table.substr(0, table.find("\nbuild"));
  const RowList list = read(foreign + no_footer + foreign + table);
  EXPECT_THAT(list.rows, SizeIs(4));
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_EQ(list.rows[0].result.build, "");
  EXPECT_EQ(list.rows[2].result.build, "8cf427ff (5163)");
  ASSERT_THAT(list.notes, SizeIs(1));
  EXPECT_EQ(list.notes[0].line, 5U);
}

TEST(Markdown, RowsThatCannotBeTrusted) {
  const std::string head =
      "| model | size | params | backend | ngl | test | t/s |\n| --- | ---: | ---: | --- | --: | --: | ---: |\n";
  const auto reason_of = [&](const std::string& row) { return reason(head + row + "\n"); };
  EXPECT_EQ(reason_of("| llama | 1 GiB | 1 B | CUDA | 99 | 1 | pp512 | 1.00 \xC2\xB1 0.10 |"),
            "8 cells under a heading of 7");
  EXPECT_EQ(reason_of("| llama | 1 GiB | 1 B | CU"), "4 cells under a heading of 7");
  EXPECT_EQ(reason_of("| llama | 1 GiB | 1 B | CUDA | 99 | qq512 | 1.00 \xC2\xB1 0.10 |"),
            "no test of llama-bench: \"qq512\"");
  EXPECT_EQ(reason_of("| llama | 1 GiB | 1 B | CUDA | 99 | pp512 | failed |"), "no rate: \"failed\"");
  EXPECT_EQ(reason_of("| llama | 1 GiB | 1 B | CUDA | 99 | pp512 | 0.00 \xC2\xB1 0.00 |"), "impossible avg_ts: 0.00");
  EXPECT_EQ(reason_of("| llama | 1 GiB | 1 B | CUDA | 99 | pp512 | 4,785 \xC2\xB1 0.10 |"),
            "no rate: \"4,785 \xC2\xB1 0.10\"");
}

constexpr std::string_view kCsvHeading =
    "build_commit,build_number,cuda,gpu_info,n_prompt,n_gen,avg_ns,stddev_ns,avg_ts,stddev_ts\n";

TEST(Csv, ReadsQuotedRowsBetweenLogLines) {
  const RowList list = read("main: started, a, b, c\n" + std::string(kCsvHeading) +
                            "load: a, b, c\n\"abc\",\"7\",\"1\",\"a \"\"big\"\" "
                            "one\",\"512\",\"0\",\"100000000\",\"0\",\"5120.000000\",\"0.000000\"\n");
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_EQ(list.rows[0].result.gpu_info, "a \"big\" one");
  EXPECT_EQ(list.rows[0].result.backends, "CUDA");
  EXPECT_EQ(list.rows[0].repetitions, 1);
  EXPECT_EQ(fields(list.rows[0]).at("cuda"), true);
  EXPECT_EQ(fields(list.rows[0]).at("avg_ts"), 5120.0);
}

TEST(Csv, SemicolonsAndDecimalCommasOfASpreadsheet) {
  const RowList list =
      read("build_commit;n_prompt;n_gen;avg_ns;avg_ts;stddev_ts\nabc;512;0;100000000;5120,000000;0,500000\n");
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_EQ(list.rows[0].mean_ts, 5120);
  EXPECT_EQ(list.rows[0].stddev_ts, 0.5);
}

// One value that is no JSON costs its own row, not those behind it in the line.
TEST(Json, ARowThatIsNoJsonLeavesTheOthersOfItsLine) {
  const auto row = [](const char* avg) {
    return std::string(R"({"build_commit":"a","gpu_info":"}{","n_prompt":512,"n_gen":0,"avg_ts":)") + avg +
           R"(,"note":"[}","samples_ns":[100000000]})";
  };
  for (const char* bad : {"nan", "-nan", "inf", "NaN", "1.2.3", "{\"a\":}"}) {
    SCOPED_TRACE(bad);
    const RowList list = read("[" + row("5120") + "," + row(bad) + "," + row("5120") + "," + row("5120") + "]\n");
    EXPECT_THAT(list.rows, SizeIs(3));
    EXPECT_THAT(list.quarantined, SizeIs(1));
    EXPECT_THAT(list.notes, IsEmpty());
  }
  // A row that was cut, with the next one behind it in the same line.
  const RowList list = read(R"({"build_commit":"a","n_prompt":512,"n_g)" + row("5120") + "\n" + row("5120") + "\n");
  EXPECT_THAT(list.rows, SizeIs(2));
  EXPECT_THAT(list.quarantined, SizeIs(1));
}

// What a killed program left, with whole rows behind it: in lines of their own or not, of a row or of something else.
TEST(Json, WholeRowsBehindABrokenObjectAreKept) {
  const std::string row = R"({"build_commit":"a","n_prompt":512,"n_gen":0,"samples_ns":[100000000]})"
                          "\n";
  for (const char* broken :
       {R"({"broken": )", R"({"broken":)", R"({"build_commit": )", R"({"build_commit":"a","n_prompt":)"}) {
    SCOPED_TRACE(broken);
    EXPECT_THAT(read(row + broken + "\n" + row + row).rows, SizeIs(3));
    EXPECT_THAT(read(row + broken + "\n" + row).rows, SizeIs(2));
    EXPECT_THAT(read(row + broken + row + row).rows, SizeIs(3));
  }
}

TEST(Json, SettingsThatNobodyPrintsAreQuarantined) {
  const auto with = [](const char* more) {
    return std::string(R"({"build_commit":"a",)") + more + R"(,"n_prompt":512,"n_gen":0,"avg_ts":10})" + "\n";
  };
  EXPECT_EQ(reason(with(R"("n_threads":"eight")")), "impossible n_threads: eight");
  EXPECT_EQ(reason(with(R"("build_number":1000000000000000000)")), "impossible build_number: 1000000000000000000");
  EXPECT_EQ(reason(with(R"("n_batch":-5)")), "impossible n_batch: -5");
  EXPECT_THAT(read(with(R"("n_threads":"8")")).rows, SizeIs(1));
}

TEST(Json, ATimeThatIsNoneIsLeftOut) {
  const auto at = [](const std::string& time) {
    return read(R"({"n_prompt":512,"n_gen":0,"avg_ts":10,"test_time":")" + time + "\"}\n").rows.at(0);
  };
  for (const char* time : {"yesterday", "9999-01-01T00:00:00Z", "2025-13-01T00:00:00Z", "2025-01-01T25:00:00Z", "19"}) {
    EXPECT_EQ(at(time).test_time, "") << time;
    EXPECT_THAT(at(time).flags, Contains("time not understood")) << time;
    EXPECT_NE(at(time).result.fields.find(time), std::string::npos);
  }
  for (const char* time : {"2025-01-31T23:59:59Z", "2025-01-31 23:59:59", "2025-01-31", "2025-01-31T23:59:59+01:00"}) {
    EXPECT_EQ(at(time).test_time, time);
    EXPECT_THAT(at(time).flags, Not(Contains("time not understood"))) << time;
  }
}

TEST(Csv, ACutLineIsQuarantined) {
  EXPECT_EQ(reason(std::string(kCsvHeading) + "\"abc\",\"7\",\"1\",\"gp"),
            "4 values under a heading of 10 columns; the last one has no closing quote");
  EXPECT_EQ(reason(std::string(kCsvHeading) + "\"abc\",\"7\",\"1\"\n"), "3 values under a heading of 10 columns");
}

TEST(Csv, AveragesThatContradictEachOther) {
  EXPECT_EQ(reason(std::string(kCsvHeading) + R"("a","7","1","g","512","0","100000000","0","4000.000000","1.000000")"),
            "avg_ts 4000.000000 contradicts avg_ns 100000000 at 512 tokens");
}

TEST(Sql, BothTablesQuotesAndDumps) {
  const RowList list = read(
      "CREATE TABLE IF NOT EXISTS llama_bench (\n  n_prompt INTEGER,\n  n_gen INTEGER,\n  gpu_info TEXT,\n  avg_ts "
      "REAL\n);\n\n"
      "INSERT INTO llama_bench (n_prompt, n_gen, gpu_info, avg_ts) VALUES ('512', '0', 'it's', '10.500000');\n"
      "INSERT INTO test (n_prompt, n_gen, gpu_info, avg_ts) VALUES ('0', '128', 'it''s', '11.500000');\n"
      "INSERT INTO llama_bench VALUES(64,0,NULL,12.5),(32,0,'',13.5);\n"
      "INSERT INTO test_backend_ops VALUES (1,2);\n");
  ASSERT_THAT(list.rows, SizeIs(4));
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_EQ(list.rows[0].result.gpu_info, "it's");
  EXPECT_EQ(list.rows[1].result.gpu_info, "it's");
  EXPECT_EQ(list.rows[3].result.test, "pp32");
  EXPECT_THAT(list.notes, SizeIs(1));
  EXPECT_EQ(reason("INSERT INTO llama_bench (n_prompt, n_gen, avg_ts) VALUES ('512', '0', '10."),
            "the values of the row are cut short or not SQL");
}

TEST(Mixed, FormatsInOneFileAreReadAndNoted) {
  const RowList list = read(std::string(kTable) + std::string(kRow) + "\n");
  EXPECT_THAT(list.rows, SizeIs(3));
  ASSERT_THAT(list.notes, SizeIs(1));
  EXPECT_THAT(list.notes[0].text, HasSubstr("more than one format"));
}

TEST(TestNames, OldAndNew) {
  EXPECT_EQ(parse_test_name("pp 512")->n_prompt, 512);
  EXPECT_EQ(parse_test_name("tg128 @ d4096")->n_depth, 4096);
  EXPECT_EQ(parse_test_name("pp512+tg128")->n_gen, 128);
  EXPECT_FALSE(parse_test_name("pp").has_value());
  EXPECT_FALSE(parse_test_name("pp-5").has_value());
  EXPECT_FALSE(parse_test_name("pp512 @ dx").has_value());
}

TEST(Numbers, AreReadAsPeoplePrintThem) {
  EXPECT_EQ(parse_local_number("132,19"), 132.19);
  EXPECT_EQ(parse_local_number("1,234.56"), 1234.56);
  EXPECT_EQ(parse_local_number("12,34.56"), std::nullopt);
  EXPECT_EQ(parse_local_number("4,785"), std::nullopt);
  EXPECT_EQ(parse_number("2413.341687"), 2413.341687);
  EXPECT_EQ(parse_number("4.34463e+07"), 4.34463e+07);
  EXPECT_EQ(parse_number("0.1000000000000000055511151231257827"), 0.1);
  EXPECT_EQ(parse_number("1e999"), std::nullopt);
  EXPECT_EQ(parse_number("nan"), std::nullopt);
  EXPECT_EQ(parse_number("1e"), std::nullopt);
  EXPECT_EQ(parse_integer("99999999999999999999"), std::nullopt);
}

// JSON's grammar allows numbers that no reader of JSON takes; a row's fields are read again by several.
TEST(Numbers, ThatNoDoubleHoldsAreKeptAsText) {
  const std::string huge(320, '9');
  const RowList json = read(row_with(R"("n_depth": 0)", R"("n_depth": 0, "a": 1e999, "b": [-1E400, {"c": )" + huge +
                                                            R"(}], "d": 1e-999, "e": 1e300)"));
  ASSERT_THAT(json.rows, SizeIs(1));
  const nlohmann::json kept = fields(json.rows[0]);
  EXPECT_EQ(kept["a"], "1e999");
  EXPECT_EQ(kept["b"][0], "-1E400");
  EXPECT_EQ(kept["b"][1]["c"], huge);
  EXPECT_EQ(kept["d"], 0.0);
  EXPECT_EQ(kept["e"], 1e300);
  EXPECT_THAT(json.rows[0].flags, Contains("text repaired"));
  std::string table(kTable);
  const std::size_t layers = table.find("|  99 |");
  ASSERT_NE(layers, std::string::npos);
  const RowList markdown = read(table.replace(layers, 7, "| " + huge + " |"));
  ASSERT_FALSE(markdown.rows.empty());
  EXPECT_EQ(fields(markdown.rows[0])["n_gpu_layers"], huge);
}

TEST(Json, AWrongRowIsPassedOverWithItsWholeLineHoweverItArrives) {
  const std::string text = row_with("m.gguf", "\\u ") + "\n" + std::string(kRow) + "\n";
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{4}, std::size_t{300}, text.size()}) {
    RowList list;
    LlamaBenchReader reader(list);
    for (std::size_t at = 0; at < text.size(); at += chunk) reader.feed(std::string_view(text).substr(at, chunk));
    reader.finish();
    EXPECT_THAT(list.rows, SizeIs(1));
    EXPECT_THAT(list.quarantined, SizeIs(1));
    EXPECT_EQ(reader.counts().other_lines, 0U);
  }
}

TEST(Markdown, MarksOfSeveralFilesAreSkippedHoweverTheyArrive) {
  const std::string text = std::string("\xEF\xBB\xBF\xEF\xBB\xBF\xEF\xBB\xBF") + std::string(kTable);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{2}, std::size_t{5}, text.size()}) {
    RowList list;
    LlamaBenchReader reader(list);
    for (std::size_t at = 0; at < text.size(); at += chunk) reader.feed(std::string_view(text).substr(at, chunk));
    reader.finish();
    EXPECT_EQ(list.rows.size(), read(kTable).rows.size()) << chunk;
  }
}

TEST(Quarantine, ATimeWithoutARate) {
  std::string row(kRow);
  row = row.substr(0, row.find(R"(, "samples_ns")")) + "}";
  const std::size_t rate = row.find(R"("avg_ts")");
  row.erase(rate, row.find(',', rate) + 1 - rate);
  EXPECT_THAT(read(row).rows, SizeIs(1));
  EXPECT_EQ(reason(row.replace(row.find("150000000"), 9, "1e-300")), "impossible avg_ns: 1e-300");
}

// Whatever is done to a file, it is read to its end without a crash, and what comes out is well formed.
TEST(Hostile, EveryByteChangedAndEveryLengthCut) {
  const std::string all = std::string(kTable) + "[\n" + std::string(kRow) + "\n]\n" + std::string(kCsvHeading) +
                          "\"abc\",\"7\",\"1\",\"g\",\"512\",\"0\",\"100000000\",\"0\",\"5120.000000\",\"0.000000\"\n"
                          "INSERT INTO test (n_prompt, n_gen, avg_ts) VALUES ('0', '128', '11.5');\n";
  const auto check = [](const RowList& list) {
    for (const ImportedRow& row : list.rows) {
      ASSERT_TRUE(nlohmann::json::accept(row.result.fields)) << row.result.fields;
      ASSERT_GT(row.mean_only() ? row.mean_ts.value_or(0) : row.result.median_ts, 0);
    }
    for (const QuarantinedRow& row : list.quarantined) ASSERT_TRUE(is_utf8(row.text) && !row.reason.empty());
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    check(read(std::string_view(all).substr(0, i)));
    for (const char c : {'\0', '"', '{', '|', '\n', '\x1B', '\xFF'}) {
      std::string changed = all;
      changed[i] = c;
      check(read(changed));
    }
  }
}

TEST(Hostile, DeepNestingAndEndlessLinesStayWithinBounds) {
  EXPECT_THAT(reason(R"({"n_prompt": 1, "x": )" + std::string(100000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(read(std::string(3U << 20U, 'x') + "\n" + std::string(kRow)).rows, SizeIs(1));
  EXPECT_THAT(read(R"({"n_prompt": 1, "x": ")" + std::string(6U << 20U, 'x') + "\n" + std::string(kRow)).rows,
              SizeIs(1));
}

// What a row has in common with the one before it is not read again; nobody may notice.
TEST(Jsonl, ARowIsReadAsIfItStoodAlone) {
  const std::vector<std::string> variants = {
      std::string(kRow),
      row_with("512, ", "513, "),
      row_with("abc1234", "abc1235"),
      row_with("\"m.gguf\"", "\"m\\u00e9\\n.gguf\""),
      row_with("\"CUDA\"", "\"\\uffffffc3\\uffffffa9\""),
      row_with("\"model_size\"", "\"build_number\": 8, \"model_size\""),  // stands twice
      row_with("\"model_size\": 1000", "\"model_size\": -1"),
      row_with("\"n_gen\": 0, ", "\"n_gen\": 0, \"new\": {\"a\": [1, \"}\"]}, "),
      row_with("\"samples_ns\": [ 100000000, ", "\"samples_ns\": [ 100000001, "),
      row_with(", 200000000 ]", ", oops ]"),
      row_with("\"n_depth\": 0, ", ""),
      row_with("\"backends\": \"CUDA\"", "\"cuda\": true, \"use_mmap\": false"),
      row_with("\"n_depth\": 0", "\"n_depth\": nan"),
      std::string(kRow.substr(0, 200)),
      "{}",
      "{\"other\": 1}",
      "| model | size | params | backend | threads | test | t/s |",
  };
  std::uint64_t state = 1;
  std::string text;
  RowList alone;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::string line = variants[(state >> 33U) % variants.size()] + "\n";
    RowList one = read(line);
    for (ImportedRow& row : one.rows) alone.rows.push_back(std::move(row));
    for (QuarantinedRow& row : one.quarantined) alone.quarantined.push_back(std::move(row));
    text += line;
  }
  const RowList together = read(text);
  ASSERT_EQ(together.rows.size(), alone.rows.size());
  ASSERT_GT(alone.rows.size(), 500U);
  for (std::size_t i = 0; i < alone.rows.size(); ++i) {
    const ImportedRow& a = alone.rows[i];
    const ImportedRow& b = together.rows[i];
    ASSERT_EQ(b.result.fields, a.result.fields);
    ASSERT_EQ(b.result.build, a.result.build);
    ASSERT_EQ(b.result.test, a.result.test);
    ASSERT_EQ(b.result.backends, a.result.backends);
    ASSERT_EQ(b.result.samples_ns, a.result.samples_ns);
    ASSERT_EQ(b.result.median_ts, a.result.median_ts);
    ASSERT_EQ(b.model_filename, a.model_filename);
    ASSERT_EQ(b.mean_ts, a.mean_ts);
    ASSERT_EQ(b.flags, a.flags);
  }
  ASSERT_EQ(together.quarantined.size(), alone.quarantined.size());
  for (std::size_t i = 0; i < alone.quarantined.size(); ++i) {
    ASSERT_EQ(together.quarantined[i].reason, alone.quarantined[i].reason);
    ASSERT_EQ(together.quarantined[i].text, alone.quarantined[i].text);
  }
}

TEST(Text, CarriageReturnsMayEndLines) {
  const std::string csv =
      "build_commit,n_prompt,n_gen,avg_ts,stddev_ts\rabc1234,512,0,12.5,0.1\rabc1234,256,0,13.5\r"
      "abc1234,128,0,14.5,0.1\r";
  const RowList list = read(csv);
  ASSERT_THAT(list.rows, SizeIs(2));
  EXPECT_EQ(list.rows[1].result.test, "pp128");
  ASSERT_THAT(list.quarantined, SizeIs(1));
  EXPECT_EQ(list.quarantined[0].place.line, 3U);
  EXPECT_THAT(read("| model | size | params | backend | threads | test | t/s |\r"
                   "| --- | ---: | ---: | --- | ---: | ---: | ---: |\r"
                   "| llama 7B | 3.56 GiB | 6.74 B | CPU | 8 | pp512 | 25.12 ± 0.30 |")
                  .rows,
              SizeIs(1));
  // More of them than one line may be long.
  std::string many = "build_commit,n_prompt,n_gen,avg_ts,stddev_ts\r";
  constexpr std::size_t kRows = 60'000;
  for (std::size_t i = 0; i < kRows; ++i) many += "abc1234,512,0,12.5,0.1\r";
  RowList rows;
  LlamaBenchReader reader(rows);
  for (std::size_t at = 0; at < many.size(); at += 65536) reader.feed(std::string_view(many).substr(at, 65536));
  reader.finish();
  EXPECT_THAT(rows.rows, SizeIs(kRows));
}

}  // namespace
}  // namespace capbench::imports
