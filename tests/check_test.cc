// `capbench check`: what got slower since a baseline, what people decide of it, and the search for the first bad build.
// The builds are scripts that print what a llama-bench of their speed would.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/suites.h"

namespace capbench::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Shell commands that write a bench named $1 which takes $2 ns, give or take a little, for its 16 tokens.
constexpr const char* kWriteBench = R"sh(
write_bench() {
  {
    printf '#!/bin/sh\n'
    printf 'ns=$((%s + $$ %% 7 * 1000))\n' "$2"
    printf 'printf '"'"'{"build_commit":"abc%s","build_number":%s,"model_type":"t","n_prompt":16,"n_gen":0,' "$1" "$1"
    printf '"n_depth":0,"samples_ns":[%%s,%%s]}\\n'"'"' $ns $ns\n'
  } >"bench-$1"
  chmod +x "bench-$1"
}
)sh";

// Lines are broken where they would be too long.
std::string on_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == '\n' || c == ' ';
    if (!space || out.empty() || out.back() != ' ') out += space ? ' ' : c;
  }
  return out;
}

class Check : public ::testing::Test {
 protected:
  // A bench of that build in the sandbox, and a suite that runs it.
  std::string suite_of(int build, int ns) {
    const auto writer = sandbox_.write(
        "write",
        fmt::format("#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit 1\n{}\nwrite_bench {} {}\n", kWriteBench, build, ns));
    EXPECT_EQ(run_command({{writer.string()}, {}, 20}).exit_status, 0);
    SuiteOptions options;
    options.executable = (sandbox_.dir / fmt::format("bench-{}", build)).string();
    options.trials = 5;
    options.gen = "0";
    options.with_shim_arms = false;
    return write_suite(sandbox_, options);
  }

  CommandResult check(std::vector<std::string> more) {
    std::vector<std::string> arguments{"check", "--db", db_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox_.capbench(arguments);
  }

  std::size_t trials() const {
    auto store = schema::Store::open(db_, schema::OpenMode::kReadOnly);
    EXPECT_TRUE(store.ok());
    auto views = store->trials({});
    EXPECT_TRUE(views.ok());
    return views->size();
  }

  Sandbox sandbox_;
  std::string db_ = (sandbox_.dir / "r.db").string();
};

TEST_F(Check, SaysWhatGotSlowerAndKeepsWhatPeopleDecide) {
  for (const auto& [build, ns] : {std::pair(4100, 2000000), std::pair(4101, 2000000), std::pair(4102, 2400000)}) {
    const auto run = sandbox_.capbench({"run", suite_of(build, ns), "--db", db_});
    ASSERT_EQ(run.exit_status, 0) << run.err;
  }
  const auto comment = check({"--baseline", "b4100"});
  EXPECT_EQ(comment.exit_status, 1) << comment.err;
  EXPECT_THAT(on_one_line(comment.out), HasSubstr("# Slower than at b4100"));
  EXPECT_THAT(on_one_line(comment.out), HasSubstr("-16."));
  EXPECT_THAT(on_one_line(comment.out), HasSubstr("abc4102"));
  EXPECT_THAT(on_one_line(comment.out), HasSubstr("last good abc4101"));

  const auto as_json = check({"--baseline", "4100", "--format", "json"});
  EXPECT_EQ(as_json.exit_status, 1);
  const json document = json::parse(as_json.out);
  ASSERT_EQ(document["rows"].size(), 1U);
  EXPECT_EQ(document["rows"][0]["standing"], "slower");
  EXPECT_NEAR(document["rows"][0]["ratio"].get<double>(), 1 / 1.2, 0.01);
  const auto id = document["rows"][0]["regression"]["id"].get<std::string>();

  EXPECT_EQ(check({"--baseline", "abc4102"}).exit_status, 0);
  const auto unknown = check({"--baseline", "4099"});
  EXPECT_EQ(unknown.exit_status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("abc4102 (4102)"));

  EXPECT_EQ(check({"--triage", id.substr(0, 12), "wontfix", "--why", "x"}).exit_status, 2);
  EXPECT_EQ(check({"--triage", id.substr(0, 12), "acknowledged"}).exit_status, 2);
  EXPECT_EQ(check({"--triage", "0123456789", "noise", "--why", "x"}).exit_status, 2);
  const auto decided = check({"--triage", id.substr(0, 12), "acknowledged", "--why", "the new scheduler, #12"});
  ASSERT_EQ(decided.exit_status, 0) << decided.err;
  const auto known = check({"--baseline", "4100"});
  EXPECT_EQ(known.exit_status, 0) << known.out;
  EXPECT_THAT(on_one_line(known.out), HasSubstr("the new scheduler"));

  // Decisions go where the results go.
  const std::string other = (sandbox_.dir / "other.db").string();
  for (int i = 0; i < 2; ++i) {
    const auto merged = sandbox_.capbench({"import", db_, "--db", other});
    ASSERT_EQ(merged.exit_status, 0) << merged.err;
  }
  EXPECT_EQ(sandbox_.capbench({"check", "--db", other, "--baseline", "4100"}).exit_status, 0);
  const auto again = check({"--triage", id, "fixed", "--why", "#13"});
  ASSERT_EQ(again.exit_status, 0) << again.err;
  EXPECT_EQ(check({"--baseline", "4100"}).exit_status, 1);
}

TEST_F(Check, FindsTheFirstBadBuildAndGoesOnWhereItWas) {
  const std::string suite = suite_of(1, 2000000);
  // 104 cannot be built; from 106 on it is slow.
  const auto builder = sandbox_.write("build", fmt::format(R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 1
{}
echo "making $1"
[ "$1" = 104 ] && {{ echo "no such commit" >&2; exit 1; }}
ns=2000000
[ "$1" -ge 106 ] && ns=2500000
[ -e "bench-$1" ] || write_bench "$1" $ns
echo "$PWD/bench-$1"
)sh",
                                                           kWriteBench));
  const std::string command = "'" + builder.string() + "' {build}";
  const std::vector<std::string> find = {"--find", suite, "--good", "100", "--bad", "108", "--build-cmd", command};
  const auto found = check(find);
  ASSERT_EQ(found.exit_status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("first bad build: 106\nlast good build: 105\n"));
  EXPECT_THAT(found.err, HasSubstr("build 104: skipped"));
  const std::size_t measured = trials();
  EXPECT_GE(measured, 30U);
  const auto again = check(find);
  EXPECT_EQ(again.out, found.out);
  EXPECT_EQ(trials(), measured);

  // The same between names that only a list knows.
  auto listed = find;
  listed.insert(listed.end(), {"--list-cmd", "echo 105; echo 106; echo {bad}"});
  EXPECT_THAT(check(listed).out, HasSubstr("first bad build: 106\n"));

  const auto none = check({"--find", suite, "--good", "100", "--bad", "102", "--build-cmd", command});
  EXPECT_EQ(none.exit_status, 2) << none.err;
  EXPECT_THAT(none.err, HasSubstr("is not shown to be 2 % slower"));
}

TEST_F(Check, RefusesWhatItCannotUse) {
  const std::string suite = suite_of(1, 2000000);
  EXPECT_EQ(check({}).exit_status, 2);
  EXPECT_EQ(check({"--baseline", "1"}).exit_status, 2);  // no store
  const auto refused = [&](std::vector<std::string> more, const char* why, int status = 2) {
    more.insert(more.begin(), "--find");
    const auto result = check(more);
    EXPECT_EQ(result.exit_status, status) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  refused({}, "SUITE");
  refused({suite, "--good", "1", "--bad", "2"}, "--build-cmd");
  refused({suite, "--good", "1", "--bad", "2", "--build-cmd", "true"}, "{build}");
  refused({suite, "--good", "1; rm -rf x", "--bad", "2", "--build-cmd", "echo {build}"}, "not the name of a build");
  refused({suite, "--good", "2", "--bad", "1", "--build-cmd", "echo {build}"}, "not two build numbers");
  refused({suite, "--good", "1", "--bad", "2", "--build-cmd", "echo {build}"}, "names no file", 3);
  refused({suite, "--good", "1", "--bad", "2", "--build-cmd", "false {build}"}, "exited 1", 3);
  refused({suite, "--good", "1", "--bad", "2", "--build-cmd", "echo {build}", "--arm", "x"}, "no such arm");
}

}  // namespace
}  // namespace capbench::testing
