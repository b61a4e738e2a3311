// The views against values computed here, and the queries of schema/schema.md through SQLite alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "schema/database.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "schema/test_records.h"

namespace capbench::schema {
namespace {

using testing::must;
using testing::Setting;
using Row = std::map<std::string, std::string>;  // column -> value as text; "NULL" for none

class Views : public ::testing::TestWithParam<Backend> {
 protected:
  Views() : place_(GetParam()), store_(must(Store::open(place_.path(), OpenMode::kCreate))) {}
  void SetUp() override { ASSERT_TRUE(testing::put(store_, setting_).ok()); }

  TrialRecord put(const TrialRecord& trial) {
    TrialRecord record = testing::named(trial);
    record.stdout_sha256 = "";  // computed: the block may have changed
    const Status status = store_.put_trial(record, testing::raw_stdout(record.block), testing::raw_stderr());
    EXPECT_TRUE(status.ok()) << (status ? "" : to_string(status.error()));
    return record;
  }

  // Five blocks of three arms with random samples; every third trial has an even number of them.
  std::vector<TrialRecord> put_matrix() {
    std::mt19937_64 random(11);
    std::vector<TrialRecord> trials;
    const std::pair<const char*, double> arms[] = {{"bare-metal", 1.0}, {"stock", 8.0}, {"unlocked", 1.1}};
    for (std::int64_t block = 0; block < 6; ++block) {
      for (const auto& [arm, scale] : arms) {
        TrialRecord trial = testing::trial(setting_, arm, block);
        for (ResultRecord& result : trial.results) {
          std::vector<std::int64_t> samples(random() % 3 == 0 ? 4 : 5);
          for (std::int64_t& ns : samples) {
            ns = static_cast<std::int64_t>((2e8 + static_cast<double>(random() % 10'000'000)) * scale);
          }
          result = testing::result(result.test, result.n_prompt, result.n_gen, samples);
        }
        trials.push_back(put(trial));
      }
    }
    return trials;
  }

  std::vector<Row> query(const std::string& sql) {
    Database database = must(Database::open(place_.path(), Database::Access::kRead, std::chrono::milliseconds(500)));
    Statement rows = must(database.prepare(sql));
    std::vector<Row> found;
    while (must(rows.step())) {
      Row row;
      for (int c = 0; c < rows.columns(); ++c) row[rows.name(c)] = rows.is_null(c) ? "NULL" : rows.text(c);
      found.push_back(row);
    }
    return found;
  }

  // Exactly, not as text.
  std::vector<double> numbers(const std::string& sql) {
    Database database = must(Database::open(place_.path(), Database::Access::kRead, std::chrono::milliseconds(500)));
    Statement rows = must(database.prepare(sql));
    std::vector<double> found;
    while (must(rows.step())) found.push_back(rows.real(0));
    return found;
  }

  testing::Place place_;
  Setting setting_;
  Store store_;
};

double median_of_trials(const std::vector<TrialRecord>& trials, const std::string& arm, std::size_t result) {
  std::vector<double> medians;
  for (const TrialRecord& trial : trials) {
    if (trial.arm != arm) continue;
    const ResultRecord& r = trial.results[result];
    std::vector<double> rates;
    for (const std::int64_t ns : r.samples_ns)
      rates.push_back(1e9 * static_cast<double>(r.n_prompt + r.n_gen) / static_cast<double>(ns));
    medians.push_back(testing::median(rates));
  }
  return testing::median(medians);
}

TEST_P(Views, SampleHasEveryRepetition) {
  const auto trials = put_matrix();
  std::size_t count = 0;
  for (const TrialRecord& trial : trials) {
    for (const ResultRecord& result : trial.results) {
      const std::string where =
          " FROM sample WHERE trial_id = '" + trial.id + "' AND test = '" + result.test + "' ORDER BY repetition";
      const auto rates = numbers("SELECT tokens_per_second" + where);
      const auto rows = query("SELECT repetition, ns" + where);
      ASSERT_EQ(rates.size(), result.samples_ns.size());
      for (std::size_t i = 0; i < rates.size(); ++i) {
        EXPECT_EQ(rows[i].at("repetition"), std::to_string(i));
        EXPECT_EQ(rows[i].at("ns"), std::to_string(result.samples_ns[i]));
        EXPECT_EQ(rates[i], 1e9 * static_cast<double>(result.n_prompt + result.n_gen) /
                                static_cast<double>(result.samples_ns[i]));
      }
      count += rates.size();
    }
  }
  EXPECT_EQ(query("SELECT count(*) AS n FROM sample")[0].at("n"), std::to_string(count));
}

TEST_P(Views, SpeedupIsTheRatioOfMediansOfTrialMedians) {
  const auto trials = put_matrix();
  const auto rows = query("SELECT * FROM speedup ORDER BY test");
  ASSERT_EQ(rows.size(), 2U);
  const char* tests[] = {"pp512", "tg128"};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string where = " FROM speedup WHERE test = '" + std::string(tests[i]) + "'";
    const double bare = median_of_trials(trials, "bare-metal", i);
    const double stock = median_of_trials(trials, "stock", i);
    const double unlocked = median_of_trials(trials, "unlocked", i);
    EXPECT_EQ(numbers("SELECT bare_metal" + where).at(0), bare);
    EXPECT_EQ(numbers("SELECT stock" + where).at(0), stock);
    EXPECT_EQ(numbers("SELECT unlocked" + where).at(0), unlocked);
    EXPECT_EQ(numbers("SELECT ratio" + where).at(0), unlocked / stock);
    EXPECT_EQ(numbers("SELECT percent_of_bare_metal" + where).at(0), 100 * unlocked / bare);
    EXPECT_EQ(rows[i].at("suite"), "quickstart");
    EXPECT_EQ(rows[i].at("machine"), "machine-a, 2 cores");
    EXPECT_EQ(rows[i].at("machine_id"), "machine-a");
    EXPECT_EQ(rows[i].at("build"), "0ad4a86 (1)");
    EXPECT_EQ(rows[i].at("guest"), "stand-in");
    EXPECT_EQ(rows[i].at("model_kind"), "twin");
    EXPECT_EQ(rows[i].at("treatment"), "proven");
    EXPECT_EQ(rows[i].at("quality"), "unchecked");
    EXPECT_EQ(rows[i].at("estimator"), "ratio of medians of trial medians");
    for (const char* column : {"stock_trials", "unlocked_trials", "bare_metal_trials"})
      EXPECT_EQ(rows[i].at(column), "6");
  }
}

TEST_P(Views, SpeedupCountsOnlyLastAttemptsThatAreOk) {
  auto trials = put_matrix();
  const double before = numbers("SELECT unlocked FROM speedup WHERE test = 'pp512'").at(0);
  TrialRecord trial = testing::trial(setting_, "unlocked", 6, 100);
  for (const char* status :
       {"failed", "timeout", "killed", "invalid_treatment", "no_device", "wrong_output", "not_run"}) {
    trial.status = status;
    put(trial);
    ++trial.block;
  }
  TrialRecord excluded = testing::trial(setting_, "unlocked", 20, 100);
  excluded = put(excluded);
  ASSERT_TRUE(store_.exclude_trial(excluded.id, "test").ok());
  EXPECT_EQ(numbers("SELECT unlocked FROM speedup WHERE test = 'pp512'").at(0), before);
  // A later attempt replaces the earlier one, whatever became of either.
  TrialRecord again = testing::trial(setting_, "unlocked", 0, 3);
  again.attempt = 2;
  again = put(again);
  for (TrialRecord& t : trials) {
    if (t.arm == "unlocked" && t.block == 0) t = again;
  }
  EXPECT_EQ(numbers("SELECT unlocked FROM speedup WHERE test = 'pp512'").at(0),
            median_of_trials(trials, "unlocked", 0));
  again.attempt = 3;
  again.status = "killed";
  put(again);
  EXPECT_EQ(query("SELECT unlocked_trials AS n FROM speedup WHERE test = 'pp512'")[0].at("n"), "5");
  EXPECT_EQ(query("SELECT count(*) AS n FROM latest_trial WHERE arm = 'unlocked' AND block = 0")[0].at("n"), "1");
}

TEST_P(Views, SpeedupNeverPoolsWhatDiffers) {
  put(testing::trial(setting_, "bare-metal", 0));
  put(testing::trial(setting_, "stock", 0, 8));
  TrialRecord one = testing::trial(setting_, "unlocked", 0, 2);
  put(one);
  one.arm = "unlocked-avx2";  // the same mode, another treatment
  one.treatment = "unproven";
  put(one);
  TrialRecord vm = testing::trial(setting_, "stock", 1, 4);
  vm.guest = "vm";
  vm.arm = "stock-vm";
  put(vm);
  TrialRecord real = testing::trial(setting_, "stock", 2, 4);
  real.model_kind = "real";
  put(real);
  TrialRecord other_build = testing::trial(setting_, "stock", 3, 4);
  for (ResultRecord& result : other_build.results) result.build = "fffffff (2)";
  put(other_build);
  Setting elsewhere;
  elsewhere.environment = testing::environment("machine-b");
  elsewhere.run = testing::run(elsewhere.suite, elsewhere.environment);
  ASSERT_TRUE(testing::put(store_, elsewhere).ok());
  put(testing::trial(elsewhere, "bare-metal", 0));
  Setting named_so_too;  // another suite of the same name
  named_so_too.suite.json = R"({"name":"quickstart","changed":1})";
  named_so_too.suite.id = "another";
  named_so_too.run = testing::run(named_so_too.suite, named_so_too.environment);
  ASSERT_TRUE(testing::put(store_, named_so_too).ok());
  put(testing::trial(named_so_too, "stock", 0));
  const auto rows = query(
      "SELECT machine_id || ' ' || build || ' ' || model_kind || ' ' || guest || ' ' || coalesce(stock_arm, '-') || ' "
      "' || "
      "coalesce(unlocked_arm, '-') || ' ' || coalesce(bare_metal_arm, '-') || ' ' || treatment AS line, ratio "
      "FROM speedup WHERE test = 'pp512' ORDER BY line");
  std::vector<std::string> lines;
  for (const Row& row : rows) lines.push_back(row.at("line"));
  const std::vector<std::string> want = {
      "machine-a 0ad4a86 (1) real stand-in stock - - proven",
      "machine-a 0ad4a86 (1) twin stand-in stock - - proven",
      "machine-a 0ad4a86 (1) twin stand-in stock unlocked bare-metal proven",
      "machine-a 0ad4a86 (1) twin stand-in stock unlocked-avx2 bare-metal unproven",
      "machine-a 0ad4a86 (1) twin vm stock-vm - bare-metal proven",
      "machine-a fffffff (2) twin stand-in stock - - proven",
      "machine-b 0ad4a86 (1) twin  - - bare-metal proven",
  };
  EXPECT_EQ(lines, want);
  for (const Row& row : rows) {
    EXPECT_EQ(row.at("ratio") == "NULL", row.at("line").find("unlocked") == std::string::npos) << row.at("line");
  }
}

TEST_P(Views, SpeedupTellsTheWorstTreatmentAndQuality) {
  put(testing::trial(setting_, "stock", 0, 8));
  TrialRecord trial = testing::trial(setting_, "unlocked", 0);
  trial.quality = "passed";
  put(trial);
  const auto get = [&](const std::string& column) {
    return query("SELECT * FROM speedup WHERE test = 'pp512'").at(0).at(column);
  };
  EXPECT_EQ(get("quality"), "passed");
  EXPECT_EQ(get("treatment"), "proven");
  trial.block = 1;
  trial.quality = "unchecked";
  trial.treatment = "unproven";
  put(trial);
  EXPECT_EQ(get("quality"), "unchecked");
  EXPECT_EQ(get("treatment"), "unproven");
  trial.block = 2;
  trial.quality = "wrong";
  trial.treatment = "invalid";
  put(trial);
  EXPECT_EQ(get("quality"), "wrong");
  EXPECT_EQ(get("treatment"), "invalid");
  EXPECT_EQ(get("percent_of_bare_metal"), "NULL");
}

TEST_P(Views, LlamaBenchHasItsOwnColumns) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  trial.results[1].fields = R"({"build_number":"1275","avg_ts":"12.5","f16_kv":"1","use_mmap":true})";  // as from a CSV
  trial.results.push_back(trial.results[0]);
  trial.results[2].fields = "";
  trial = put(trial);
  const auto rows = query("SELECT * FROM llama_bench ORDER BY test, avg_ts IS NULL, avg_ts");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("build_commit"), "0ad4a86");
  EXPECT_EQ(rows[0].at("build_number"), "1");
  EXPECT_EQ(rows[0].at("cpu_strict"), "0");
  EXPECT_EQ(rows[0].at("no_host"), "1");
  EXPECT_EQ(rows[0].at("n_prompt"), "512");
  EXPECT_EQ(rows[0].at("gpu_info"), "NULL");
  EXPECT_EQ(rows[0].at("trial_id"), trial.id);
  EXPECT_EQ(rows[0].at("status"), "ok");
  EXPECT_EQ(rows[1].at("avg_ts"), "NULL");
  EXPECT_EQ(rows[2].at("build_number"), "1275");
  EXPECT_EQ(rows[2].at("avg_ts"), "12.5");
  EXPECT_EQ(rows[2].at("f16_kv"), "1");
  EXPECT_EQ(rows[2].at("use_mmap"), "1");
  const auto average = nlohmann::json::parse(trial.results[0].fields)["avg_ts"].get<double>();
  EXPECT_EQ(numbers("SELECT avg_ts FROM llama_bench WHERE test = 'pp512' AND avg_ts IS NOT NULL").at(0), average);
}

TEST_P(Views, ASampleOfNoTimeHasNoRate) {
  TrialRecord trial = testing::trial(setting_, "stock", 0);
  trial.results.resize(1);
  trial.results[0].samples_ns = {0};
  put(trial);
  EXPECT_EQ(query("SELECT tokens_per_second AS t FROM sample")[0].at("t"), "NULL");
}

// schema.md, from the heading of `name` to the next one.
std::string section(const std::string& page, const std::string& name) {
  const std::size_t begin = page.find("### `" + name + "`\n");
  if (begin == std::string::npos) return "";
  const std::size_t end = page.find("\n##", begin + 4);
  return page.substr(begin, end == std::string::npos ? end : end - begin);
}

TEST_P(Views, ThePageDescribesEveryColumn) {
  const std::string page = must(read_file("schema/schema.md"));
  std::size_t described = 0;
  const bool is_file = GetParam() == Backend::kSqlite;
  for (const Row& table : query(is_file ? "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                                        : "SELECT table_name::text AS name FROM information_schema.tables WHERE "
                                          "table_schema = current_schema() AND table_name <> 'capbench_format'")) {
    const std::string text = section(page, table.at("name"));
    ASSERT_NE(text, "") << table.at("name");
    const std::string of = "'" + table.at("name") + "'";
    for (const Row& column :
         query(is_file ? "SELECT name FROM pragma_table_info(" + of + ")"
                       : "SELECT column_name::text AS name FROM information_schema.columns WHERE "
                         "table_schema = current_schema() AND column_name <> 'rowid' AND table_name = " +
                             of)) {
      EXPECT_NE(text.find("`" + column.at("name") + "`"), std::string::npos)
          << table.at("name") << "." << column.at("name");
      ++described;
    }
  }
  EXPECT_GT(described, 150U);
}

TEST_P(Views, ThePagesQueriesRun) {
  put_matrix();
  TrialRecord failed = testing::trial(setting_, "unlocked", 9);
  failed.status = "failed";
  failed.capabilities = {{"cpu.isa", "best", "", "ggml log", false}};
  put(failed);
  const std::string page = must(read_file("schema/schema.md"));
  const std::string open = "```sql\n";
  int queries = 0;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at + 1)) {
    const std::size_t begin = at + open.size();
    std::string sql = page.substr(begin, page.find("```", begin) - begin);
    // As the page says of it.
    const std::size_t json = sql.find("json ->> 'kernel'");
    if (json != std::string::npos && GetParam() == Backend::kPostgres) sql.replace(json, 4, "CAST(json AS json)");
    EXPECT_FALSE(query(sql).empty()) << sql;
    ++queries;
  }
  EXPECT_EQ(queries, 8);
}

// Each field of each row that real builds printed arrives under its own name.
TEST_P(Views, LlamaBenchCarriesRecordedRows) {
  const char* shared = std::getenv("CAPBENCH_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "CAPBENCH_SHARED is not set";
  std::size_t checked = 0;
  for (const char* name : {"b01270.json", "b03086.json", "b06522.json", "v0.5.0.json"}) {
    const auto text = read_file(std::filesystem::path(shared) / "data" / "llama-bench" / name);
    ASSERT_TRUE(text.ok()) << to_string(text.error());
    const auto rows = nlohmann::json::parse(*text);
    TrialRecord trial = testing::trial(setting_, name, 0);
    trial.results.clear();
    for (const auto& row : rows) {
      ResultRecord result = testing::result("row" + std::to_string(trial.results.size()), 1, 0, {1});
      result.fields = row.dump();
      trial.results.push_back(result);
    }
    trial = put(trial);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row found = query("SELECT * FROM llama_bench WHERE trial_id = '" + trial.id + "' AND test = 'row" +
                              std::to_string(i) + "'")
                            .at(0);
      for (const auto& [key, value] : rows[i].items()) {
        if (key == "samples_ns" || key == "samples_ts") continue;
        ASSERT_TRUE(found.contains(key)) << key;
        if (value.is_string()) {
          EXPECT_EQ(found.at(key), value.get<std::string>()) << key;
        } else {
          const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
          EXPECT_DOUBLE_EQ(std::stod(found.at(key)), number) << key;
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 100U);
}

INSTANTIATE_TEST_SUITE_P(Both, Views, ::testing::ValuesIn(testing::backends()),
                         [](const auto& one) { return testing::backend_name(one.param); });

}  // namespace
}  // namespace capbench::schema
