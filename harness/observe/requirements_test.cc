#include "harness/observe/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/observe/recordings.h"

namespace capbench::observe {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json facts(std::string_view machine) {
  return json::parse(recorded_file(std::string(machine) + ".facts.json"), nullptr, false);
}

// "ok", "not" or "unknown".
std::string check(std::string_view machine, std::string_view host, const std::string& name, const std::string& wanted) {
  const auto findings = check_requirements({{"require." + name, wanted}}, facts(machine), facts(host));
  if (findings.empty()) return "ok";
  EXPECT_EQ(findings[0].name, name);
  EXPECT_NE(findings[0].why, "");
  EXPECT_NE(findings[0].remedy, "");
  return findings[0].known ? "not" : "unknown";
}

std::string guest(const std::string& name, const std::string& wanted) {
  return check("virtualmac-guest", "m1-ultra-host", name, wanted);
}

TEST(Requirements, AreCheckedAgainstTheFacts) {
  EXPECT_EQ(guest("os", "macos"), "ok");
  EXPECT_EQ(guest("os", "linux"), "not");
  EXPECT_EQ(guest("os", "macos 26.5.2"), "ok");
  EXPECT_EQ(guest("os", "macos 26"), "ok");
  EXPECT_EQ(guest("os", "macos 26.6"), "not");
  EXPECT_EQ(guest("os", "macos >=26.5"), "ok");
  EXPECT_EQ(guest("os", "macos >26"), "not");
  EXPECT_EQ(guest("os", "macos <27"), "ok");
  EXPECT_EQ(guest("os_build", "25F84"), "ok");
  EXPECT_EQ(guest("os_build", "25G76"), "not");
  EXPECT_EQ(guest("vcpu", "8"), "ok");
  EXPECT_EQ(guest("vcpu", "4"), "not");
  EXPECT_EQ(guest("vcpu", ">=8"), "ok");
  EXPECT_EQ(guest("vcpu", "<=7"), "not");
  EXPECT_EQ(guest("memory_gib", "16"), "ok");
  EXPECT_EQ(guest("memory_gib", "64"), "not");
  EXPECT_EQ(check("wsl2", "wsl2", "memory_gib", "16"), "ok") << "15.57 GiB are left of 16";
  EXPECT_EQ(check("wsl2", "wsl2", "memory_gib", ">=16"), "ok");
  EXPECT_EQ(check("wsl2", "wsl2", "memory_gib", ">=17"), "not");
  EXPECT_EQ(guest("chip", "Apple M1*"), "ok");
  EXPECT_EQ(guest("chip", "*M3*"), "not");
  EXPECT_EQ(guest("guest", "true"), "ok");
  EXPECT_EQ(guest("guest", "false"), "not");
  EXPECT_EQ(guest("hypervisor", "Apple*"), "ok");
  EXPECT_EQ(guest("sip", "disabled"), "ok");
  EXPECT_EQ(guest("sip", "enabled"), "not");
  EXPECT_EQ(guest("injected", "none"), "not");
  EXPECT_EQ(check("m1-ultra-host", "m1-ultra-host", "injected", "none"), "ok");
  EXPECT_EQ(check("epyc-kvm-h200", "epyc-kvm-h200", "gpu", "*H200*"), "ok");
  EXPECT_EQ(check("llvmpipe-container", "llvmpipe-container", "gpu", "*"), "not");
  EXPECT_EQ(check("llvmpipe-container", "llvmpipe-container", "gpu", "none"), "ok");
  EXPECT_EQ(check("epyc-kvm-h200", "epyc-kvm-h200", "kernel", "6.8.*"), "ok");
}

TEST(Requirements, OfTheHostAreLookedForThere) {
  EXPECT_EQ(guest("host_preference", "on"), "ok");
  EXPECT_EQ(guest("host_preference", "off"), "not");
  EXPECT_EQ(check("virtualmac-guest", "m3-laptop-battery", "host_preference", "off"), "ok") << "unset is off";
  EXPECT_EQ(check("virtualmac-guest", "m3-laptop-battery", "host_preference", "on"), "not");
  EXPECT_EQ(guest("frontend", "lume"), "ok");
  EXPECT_EQ(guest("frontend", "lume 0.5.1"), "ok");
  EXPECT_EQ(guest("frontend", "lume >=0.5"), "ok");
  EXPECT_EQ(guest("frontend", "lume >=0.10"), "not");
  EXPECT_EQ(guest("frontend", "anka"), "not");
}

TEST(Requirements, SayWhatTheFactsDoNotTell) {
  EXPECT_EQ(check("epyc-kvm-h200", "epyc-kvm-h200", "sip", "disabled"), "unknown");
  EXPECT_EQ(check("epyc-kvm-h200", "epyc-kvm-h200", "host_preference", "on"), "unknown");
  for (const json& none :
       {json(nullptr), json::array(), json::object(), json(3), json({{"cpus", "8"}, {"gpus", 3}, {"guest", 1}})}) {
    for (const char* name : {"os", "vcpu", "memory_gib", "chip", "guest"}) {
      const auto findings = check_requirements({{name, name == std::string("os")      ? "linux"
                                                       : name == std::string("guest") ? "true"
                                                                                      : "8"}},
                                               none, none);
      ASSERT_EQ(findings.size(), 1U) << name;
      EXPECT_FALSE(findings[0].known) << name;
    }
  }
}

TEST(Requirements, NameWhatNobodyCanRequire) {
  EXPECT_TRUE(check_requirement_names({{"require.vcpu", ">= 8"}, {"os", "macos >=26"}, {"frontend", "lume"}}).ok());
  const std::vector<std::pair<std::string, std::string>> bad{
      {"colour", "red"},   {"vcpu", "many"},         {"vcpu", "-1"},      {"os", "windows"},
      {"os", "macos new"}, {"os", "macos >="},       {"sip", "off"},      {"guest", "yes"},
      {"chip", ""},        {"host_preference", "1"}, {"injected", "all"}, {"frontend", "lume latest"}};
  for (const auto& [name, value] : bad) {
    const Status status = check_requirement_names({{"require." + name, value}});
    ASSERT_FALSE(status.ok()) << name << " " << value;
    EXPECT_THAT(status.error().what, HasSubstr(name));
    EXPECT_NE(status.error().remedy, "");
    const auto findings = check_requirements({{name, value}}, facts("wsl2"), facts("wsl2"));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_FALSE(findings[0].known);
  }
}

}  // namespace
}  // namespace capbench::observe
