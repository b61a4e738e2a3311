// Everything that is imported beside llama-bench's text, and how a file's kind is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/file.h"
#include "harness/import/import_file.h"
#include "harness/import/sqlite_source.h"

namespace capbench::imports {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

fs::path shared(const std::string& path) {
  const char* root = std::getenv("CAPBENCH_SHARED");
  return root == nullptr ? fs::path() : fs::path(root) / "data" / path;
}

constexpr std::string_view kGoogle = R"({
  "context": {"date": "2026-11-30", "library_build_type": "debug", "cpu_scaling_enabled": true},
  "benchmarks": [
    {"name": "A/8", "run_name": "A/8", "run_type": "iteration", "repetition_index": 0, "iterations": 1000,
     "real_time": 2.5, "cpu_time": 2.0, "time_unit": "us", "items_per_second": 256000000.0},
    {"name": "A/8", "run_name": "A/8", "run_type": "iteration", "repetition_index": 1, "iterations": 2000,
     "real_time": 2.7, "cpu_time": 2.0, "time_unit": "us", "items_per_second": 256000000.0},
    {"name": "A/8_mean", "run_name": "A/8", "run_type": "aggregate", "aggregate_name": "mean", "iterations": 2,
     "real_time": 2.6, "cpu_time": 2.0, "time_unit": "us"},
    {"name": "B", "run_name": "B", "run_type": "iteration", "error_occurred": true, "error_message": "no device",
     "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
    {"name": "C_mean", "run_name": "C", "run_type": "aggregate", "aggregate_name": "mean", "iterations": 3,
     "real_time": 4.0, "cpu_time": 4.0, "time_unit": "ms"},
    {"name": "C_stddev", "run_name": "C", "run_type": "aggregate", "aggregate_name": "stddev", "iterations": 3,
     "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ms"}
  ]})";

TEST(GoogleBenchmark, RepetitionsAreSamplesAndAggregatesAreNot) {
  const Imported imported = import_bytes(kGoogle, "bench.json").value();
  EXPECT_EQ(imported.file.kind, "google-benchmark");
  ASSERT_THAT(imported.rows, SizeIs(2));
  const ImportedRow& a = imported.rows[0];
  EXPECT_EQ(a.result.test, "A/8");
  // 1000 iterations of 2.5 us; the second repetition is brought to 1000 iterations too. 512 items an iteration.
  EXPECT_THAT(a.result.samples_ns, ElementsAre(2'500'000, 2'700'000));
  EXPECT_EQ(a.result.n_gen, 512'000);
  EXPECT_NEAR(a.result.median_ts, (512e12 / 2.5e6 + 512e12 / 2.7e6) / 2, 1);
  const ImportedRow& c = imported.rows[1];
  EXPECT_TRUE(c.mean_only());
  EXPECT_DOUBLE_EQ(c.mean_ts.value_or(0), 250);
  EXPECT_DOUBLE_EQ(c.stddev_ts.value_or(0), 62.5);
  EXPECT_EQ(c.repetitions, 3);
  ASSERT_THAT(imported.quarantine, SizeIs(1));
  EXPECT_EQ(imported.quarantine[0].reason, "B: the benchmark reports: no device");
  EXPECT_THAT(imported.notes, SizeIs(2));
}

TEST(GoogleBenchmark, DamagedDocuments) {
  for (std::size_t i = 0; i + 1 < kGoogle.size(); i += 3) {
    RowList list;
    const auto imported = import_bytes(kGoogle.substr(0, i), "bench.json", {SourceKind::kGoogleBenchmark, {}, {}});
    if (i == 0) {
      EXPECT_FALSE(imported.ok());
      continue;
    }
    ASSERT_TRUE(imported.ok());
    EXPECT_THAT(imported->rows, IsEmpty());
    ASSERT_THAT(imported->quarantine, SizeIs(1));
  }
  const auto empty = import_bytes(R"({"context": {}, "benchmarks": []})", "bench.json").value();
  EXPECT_EQ(empty.quarantine.at(0).reason, "no benchmark matched, or its list is empty");
}

constexpr std::string_view kMlx =
    "Running warmup..\nTiming with prompt_tokens=512, generation_tokens=128, batch_size=1.\n"
    "Trial 1:  prompt_tps=1024.000, generation_tps=64.000, peak_memory=2.340\n"
    "Trial 2:  prompt_tps=2048.000, generation_tps=128.000, peak_memory=2.340\n"
    "Averages: prompt_tps=1536.000, generation_tps=96.000, peak_memory=2.340\n";

TEST(MlxLm, TrialsAreRepetitions) {
  const Imported imported = import_bytes(kMlx, "mlx.txt").value();
  EXPECT_EQ(imported.file.kind, "mlx-lm");
  ASSERT_THAT(imported.rows, SizeIs(2));
  EXPECT_EQ(imported.rows[0].result.test, "pp512");
  EXPECT_THAT(imported.rows[0].result.samples_ns, ElementsAre(500'000'000, 250'000'000));
  EXPECT_DOUBLE_EQ(imported.rows[1].result.median_ts, 96);
  EXPECT_THAT(imported.quarantine, IsEmpty());
}

TEST(MlxLm, PublishedEvidenceGivesItsPublishedMedians) {
  const fs::path folder = shared("evidence/2026-08-09-m1-ultra");
  if (folder.empty() || !fs::exists(folder)) GTEST_SKIP() << "no published evidence; set CAPBENCH_SHARED";
  for (const auto& [name, prompt, generation] : {std::tuple("mlx-stock-10x.json", 1656.5539, 172.0882),
                                                 std::tuple("mlx-safe-shim-10x.json", 1665.4671, 170.8605)}) {
    RowList list;
    const auto file = import_file(folder / name, {}, list);
    ASSERT_TRUE(file.ok()) << to_string(file.error());
    EXPECT_EQ(file->kind, "mlx-lm");
    ASSERT_THAT(list.rows, SizeIs(2));
    EXPECT_NEAR(list.rows[0].result.median_ts, prompt, 5e-5);
    EXPECT_NEAR(list.rows[1].result.median_ts, generation, 5e-5);
    EXPECT_THAT(list.rows[0].result.samples_ns, SizeIs(10));
    EXPECT_EQ(list.rows[0].result.build, "MLX-LM 0.31.3 (MLX 0.32.0)");
  }
}

TEST(LlamaBench, PublishedEvidenceGivesItsPublishedMedians) {
  const fs::path folder = shared("evidence");
  if (folder.empty() || !fs::exists(folder)) GTEST_SKIP() << "no published evidence; set CAPBENCH_SHARED";
  for (const auto& [name, prompt, generation] :
       {std::tuple("2026-08-09-m1-ultra/tiny-stock-minimal.json", 431.8625, 12.6307),
        std::tuple("2026-08-09-m1-ultra/tiny-safe-shim-10x-final.json", 4786.70, 206.5965),
        std::tuple("2026-08-09-m1-ultra/tiny-host-minimal.json", 4871.99, 286.7055),
        std::tuple("2026-08-10-m1-ultra-gemma4/gemma4-stock-10x.json", 71.65675, 3.41483),
        std::tuple("2026-08-10-m1-ultra-gemma4/gemma4-safe-shim-10x.json", 515.763, 49.66695),
        std::tuple("2026-08-10-m1-ultra-gemma4/gemma4-host-10x.json", 517.8775, 52.3818)}) {
    SCOPED_TRACE(name);
    RowList list;
    const auto file = import_file(folder / name, {}, list);
    ASSERT_TRUE(file.ok()) << to_string(file.error());
    EXPECT_EQ(file->kind, "llama-bench-json");
    ASSERT_THAT(list.rows, SizeIs(2));
    // The published medians are those of rates of six digits.
    EXPECT_NEAR(list.rows[0].result.median_ts, prompt, prompt * 2e-6);
    EXPECT_NEAR(list.rows[1].result.median_ts, generation, generation * 6e-6);
  }
}

TEST(LocalScore, ThirteenRunsOfAveragesOnly) {
  const fs::path path = shared("localscore/seed.sqlite");
  if (path.empty() || !fs::exists(path)) GTEST_SKIP() << "no LocalScore database; set CAPBENCH_SHARED";
  RowList list;
  const Result<SqliteCounts> counts = import_sqlite(path, list);
  ASSERT_TRUE(counts.ok()) << to_string(counts.error());
  EXPECT_EQ(counts->runs, 13U);
  EXPECT_EQ(counts->rows, 13U * 9 * 2);
  EXPECT_THAT(list.quarantined, IsEmpty());
  ASSERT_THAT(list.rows, SizeIs(234));
  for (const ImportedRow& row : list.rows) {
    EXPECT_TRUE(row.mean_only());
    EXPECT_TRUE(nlohmann::json::accept(row.result.fields)) << row.result.fields;
  }
  EXPECT_EQ(list.rows[0].result.test, "pp1024");
  EXPECT_EQ(list.rows[1].result.test, "tg16 @ d1024");
  EXPECT_NEAR(list.rows[1].mean_ts.value_or(0), 105.282166, 1e-6);
  EXPECT_EQ(list.rows[0].result.gpu_info, "NVIDIA GeForce RTX 3090");
  EXPECT_EQ(list.rows[0].result.build, "llamafile 0.9.1 (a30b324)");
  EXPECT_EQ(list.rows[0].group, "run 1");
  EXPECT_EQ(list.rows[233].group, "run 13");

  RowList again;
  const auto file = import_file(path, {}, again);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->kind, "localscore");
  EXPECT_EQ(file->sha256, sha256_file(path).value());

  // Whatever happens to its bytes: an error or rows, never a crash.
  const std::string bytes = read_file(path).value();
  for (std::size_t size = 0; size < bytes.size(); size += 997) {
    RowList cut;
    if (const auto result = import_sqlite_bytes(std::string_view(bytes).substr(0, size), cut); !result) {
      EXPECT_FALSE(result.error().cause.empty());
    }
  }
  for (std::size_t at = 0; at < bytes.size(); at += 613) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    RowList list_of_changed;
    static_cast<void>(import_sqlite_bytes(changed, list_of_changed));
  }
}

class Database : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(::testing::TempDir()) /
            ("source_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".sqlite");
    fs::remove(path_);
  }

  void make(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  std::string error() const {
    RowList list;
    const auto file = import_file(path_, {}, list);
    return file.ok() ? "" : to_string(file.error());
  }

  fs::path path_;
};

TEST_F(Database, OfLlamaBenchIsRead) {
  make(
      "CREATE TABLE llama_bench (n_prompt INTEGER, n_gen INTEGER, gpu_info TEXT, avg_ts REAL);"
      "INSERT INTO llama_bench VALUES (512, 0, 'G', 10.5), (0, -1, 'G', 1.5)");
  RowList list;
  const auto file = import_file(path_, {}, list);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->kind, "llama-bench-sqlite");
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_EQ(list.rows[0].mean_ts, 10.5);
  ASSERT_THAT(list.quarantined, SizeIs(1));
  EXPECT_EQ(list.quarantined[0].reason, "impossible n_gen: -1");
  EXPECT_EQ(list.quarantined[0].place.line, 2U);
}

TEST_F(Database, OfItsOwnOrOfStrangersIsRefused) {
  make("PRAGMA application_id = 1667330146; CREATE TABLE llama_bench (n_prompt INTEGER, n_gen INTEGER)");
  EXPECT_THAT(error(), HasSubstr("capbench store"));
  fs::remove(path_);
  make("CREATE TABLE other (a INTEGER)");
  EXPECT_THAT(error(), HasSubstr("neither LocalScore nor llama-bench"));
}

TEST_F(Database, ARunThatContradictsItsShapesIsQuarantined) {
  make(
      "CREATE TABLE benchmark_runs (id, system_id, accelerator_id, model_variant_id, runtime_id, avg_prompt_tps,"
      " avg_gen_tps, avg_ttft_ms, performance_score, created_at);"
      "CREATE TABLE benchmark_systems (id, cpu_name, kernel_type, kernel_release);"
      "CREATE TABLE accelerators (id, name, type);"
      "CREATE TABLE model_variants (id, model_id, quantization); CREATE TABLE models (id, name, params);"
      "CREATE TABLE runtimes (id, name, version, commit_hash);"
      "CREATE TABLE test_results (id, benchmark_run_id, name, n_prompt, n_gen, prompt_tps, gen_tps, ttft_ms, "
      "power_watts);"
      "INSERT INTO benchmark_runs VALUES (1, 1, 1, 1, 1, 200.0, 20.0, 100.0, 1.0, 'x'), (2, 1, 1, 1, 1, 100.0, 10.0, "
      "100.0, 1.0, 'x');"
      "INSERT INTO test_results VALUES (1, 1, 'pp64+tg16', 64, 16, 100.0, 10.0, 1.0, NULL),"
      " (2, 2, 'pp64+tg16', 64, 16, 100.0, 10.0, 1.0, NULL), (3, 9, 'pp64+tg16', 64, 16, 100.0, 10.0, 1.0, NULL);");
  RowList list;
  const Result<SqliteCounts> counts = import_sqlite(path_, list);
  ASSERT_TRUE(counts.ok()) << to_string(counts.error());
  EXPECT_EQ(counts->runs, 1U);
  ASSERT_THAT(list.quarantined, SizeIs(2));
  EXPECT_EQ(list.quarantined[0].reason, "avg_prompt_tps 200.000000 contradicts its shapes, whose mean is 100.000000");
  EXPECT_EQ(list.quarantined[1].reason, "the run that it belongs to is missing");
  ASSERT_THAT(list.notes, SizeIs(2));
  EXPECT_THAT(list.notes[0].text, HasSubstr("the score of run 2"));
}

TEST(MappedCsv, ReadsColumnsOfSomebodysOwn) {
  ImportOptions options;
  options.columns = parse_column_mapping("test=Test;t/s=Speed;model_type=Model;backends:=Metal").value();
  const Imported imported =
      import_bytes("Model,Test,Speed,Note\nllama 7B,pp 512,\"132.19 \xC2\xB1 0.55\",hot\nllama 7B,tg128,x,\n", "my.csv",
                   options)
          .value();
  ASSERT_THAT(imported.rows, SizeIs(1));
  EXPECT_EQ(imported.rows[0].result.test, "pp512");
  EXPECT_EQ(imported.rows[0].result.backends, "Metal");
  EXPECT_EQ(imported.rows[0].mean_ts, 132.19);
  EXPECT_EQ(nlohmann::json::parse(imported.rows[0].result.fields).at("Note"), "hot");
  ASSERT_THAT(imported.quarantine, SizeIs(1));
  EXPECT_EQ(imported.quarantine[0].reason, "no rate: \"x\"");
}

TEST(MappedCsv, MappingsThatCannotBe) {
  const auto cause = [](std::string_view text) { return parse_column_mapping(text).error().cause; };
  EXPECT_EQ(cause("speed=A"), "llama-bench prints no field \"speed\"");
  EXPECT_EQ(cause("test=A"), "nothing is measured: no t/s, avg_ts, avg_ns, samples_ns or samples_ts");
  EXPECT_EQ(cause("n_prompt=A;avg_ts=B"), "no test, and not both n_prompt and n_gen");
  EXPECT_EQ(cause("test=A;test=B"), "\"test\" is given twice");
  EXPECT_EQ(cause("test=A;avg_ts=A"), "the column \"A\" is used twice");
  EXPECT_EQ(cause("nonsense"), "it has no field before an equals sign");
}

TEST(Detect, ByContent) {
  EXPECT_EQ(detect(kGoogle), SourceKind::kGoogleBenchmark);
  EXPECT_EQ(detect(kMlx), SourceKind::kMlxLm);
  EXPECT_EQ(detect(std::string_view("SQLite format 3\0xx", 18)), SourceKind::kSqlite);
  EXPECT_EQ(detect(std::string_view("GGUF\0\0", 6)), SourceKind::kBinary);
  EXPECT_EQ(detect("[\n  {\n    \"build_commit\": \"a\""), SourceKind::kLlamaBench);
  EXPECT_EQ(detect(""), SourceKind::kLlamaBench);
  EXPECT_EQ(source_kind("mlx-lm"), SourceKind::kMlxLm);
  EXPECT_EQ(source_kind("binary"), std::nullopt);
}

TEST(ImportFile, ErrorsNameTheFileAndARemedy) {
  RowList list;
  const auto missing = import_file("/nonexistent/file.json", {}, list);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(to_string(missing.error()), HasSubstr("/nonexistent/file.json"));
  const auto nothing = import_bytes("hello\n", "hello.txt");
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(to_string(nothing.error()), HasSubstr("hello.txt: it holds no row of a benchmark; try: "));
  EXPECT_THAT(to_string(import_bytes("", "empty").error()), HasSubstr("the file is empty"));
  EXPECT_THAT(to_string(import_bytes(std::string_view("GGUF\0", 5), "model").error()), HasSubstr("neither text nor"));
}

TEST(ImportFile, GivesDigestSizeAndEveryByte) {
  std::string seen;
  ImportOptions options;
  options.on_bytes = [&](std::string_view bytes) {
    seen += bytes;
    return Status();
  };
  const Imported imported = import_bytes(kMlx, "mlx.txt", options).value();
  EXPECT_EQ(seen, kMlx);
  EXPECT_EQ(imported.file.sha256, sha256(kMlx));
  EXPECT_EQ(imported.file.size, kMlx.size());
}

}  // namespace
}  // namespace capbench::imports
