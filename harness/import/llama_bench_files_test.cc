// Every recorded output of llama-bench gives the rows that a person counts in it. The counts were made by eye and, for
// JSON, JSONL and CSV, with another language's readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "harness/import/llama_bench.h"

namespace capbench::imports {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

struct Expected {
  std::uint64_t LlamaBenchCounts::*format;
  std::uint64_t rows;
  bool has_samples;
  std::string quarantine;  // why both rows of the file are there; empty: none is
};

constexpr auto kJson = &LlamaBenchCounts::json;
constexpr auto kJsonl = &LlamaBenchCounts::jsonl;
constexpr auto kCsv = &LlamaBenchCounts::csv;
constexpr auto kSql = &LlamaBenchCounts::sql;
constexpr auto kMarkdown = &LlamaBenchCounts::markdown;

// The rows that deserve quarantine are those of the CSV and SQL of two builds whose documentation took the name of the
// field "opencl" out of its examples and left the value in: SQLite itself refuses them with the same words. The doubled
// pipe at the end of *-3.md adds an empty cell and no doubt, and the truncated log lost its footer only.
const std::map<std::string, Expected>& expected() {
  static const std::map<std::string, Expected> kExpected = [] {
    std::map<std::string, Expected> files;
    for (const std::string build : {"b01270", "b02303", "b03086", "b03661", "b05269", "b06522", "b08679"}) {
      const bool is_new = build >= "b05269";
      const bool is_uneven = build == "b03086" || build == "b03661";
      files[build + "-1.md"] = {kMarkdown, 6, false, ""};
      files[build + "-2.md"] = {kMarkdown, 4, false, ""};
      files[build + "-3.md"] = {kMarkdown, 12, false, ""};
      files[build + "-4.md"] = {kMarkdown, 16, false, ""};
      files[build + "-5.md"] = {kMarkdown, is_new ? 4U : 2U, false, ""};
      if (is_new) files[build + "-6.md"] = {kMarkdown, 2, false, ""};
      files[build + ".csv"] = {kCsv, is_uneven ? 0U : 2U, false,
                               is_uneven ? "27 values under a heading of 26 columns" : ""};
      files[build + ".json"] = {kJson, 2, true, ""};
      if (build >= "b03661") files[build + ".jsonl"] = {kJsonl, 2, true, ""};
      files[build + ".sql"] = {kSql, is_uneven ? 0U : 2U, false, is_uneven ? "27 values for 26 columns" : ""};
    }
    files["bitnet-m4-mixed-stderr-md-truncated.txt"] = {kMarkdown, 3, false, ""};
    files["s390x-fork-b6321-ttft-fields.jsonl"] = {kJsonl, 2, true, ""};
    files["v0.5.0.json"] = {kJson, 2, true, ""};
    return files;
  }();
  return kExpected;
}

fs::path folder() {
  const char* shared = std::getenv("CAPBENCH_SHARED");
  return shared == nullptr ? fs::path() : fs::path(shared) / "data" / "llama-bench";
}

struct Read {
  RowList list;
  LlamaBenchCounts counts;
};

Read read(std::string_view bytes, std::size_t chunk = std::string_view::npos) {
  Read result;
  LlamaBenchReader reader(result.list);
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, chunk);
    reader.feed(part);
    bytes.remove_prefix(part.size());
  }
  reader.finish();
  result.counts = reader.counts();
  return result;
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder().empty() || !fs::exists(folder())) {
      GTEST_SKIP() << "no recorded data; set CAPBENCH_SHARED to the folder that holds data/llama-bench";
    }
  }
  static std::string bytes(const std::string& name) { return read_file(folder() / name).value(); }
};

TEST_F(Files, EveryFileGivesTheRowsThatAPersonCounts) {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    const std::string name = entry.path().filename();
    if (name == "field-history.json") continue;  // a description, not output
    SCOPED_TRACE(name);
    const auto it = expected().find(name);
    if (it == expected().end()) {
      ADD_FAILURE() << "a file that the table does not know";
      continue;
    }
    ++seen;
    const Read result = read(bytes(name));
    EXPECT_EQ(result.counts.*(it->second.format), it->second.rows);
    EXPECT_EQ(result.counts.rows(), it->second.rows);
    ASSERT_EQ(result.list.rows.size(), it->second.rows);
    EXPECT_EQ(result.list.quarantined.size(), it->second.quarantine.empty() ? 0U : 2U);
    for (const QuarantinedRow& row : result.list.quarantined) EXPECT_EQ(row.reason, it->second.quarantine);
    for (const ImportedRow& row : result.list.rows) {
      EXPECT_EQ(row.mean_only(), !it->second.has_samples);
      EXPECT_EQ(row.result.median_ts > 0, it->second.has_samples);
      EXPECT_GT(row.mean_ts.value_or(0), 0);
      EXPECT_FALSE(row.result.test.empty());
      EXPECT_EQ(row.result.test.find("pp "), std::string::npos);
      EXPECT_FALSE(row.result.backends.empty());
      EXPECT_TRUE(nlohmann::json::accept(row.result.fields)) << row.result.fields;
    }
  }
  EXPECT_EQ(seen, expected().size());
}

TEST_F(Files, TheSizeOfTheChunksChangesNothing) {
  for (const auto& [name, counts] : expected()) {
    SCOPED_TRACE(name);
    const std::string whole = bytes(name);
    const Read once = read(whole);
    for (const std::size_t chunk : {1U, 7U, 100U}) {
      const Read parts = read(whole, chunk);
      ASSERT_EQ(parts.list.rows.size(), once.list.rows.size());
      for (std::size_t i = 0; i < once.list.rows.size(); ++i) {
        EXPECT_EQ(parts.list.rows[i].result.fields, once.list.rows[i].result.fields);
        EXPECT_EQ(parts.list.rows[i].place.offset, once.list.rows[i].place.offset);
        EXPECT_EQ(parts.list.rows[i].place.line, once.list.rows[i].place.line);
      }
    }
  }
}

TEST_F(Files, AFileCutAnywhereKeepsItsWholeRows) {
  for (const std::string name : {"b05269.json", "b05269.jsonl", "b05269.csv", "b05269.sql", "b05269-5.md"}) {
    SCOPED_TRACE(name);
    const std::string whole = bytes(name);
    const Read all = read(whole);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Read cut = read(std::string_view(whole).substr(0, size));
      ASSERT_LE(cut.list.rows.size(), all.list.rows.size());
      for (std::size_t i = 0; i < cut.list.rows.size(); ++i) {
        // The last cell of a row of Markdown can be cut to another number, which nothing shows.
        if (name.ends_with(".md") && i + 1 == cut.list.rows.size()) continue;
        EXPECT_EQ(cut.list.rows[i].result.samples_ns, all.list.rows[i].result.samples_ns);
        EXPECT_EQ(cut.list.rows[i].mean_ts, all.list.rows[i].mean_ts);
      }
    }
  }
}

TEST_F(Files, OldSchemasSayTheSameInTheNamesOfToday) {
  const Read old = read(bytes("b01270.json"));
  EXPECT_EQ(old.list.rows[0].result.backends, "CUDA");
  EXPECT_EQ(old.list.rows[0].result.build, "3469684 (1275)");
  EXPECT_EQ(old.list.rows[0].result.test, "pp512");
  EXPECT_THAT(old.list.rows[1].result.samples_ns, ElementsAre(984472709, 974901233, 989474741, 970729355, 967548060));
  const auto fields = nlohmann::json::parse(old.list.rows[0].result.fields);
  EXPECT_EQ(fields.at("backends"), "CUDA");
  EXPECT_EQ(fields.at("mul_mat_q"), true);
  EXPECT_FALSE(fields.contains("n_depth"));
  EXPECT_FALSE(fields.contains("samples_ns"));

  const Read mapped = read(bytes("b05269.jsonl"));
  EXPECT_EQ(nlohmann::json::parse(mapped.list.rows[0].result.fields).at("load_mode"), "mmap");
  EXPECT_NEAR(mapped.list.rows[0].result.median_ts, 7276.44, 0.01);
}

TEST_F(Files, FieldsOfAForkAreKept) {
  const Read fork = read(bytes("s390x-fork-b6321-ttft-fields.jsonl"));
  const auto fields = nlohmann::json::parse(fork.list.rows[1].result.fields);
  EXPECT_EQ(fields.at("avg_ttft_ms"), 43.519547);
  EXPECT_EQ(fields.at("samples_ttft_ns").size(), 5U);
  EXPECT_EQ(fields.at("samples_itl_ns").at(0), 4.34463e+07);
}

TEST_F(Files, ARowOfMarkdownIsAMeanAndSaysSo) {
  const Read table = read(bytes("bitnet-m4-mixed-stderr-md-truncated.txt"));
  ASSERT_EQ(table.list.rows.size(), 3U);
  const ImportedRow& row = table.list.rows[2];
  EXPECT_EQ(row.result.test, "pp512");
  EXPECT_EQ(row.mean_ts, 80.83);
  EXPECT_EQ(row.stddev_ts, 25.41);
  EXPECT_FALSE(row.repetitions.has_value());
  EXPECT_EQ(row.result.backends, "MTL,BLAS");
  EXPECT_EQ(row.result.model_size, 808389181);
  EXPECT_THAT(row.flags, ::testing::UnorderedElementsAre("mean only", "rounded"));
  EXPECT_EQ(row.place.line, 21U);
  ASSERT_EQ(table.list.notes.size(), 1U);
  EXPECT_THAT(table.list.notes[0].text, ::testing::HasSubstr("build:"));
  EXPECT_EQ(table.counts.other_lines, 16U);
}

}  // namespace
}  // namespace capbench::imports
