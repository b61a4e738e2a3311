// Histories and checks over stores that are made here, build by build.
#include "reports/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "reports/compare.h"
#include "reports/document.h"
#include "reports/regressions.h"
#include "reports/test_formats.h"
#include "schema/identity.h"
#include "schema/test_records.h"

namespace capbench::reports {
namespace {

using schema::testing::must;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Lines are broken where they would be too long.
std::string on_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == '\n' || c == ' ';
    if (!space || out.empty() || out.back() != ' ') out += space ? ' ' : c;
  }
  return out;
}

struct Build {
  std::int64_t number = 0;
  double speed = 1000;
  int trials = 3;
  std::string kernel = "6.1";
  std::string model = "weights";
  std::string arm = "stock";
  double spread = 0.002;
  bool libraries_seen = true;
  bool files_known = true;
  std::vector<std::pair<std::string, std::string>> system_libraries = {};  // name, content
};

class Made : public ::testing::Test {
 protected:
  // Every trial of a build in a run of its own kind, a day after the one before.
  void add(const Build& build) {
    ++day_;
    schema::testing::Setting setting;
    setting.environment.json = R"({"kernel":")" + build.kernel + R"(","machine":"machine-a"})";
    setting.environment.id = schema::environment_id(setting.environment);
    for (schema::ClosureMember& member : setting.closure.members) {
      if (member.role == "executable") member.artifact.sha256 = sha256(fmt::format("bench {}", build.number));
      if (member.role == "model") member.artifact.sha256 = sha256(build.model);
    }
    if (!build.libraries_seen) {
      std::erase_if(setting.closure.members, [](const auto& member) { return member.role == "library"; });
    }
    for (const auto& [name, content] : build.system_libraries) {
      setting.closure.members.push_back({"library", {sha256(content), 1, name}, "/usr/lib/" + name});
    }
    if (!build.files_known) setting.closure.members.clear();
    setting.closure.id = schema::closure_id(setting.closure);
    setting.run.started_at = fmt::format("2026-{:02}-{:02}T04:25:07.123Z", 1 + day_ / 28, 1 + day_ % 28);
    setting.run.id = schema::run_id(setting.run);
    ASSERT_TRUE(put(store_, setting).ok());
    for (int block = 0; block < build.trials; ++block) {
      schema::TrialRecord trial = schema::testing::trial(setting, build.arm, block);
      const double speed = build.speed * (1 + build.spread * ((day_ * 7 + block * 5) % 11 - 5) / 5.0);
      const auto ns = static_cast<std::int64_t>(1e9 * 512 / speed);
      trial.results = {schema::testing::result("pp512", 512, 0, {ns, ns + 1000, ns - 1000})};
      trial.results[0].build = fmt::format("{:07x} ({})", 0xabc0000 + build.number, build.number);
      trial.started_at = setting.run.started_at;
      trial.stdout_sha256.clear();
      trial.stderr_sha256.clear();
      trial = schema::testing::named(trial);
      const Status status = store_.put_trial(trial, "", "");
      ASSERT_TRUE(status.ok()) << to_string(status.error());
    }
  }

  std::vector<Series> history(Axis axis = Axis::kBuilds) {
    HistoryFilter filter;
    filter.axis = axis;
    return must(read_history(store_, filter));
  }

  CheckReport check(const std::string& baseline) { return must(check_history(history(), Axis::kBuilds, baseline)); }

  schema::testing::Folder folder_;
  schema::Store store_ = must(schema::Store::open(folder_ / "h.db", schema::OpenMode::kCreate));
  int day_ = 0;
};

TEST_F(Made, ALevelThatDropsIsSeenWhereItDrops) {
  // Measured out of order, as people do.
  for (const std::int64_t number :
       {4310, 4300, 4301, 4302, 4303, 4304, 4305, 4306, 4307, 4308, 4309, 4311, 4312, 4313}) {
    add({.number = number, .speed = number < 4307 ? 1000.0 : 900.0});
  }
  const std::vector<Series> all = history();
  ASSERT_EQ(all.size(), 1U);
  const Series& series = all[0];
  EXPECT_EQ(series.key.test, "pp512");
  EXPECT_EQ(series.key.device, "AMD EPYC");
  EXPECT_THAT(series.setting_apart, IsEmpty());
  ASSERT_EQ(series.points.size(), 14U);
  EXPECT_EQ(series.points[0].build_number, 4300);
  EXPECT_EQ(series.points[0].commit, "abc10cc");
  EXPECT_EQ(series.points[0].n_trials, 3U);
  EXPECT_EQ(series.points[0].n_samples, 9U);
  EXPECT_NEAR(series.points[0].median_ts, 1000, 3);
  ASSERT_TRUE(series.points[0].ci95);
  EXPECT_THAT(series.points[0].different, IsEmpty());
  ASSERT_EQ(series.points[1].different, std::vector<std::string>{"executable llama-bench"});
  ASSERT_EQ(series.changes.size(), 1U);
  const SeriesChange& change = series.changes[0];
  EXPECT_EQ(change.index, 7U);
  EXPECT_LE(change.first, 7U);
  EXPECT_GE(change.last, 7U);
  EXPECT_EQ(change.method, "change point");
  EXPECT_LT(change.p.value_or(1), 0.01);
  EXPECT_NEAR(change.ratio, 0.9, 0.005);
  EXPECT_LE(change.ci95.low, change.ratio);
  EXPECT_GE(change.ci95.high, change.ratio);
  EXPECT_EQ(change.state, "open");
  EXPECT_EQ(change.id, sha256(regression_subject(series, 7)));
  EXPECT_THAT(series.margin_why, HasSubstr("random splits"));
}

TEST_F(Made, AShortSeriesIsToldByItsTrials) {
  add({.number = 10, .trials = 5});
  add({.number = 11, .trials = 5});
  add({.number = 12, .speed = 900, .trials = 5});
  const std::vector<Series> all = history();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].changes.size(), 1U);
  EXPECT_EQ(all[0].changes[0].index, 2U);
  EXPECT_EQ(all[0].changes[0].method, "trials");
  EXPECT_FALSE(all[0].changes[0].p);
  EXPECT_LT(all[0].changes[0].ci95.high, 0.95);
}

TEST_F(Made, OnlyComparableEnvironmentsStandInOneSeries) {
  add({.number = 10});
  add({.number = 11});
  add({.number = 12, .speed = 700, .kernel = "6.8"});
  add({.number = 12, .speed = 800, .kernel = "6.8", .model = "other weights"});
  const std::vector<Series> builds = history();
  ASSERT_EQ(builds.size(), 3U);
  EXPECT_THAT(builds[0].setting_apart, IsEmpty());
  EXPECT_EQ(builds[0].points.size(), 1U);
  EXPECT_EQ(builds[1].setting_apart, std::vector<std::string>{"model tiny.gguf"});
  EXPECT_EQ(builds[2].setting_apart, (std::vector<std::string>{"kernel: 6.8 -> 6.1", "model tiny.gguf"}));
  EXPECT_EQ(builds[2].points.size(), 2U);
  for (const Series& series : builds) EXPECT_THAT(series.changes, IsEmpty());

  add({.number = 11, .speed = 980, .kernel = "6.8"});
  const std::vector<Series> systems = history(Axis::kSystems);
  std::size_t with_two = 0;
  for (const Series& series : systems) {
    if (series.points.size() != 2) continue;
    ++with_two;
    EXPECT_EQ(series.points[0].label, "6.1");
    EXPECT_EQ(series.points[1].different, std::vector<std::string>{"kernel: 6.1 -> 6.8"});
  }
  EXPECT_EQ(with_two, 1U);
  EXPECT_EQ(history(Axis::kRuns).size(), 5U);
}

TEST_F(Made, LibrariesThatWereNotSeenMakeNoOtherBuild) {
  add({.number = 10});
  add({.number = 10, .libraries_seen = false});
  const std::vector<Series> builds = history();
  ASSERT_EQ(builds.size(), 1U);
  ASSERT_EQ(builds[0].points.size(), 1U);
  EXPECT_EQ(builds[0].points[0].n_trials, 6U);
}

TEST_F(Made, WhetherABuildNeedsASystemLibraryIsAMatterOfTheBuild) {
  add({.number = 10, .system_libraries = {{"libc.so.6", "2.36"}}});
  add({.number = 11, .libraries_seen = false});
  add({.number = 12, .system_libraries = {{"libc.so.6", "2.36"}, {"libcurl.so.4", "7.88"}}});
  const std::vector<Series> comparable = history();
  ASSERT_EQ(comparable.size(), 1U);
  EXPECT_EQ(comparable[0].points.size(), 3U);

  add({.number = 13, .system_libraries = {{"libc.so.6", "2.37"}}});
  const std::vector<Series> builds = history();
  const auto newest = std::find_if(builds.begin(), builds.end(), [](const Series& series) {
    return std::any_of(series.points.begin(), series.points.end(), [](const auto& p) { return p.build_number == 13; });
  });
  ASSERT_NE(newest, builds.end());
  EXPECT_EQ(newest->points.size(), 1U);
}

// One trial a build tells nothing of two builds; a series of them shows its level.
TEST_F(Made, ASeriesOfSingleTrialsIsComparedByItsLevel) {
  for (std::int64_t number = 100; number < 111; ++number) add({.number = number, .trials = 1});
  EXPECT_EQ(check("previous").compared, 0U);
  add({.number = 111, .trials = 1});
  const CheckReport steady = check("previous");
  EXPECT_EQ(steady.compared, 1U);
  EXPECT_EQ(steady.series[0].standing, Standing::kCannotTell);
  EXPECT_THAT(steady.series[0].why, HasSubstr("No change of level since"));
  EXPECT_THAT(check_markdown(steady), HasSubstr("# Nothing new is slower than at previous"));
  for (std::int64_t number = 112; number < 120; ++number) add({.number = number, .speed = 850, .trials = 1});
  EXPECT_TRUE(check("105").finding);
  EXPECT_FALSE(check("115").finding);
  EXPECT_EQ(check("115").compared, 1U);
}

// What was measured without capbench brings no files. Its builds are then what it printed.
TEST_F(Made, BuildsWhoseFilesAreUnknownAreToldByWhatTheyPrinted) {
  for (const std::int64_t number : {100, 101, 102}) {
    add({.number = number, .speed = number < 102 ? 1000.0 : 800.0, .trials = 5, .files_known = false});
  }
  const std::vector<Series> all = history();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].points.size(), 3U);
  EXPECT_EQ(all[0].points[0].label, "abc0064 (100)");
  EXPECT_EQ(all[0].points[1].n_trials, 5U);
  EXPECT_EQ(all[0].points[2].different, std::vector<std::string>{"build: abc0065 (101) -> abc0066 (102)"});
  EXPECT_EQ(all[0].changes.size(), 1U);
  const CheckReport report = check("100");
  EXPECT_TRUE(report.finding);
  EXPECT_EQ(report.series[0].first_bad, "abc0066 (102)");
  // What differs in its build is not one series over anything else.
  EXPECT_EQ(history(Axis::kRuns).size(), 3U);
}

TEST_F(Made, CheckSaysWhatHowMuchAndSinceWhen) {
  for (const std::int64_t number : {100, 101, 102, 103}) {
    add({.number = number, .speed = number < 102 ? 1000.0 : 880.0, .trials = 5});
    add({.number = number, .speed = 500, .trials = 5, .arm = "unlocked"});
    add({.number = number, .speed = 500, .trials = 1, .arm = "bare-metal"});
  }
  for (const std::string baseline : {"100", "b100", "abc0064", "abc0064 (100)"}) {
    const CheckReport report = check(baseline);
    EXPECT_TRUE(report.finding) << baseline;
    ASSERT_EQ(report.series.size(), 3U);
    EXPECT_EQ(report.asked, 2U);
    const CheckedSeries& slower = report.series[0];
    EXPECT_EQ(slower.standing, Standing::kSlower);
    EXPECT_EQ(slower.key.arm, "stock");
    EXPECT_NEAR(slower.ratio.value_or(0), 0.88, 0.01);
    EXPECT_EQ(slower.first_bad, "abc0066 (102)");
    EXPECT_EQ(slower.last_good, "abc0065 (101)");
    EXPECT_EQ(report.series[1].standing, Standing::kCannotTell);
    EXPECT_THAT(report.series[1].why, HasSubstr("too few trials: 1 at the baseline, 1 now"));
    EXPECT_EQ(report.series[2].standing, Standing::kNotSlower);
  }
  const std::string comment = on_one_line(check_markdown(check("100")));
  EXPECT_THAT(comment, HasSubstr("# Slower than at 100"));
  EXPECT_THAT(comment, HasSubstr("1 of 3 speeds slower"));
  EXPECT_THAT(comment, ContainsRegex("-1[12]\\.[0-9] %"));
  EXPECT_THAT(comment, HasSubstr("last good abc0065"));
  EXPECT_FALSE(check("previous").finding);
  EXPECT_EQ(check("103").compared, 3U);  // it is the newest itself
  testing::expect_keeps_to_schema(check_json(check("100")), "reports/json/check.schema.json");
  testing::expect_keeps_to_schema(check_json(check("previous")), "reports/json/check.schema.json");
}

TEST_F(Made, CheckNamesWhatCannotBeCompared) {
  add({.number = 100, .trials = 5});
  add({.number = 101, .speed = 800, .trials = 5, .kernel = "6.8"});
  const CheckReport report = check("100");
  EXPECT_FALSE(report.finding);
  ASSERT_EQ(report.series.size(), 1U);
  EXPECT_EQ(report.series[0].standing, Standing::kCannotTell);
  EXPECT_THAT(report.series[0].why, HasSubstr("not comparable"));
  EXPECT_THAT(report.series[0].why, HasSubstr("kernel"));
  EXPECT_EQ(report.compared, 0U);
  EXPECT_THAT(check_markdown(report), HasSubstr("# Nothing could be compared with 100\n"));
  testing::expect_keeps_to_schema(check_json(report), "reports/json/check.schema.json");

  const auto unknown = check_history(history(), Axis::kBuilds, "99");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(to_string(unknown.error()), HasSubstr("abc0065 (101)"));
}

TEST_F(Made, WhatPeopleDecidedKeepsOrFailsTheCheck) {
  add({.number = 100, .trials = 5});
  add({.number = 101, .speed = 900, .trials = 5});
  const std::string id = check("100").series[0].id;
  const std::string subject = must(find_regression(store_, id.substr(0, 12)));
  EXPECT_EQ(sha256(subject), id);
  const auto decide = [&](const std::string& state, const std::string& at) {
    return store_.put_triage({id, at, state, "because", subject});
  };
  ASSERT_TRUE(decide("acknowledged", "2026-11-30T10:00:00.000Z").ok());
  EXPECT_FALSE(check("100").finding);
  EXPECT_EQ(check("100").series[0].state, "acknowledged");
  EXPECT_EQ(check("100").series[0].state_why, "because");
  EXPECT_EQ(history()[0].changes[0].state, "acknowledged");
  ASSERT_TRUE(decide("fixed", "2026-11-30T11:00:00.000Z").ok());
  EXPECT_TRUE(check("100").finding);
  EXPECT_THAT(on_one_line(check_markdown(check("100"))), HasSubstr("called fixed"));
  ASSERT_TRUE(decide("noise", "2026-11-30T12:00:00.000Z").ok());
  EXPECT_FALSE(check("100").finding);
  // A later build that is as slow is the same regression.
  add({.number = 105, .speed = 900, .trials = 5});
  EXPECT_EQ(check("100").series[0].id, id);
  EXPECT_FALSE(check("100").finding);
  EXPECT_THAT(to_string(find_regression(store_, "00000000").error()), HasSubstr("nothing in the store"));
}

TEST_F(Made, CompareSetsTwoBuildsBesideEachOtherAndListsTheRest) {
  add({.number = 100, .trials = 5});
  add({.number = 100, .trials = 5, .arm = "unlocked"});
  add({.number = 101, .speed = 900, .trials = 5});
  add({.number = 101, .speed = 2000, .trials = 5, .arm = "bare-metal"});
  for (const CompareSides& sides : {CompareSides{"100", "b101"}, CompareSides{}}) {
    const CompareReport report = must(read_compare(store_, "", sides));
    ASSERT_EQ(report.cells.size(), 3U);
    EXPECT_EQ(report.compared, 1U);
    EXPECT_TRUE(report.same_machine);
    EXPECT_EQ(report.different, std::vector<std::string>{"executable llama-bench"});
    EXPECT_EQ(report.cells[0].key.arm, "bare-metal");
    EXPECT_FALSE(report.cells[0].base);
    EXPECT_EQ(report.cells[1].key.arm, "stock");
    EXPECT_NEAR(report.cells[1].ratio.value_or(0), 0.9, 0.005);
    EXPECT_TRUE(report.cells[1].holds_together);
    EXPECT_FALSE(report.cells[2].other);
    testing::expect_keeps_to_schema(compare_json(report), "reports/json/compare.schema.json");
    const std::string page = on_one_line(document_markdown(compare_document(report)));
    EXPECT_THAT(page, ContainsRegex("-(9|10)\\.[0-9] %"));
    EXPECT_THAT(page, HasSubstr("measured by the base only"));
    EXPECT_THAT(page, HasSubstr("measured by the other only"));
    EXPECT_EQ(testing::parse_csv(compare_csv(report)).size(), 4U);
  }
  EXPECT_THAT(to_string(read_compare(store_, "", {"100", "99"}).error()), HasSubstr("abc0065 (101) on machine-a"));
  EXPECT_THAT(to_string(read_compare(store_, "", {"100", ""}).error()), HasSubstr("--other"));
}

TEST(Build, NamesAreParsed) {
  EXPECT_EQ(parse_build("0ad4a86 (4321)").commit, "0ad4a86");
  EXPECT_EQ(parse_build("0ad4a86 (4321)").number, 4321);
  EXPECT_EQ(parse_build("mlx 0.1").commit, "mlx 0.1");
  EXPECT_FALSE(parse_build("mlx (one)").number);
}

}  // namespace
}  // namespace capbench::reports
