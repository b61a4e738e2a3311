// What is exported is read back as the same results, and by llama.cpp's own script.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/utf8.h"
#include "harness/export/render.h"
#include "harness/import/import_file.h"
#include "harness/import/sqlite_source.h"

namespace capbench::exports {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ExportRow row(const std::string& commit, std::int64_t n_prompt, std::int64_t n_gen, std::vector<std::int64_t> samples) {
  ExportRow row;
  row.result.test = n_prompt > 0 ? fmt::format("pp{}", n_prompt) : fmt::format("tg{}", n_gen);
  row.result.build = commit + " (7)";
  row.result.n_prompt = n_prompt;
  row.result.n_gen = n_gen;
  row.result.model_type = "llama 7B Q4_0";
  row.result.model_size = 3825065984;
  row.result.model_n_params = 6738415616;
  row.result.backends = "CUDA";
  row.result.cpu_info = "a \"quoted\", it's | piped";
  row.result.gpu_info = "zo\xC3\xA9";
  row.result.samples_ns = std::move(samples);
  row.result.fields = fmt::format(
      R"({{"build_commit":"{}","build_number":7,"cpu_info":"a \"quoted\", it's | piped","gpu_info":"zo\u00e9",)"
      R"("backends":"CUDA","n_gpu_layers":99,"flash_attn":-1,"embeddings":false,"n_threads":8,"type_k":"f16",)"
      R"("load_mode":"mmap","use_mmap":true,"test_time":"2026-11-30T01:02:03Z","n_prompt":{},"n_gen":{},"n_depth":0,)"
      R"("new_field":[1,2]}})",
      commit, n_prompt, n_gen);
  row.started_at = "2026-11-30T04:25:07.123Z";
  return row;
}

std::vector<ExportRow> rows() {
  ExportRow stated = row("abc1234", 64, 0, {});
  stated.mean_ts = 132.19;
  stated.stddev_ts = 0.55;
  ExportRow once = row("abc1234", 0, 32, {});
  once.mean_ts = 10.5;
  once.repetitions = 1;
  return {row("abc1234", 512, 0, {100'000'000, 123'456'789, 90'000'001}), row("abc1234", 0, 128, {2'000'000'000}),
          stated, once};
}

// A result's identity: what must come back.
std::string identity(const schema::ResultRecord& result, std::optional<double> mean, std::optional<double> deviation,
                     std::optional<std::int64_t> repetitions) {
  std::string text = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|", result.test, result.build, result.model_type,
                                 result.model_size, result.model_n_params, result.backends, result.cpu_info,
                                 result.gpu_info, fmt::join(result.samples_ns, ","));
  if (result.samples_ns.empty()) {
    text += fmt::format("{}|{}|{}", mean.value_or(-1), deviation.value_or(-1), repetitions.value_or(-1));
  }
  return text;
}

std::vector<std::string> identities(const std::vector<ExportRow>& list) {
  std::vector<std::string> result;
  for (const ExportRow& item : list)
    result.push_back(identity(item.result, item.mean_ts, item.stddev_ts, item.repetitions));
  return result;
}

std::vector<std::string> identities(const std::vector<imports::ImportedRow>& list) {
  std::vector<std::string> result;
  for (const auto& item : list) {
    result.push_back(identity(item.result, item.mean_ts, item.stddev_ts, item.repetitions));
  }
  return result;
}

TEST(RoundTrip, JsonlCsvAndSqlGiveTheSameResults) {
  for (const auto& text : {render_jsonl(rows()), render_csv(rows()), render_sql(rows())}) {
    SCOPED_TRACE(text);
    const auto imported = imports::import_bytes(text, "export");
    ASSERT_TRUE(imported.ok()) << to_string(imported.error());
    EXPECT_THAT(imported->quarantine, IsEmpty());
    EXPECT_EQ(identities(imported->rows), identities(rows()));
    EXPECT_EQ(imported->file.other_lines, 0U);
  }
}

TEST(RoundTrip, SqliteGivesTheSameResults) {
  const Result<std::string> bytes = render_sqlite(rows());
  ASSERT_TRUE(bytes.ok());
  imports::RowList list;
  ASSERT_TRUE(imports::import_sqlite_bytes(*bytes, list).ok());
  EXPECT_THAT(list.quarantined, IsEmpty());
  EXPECT_EQ(identities(list.rows), identities(rows()));
}

TEST(RoundTrip, ASecondExportIsTheSame) {
  const std::string first = render_jsonl(rows());
  std::vector<ExportRow> again;
  const imports::Imported imported = imports::import_bytes(first, "export").value();
  for (const auto& item : imported.rows) {
    again.push_back({item.result, item.mean_ts, item.stddev_ts, item.repetitions, ""});
  }
  EXPECT_EQ(render_jsonl(again), first);
}

TEST(Jsonl, HasEveryFieldThatReadersAskFor) {
  const std::string text = render_jsonl(rows());
  const auto line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  for (const char* name : {"cpu_info", "n_cpu_moe", "tensor_buft_overrides", "fit_min_ctx", "test_time", "avg_ts"}) {
    EXPECT_TRUE(line.contains(name)) << name;
  }
  EXPECT_EQ(line.at("embeddings"), false);
  EXPECT_EQ(line.at("samples_ns"), (std::vector<std::int64_t>{100'000'000, 123'456'789, 90'000'001}));
  EXPECT_EQ(line.at("samples_ts").at(0), 5120);
  EXPECT_EQ(line.at("avg_ns"), 104'485'596);
  EXPECT_TRUE(line.at("poll").is_null());
  EXPECT_EQ(line.at("new_field").at(1), 2);
}

TEST(Markdown, IsLaidOutAsLlamaBenchDoes) {
  std::vector<ExportRow> list = rows();
  list.resize(2);
  list[1].result.fields.replace(list[1].result.fields.find("\"flash_attn\":-1"), 15, "\"flash_attn\":1");
  const std::string table = render_markdown(list);
  EXPECT_EQ(table,
            "| model                          |       size |     params | backend    | ngl |  fa |         lm |        "
            "    test |                  t/s |\n"
            "| ------------------------------ | ---------: | ---------: | ---------- | --: | --: | ---------: | "
            "--------------: | -------------------: |\n"
            "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |  -1 |       mmap |        "
            "   pp512 |     4985.36 \xC2\xB1 779.61 |\n"
            "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |   1 |       mmap |        "
            "   tg128 |         64.00 \xC2\xB1 0.00 |\n"
            "\nbuild: abc1234 (7)\n");
  const auto imported = imports::import_bytes(table, "table.md").value();
  ASSERT_THAT(imported.rows, SizeIs(2));
  EXPECT_EQ(imported.rows[0].result.build, "abc1234 (7)");
  EXPECT_EQ(imported.rows[1].repetitions, 1);
  EXPECT_THAT(imported.notes, IsEmpty());
}

TEST(ExportRows, OnlyTrialsThatAreOk) {
  std::vector<schema::TrialView> trials(3);
  trials[2].trial.status = "ok";
  trials[2].trial.block = -1;
  trials[2].trial.results.push_back(rows()[1].result);
  trials[0].trial.status = "ok";
  trials[0].trial.results.push_back(rows()[0].result);
  trials[0].trial.stated.resize(1);
  trials[0].trial.stated[0].n_prompt = 64;
  trials[0].trial.stated[0].mean_ts = 3;
  trials[1].trial.status = "failed";
  trials[1].trial.results.push_back(rows()[1].result);
  const std::vector<ExportRow> exported = export_rows(trials).rows;
  ASSERT_THAT(exported, SizeIs(2));
  EXPECT_EQ(exported[1].mean_ts, 3);
}

TEST(ExportRows, WhatNobodyCanHaveMeasuredIsLeftOut) {
  std::vector<schema::TrialView> trials(1);
  trials[0].trial.id = "0123456789abcdef";
  trials[0].trial.status = "ok";
  for (const std::int64_t ns : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{5}}) {
    trials[0].trial.results.push_back(rows()[0].result);
    trials[0].trial.results.back().samples_ns = {1000, ns};
  }
  trials[0].trial.results.push_back(rows()[0].result);
  trials[0].trial.results.back().samples_ns.clear();
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const auto& [prompt, gen, depth] : {std::array{kHuge, kHuge, std::int64_t{0}}, std::array<std::int64_t, 3>{},
                                           std::array{std::int64_t{1}, std::int64_t{0}, std::int64_t{-1}}}) {
    trials[0].trial.results.push_back(rows()[0].result);
    trials[0].trial.results.back().n_prompt = prompt;
    trials[0].trial.results.back().n_gen = gen;
    trials[0].trial.results.back().n_depth = depth;
  }
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double mean : {0.0, -1.0, infinite, std::nan(""), 7.0}) {
    trials[0].trial.stated.push_back({});
    trials[0].trial.stated.back().test = "pp\x1b[1m";
    trials[0].trial.stated.back().n_prompt = 1;
    trials[0].trial.stated.back().mean_ts = mean;
    if (mean == 7.0) {
      trials[0].trial.stated.push_back(trials[0].trial.stated.back());
      trials[0].trial.stated.back().stddev_ts = infinite;
    }
  }
  const ExportRows exported = export_rows(trials);
  ASSERT_THAT(exported.rows, SizeIs(2));
  EXPECT_EQ(exported.rows[0].result.samples_ns.at(1), 5);
  EXPECT_EQ(exported.rows[1].mean_ts, 7);
  ASSERT_THAT(exported.left_out, SizeIs(11));
  EXPECT_EQ(exported.left_out[0], "trial 0123456789ab: pp512: a sample of 0 ns");
  EXPECT_EQ(exported.left_out[6], "trial 0123456789ab: pp\xEF\xBF\xBD[1m: a mean of 0 tokens/s");
  for (const auto& text : {render_jsonl(exported.rows), render_csv(exported.rows), render_sql(exported.rows),
                           render_markdown(exported.rows)}) {
    EXPECT_THAT(text, ::testing::Not(HasSubstr("nan")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("inf\"")));
  }
}

TEST(Exports, HoldNothingThatATerminalOrASpreadsheetObeys) {
  std::vector<ExportRow> list{rows()[0]};
  const std::string evil = "=cmd|'/c calc'!A1\x1b]0;x\x07\x7f\r\n\xC2\x9B\x31m\xE2\x80\xAE";
  list[0].result.model_type = evil;
  list[0].result.gpu_info = evil;
  list[0].result.fields = nlohmann::json({{"model_filename", evil}, {"n_gpu_layers", -1}, {evil, evil}}).dump();
  list[0].origin = {"t", evil, "stock", "", "w", "m", "real", evil, evil, evil, evil, evil, 0};
  for (const auto& text : {render_jsonl(list), render_csv(list), render_sql(list), render_markdown(list)}) {
    std::string one_line = text;
    std::replace(one_line.begin(), one_line.end(), '\n', ' ');
    EXPECT_TRUE(is_printable(one_line)) << text;
  }
  const std::string csv = render_csv(list);
  EXPECT_THAT(csv, HasSubstr("\"'=cmd|"));
  EXPECT_THAT(csv, ::testing::Not(HasSubstr("\"=")));
  EXPECT_THAT(csv, HasSubstr("\"-1\""));
  // JSONL loses nothing.
  const auto imported = imports::import_bytes(render_jsonl(list), "export").value();
  ASSERT_THAT(imported.rows, SizeIs(1));
  EXPECT_EQ(imported.rows[0].result.gpu_info, evil);
  EXPECT_EQ(imported.rows[0].model_filename, evil);
}

// ---- llama.cpp's own script ----

// What a command prints; its exit status in `status`.
std::string output_of(const std::string& command, int& status) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  status = -1;
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), size);
  status = ::pclose(pipe);
  return text;
}

class CompareScript : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* llama = std::getenv("CAPBENCH_LLAMA_DIR");
    const fs::path bundle = llama == nullptr ? fs::path()
                                             : fs::path(llama).parent_path().parent_path() /
                                                   "node_modules/node-llama-cpp/llama/gitRelease.bundle";
    if (bundle.empty() || !fs::exists(bundle)) {
      GTEST_SKIP() << "llama.cpp's sources are not here; scripts/llama-bench gets them";
    }
    int status = 0;
    output_of("/usr/bin/python3 -c 'import git, tabulate' 2>&1", status);
    if (status != 0) GTEST_SKIP() << "the script needs Debian's python3-git and python3-tabulate";
    folder_ = fs::path(::testing::TempDir()) / "compare";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const std::string clone = fmt::format(
        "cd '{0}' && git clone -q --bare '{1}' sources.git 2>&1 && "
        "git -C sources.git show HEAD:scripts/compare-llama-bench.py > compare.py",
        folder_.string(), bundle.string());
    const std::string text = output_of(clone, status);
    ASSERT_EQ(status, 0) << text;
  }

  std::string compare(const std::string& file) const {
    int status = 0;
    // Away from any repository, whose branches the script would take for builds.
    const std::string text = output_of(
        fmt::format(
            "cd '{}' && GIT_CEILING_DIRECTORIES=/ /usr/bin/python3 compare.py --tool llama-bench -i {} -b abc1234 "
            "-c def5678 2>&1",
            folder_.string(), file),
        status);
    EXPECT_EQ(status, 0) << text;
    return text;
  }

  fs::path folder_;
};

TEST_F(CompareScript, ReadsAndComparesTheExport) {
  std::vector<ExportRow> list{row("abc1234", 512, 0, {100'000'000}), row("abc1234", 0, 128, {2'000'000'000}),
                              row("def5678", 512, 0, {50'000'000}), row("def5678", 0, 128, {1'000'000'000})};
  ASSERT_TRUE(replace_file(folder_ / "export.sqlite", render_sqlite(list).value()).ok());
  const std::string table = compare("export.sqlite");
  EXPECT_THAT(table, HasSubstr("abc1234"));
  EXPECT_THAT(table, ::testing::ContainsRegex("pp512 *\\| *5120\\.00 *\\| *10240\\.00 *\\| *2\\.00"));
  EXPECT_THAT(table, ::testing::ContainsRegex("tg128 *\\| *64\\.00 *\\| *128\\.00 *\\| *2\\.00"));
}

TEST_F(CompareScript, ReadsJsonlOfCompleteRows) {
  // The script drops rows with a null setting, so these have them all, as a current llama-bench prints them.
  std::vector<ExportRow> list{row("abc1234", 512, 0, {100'000'000}), row("def5678", 512, 0, {50'000'000})};
  for (ExportRow& item : list) {
    item.result.fields.pop_back();
    item.result.fields +=
        R"(,"model_filename":"m.gguf","n_cpu_moe":0,"tensor_buft_overrides":"none","n_batch":2048,"n_ubatch":512,)"
        R"("cpu_mask":"0x0","cpu_strict":false,"poll":50,"type_v":"f16","no_kv_offload":false,"split_mode":"layer",)"
        R"("main_gpu":0,"tensor_split":"0.00","fit_target":0,"fit_min_ctx":0})";
  }
  ASSERT_TRUE(replace_file(folder_ / "export.jsonl", render_jsonl(list)).ok());
  EXPECT_THAT(compare("export.jsonl"), ::testing::ContainsRegex("pp512 *\\| *5120\\.00 *\\| *10240\\.00 *\\| *2\\.00"));
}

}  // namespace
}  // namespace capbench::exports
