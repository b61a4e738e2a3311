// Targets: their shape, their machines, and the arms that name them.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

std::string with_targets(const std::string& targets, const std::string& target = "local") {
  return R"({"capbench": 1, "name": "s", "models": [{"name": "m", "file": "x"}], "workloads": [{"name": "w", "p": 1}],
             "targets": )" +
         targets + R"(, "arms": [{"name": "a", "mode": "x", "target": ")" + target + "\"}]}";
}

std::string error_of(const std::string& text) {
  const auto suite = parse_suite(text);
  return suite.ok() ? "no error" : to_string(suite.error());
}

TEST(Targets, KeepScalarsAsTextListsAsTheyAreAndFlattenObjects) {
  const auto suite = parse_suite(with_targets(R"({
    "host": {"kind": "ssh", "address": "10.0.0.2", "port": 2222, "wait_s": 1.5, "strict": true, "work_dir": "/tmp/x y"},
    "vm": {"kind": "lume", "machine": "host", "name": "capbench", "start": ["lume", "run", "a b\n"],
           "require": {"os": "macos", "vcpu": 8, "memory_gib": 16.0, "any": ["x"]}, "require.frontend": "lume 0.5"}})",
                                              "vm"));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  const TargetSpec& host = suite->targets.at("host");
  EXPECT_EQ(host.kind, "ssh");
  EXPECT_EQ(host.machine, "");
  EXPECT_EQ(
      host.options,
      (std::map<std::string, std::string>{
          {"address", "10.0.0.2"}, {"port", "2222"}, {"wait_s", "1.5"}, {"strict", "true"}, {"work_dir", "/tmp/x y"}}));
  const TargetSpec& vm = suite->targets.at("vm");
  EXPECT_EQ(vm.machine, "host");
  EXPECT_EQ(vm.lists.at("start"), (std::vector<std::string>{"lume", "run", "a b\n"}));
  EXPECT_EQ(vm.lists.at("require.any"), std::vector<std::string>{"x"});
  EXPECT_EQ(vm.options, (std::map<std::string, std::string>{{"name", "capbench"},
                                                            {"require.os", "macos"},
                                                            {"require.vcpu", "8"},
                                                            {"require.memory_gib", "16"},
                                                            {"require.frontend", "lume 0.5"}}));
  EXPECT_EQ(machine_of(*suite, suite->arms[0]), "host");
  const auto again = parse_suite(canonical_json(*suite));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, *suite);
}

TEST(Targets, ErrorsNameThePathAndTheRemedy) {
  struct Case {
    std::string text, error;
  };
  const std::vector<Case> cases = {
      {with_targets("[]"), "$.targets: []; expected an object of targets by name"},
      {with_targets(R"({"vm": 1})"), "$.targets.vm: 1; expected an object with a \"kind\""},
      {with_targets(R"({"vm": {}})"), "$.targets.vm.kind: missing; expected a kind of target; try: \"kind\": \"ssh\""},
      {with_targets(R"({"vm": {"kind": "SSH"}})"),
       "$.targets.vm.kind: \"SSH\"; expected a kind of target, a word in lower case; try: \"kind\": \"ssh\""},
      {with_targets(R"({"a/b": {"kind": "ssh"}})"), "$.targets[\"a/b\"]: \"a/b\"; expected a name without '/'"},
      {with_targets(R"({"vm": {"kind": "ssh", "Port": 1}})"),
       "$.targets.vm.Port: \"Port\"; expected a word in lower case; try: a name like \"work_dir\""},
      {with_targets(R"({"vm": {"kind": "ssh", "port": null}})"),
       "$.targets.vm.port: null; expected text, a number, true, false, or an array of texts"},
      {with_targets(R"({"vm": {"kind": "ssh", "require": {"os": {"x": 1}}}})"),
       "$.targets.vm.require.os: an object; expected text, a number, true, false, or an array of texts"},
      {with_targets(R"({"vm": {"kind": "ssh", "start": ["a", 1]}})"),
       "$.targets.vm.start[1]: 1; expected text in quotes; try: \"1\""},
      {with_targets(R"({"vm": {"kind": "ssh", "user": "a\u0000b"}})"),
       "$.targets.vm.user: \"a\\x00b\"; expected text of at most 4000 bytes, none of them zero"},
      {with_targets(R"({"vm": {"kind": "ssh", "require.os": "a", "require": {"os": "b"}}})"),
       "$.targets.vm[\"require.os\"]: \"require.os\" is said twice; try: remove one of the two"},
      {with_targets(R"({"vm": {"kind": "ssh", "machine": 1}})"),
       "$.targets.vm.machine: 1; expected \"local\" or a target's name"},
      {with_targets(R"({"vm": {"kind": "lume", "machine": "hosts"}, "host": {"kind": "ssh"}})"),
       "$.targets.vm.machine: \"hosts\" is no target of this suite; try: \"host\""},
      {with_targets(R"({"vm": {"kind": "lume", "machine": "inner"}, "inner": {"kind": "tart"}})"),
       "$.targets.vm.machine: \"inner\" is no machine, it lives on \"local\"; try: \"local\""},
      {with_targets(R"({"local": {"kind": "ssh"}})"),
       "$.targets.local.kind: \"ssh\"; the target \"local\" is this machine; try: another name for it, or \"kind\": "
       "\"local\""},
      {with_targets("{}", "vm"),
       "$.arms[0].target: \"vm\" is no target of this suite; try: \"local\", or describe it in \"targets\" of the "
       "suite"},
      {with_targets(R"({"guest": {"kind": "tart"}})", "gest"),
       "$.arms[0].target: \"gest\" is no target of this suite; try: \"guest\""},
  };
  for (const Case& wrong : cases) EXPECT_EQ(error_of(wrong.text), wrong.error) << wrong.text;
}

TEST(Targets, AreBounded) {
  std::string many = "{";
  for (int i = 0; i < 101; ++i) many += (i == 0 ? "\"t" : ", \"t") + std::to_string(i) + R"(": {"kind": "ssh"})";
  EXPECT_EQ(error_of(with_targets(many + "}")), "$.targets: 101 targets; expected at most 100");
  std::string members = R"({"vm": {"kind": "ssh")";
  for (int i = 0; i < 101; ++i) members += ", \"o" + std::to_string(i) + "\": 1";
  EXPECT_NE(error_of(with_targets(members + "}}")).find("more than 100 members"), std::string::npos);
}

TEST(Targets, HowTheyAreReachedIsNotRecorded) {
  const auto with = [](const std::string& target) {
    const auto suite = parse_suite(with_targets("{\"box\": " + target + "}", "box"));
    if (!suite) throw std::runtime_error(to_string(suite.error()));
    return *suite;
  };
  const Suite mine = with(R"({"kind": "ssh", "address": "ana.example.org", "user": "ana", "port": 2222,
    "identity": "/home/ana/.ssh/id", "known_hosts": "/home/ana/.ssh/known", "work_dir": "/home/ana/work",
    "start": ["ssh", "ana@hub"], "guest": "vm", "image": "sha256:ab", "require": {"os": "macos"}})");
  const std::string recorded = recorded_json(mine);
  for (const char* secret : {"ana", "2222", "hub", "/home"})
    EXPECT_EQ(recorded.find(secret), std::string::npos) << recorded;
  for (const char* kept : {"\"ssh\"", "\"vm\"", "sha256:ab", "macos", "\"box\""}) {
    EXPECT_NE(recorded.find(kept), std::string::npos) << recorded;
  }
  // It is a suite, and its own record.
  const auto again = parse_suite(recorded);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(canonical_json(*again), recorded);
  EXPECT_EQ(suite_id(*again), suite_id(mine));
  // The same on another host has the same name; another kind of guest has not.
  EXPECT_EQ(suite_id(mine), suite_id(with(R"({"kind": "ssh", "address": "192.0.2.7", "user": "jo", "guest": "vm",
    "image": "sha256:ab", "require": {"os": "macos"}})")));
  EXPECT_NE(suite_id(mine), suite_id(with(R"({"kind": "ssh", "address": "192.0.2.7", "guest": "container"})")));
}

}  // namespace
}  // namespace capbench::suite
