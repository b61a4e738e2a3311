#include "reports/site/site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/digest.h"
#include "reports/read_speedup.h"
#include "reports/site/html.h"
#include "reports/site/pages.h"
#include "schema/identity.h"
#include "schema/test_records.h"

namespace capbench::site {
namespace {

namespace fs = std::filesystem;
using schema::testing::Folder;
using schema::testing::must;
using schema::testing::Setting;

constexpr const char* kEvil = "</script></td><script>alert('x')</script><img src=x onerror=y>\"'&\xE2\x80\xA8";

// Builds one after another, each measured by three processes of every mode; from build `slower_from` on, unlocked takes
// a quarter more time.
void measure(schema::Store& store, Setting setting, int builds, int slower_from) {
  for (int build = 0; build < builds; ++build) {
    setting.run.id = "run-" + setting.environment.machine_id + "-" + std::to_string(build);
    setting.run.started_at =
        "2026-01-" + std::string(build < 9 ? "0" : "") + std::to_string(build + 1) + "T00:00:00.000Z";
    for (schema::ClosureMember& member : setting.closure.members) {
      if (member.role == "executable") member.artifact.sha256 = sha256("bench " + std::to_string(build));
    }
    setting.closure.id = schema::closure_id(setting.closure);
    ASSERT_TRUE(schema::testing::put(store, setting).ok());
    for (const std::string mode : {"bare-metal", "stock", "unlocked"}) {
      for (int block = 0; block < 3; ++block) {
        const double speed = mode == "stock" ? 8 : mode == "unlocked" && build >= slower_from ? 1.25 : 1;
        schema::TrialRecord trial =
            schema::testing::trial(setting, mode, block, speed * (1 + 0.002 * block + 0.001 * (build % 3)));
        trial.mode = mode;
        trial.started_at = setting.run.started_at;
        trial.status = "ok";
        trial.treatment = "proven";
        for (schema::ResultRecord& result : trial.results) result.build = "build " + std::to_string(build);
        trial = schema::testing::named(trial);
        const Status put = store.put_trial(trial, schema::testing::raw_stdout(block), schema::testing::raw_stderr());
        ASSERT_TRUE(put.ok()) << to_string(put.error());
      }
    }
  }
}

class SiteTest : public ::testing::Test {
 protected:
  fs::path made(const std::string& name, int builds, int slower_from = 1000) {
    const fs::path path = folder_ / name;
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    measure(store, Setting{}, builds, slower_from);
    return path;
  }
  static std::map<std::string, std::string> pages(const Site& site) {
    std::map<std::string, std::string> all;
    Connections connections(site.stores);
    for (const std::string& path : page_paths(site)) {
      const std::optional<std::string> page = must(render_page(site, connections, path));
      EXPECT_TRUE(page.has_value()) << path;
      all[path] = page.value_or("");
    }
    return all;
  }
  Folder folder_;
};

std::string resolved(const std::string& from, const std::string& link) {
  return (fs::path(from).parent_path() / link).lexically_normal().string();
}

TEST_F(SiteTest, NumbersAreThoseOfTheSpeedupReport) {
  const fs::path path = made("a.db", 2);
  const Site site = must(read_site({path}, {}));
  schema::Store store = must(schema::Store::open(path, schema::OpenMode::kReadOnly));
  const reports::SpeedupReport report = must(reports::read_speedup(store, {}));
  std::set<std::string> newest;
  ASSERT_EQ(site.model.speedup.size(), 1U);
  schema::Store* const stores[] = {&store};
  const reports::SpeedupReport shown = must(read_speedup_of(site.model, site.model.speedup, stores));
  for (const reports::SpeedupRow& row : shown.rows) {
    EXPECT_EQ(row.build, "build 1");
    newest.insert(row.test);
    bool found = false;
    for (const reports::SpeedupRow& other : report.rows) {
      if (other.build != row.build || other.test != row.test) continue;
      found = true;
      ASSERT_TRUE(row.speedup && other.speedup);
      EXPECT_EQ(row.speedup->value, other.speedup->value);
      ASSERT_TRUE(row.speedup->ci95);
      EXPECT_EQ(row.speedup->ci95->low, other.speedup->ci95->low);
      EXPECT_EQ(row.speedup->ci95->high, other.speedup->ci95->high);
      // What the history says of it.
      for (const Series& series : site.model.series) {
        const SeriesKey& key = site.model.key(series);
        if (key.test != row.test || key.mode != "unlocked") continue;
        const auto estimate = estimate_of(site.model, site.model.cells[series.newest]);
        ASSERT_TRUE(estimate);
        EXPECT_DOUBLE_EQ(estimate->value, row.modes[2].stats->median.value);
      }
    }
    EXPECT_TRUE(found) << row.test;
  }
  EXPECT_EQ(newest.size(), 2U);
  EXPECT_EQ(site.model.n_results(), 2U * 3 * 3 * 2);
  ASSERT_EQ(site.headlines.size(), 1U);
  const auto best = std::max_element(report.rows.begin(), report.rows.end(),
                                     [](const auto& a, const auto& b) { return a.speedup->value < b.speedup->value; });
  EXPECT_EQ(site.headlines.front().speedup->value, best->speedup->value);
}

TEST_F(SiteTest, AStepIsFoundWhereItIsAndShown) {
  const Site site = must(read_site({made("a.db", 24, 14)}, {}));
  ASSERT_EQ(site.changes.size(), 2U);  // pp512 and tg128 of mode unlocked
  for (const Change& change : site.changes) {
    EXPECT_EQ(site.model.key(site.model.series[change.series]).mode, "unlocked");
    EXPECT_EQ(change.change.index, 14U);
    EXPECT_NEAR(change.change.ratio, 0.8, 0.01);
    EXPECT_EQ(change.change.state, "open");
    EXPECT_EQ(change.label, "build 14");
  }
  const std::map<std::string, std::string> all = pages(site);
  EXPECT_NE(all.at("index.html").find("-20.0 %"), std::string::npos);
  const Series& series = site.model.series[site.changes.front().series];
  EXPECT_NE(all.at("history/" + series.id + ".html").find("-20.0 %"), std::string::npos);
}

TEST_F(SiteTest, EveryLinkLeadsToAPage) {
  Options options;
  for (const std::size_t most : {std::size_t{0}, std::size_t{4}}) {
    options.most_trials = most;
    const std::map<std::string, std::string> all =
        pages(must(read_site({made(std::to_string(most) + ".db", 12, 6)}, options)));
    std::set<std::string> known;
    for (const auto& [path, text] : all) known.insert(path);
    for (const Asset& asset : assets()) known.insert(std::string(asset.path));
    const std::regex links("(?:href|src)=\"([^\"#]+)\"");
    std::size_t trials = 0;
    for (const auto& [path, text] : all) {
      if (path.starts_with("trial/")) ++trials;
      for (std::sregex_iterator at(text.begin(), text.end(), links), end; at != end; ++at) {
        EXPECT_TRUE(known.contains(resolved(path, (*at)[1]))) << path << " links to " << (*at)[1];
      }
      EXPECT_EQ(text.find(" style="), std::string::npos) << path;
      EXPECT_EQ(text.find("http://"), std::string::npos) << path;
    }
    EXPECT_EQ(trials, most == 0 ? 12U * 9 : 4U);
  }
}

TEST_F(SiteTest, SpecificationsAreJsonWithoutAWayOut) {
  const std::map<std::string, std::string> all = pages(must(read_site({made("a.db", 3)}, {})));
  const std::regex blocks("<script type=\"application/json\" id=\"[a-z0-9-]+\">([^<]*)</script>");
  std::size_t found = 0;
  for (const auto& [path, text] : all) {
    for (std::sregex_iterator at(text.begin(), text.end(), blocks), end; at != end; ++at) {
      EXPECT_FALSE(nlohmann::json::parse((*at)[1].str(), nullptr, false).is_discarded()) << path;
      ++found;
    }
  }
  EXPECT_GE(found, 10U);
}

TEST_F(SiteTest, ForeignTextIsEscapedOnEveryPage) {
  const fs::path path = folder_ / "evil.db";
  {
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    Setting setting;
    setting.environment.machine_label = kEvil;
    setting.suite.name = kEvil;
    ASSERT_TRUE(schema::testing::put(store, setting).ok());
    for (int block = 0; block < 3; ++block) {
      schema::TrialRecord trial = schema::testing::trial(setting, kEvil, block);
      trial.arm = trial.mode = trial.workload = trial.model = trial.guest = trial.target = kEvil;
      trial.argv = {kEvil};
      trial.environment_set = {kEvil};
      trial.flags = {kEvil};
      trial.status = "ok";
      trial.stdout_sha256 = trial.stderr_sha256 = sha256(kEvil);
      // Names are a trial's keys, so each has a letter of its own.
      char letter = 'a';
      for (schema::ResultRecord& result : trial.results) {
        result.build = result.gpu_info = result.cpu_info = kEvil;
        result.test = std::string(kEvil) + letter++;
      }
      for (schema::CapabilityRecord& capability : trial.capabilities) {
        capability.requested = capability.observed = capability.source = kEvil;
        capability.name = std::string(kEvil) + letter++;
      }
      const Status stored = store.put_trial(schema::testing::named(trial), kEvil, kEvil);
      ASSERT_TRUE(stored.ok()) << to_string(stored.error());
    }
  }
  const Site site = must(read_site({path}, {}));
  EXPECT_GT(site.model.n_results(), 0U);
  for (const auto& [name, text] : pages(site)) {
    EXPECT_EQ(text.find("<script>"), std::string::npos) << name;
    EXPECT_EQ(text.find("<img"), std::string::npos) << name;
    EXPECT_EQ(text.find("</script></td>"), std::string::npos) << name;
    if (!name.ends_with(".js")) continue;
    EXPECT_EQ(text.find('<'), std::string::npos) << name;
    EXPECT_EQ(text.find("\xE2\x80\xA8"), std::string::npos) << name;
  }
}

TEST_F(SiteTest, WhatIsInTwoStoresCountsOnce) {
  const fs::path one = made("one.db", 2);
  const fs::path two = made("two.db", 3);
  const Site site = must(read_site({one, two}, {}));
  EXPECT_EQ(site.model.n_trials, 3U * 9);
  EXPECT_EQ(site.model.runs.size(), 3U);
}

TEST_F(SiteTest, RawOutputIsShownAsTheStoreIsToldTo) {
  Options options;
  options.most_raw = 10;
  options.redact = [](std::string_view text) { return "<" + std::to_string(text.size()) + " bytes taken out>"; };
  const Site site = must(read_site({made("a.db", 1)}, options));
  Connections connections(site.stores);
  const std::string page = must(trial_page(site, connections, 0)).value();
  EXPECT_NE(page.find("&lt;10 bytes taken out&gt;"), std::string::npos);
  EXPECT_NE(page.find("the first 10 are shown"), std::string::npos);
}

TEST_F(SiteTest, FilesAreWrittenAndOldOnesGo) {
  const fs::path folder = folder_ / "site";
  const Site site = must(read_site({made("a.db", 3)}, {}));
  const Written written = must(write_site(site, folder, 2));
  EXPECT_EQ(written.pages, page_paths(site).size());
  const fs::path trial = folder / "trial" / (reports::digest_hex(site.model.m.launches[0].id) + ".html");
  EXPECT_TRUE(fs::exists(trial));
  EXPECT_TRUE(fs::exists(folder / "assets/app.js"));
  Options fewer;
  fewer.most_trials = 1;
  const Site smaller = must(read_site(site.stores, fewer));
  ASSERT_TRUE(write_site(smaller, folder, 1).ok());
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(folder / "trial")) {
    if (entry.is_regular_file()) ++left;
  }
  EXPECT_EQ(left, 1U);
}

TEST_F(SiteTest, AFolderOfOtherThingsIsRefused) {
  const Site site = must(read_site({made("a.db", 1)}, {}));
  const fs::path folder = folder_ / "mine";
  fs::create_directories(folder);
  std::ofstream(folder / "thesis.txt") << "years of work";
  const auto written = write_site(site, folder, 1);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(SiteTest, AnEmptyStoreHasPagesToo) {
  const fs::path path = folder_ / "empty.db";
  { must(schema::Store::open(path, schema::OpenMode::kCreate)); }
  const Site site = must(read_site({path}, {}));
  EXPECT_GE(pages(site).size(), 8U);
}

// What the site says of a series is what `capbench check` says, decisions included.
TEST_F(SiteTest, ChangesAndDecisionsAreThoseOfCheck) {
  const fs::path path = made("a.db", 24, 14);
  std::string id;
  {
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    reports::HistoryFilter filter;
    filter.arm = "unlocked";
    filter.test = "pp512";
    const std::vector<reports::Series> history = must(reports::read_history(store, filter));
    ASSERT_EQ(history.size(), 1U);
    ASSERT_EQ(history[0].changes.size(), 1U);
    schema::TriageRecord decision;
    decision.subject = reports::regression_subject(history[0], history[0].changes[0].index);
    decision.regression_id = id = history[0].changes[0].id;
    decision.state = "acknowledged";
    decision.why = "known <since> long";
    ASSERT_TRUE(store.put_triage(decision).ok());
  }
  const Site site = must(read_site({path}, {}));
  std::size_t acknowledged = 0;
  for (const Change& change : site.changes) {
    if (change.change.id != id) continue;
    ++acknowledged;
    EXPECT_EQ(change.change.state, "acknowledged");
    EXPECT_EQ(site.summaries[change.series].open, 0U);
    const std::string page = pages(site).at("history/" + site.model.series[change.series].id + ".html");
    EXPECT_NE(page.find("acknowledged"), std::string::npos);
    EXPECT_NE(page.find("known &lt;since&gt; long"), std::string::npos);
    EXPECT_NE(page.find(id.substr(0, 12)), std::string::npos);
  }
  EXPECT_EQ(acknowledged, 1U);
}

TEST_F(SiteTest, APointOfOneProcessHasItsOwnIntervalAndSaysSo) {
  const fs::path path = folder_ / "one.db";
  {
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    Setting setting;
    ASSERT_TRUE(schema::testing::put(store, setting).ok());
    schema::TrialRecord trial = schema::testing::trial(setting, "stock", 0);
    trial.status = "ok";
    ASSERT_TRUE(
        store.put_trial(schema::testing::named(trial), schema::testing::raw_stdout(0), schema::testing::raw_stderr())
            .ok());
  }
  const Site site = must(read_site({path}, {}));
  ASSERT_FALSE(site.model.series.empty());
  const std::string page = pages(site).at("history/" + site.model.series[0].id + ".html");
  EXPECT_NE(page.find("within one process"), std::string::npos);
}

// A store in which nothing counts is shown with its reasons.
TEST_F(SiteTest, WhatFailedIsShownWithItsReason) {
  const fs::path path = folder_ / "failed.db";
  std::string id;
  {
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    Setting setting;
    ASSERT_TRUE(schema::testing::put(store, setting).ok());
    for (int block = 0; block < 2; ++block) {
      schema::TrialRecord trial = schema::testing::trial(setting, "stock", block);
      trial.status = "failed";
      trial.reason = "it <exited> 1";
      trial.results.clear();
      trial = schema::testing::named(trial);
      id = trial.id;
      ASSERT_TRUE(store.put_trial(trial, schema::testing::raw_stdout(block), schema::testing::raw_stderr()).ok());
    }
  }
  const Site site = must(read_site({path}, {}));
  EXPECT_EQ(site.model.n_trials, 0U);
  EXPECT_EQ(site.model.not_counted.size(), 2U);
  const std::map<std::string, std::string> all = pages(site);
  for (const std::string& name : {std::string("not-counted.html"), "trial/" + id + ".html"}) {
    EXPECT_NE(all.at(name).find("it &lt;exited&gt; 1"), std::string::npos) << name;
    EXPECT_NE(all.at(name).find("failed"), std::string::npos) << name;
  }
  EXPECT_NE(all.at("index.html").find("not-counted.html"), std::string::npos);
  EXPECT_NE(all.at("speedup.html").find("(no result)"), std::string::npos);
}

// What is known by a mean only is not compared, and is not lost from sight either. All that does not count is listed,
// as many as the first page says.
TEST_F(SiteTest, WhatDoesNotCountIsListedWithItsReason) {
  const fs::path path = folder_ / "means.db";
  std::map<std::string, std::string> ids;
  {
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    Setting setting;
    ASSERT_TRUE(schema::testing::put(store, setting).ok());
    const auto put = [&](const std::string& name, int block, const auto& change) {
      schema::TrialRecord trial = schema::testing::trial(setting, "stock", block);
      change(trial);
      trial = schema::testing::named(trial);
      ids[name] = trial.id;
      ASSERT_TRUE(store.put_trial(trial, schema::testing::raw_stdout(block), schema::testing::raw_stderr()).ok());
    };
    put("counts", 0, [](schema::TrialRecord&) {});
    put("replaced", 1, [](schema::TrialRecord&) {});
    put("again", 1, [](schema::TrialRecord& trial) { trial.attempt = 2; });
    put("warm-up", 2, [](schema::TrialRecord& trial) { trial.block = -1; });
    put("mean", 3, [](schema::TrialRecord& trial) {
      trial.results.clear();
      schema::StatedResultRecord stated;
      stated.test = "pp512";
      stated.n_prompt = 512;
      stated.mean_ts = 4242.5;
      stated.stddev_ts = 0.25;
      trial.stated = {stated};
    });
  }
  const Site site = must(read_site({path}, {}));
  EXPECT_EQ(site.model.n_trials, 2U);
  EXPECT_EQ(site.model.not_counted.size(), 3U);
  const std::map<std::string, std::string> all = pages(site);
  EXPECT_NE(all.at("index.html").find(">3 more, each with its reason<"), std::string::npos);
  const std::string& list = all.at("not-counted.html");
  for (const auto& [name, why] : std::map<std::string, std::string>{
           {"replaced", "a later attempt"}, {"warm-up", "before the first block"}, {"mean", "no median"}}) {
    EXPECT_NE(list.find("trial/" + ids[name]), std::string::npos) << name;
    EXPECT_NE(list.find(why), std::string::npos) << name;
    EXPECT_NE(all.at("trial/" + ids[name] + ".html").find(why), std::string::npos) << name;
  }
  EXPECT_EQ(list.find("trial/" + ids["counts"]), std::string::npos);
  const std::string& mean = all.at("trial/" + ids["mean"] + ".html");
  EXPECT_NE(mean.find("4242.5"), std::string::npos);
  EXPECT_EQ(mean.find("It gave no result"), std::string::npos);
}

TEST_F(SiteTest, NamesOfAnyLengthAndScript) {
  const fs::path path = folder_ / "odd.db";
  const std::vector<std::string> names{std::string(20'000, 'x'), "\xD7\xA2\xD7\x91\xE2\x80\xAE\xD7\xA8 RTL",
                                       "\xF0\x9F\x8F\x8E\xEF\xB8\x8F\xE2\x80\x8D\xCC\x81", "a/../b?c#d", " "};
  {
    schema::Store store = must(schema::Store::open(path, schema::OpenMode::kCreate));
    Setting setting;
    ASSERT_TRUE(schema::testing::put(store, setting).ok());
    int block = 0;
    for (const std::string& name : names) {
      schema::TrialRecord trial = schema::testing::trial(setting, name, block++);
      trial.status = "ok";
      trial.model = trial.workload = trial.mode = name;
      trial.guest = "vm";
      trial.stdout_sha256.clear();
      trial.stderr_sha256.clear();
      const Status put = store.put_trial(schema::testing::named(trial), "", "");
      ASSERT_TRUE(put.ok()) << to_string(put.error());
    }
  }
  const Site site = must(read_site({path}, {}));
  const std::map<std::string, std::string> all = pages(site);
  for (const auto& [name, text] : all) {
    EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos) << name << ": a text may turn the direction of writing";
    for (const char c : name)
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-');
  }
  EXPECT_EQ(site.model.series.size(), 2 * names.size());
}

TEST_F(SiteTest, ALargeCopyLeavesSomePagesToTheServer) {
  Options options;
  options.most_series = 2;
  options.most_trials = 3;
  const Site site = must(read_site({made("a.db", 12, 6)}, options));
  const std::map<std::string, std::string> all = pages(site);
  std::size_t histories = 0;
  for (const auto& [path, text] : all) histories += path.starts_with("history/") ? 1U : 0U;
  EXPECT_EQ(histories, 2U);
  EXPECT_NE(all.at("history.html").find("2 of them have a page in this copy"), std::string::npos);
  // Served, each has one.
  Connections connections(site.stores);
  for (const Series& series : site.model.series) {
    EXPECT_TRUE(must(render_page(site, connections, "history/" + series.id + ".html")).has_value());
  }
}

TEST_F(SiteTest, ALargeCopyHasPagesForTheNewestSubmissions) {
  Site site;
  for (const char* id : {"new", "old", "older"}) {
    Submission submission;
    submission.id = id;
    site.model.submissions.push_back(submission);
  }
  const auto has = [&](const std::string& id) {
    const std::vector<std::string> paths = page_paths(site);
    return std::find(paths.begin(), paths.end(), "submission/" + id + ".html") != paths.end();
  };
  site.options.most_submissions = 2;
  EXPECT_TRUE(has("new") && has("old"));
  EXPECT_FALSE(has("older"));
  Connections connections(site.stores);
  const std::string list = must(render_page(site, connections, "submissions.html")).value();
  EXPECT_NE(list.find("href=\"submission/old.html\""), std::string::npos);
  EXPECT_EQ(list.find("href=\"submission/older.html\""), std::string::npos);
  EXPECT_NE(list.find("not in this copy"), std::string::npos);
  site.options.most_submissions = 0;
  EXPECT_TRUE(has("older"));
}

TEST_F(SiteTest, UnknownPathsAreNone) {
  const Site site = must(read_site({made("a.db", 1)}, {}));
  Connections connections(site.stores);
  for (const std::string path :
       {"", "x.html", "speedup-2.html", "speedup-1.html", "speedup-01.html", "history-0.html", "trial/x.html",
        "trial/.html", "history/../index.html", "compare/x.js", "index.html/", "/index.html"}) {
    EXPECT_FALSE(must(render_page(site, connections, path)).has_value()) << path;
  }
  EXPECT_FALSE(must(render_page(site, connections, "trial/" + std::string(64, 'a') + ".html")).has_value());
}

TEST(SiteText, NumbersReadWell) {
  EXPECT_EQ(number(36183.4), "36,183");
  EXPECT_EQ(number(1234567.8), "1,234,568");
  EXPECT_EQ(number(431.86), "431.9");
  EXPECT_EQ(number(68.112), "68.11");
  EXPECT_EQ(number(3.4148), "3.415");
  EXPECT_EQ(number(std::nan("")), "\xE2\x80\x93");
  EXPECT_EQ(times(19.82), "19.8\xC3\x97");
  EXPECT_EQ(times(1.0042), "1.004\xC3\x97");
  EXPECT_EQ(count(1000), "1,000");
  EXPECT_EQ(count(999), "999");
}

}  // namespace
}  // namespace capbench::site
