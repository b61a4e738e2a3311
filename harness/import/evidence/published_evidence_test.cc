// The published series, imported and reported, against the published table.
//
// Published medians come from speeds that llama-bench printed with six digits, and published ratios from those medians;
// ours come from nanoseconds. What both have is compared at the published digits; how far ours lies from what six
// digits give is bounded, and what that changes in a last digit is named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "harness/import/evidence/evidence.h"
#include "harness/import/evidence/put_evidence.h"
#include "harness/observe/redact.h"
#include "reports/speedup.h"
#include "schema/store.h"

namespace capbench::imports {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const char* const kTiny = "2026-08-09-m1-ultra";
const char* const kGemma = "2026-08-10-m1-ultra-gemma4";

fs::path evidence() {
  const char* shared = std::getenv("CAPBENCH_SHARED");
  return shared == nullptr ? "" : fs::path(shared) / "data" / "evidence";
}

constexpr const char* kNoEvidence = "CAPBENCH_SHARED is not set: the published evidence is not here";

EvidenceImport import_folder(const std::string& name) {
  std::vector<EvidenceFile> files;
  for (const auto& entry : fs::directory_iterator(evidence() / name)) {
    const fs::path path = entry.path();
    files.push_back({path.filename().string(), [path] { return read_file(path); }, fs::file_size(path)});
  }
  auto import = import_evidence(name, files);
  EXPECT_TRUE(import.ok()) << (import.ok() ? "" : to_string(import.error()));
  return import.ok() ? std::move(*import) : EvidenceImport{};
}

std::string fate(const EvidenceImport& import, const std::string& name) {
  for (const FileFate& file : import.files) {
    if (file.name == name) return file.fate;
  }
  return "(no such file)";
}

// Of both folders, through a store.
reports::SpeedupReport report_of(const std::vector<std::string>& folders) {
  const auto path = fs::path(::testing::TempDir()) / "published_evidence.db";
  fs::remove(path);
  auto store = schema::Store::open(path, schema::OpenMode::kCreate);
  EXPECT_TRUE(store.ok());
  for (const std::string& folder : folders) {
    auto writer = schema::ImportWriter::begin(*store);
    EXPECT_TRUE(writer.ok());
    const Status put = put_evidence(import_folder(folder), *writer);
    EXPECT_TRUE(put.ok()) << to_string(put.error());
    EXPECT_TRUE(writer->finish().ok());
  }
  const auto trials = store->trials({});
  EXPECT_TRUE(trials.ok());
  return reports::build_speedup(*trials);
}

// The row whose modes are all measured.
const reports::SpeedupRow& row_of(const reports::SpeedupReport& report, const std::string& model,
                                  const std::string& test) {
  static const reports::SpeedupRow kMissing;
  for (const reports::SpeedupRow& row : report.rows) {
    if (row.model == model && row.test == test && row.workload == "pp512+tg128") return row;
  }
  ADD_FAILURE() << model << " " << test;
  return kMissing;
}

struct Published {
  const char* model;
  const char* test;
  double bare_metal;  // 0: not measured
  double stock;
  double unlocked;
  double ratio;
  double percent;
  double digit;  // a unit of the last digit of ratio and percent
};

constexpr Published kPublished[] = {
    {"tinyllama-1.1b", "pp512", 4871.99, 431.8625, 4786.70, 11.0839, 98.2494, 1e-4},
    {"tinyllama-1.1b", "tg128", 286.7055, 12.6307, 206.5965, 16.3567, 72.0588, 1e-4},
    {"gemma-4-12b", "pp512", 517.8775, 71.65675, 515.763, 7.197689, 99.591699, 1e-6},
    {"gemma-4-12b", "tg128", 52.3818, 3.41483, 49.66695, 14.544487, 94.817188, 1e-6},
};

double median_of(const reports::SpeedupRow& row, std::size_t mode) {
  return row.modes.size() > mode && row.modes[mode].stats ? row.modes[mode].stats->median.value : 0;
}

TEST(PublishedEvidence, TheTableComesOut) {
  if (evidence().empty()) GTEST_SKIP() << kNoEvidence;
  const reports::SpeedupReport report = report_of({kTiny, kGemma});
  for (const Published& published : kPublished) {
    const reports::SpeedupRow& row = row_of(report, published.model, published.test);
    const double printed[] = {published.bare_metal, published.stock, published.unlocked};
    // Half a unit of the sixth digit is at most 5e-6 of a speed; a median of two is no further off.
    for (std::size_t mode = 0; mode < 3; ++mode) {
      EXPECT_NEAR(median_of(row, mode), printed[mode], printed[mode] * 5e-6) << published.model << published.test;
    }
    ASSERT_TRUE(row.speedup && row.percent_of_bare_metal);
    EXPECT_NEAR(row.speedup->value, published.ratio, published.ratio * 5e-6);
    EXPECT_NEAR(row.percent_of_bare_metal->value, published.percent, published.percent * 5e-6);
    EXPECT_EQ(row.speedup->interval, "within one process");
    EXPECT_TRUE(row.speedup->ci95 && row.percent_of_bare_metal->ci95);
    EXPECT_EQ(row.treatment, "proven");
    EXPECT_EQ(row.quality, "unchecked");
    EXPECT_EQ(row.guest, "vm");
    EXPECT_EQ(row.machine, "Apple M1 Ultra");
    EXPECT_THAT(row.flags, Contains("single-process"));
  }
}

TEST(PublishedEvidence, MlxDidNotChange) {
  if (evidence().empty()) GTEST_SKIP() << kNoEvidence;
  const reports::SpeedupReport report = report_of({kTiny, kGemma});
  const Published published[] = {{"llama-3.2-3b-mlx", "pp512", 0, 1656.5539, 1665.4671, 1.0054, 0, 1e-4},
                                 {"llama-3.2-3b-mlx", "tg128", 0, 172.0882, 170.8605, 0.9929, 0, 1e-4}};
  for (const Published& line : published) {
    const reports::SpeedupRow& row = row_of(report, line.model, line.test);
    EXPECT_EQ(fmt::format("{:.4f}", median_of(row, 1)), fmt::format("{:.4f}", line.stock));
    EXPECT_EQ(fmt::format("{:.4f}", median_of(row, 2)), fmt::format("{:.4f}", line.unlocked));
    ASSERT_TRUE(row.speedup);
    EXPECT_EQ(fmt::format("{:.4f}", row.speedup->value), fmt::format("{:.4f}", line.ratio));
    EXPECT_EQ(row.speedup->interval, "within one process");
    ASSERT_TRUE(row.speedup->ci95);
    EXPECT_GT(row.speedup->ci95->low, 0.98);
    EXPECT_LT(row.speedup->ci95->high, 1.02);
    EXPECT_FALSE(row.percent_of_bare_metal);
    EXPECT_EQ(row.treatment, "unproven");
  }
}

TEST(PublishedEvidence, EveryFileOfTheFirstSeriesHasItsFate) {
  if (evidence().empty()) GTEST_SKIP() << kNoEvidence;
  const EvidenceImport import = import_folder(kTiny);
  EXPECT_THAT(import.findings, IsEmpty());
  EXPECT_THAT(import.quarantine, IsEmpty());
  EXPECT_EQ(import.sources.size(), 15U);
  ASSERT_EQ(import.trials.size(), 8U);
  std::vector<std::string> outcomes;
  for (const schema::TrialRecord& trial : import.trials) {
    outcomes.push_back(trial.model + "/" + trial.arm + ": " + trial.status + ", " + trial.treatment);
  }
  EXPECT_THAT(outcomes,
              UnorderedElementsAre("tinyllama-1.1b/bare-metal: ok, proven", "tinyllama-1.1b/stock: ok, proven",
                                   "tinyllama-1.1b/unlocked: ok, proven",
                                   "tinyllama-1.1b/superseded: familyMax=5001 featureProfile=10: excluded, unproven",
                                   "tinyllama-1.1b/superseded: familyMax=5001 featureProfile=10: excluded, unproven",
                                   "llama-3.2-3b-mlx/stock: ok, unproven", "llama-3.2-3b-mlx/unlocked: ok, unproven",
                                   "llama-3.2-3b-mlx/superseded: familyMax=5001 featureProfile=10: failed, unproven"));
  EXPECT_THAT(fate(import, "tiny-hooked-minimal.json"), HasSubstr("excluded, superseded profile familyMax=5001"));
  EXPECT_THAT(fate(import, "candidate-hooked-smoke.txt"), HasSubstr("excluded, superseded profile familyMax=5001"));
  EXPECT_THAT(fate(import, "candidate-hooked-smoke.txt"), HasSubstr("a smoke run of one repetition"));
  EXPECT_THAT(fate(import, "mlx-broad-profile-failure.stderr"),
              HasSubstr("failed (RuntimeError: [metal::Device] Unable to construct residency set.)"));
  EXPECT_EQ(fate(import, "tiny-stock-minimal.stderr"), "the log of tiny-stock-minimal.json");
  EXPECT_EQ(fate(import, "SHA256SUMS"), "13 digests: no file differs");
  EXPECT_EQ(fate(import, "results.csv"),
            "a table: 12 figures are what the samples give, 4 what they give as speeds of six digits, 0 are neither");
  EXPECT_THAT(import.notes, Contains("results.csv is not in SHA256SUMS, so nothing vouches for its bytes"));
}

TEST(PublishedEvidence, EveryFileOfTheSecondSeriesHasItsFate) {
  if (evidence().empty()) GTEST_SKIP() << kNoEvidence;
  const EvidenceImport import = import_folder(kGemma);
  EXPECT_THAT(import.findings, IsEmpty());
  EXPECT_EQ(import.sources.size(), 8U);
  ASSERT_EQ(import.trials.size(), 3U);
  for (const schema::TrialRecord& trial : import.trials) {
    EXPECT_EQ(trial.status, "ok") << trial.arm;
    EXPECT_EQ(trial.treatment, "proven") << trial.arm;
  }
  EXPECT_EQ(fate(import, "results.csv"),
            "a table: 4 figures are what the samples give, 6 what they give as speeds of six digits, 0 are neither");
  EXPECT_THAT(import.notes, Contains("SHA256SUMS lists README.md, which is not here"));
  EXPECT_THAT(import.notes, Contains("SHA256SUMS lists metadata.md, which is not here"));
}

TEST(PublishedEvidence, NothingPersonalGoesOut) {
  if (evidence().empty()) GTEST_SKIP() << kNoEvidence;
  for (const char* folder : {kTiny, kGemma}) {
    for (const schema::TrialRecord& trial : import_folder(folder).trials) {
      for (const schema::ResultRecord& result : trial.results) {
        // The account of the VM image is everybody's and stays.
        EXPECT_THAT(observe::redact(result.fields, {}).replaced, IsEmpty());
      }
    }
  }
}

}  // namespace
}  // namespace capbench::imports
