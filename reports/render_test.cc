#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "reports/html_chart.h"
#include "reports/markdown_text.h"
#include "reports/render_csv.h"
#include "reports/render_html.h"
#include "reports/render_json.h"
#include "reports/render_markdown.h"
#include "reports/test_formats.h"
#include "reports/test_trials.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using schema::TrialView;
using testing::bars_in;
using testing::expect_balanced;
using testing::lines_of;
using testing::parse_csv;
using testing::tags_of;

// Every text that a stranger's bundle could choose becomes `name`.
std::vector<TrialView> named(const std::string& name) {
  auto trials = testing::arm("bare-metal", 1000, 2);
  for (const char* mode : {"stock", "unlocked", "own"}) testing::append(trials, testing::arm(mode, 300, 2));
  for (TrialView& view : trials) {
    view.suite_name = name;
    view.machine_label = name;
    view.trial.model = name;
    view.trial.workload = name;
    view.trial.arm = name;
    view.trial.run_id = name;
    view.trial.flags = {name};
    view.trial.results[0].build = name;
    view.trial.results[0].test = name;
    if (!view.trial.guest.empty()) view.trial.guest = name;
    if (view.trial.mode == "own") view.trial.mode = name;
  }
  auto another = testing::arm("own", 300, 2);  // a second arm of the suite's own mode
  for (TrialView& view : another) {
    const std::string arm = name + " more";
    view = trials.back();
    view.trial.arm = arm;
  }
  another[0].trial.block = 0;
  testing::append(trials, another);
  for (TrialView& view : trials) {
    view.trial.id = name;
    view.trial.started_at = name;
    view.trial.results[0].cpu_info = name;
  }
  TrialView failed = trials.back();
  failed.trial.block = 7;
  testing::fail(failed, "failed", name);
  trials.push_back(failed);
  return trials;
}

Background background_named(const std::string& name) {
  return {{{"suite-1", name}}, {{name, name}}};
}

SpeedupReport report_named(const std::string& name) {
  return build_speedup(named(name), background_named(name));
}

void expect_schema(const SpeedupReport& report) {
  testing::expect_keeps_to_schema(render_json(report), "reports/json/speedup.schema.json");
}

TEST(Json, KeepsToItsSchema) {
  expect_schema(build_speedup(testing::golden_trials(), testing::golden_background()));
  expect_schema(report_named(testing::kHostile));
  expect_schema(build_speedup({}));
  auto failed = testing::arm("stock", 100, 2);
  for (TrialView& view : failed) testing::fail(view, "failed", "exited 1");
  expect_schema(build_speedup(failed));
}

TEST(Json, HasTheNumbersUnrounded) {
  const SpeedupReport report = build_speedup(testing::golden_trials(), testing::golden_background());
  const Json document = Json::parse(render_json(report));
  ASSERT_EQ(document["rows"].size(), report.rows.size());
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Json& row = document["rows"][i];
    EXPECT_EQ(row["speedup"]["ratio"].get<double>(), report.rows[i].speedup->value);
    EXPECT_EQ(row["modes"]["stock"]["median_ts"].get<double>(), report.rows[i].modes[1].stats->median.value);
  }
  EXPECT_TRUE(document["rows"][0]["modes"]["bare-metal"].is_null());
  EXPECT_TRUE(document["rows"][0]["percent_of_bare_metal"].is_null());
}

TEST(Json, KeepsHostileNames) {
  const Json row = Json::parse(render_json(report_named(testing::kHostile)))["rows"][0];
  EXPECT_EQ(row["model"], valid_utf8(testing::kHostile));
  EXPECT_EQ(row["test"], valid_utf8(testing::kHostile));
  EXPECT_EQ(row["not_ok"][0]["reason"], valid_utf8(testing::kHostile));
}

TEST(Csv, KeepsHostileNamesInTheirFields) {
  const auto lines = parse_csv(render_csv(report_named(testing::kHostile)));
  ASSERT_EQ(lines.size(), 2U);
  ASSERT_EQ(lines[0].size(), lines[1].size());
  EXPECT_EQ(lines[0][7], "model");
  EXPECT_EQ(lines[1][7], valid_utf8(testing::kHostile));
}

TEST(Csv, HasOneLinePerRowAndReadsBackExactly) {
  const SpeedupReport report = build_speedup(testing::golden_trials(), testing::golden_background());
  const auto lines = parse_csv(render_csv(report));
  ASSERT_EQ(lines.size(), report.rows.size() + 1);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(lines[0].begin(), lines[0].end(), name) - lines[0].begin());
  };
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    ASSERT_EQ(lines[i + 1].size(), lines[0].size());
    EXPECT_EQ(std::stod(lines[i + 1][column("unlocked_median_ts")]), report.rows[i].modes[2].stats->median.value);
    EXPECT_EQ(std::stod(lines[i + 1][column("speedup")]), report.rows[i].speedup->value);
  }
  EXPECT_EQ(lines[1][column("bare_metal_median_ts")], "");
  EXPECT_EQ(parse_csv(render_csv({})).size(), 1U);
}

TEST(Html, HostileNamesMakeNoMarkup) {
  const std::string hostile = render_html(report_named(testing::kHostile));
  const auto tags = tags_of(hostile);
  // As long: charts give a long name two lines.
  EXPECT_EQ(tags, tags_of(render_html(report_named(std::string(std::string_view(testing::kHostile).size(), 'h')))));
  EXPECT_THAT(hostile, Not(HasSubstr("<script")));
  EXPECT_THAT(hostile, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_EQ(valid_utf8(hostile), hostile);
}

TEST(Html, IsBalancedAndLoadsNothing) {
  const std::string html = render_html(build_speedup(testing::golden_trials(), testing::golden_background()));
  auto tags = tags_of(html);
  ASSERT_GT(tags.size(), 100U);
  tags.insert(tags.begin(), {"html", "head", "style"});
  expect_balanced(tags);
  for (const char* foreign : {"src=", "href=", "url(", "@import", "http:", "https:"}) {
    EXPECT_THAT(html, Not(HasSubstr(foreign)));
  }
}

TEST(Html, LongNamesInChartsKeepTheirEnds) {
  const std::string name = "ablation (f: coopmat=off coopmat2=off int-dot=off float16=";
  const std::string svg = bar_chart({{name + "on)", "other", 2, {}}, {name + "off)", "other", 1, {}}}, "t", "c");
  EXPECT_THAT(svg, HasSubstr(">ablation (f: coopmat=off coopmat2=off</text>"));
  EXPECT_THAT(svg, HasSubstr(">int-dot=off float16=on)</text>"));
  EXPECT_THAT(svg, HasSubstr(">int-dot=off float16=off)</text>"));
  EXPECT_THAT(bar_chart({{std::string(200, 'x'), "other", 2, {}}}, "t", "c"),
              HasSubstr(">" + std::string(43, 'x') + "\xE2\x80\xA6</text>"));
}

TEST(Html, EveryIdIsUsedOnce) {
  const std::string html = render_html(build_speedup(testing::golden_trials(), testing::golden_background()));
  std::vector<std::string> ids;
  for (std::size_t at = html.find(" id=\""); at != std::string::npos; at = html.find(" id=\"", at + 1)) {
    ids.push_back(html.substr(at + 5, html.find('"', at + 5) - at - 5));
  }
  ASSERT_GT(ids.size(), 10U);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST(Html, AnEmptyReportIsAPageToo) {
  const std::string html = render_html({});
  EXPECT_THAT(html, HasSubstr("No trials to report."));
}

TEST(Markdown, HostileNamesMakeNoMarkup) {
  const auto lines = lines_of(render_markdown(report_named(testing::kHostile)));
  int headings = 0;
  std::vector<std::size_t> bars;
  for (const std::string& line : lines) {
    headings += line.starts_with("#") ? 1 : 0;
    if (line.starts_with("|")) {
      bars.push_back(bars_in(line));
    } else if (!line.empty() && !line.starts_with("## ") && !line.starts_with("### ")) {
      EXPECT_TRUE(line.starts_with("- ") || line.starts_with("  ")) << line;
    }
    EXPECT_THAT(line, Not(HasSubstr("<")));
    EXPECT_THAT(line, Not(HasSubstr("\r")));
  }
  EXPECT_EQ(headings, 2);
  // The treatment stands below so wide a table; then the suite's own arms.
  EXPECT_EQ(bars, (std::vector<std::size_t>{7, 7, 7, 4, 4, 4, 4}));
}

TEST(Markdown, EscapesOnlyWhatMatters) {
  EXPECT_EQ(escape_markdown("tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf"), "tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf");
  EXPECT_EQ(escape_markdown("_a_ *b* `c` |d| <e> &f; [g](h) #i ~j~ \\k"),
            "\\_a\\_ \\*b\\* \\`c\\` \\|d\\| &lt;e&gt; &amp;f; \\[g\\](h) \\#i \\~j\\~ \\\\k");
}

TEST(Markdown, PrintsTheMediansThatTheSamplesGive) {
  const auto trials = testing::golden_trials();
  const std::string text = render_markdown(build_speedup(trials));
  // The one stock process of the seed matrix, from its nanoseconds.
  const auto stock = std::find_if(trials.begin(), trials.end(), [](const TrialView& view) {
    return view.suite_name == "seed-matrix" && view.trial.mode == "stock";
  });
  ASSERT_NE(stock, trials.end());
  std::vector<double> speeds;
  for (const std::int64_t ns : stock->trial.results[0].samples_ns) speeds.push_back(512e9 / static_cast<double>(ns));
  std::sort(speeds.begin(), speeds.end());
  EXPECT_THAT(text, HasSubstr(format_number((speeds[4] + speeds[5]) / 2)));
}

TEST(Markdown, ThingsOfOneNameGetTheirIdentityInTheHeading) {
  auto trials = testing::arm("stock", 100, 2);
  auto others = trials;
  for (TrialView& view : others) view.machine_id = "machine-2";
  testing::append(trials, others);
  const std::string text = render_markdown(build_speedup(trials));
  EXPECT_THAT(text, HasSubstr("- machine: box \\[machine-1\\]"));
  EXPECT_THAT(text, HasSubstr("- machine: box \\[machine-2\\]"));
}

TEST(Markdown, SaysWhatTheReaderMustKnow) {
  const std::string text = render_markdown(build_speedup(testing::golden_trials(), testing::golden_background()));
  for (const char* part :
       {"ratio of medians of trial medians", "within one process", "Guest stand-in: no VM took part", "itself virtual",
        "Twin:", "Quality unchecked", "Quality WRONG", "Treatment unproven", "1 of 5 trials not ok: timeout",
        "the output failed its quality check", "Flag trials-not-ok", "Flag device-differs",
        "- about: Three modes on a machine without a GPU", "- device: AMD EPYC\n", "with capbench 0.1.0",
        "Apple Paravirtual device (stock,\n  unlocked)", "- not ok: stock, timeout: trial "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Markdown, ComparesTheSuitesOwnArmsInATable) {
  auto trials = testing::arm("bare-metal", 1000, 8);
  for (const char* mode : {"stock", "unlocked"}) testing::append(trials, testing::arm(mode, 300, 8));
  for (const char* arm : {"own: a", "b"}) {
    auto more = testing::arm("own", 250, 8);
    for (TrialView& view : more) view.trial.arm = arm;
    testing::append(trials, more);
  }
  const std::string text = render_markdown(build_speedup(trials));
  EXPECT_THAT(text, HasSubstr("| own (b) | 250.00 | 0.2500x |"));
  EXPECT_THAT(text, HasSubstr("| own: a  | 250.00 | 0.2500x |"));
  EXPECT_THAT(text, HasSubstr("- trials: of each of 5 arms 8 (24 samples, proven)"));
}

TEST(Markdown, NumbersArmsWhoseNamesLeaveNoRoom) {
  auto trials = testing::arm("bare-metal", 1000, 2);
  testing::append(trials, testing::arm("own", 250, 2));
  const std::string name = "own: " + std::string(80, 'x');
  for (std::size_t i = 0; i < 2; ++i) {
    trials.push_back(trials[2 + i]);
    trials.back().trial.arm = name;
  }
  const std::string text = render_markdown(build_speedup(trials));
  EXPECT_THAT(text, HasSubstr("| (1) "));
  EXPECT_THAT(text, HasSubstr("- arm (1): own:\n  " + std::string(80, 'x') + "\n"));
}

// Where the arms ran is said as soon as one of them ran elsewhere.
TEST(Render, NamesTheTargets) {
  std::vector<schema::TrialView> trials;
  for (const char* mode : {"bare-metal", "stock", "unlocked"}) {
    for (schema::TrialView& view : testing::arm(mode, 100, 3)) {
      view.trial.target = view.trial.guest.empty() ? "local" : "lume-1";
      trials.push_back(std::move(view));
    }
  }
  const SpeedupReport elsewhere = build_speedup(trials);
  EXPECT_THAT(render_markdown(elsewhere), HasSubstr("- target: local (bare-metal); lume-1 (stock, unlocked)\n"));
  EXPECT_THAT(render_html(elsewhere), HasSubstr("lume-1 (stock, unlocked)"));
  const auto row = nlohmann::json::parse(render_json(elsewhere))["rows"][0];
  EXPECT_EQ(row["targets"]["unlocked"], "lume-1");
  EXPECT_THAT(render_csv(elsewhere), HasSubstr("bare-metal=local; stock=lume-1; unlocked=lume-1"));
  for (schema::TrialView& view : trials) view.trial.target = "local";
  EXPECT_THAT(render_markdown(build_speedup(trials)), Not(HasSubstr("target:")));
}

// What is explained is what is there.
TEST(Render, NotesOfAReportWithoutResultsSpeakOfNothingElse) {
  std::vector<schema::TrialView> trials;
  for (const char* mode : {"bare-metal", "stock", "unlocked"}) {
    schema::TrialView view = testing::trial(mode, 0);
    view.trial.treatment = "unproven";
    view.trial.quality = "unchecked";
    testing::fail(view, "not_run", "the machine was busy");
    trials.push_back(std::move(view));
  }
  const std::string text = render_markdown(build_speedup(trials));
  EXPECT_THAT(text, HasSubstr("not run"));
  for (const char* word : {"Quality unchecked", "Treatment unproven", "Speeds are tokens"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(Render, SaysThatThereIsNoResultAndWhy) {
  auto trials = testing::arm("stock", 100, 2);
  for (TrialView& view : trials) {
    testing::fail(view, "no_device", "there is no device Vulkan0");
    view.trial.id = "0123456789abcdef";
  }
  const SpeedupReport report = build_speedup(trials);
  for (const std::string& text : {render_markdown(report), render_html(report)}) {
    EXPECT_THAT(text, HasSubstr("No trial got as far as a result"));
    EXPECT_THAT(text, HasSubstr("stock: 2 trials no device: there is no device Vulkan0"));
    EXPECT_THAT(text, HasSubstr("stock, no device: trial 0123456789ab"));
    EXPECT_THAT(text, HasSubstr("unknown; executable eeeeeeeeeeee"));
    EXPECT_THAT(text, Not(HasSubstr("(no result)")));
    EXPECT_THAT(text, Not(HasSubstr("(no name)")));
  }
}

TEST(Html, OwnArmsHaveATableOfTheirOwn) {
  const std::string html = render_html(build_speedup(testing::golden_trials(), testing::golden_background()));
  EXPECT_THAT(html, HasSubstr("<th role=\"rowheader\" scope=\"row\">half: more</th>"));
  EXPECT_THAT(html, HasSubstr("<th role=\"rowheader\" scope=\"row\">half (less)</th>"));
  EXPECT_THAT(html, Not(HasSubstr("scope=\"col\" class=\"num\">half")));
}

TEST(Render, RandomNamesBreakNothing) {
  std::mt19937 random(11);
  constexpr std::string_view kAlphabet = "ab|`\"'<>&\\\n\r#-_*[]() ,;=\xff\xc3\xa9\x01~!0.";
  const auto harmless = tags_of(render_html(report_named("harmless")));
  for (int round = 0; round < 200; ++round) {
    std::string name = "x";
    for (std::size_t i = random() % 24; i > 0; --i) name += kAlphabet[random() % kAlphabet.size()];
    const SpeedupReport report = report_named(name);
    EXPECT_EQ(tags_of(render_html(report)), harmless) << name;
    const auto lines = parse_csv(render_csv(report));
    ASSERT_EQ(lines.size(), 2U) << name;
    EXPECT_EQ(lines[1][7], valid_utf8(name));
    EXPECT_EQ(Json::parse(render_json(report))["rows"][0]["model"], valid_utf8(name));
    std::size_t bars = 0;  // of the table at hand
    std::size_t widest = 0;
    for (const std::string& line : lines_of(render_markdown(report))) {
      if (!line.starts_with("|")) {
        EXPECT_FALSE(line.starts_with("#") && !line.starts_with("## ") && line != "### Notes") << line;
        widest = std::max(widest, bars);
        bars = 0;
      } else {
        EXPECT_EQ(bars_in(line), bars == 0 ? bars_in(line) : bars) << line;
        bars = bars_in(line);
      }
    }
    EXPECT_GE(widest, 7U);
  }
}

}  // namespace
}  // namespace capbench::reports
