// The shim's own code above devices of the tests' own, in real processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "shim/common/evidence.h"
#include "shim/metal/policy.h"
#include "shim/metal/testing/run_host.h"

namespace capbench::shim::metal {
namespace {

const std::string kShim = testing_file("libcapshim_metal_gnu.so");
const std::string kDouble = testing_file("libmetal_double.so");
const std::string kEarly = testing_file("libmetal_early.so");
const std::string kHost = testing_file("fake_host");

// What one device answered.
struct Answers {
  std::set<int> families;
  std::map<std::string, std::string> others;  // "class", "maxThreadgroupMemoryLength", ...

  int highest(int base) const {
    int found = 0;
    for (const int family : families) found = family > base && family < base + 1000 ? std::max(found, family) : found;
    return found;
  }
  bool operator==(const Answers&) const = default;
};

Answers read_answers(const std::string& line) {
  Answers answers;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    std::string value = word.substr(equals + 1);
    if (word.substr(0, equals) != "families") {
      answers.others[word.substr(0, equals)] = value;
      continue;
    }
    std::istringstream numbers(value);
    for (std::string number; std::getline(numbers, number, ',');) answers.families.insert(std::stoi(number));
  }
  return answers;
}

struct Seen {
  int status = -1;
  std::vector<Answers> devices;
  std::vector<Banner> banners;
  std::string out;
  std::string err;

  const Answers& device() const { return devices.at(0); }
  // The line about the device: the last one.
  const BannerCapability& told(const std::string& name) const { return banners.back().capabilities.at(name); }
};

Seen seen_of(const Outcome& outcome) {
  Seen seen;
  seen.status = outcome.status;
  seen.out = outcome.out;
  seen.err = outcome.err;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("class=", 0) == 0) seen.devices.push_back(read_answers(line));
  }
  BannerScan scan = scan_banners(outcome.err);
  EXPECT_TRUE(scan.malformed.empty()) << outcome.err;
  seen.banners = std::move(scan.banners);
  return seen;
}

Seen host(Environment environment, const std::vector<std::string>& command, bool with_shim = true) {
  if (with_shim) environment["LD_PRELOAD"] = kShim;
  std::vector<std::string> argv = {kHost, kDouble};
  argv.insert(argv.end(), command.begin(), command.end());
  return seen_of(run(argv, environment));
}

Answers stock(const std::string& kind = "paravirtual") {
  return host({{"FAKE_METAL_DEVICES", kind}}, {"answers"}, false).device();
}

std::set<int> apple_up_to(std::set<int> families, int level) {
  std::erase_if(families, [](int family) { return family > 1000 && family < 2000; });
  for (int family = 1001; family <= std::min(level, 1030); ++family) families.insert(family);
  return families;
}

TEST(Stock, TheDoubleAnswersAsAGuestAsShipped) {
  const Answers answers = stock();
  EXPECT_EQ(answers.highest(1000), 1005);
  EXPECT_EQ(answers.highest(3000), 3003);
  EXPECT_EQ(answers.highest(5000), 0);
  EXPECT_EQ(answers.others.at("maxThreadgroupMemoryLength"), "32768");
}

TEST(Stock, WithoutSettingsOrWithOthersTheShimOnlyReports) {
  const std::vector<Environment> cases = {{}, {{"CAPSHIM_SET", "cpu.isa=x64,vulkan.bfloat16=off"}}};
  for (const Environment& environment : cases) {
    const Seen seen = host(environment, {"answers"});
    EXPECT_EQ(seen.status, 0) << seen.err;
    EXPECT_EQ(seen.device(), stock());
    ASSERT_EQ(seen.banners.size(), 1U) << seen.err;
    EXPECT_EQ(seen.banners[0].domain, "metal");
    EXPECT_TRUE(seen.banners[0].roles.empty());
    EXPECT_GT(seen.banners[0].pid, 1);
    EXPECT_EQ(seen.banners[0].capabilities.size(), kCapabilityCount);
    EXPECT_EQ(seen.told("metal.apple_family").device, "1005");
    EXPECT_EQ(seen.told("metal.apple_family").reported, "1005");
    EXPECT_EQ(seen.told("metal.metal_family").device, "none");
    EXPECT_EQ(seen.told("metal.recommended_working_set").reported, "12009603072");
    EXPECT_EQ(seen.told("metal.bfloat").device, "off");
    EXPECT_EQ(seen.told("metal.unified_memory").device, "on");
  }
}

TEST(Toggle, AppleFamilyIsCeilingAndFloorInEitherRole) {
  for (const int level : {1001, 1004, 1005, 1006, 1007, 1009, 1021}) {
    const std::string list = "metal.apple_family=" + std::to_string(level);
    Answers expected = stock();
    expected.families = apple_up_to(expected.families, level);
    for (const char* variable : {"CAPSHIM_SET", "CAPSHIM_GUEST"}) {
      const Seen seen = host({{variable, list}}, {"answers"});
      EXPECT_EQ(seen.device(), expected) << variable << " " << level << " " << seen.out;
      ASSERT_EQ(seen.banners.size(), 1U);
      EXPECT_EQ(seen.told("metal.apple_family").device, "1005");
      EXPECT_EQ(seen.told("metal.apple_family").reported, std::to_string(level));
    }
  }
}

TEST(Toggle, EachChangesItsOwnAnswerAndNoOther) {
  struct Case {
    std::string name, value, answer, expected;
  };
  const Case cases[] = {
      {"metal.max_threadgroup_memory", "65536", "maxThreadgroupMemoryLength", "65536"},
      {"metal.max_threadgroup_memory", "16384", "maxThreadgroupMemoryLength", "16384"},
      {"metal.recommended_working_set", "70368744177664", "recommendedMaxWorkingSetSize", "70368744177664"},
      {"metal.max_buffer_length", "1048576", "maxBufferLength", "1048576"},
      {"metal.unified_memory", "off", "hasUnifiedMemory", "0"},
      {"metal.bfloat", "on", "supportsBfloat16Format", "1"},
  };
  for (const Case& toggle : cases) {
    const Seen seen = host({{"CAPSHIM_SET", toggle.name + "=" + toggle.value}}, {"answers"});
    Answers expected = stock();
    EXPECT_NE(expected.others[toggle.answer], toggle.expected) << "the case would prove nothing";
    expected.others[toggle.answer] = toggle.expected;
    EXPECT_EQ(seen.device(), expected) << toggle.name << " " << seen.out;
    EXPECT_EQ(seen.told(toggle.name).set, toggle.value);
    EXPECT_EQ(seen.told(toggle.name).reported, toggle.value);
    EXPECT_EQ(seen.banners[0].roles, std::vector<std::string>{"shim"});
    for (const auto& [name, told] : seen.banners[0].capabilities) {
      if (name == toggle.name) continue;
      EXPECT_EQ(told.reported, told.device) << name;
    }
  }
}

TEST(Toggle, OtherFamiliesAnswerOnlyWhereAskedForByName) {
  for (const auto& [name, level, base] : std::vector<std::tuple<std::string, int, int>>{
           {"metal.mac_family", 2002, 2000}, {"metal.common_family", 3001, 3000}, {"metal.metal_family", 5002, 5000}}) {
    const Seen seen = host({{"CAPSHIM_SET", name + "=" + std::to_string(level)}}, {"answers"});
    EXPECT_EQ(seen.device().highest(base), level) << seen.out;
    for (const int other : {1000, 2000, 3000, 5000}) {
      if (other == base) continue;
      EXPECT_EQ(seen.device().highest(other), stock().highest(other)) << seen.out;
    }
    EXPECT_TRUE(seen.device().families.contains(4001));
    EXPECT_FALSE(seen.device().families.contains(4002));
  }
}

TEST(Roles, TheShimHasTheLastWordAboveTheStandInGuest) {
  const Seen seen = host({{"CAPSHIM_GUEST", "metal.apple_family=1003,metal.max_threadgroup_memory=16384"},
                          {"CAPSHIM_SET", "metal.apple_family=1007"}},
                         {"answers"});
  EXPECT_EQ(seen.device().highest(1000), 1007);
  EXPECT_EQ(seen.device().others.at("maxThreadgroupMemoryLength"), "16384");
  EXPECT_EQ(seen.banners[0].roles, (std::vector<std::string>{"guest", "shim"}));
  EXPECT_EQ(seen.told("metal.apple_family").device, "1005");
  EXPECT_EQ(seen.told("metal.apple_family").guest, "1003");
  EXPECT_EQ(seen.told("metal.apple_family").set, "1007");
  EXPECT_EQ(seen.told("metal.apple_family").reported, "1007");
  EXPECT_EQ(seen.told("metal.max_threadgroup_memory").guest, "16384");
  EXPECT_EQ(seen.told("metal.max_threadgroup_memory").set, "");
}

TEST(Lume, ThePublishedProfile) {
  const Seen seen = host({{"LUME_METAL_APPLE_FAMILY_MAX", "1009"}}, {"answers"});
  Answers expected = stock();
  expected.families = apple_up_to(expected.families, 1009);
  expected.others["maxThreadgroupMemoryLength"] = "65536";
  EXPECT_EQ(seen.device(), expected) << seen.out;
  EXPECT_EQ(seen.device().highest(5000), 0) << "never Metal 3";
  EXPECT_EQ(seen.banners[0].roles, std::vector<std::string>{"shim"});
  EXPECT_EQ(seen.told("metal.max_threadgroup_memory").set, "65536");
  EXPECT_NE(seen.banners[0].note.find("LUME_METAL_"), std::string::npos);
}

TEST(Lume, AllThreeVariablesAndAGuestBelow) {
  const Seen seen = host({{"LUME_METAL_APPLE_FAMILY_MAX", "1007"},
                          {"LUME_METAL_MAX_THREADGROUP_MEMORY", "32768"},
                          {"LUME_METAL_RECOMMENDED_WORKING_SET_SIZE", "0x1000000000"},
                          {"CAPSHIM_GUEST", "metal.apple_family=1003,metal.max_threadgroup_memory=16384"},
                          {"CAPSHIM_SET", "cpu.isa=best"}},
                         {"answers"});
  EXPECT_EQ(seen.device().highest(1000), 1007);
  EXPECT_EQ(seen.device().others.at("maxThreadgroupMemoryLength"), "32768");
  EXPECT_EQ(seen.device().others.at("recommendedMaxWorkingSetSize"), "68719476736");
  EXPECT_EQ(seen.told("metal.apple_family").guest, "1003");
}

TEST(Refused, StockAnswersAndALineThatSaysWhy) {
  const std::vector<Environment> cases = {
      {{"CAPSHIM_SET", ""}},
      {{"CAPSHIM_SET", "metal.apple_family"}},
      {{"CAPSHIM_SET", "metal.apple_familly=1009"}},
      {{"CAPSHIM_SET", "metal.apple_family=1000"}},
      {{"CAPSHIM_SET", "metal.apple_family=1022"}},
      {{"CAPSHIM_SET", "metal.apple_family=1009,metal.apple_family=1007"}},
      {{"CAPSHIM_SET", "metal.max_threadgroup_memory=-1"}},
      {{"CAPSHIM_SET", "metal.unified_memory=yes"}},
      {{"CAPSHIM_SET", "metal.apple_family=\xff\xfe"}},
      {{"CAPSHIM_SET", "\"\\\n\x1b[31m\t\xc3\xa9=1"}},
      {{"CAPSHIM_SET", std::string(65536, 'a')}},
      {{"CAPSHIM_SET", std::string(100000, ',')}},
      {{"CAPSHIM_GUEST", "metal.apple_family=1003"}, {"CAPSHIM_SET", "nonsense"}},
      {{"CAPSHIM_GUEST", "nonsense"}, {"CAPSHIM_SET", "metal.apple_family=1009"}},
      {{"CAPSHIM_GUEST", "nonsense"}, {"LUME_METAL_APPLE_FAMILY_MAX", "1009"}},
      {{"LUME_METAL_APPLE_FAMILY_MAX", "Apple9"}},
      {{"LUME_METAL_APPLE_FAMILY_MAX", "9"}},
      {{"LUME_METAL_APPLE_FAMILY_MAX", std::string(100000, '1')}},
      {{"LUME_METAL_MAX_THREADGROUP_MEMORY", "65536"}},
      {{"LUME_METAL_APPLE_FAMILY_MAX", "1009"}, {"LUME_METAL_MAX_THREADGROUP_MEMORY", "\xff"}},
      {{"LUME_METAL_APPLE_FAMILY_MAX", "1009"}, {"CAPSHIM_SET", "metal.apple_family=1009"}},
      {{"LUME_METAL_APPLE_FAMILY_MAX", "broken"}, {"CAPSHIM_GUEST", "metal.apple_family=1003"}},
  };
  for (const Environment& environment : cases) {
    const Seen seen = host(environment, {"answers"});
    EXPECT_EQ(seen.status, 0) << seen.err;
    EXPECT_EQ(seen.device(), stock()) << seen.err;
    ASSERT_EQ(seen.banners.size(), 2U) << "one at load, one with the device: " << seen.err;
    EXPECT_EQ(std::count(seen.err.begin(), seen.err.end(), '\n'), 2) << seen.err;
    for (const Banner& banner : seen.banners) {
      EXPECT_TRUE(banner.roles.empty());
      EXPECT_NE(banner.error.find("nothing is changed"), std::string::npos) << seen.err;
      EXPECT_TRUE(banner.error.rfind("CAPSHIM_", 0) == 0 || banner.error.rfind("LUME_METAL_", 0) == 0) << seen.err;
    }
    EXPECT_TRUE(seen.banners[0].capabilities.empty());
    EXPECT_EQ(seen.told("metal.apple_family").reported, "1005");
  }
}

TEST(Classes, SuperclassAndSiblingsAreUndisturbed) {
  const Environment environment = {{"CAPSHIM_SET",
                                    "metal.apple_family=1009,metal.max_threadgroup_memory=65536,"
                                    "metal.max_buffer_length=1048576,metal.unified_memory=off,metal.bfloat=on"}};
  const std::vector<std::string> command = {"object", "FakeDevice", "FakeSibling", "FakeChild"};
  const Seen plain = host(environment, command, false);
  const Seen seen = host(environment, command);
  ASSERT_EQ(seen.devices.size(), 4U);
  EXPECT_EQ(seen.devices[0].highest(1000), 1009);
  EXPECT_EQ(seen.devices[0].others.at("maxBufferLength"), "1048576") << "inherited, and answered by the class itself";
  EXPECT_EQ(seen.devices[1], plain.devices[1]);
  EXPECT_EQ(seen.devices[2], plain.devices[2]);
  EXPECT_EQ(seen.devices[3].highest(1000), 1009) << "a subclass inherits, as ever";
}

TEST(Classes, SubclassesThatAskSuperOrHaveNothingOfTheirOwn) {
  for (const std::string kinds : {"paravirtual,child,heir", "child,heir,paravirtual", "heir,child", "child,child"}) {
    const Environment environment = {{"FAKE_METAL_DEVICES", kinds},
                                     {"CAPSHIM_GUEST", "metal.apple_family=1003"},
                                     {"CAPSHIM_SET", "metal.max_threadgroup_memory=40960"}};
    const Seen plain = host(environment, {"all"}, false);
    const Seen seen = host(environment, {"all"});
    EXPECT_EQ(seen.status, 0) << kinds << seen.err;
    ASSERT_EQ(seen.devices.size(), plain.devices.size());
    for (std::size_t i = 0; i < seen.devices.size(); ++i) {
      Answers expected = plain.devices[i];
      expected.families = apple_up_to(expected.families, 1003);
      expected.others["maxThreadgroupMemoryLength"] = "40960";
      EXPECT_EQ(seen.devices[i], expected) << kinds << " " << seen.out;
    }
    EXPECT_EQ(seen.banners.size(), 1U) << seen.err;
  }
}

TEST(Classes, TheTruthAboutASubclassIsTheDevicesOwn) {
  // The child's methods ask super. What they make of it is the device's answer, not what the settings make of that.
  const Seen seen = host({{"FAKE_METAL_DEVICES", "child"}, {"CAPSHIM_SET", "metal.apple_family=1009"}}, {"answers"});
  EXPECT_EQ(seen.told("metal.apple_family").device, "1006");
  EXPECT_EQ(seen.told("metal.max_threadgroup_memory").device, "65536");
  // Were the answer that the parent's methods give by now taken for the child's device's, this would double 65536.
  const Environment both = {{"FAKE_METAL_DEVICES", "paravirtual,child"}, {"LUME_METAL_APPLE_FAMILY_MAX", "1009"}};
  const Seen raised = host(both, {"all"});
  ASSERT_EQ(raised.devices.size(), 2U);
  for (const Answers& device : raised.devices) EXPECT_EQ(device.others.at("maxThreadgroupMemoryLength"), "65536");
}

TEST(Classes, AClassThatLacksMethodsIsLeftWithoutThem) {
  const Seen seen =
      host({{"FAKE_METAL_DEVICES", "bare"}, {"CAPSHIM_SET", "metal.apple_family=1007,metal.bfloat=on"}}, {"answers"});
  EXPECT_EQ(seen.status, 0) << seen.err;
  EXPECT_EQ(seen.device().highest(1000), 1007);
  EXPECT_FALSE(seen.device().others.contains("supportsBfloat16Format"));
  EXPECT_EQ(seen.told("metal.bfloat").set, "on");
  EXPECT_EQ(seen.told("metal.bfloat").reported, "");
  EXPECT_NE(seen.banners[0].note.find("no answer to change for metal.bfloat"), std::string::npos) << seen.err;
  EXPECT_FALSE(seen.banners[0].capabilities.contains("metal.max_threadgroup_memory"));
}

TEST(Classes, MoreThanItHasRoomForStayAsTheyAre) {
  const Seen seen = host(
      {{"FAKE_METAL_DEVICES", "C0,C1,C2,C3,C4,C5,C6,C7,C8,C9"}, {"CAPSHIM_SET", "metal.apple_family=1009"}}, {"all"});
  ASSERT_EQ(seen.devices.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(seen.devices[i].highest(1000), i < 8 ? 1009 : 1003) << i;
  EXPECT_NE(seen.err.find("\"C9\", is left as it is"), std::string::npos) << seen.err;
}

TEST(Devices, NoneIsNone) {
  const Environment environment = {{"FAKE_METAL_DEVICES", "none"}, {"CAPSHIM_SET", "metal.apple_family=1009"}};
  EXPECT_EQ(host(environment, {"answers"}).out, "none\n");
  EXPECT_EQ(host(environment, {"all"}).out, "");
  EXPECT_EQ(host(environment, {"all"}).err, "");
}

TEST(Devices, AskedForOftenAndByManyThreads) {
  const Environment environment = {{"FAKE_METAL_DEVICES", "paravirtual,child,heir,C1,C2"},
                                   {"CAPSHIM_GUEST", "metal.apple_family=1003"},
                                   {"CAPSHIM_SET", "metal.apple_family=1008"}};
  const Seen often = host(environment, {"many", "1000"});
  EXPECT_EQ(often.device().highest(1000), 1008);
  EXPECT_EQ(often.banners.size(), 1U);
  for (int round = 0; round < 5; ++round) {
    const Seen seen = host(environment, {"threads", "16"});
    EXPECT_EQ(seen.status, 0) << seen.out;
    ASSERT_EQ(seen.devices.size(), 5U) << seen.out;
    for (const Answers& answers : seen.devices) EXPECT_EQ(answers.highest(1000), 1008) << seen.out;
    EXPECT_EQ(seen.banners.size(), 1U) << seen.err;
  }
}

TEST(LoadOrder, PreloadedOrTooLateOrAskedEarly) {
  const Environment settings = {{"CAPSHIM_SET", "metal.apple_family=1009"}};
  // Preloaded, and Metal's double opened while the program runs: every other test. Opened by the program itself after
  // the double: calls reach the double by then, so nothing is adjusted, and no line claims otherwise.
  const Seen late = seen_of(run({kHost, kDouble + ":" + kShim, "answers"}, settings));
  EXPECT_EQ(late.status, 0) << late.err;
  EXPECT_EQ(late.device(), stock());
  EXPECT_TRUE(late.banners.empty()) << late.err;
  // A library's constructor asks before the shim's own has run: constructors of preloaded libraries run last to first.
  Environment early = settings;
  early["LD_PRELOAD"] = kShim + ":" + kEarly + ":" + kDouble;
  const Seen asked = seen_of(run({kHost, "", "answers"}, early));
  EXPECT_EQ(asked.out.rfind("early 1009=1\n", 0), 0U) << asked.out << asked.err;
  EXPECT_EQ(asked.device().highest(1000), 1009);
  EXPECT_EQ(asked.banners.size(), 1U) << asked.err;
}

TEST(Cost, AThousandAnswersAndTheFirstDevice) {
  const Seen seen = host({{"CAPSHIM_SET", "metal.apple_family=1009"}}, {"time"});
  long first = 0;
  long thousand = 0;
  ASSERT_EQ(std::sscanf(seen.out.c_str(), "first=%ld thousand=%ld", &first, &thousand), 2) << seen.out;
  // Far above what is measured on an idle machine (65 us and 60 ns an answer), so that a busy one passes.
  EXPECT_LT(first, 20'000'000);
  EXPECT_LT(thousand, 20'000'000);
}

}  // namespace
}  // namespace capbench::shim::metal
