// The cross-built Metal shim itself, its machine code executed, beside the same sources compiled for this machine above
// GNU's Objective-C: same settings, same answers, same line.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "shim/common/testing/run.h"
#include "shim/emulate/metal_device.h"
#include "shim/emulate/testing/fixtures.h"
#include "shim/metal/testing/run_host.h"

namespace capbench::emulate {
namespace {

using Environment = std::map<std::string, std::string>;

const std::string kDylib = "shim/metal/libcapshim_metal.dylib";

struct Answers {
  std::set<int> families;
  std::map<std::string, std::uint64_t> others;

  bool operator==(const Answers&) const = default;
};

void PrintTo(const Answers& answers, std::ostream* out) {
  for (const int family : answers.families) *out << family << ' ';
  for (const auto& [name, value] : answers.others) *out << name << '=' << value << ' ';
}

// What a process is told, and the shim's lines without what differs between processes.
struct Seen {
  Answers answers;
  std::vector<nlohmann::json> lines;
};

std::vector<nlohmann::json> banners_of(const std::string& err) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(err);
  constexpr std::string_view kPrefix = "capshim: ";
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(kPrefix)) continue;
    nlohmann::json json = nlohmann::json::parse(line.substr(kPrefix.size()), nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << line;
    if (json.is_object()) json.erase("pid");
    lines.push_back(std::move(json));
  }
  return lines;
}

// The families that the emulated device knows of: it has no Catalyst family.
bool known_family(int family) {
  return family / 1000 != 4;
}

Seen on_this_machine(Environment environment, bool with_shim = true) {
  using shim::metal::testing_file;
  if (with_shim) environment["LD_PRELOAD"] = testing_file("libcapshim_metal_gnu.so");
  environment["FAKE_METAL_DEVICES"] = "paravirtual";
  const shim::Outcome outcome =
      shim::run({testing_file("fake_host"), testing_file("libmetal_double.so"), "answers"}, environment);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  Seen seen{{}, banners_of(outcome.err)};
  std::istringstream words(outcome.out);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::istringstream values(word.substr(equals + 1));
    if (name == "families") {
      for (std::string number; std::getline(values, number, ',');) {
        if (known_family(std::stoi(number))) seen.answers.families.insert(std::stoi(number));
      }
    } else if (name != "class") {
      seen.answers.others[name] = std::stoull(word.substr(equals + 1));
    }
  }
  return seen;
}

int highest(const std::set<int>& families, int base) {
  int found = 0;
  for (const int family : families) found = family > base && family < base + 1000 ? std::max(found, family) : found;
  return found;
}

// The device that the double is.
DeviceProfile double_profile() {
  static const Seen stock = on_this_machine({}, false);
  DeviceProfile profile = device_profiles().front();
  profile.apple_family = highest(stock.answers.families, 1000);
  profile.mac_family = highest(stock.answers.families, 2000);
  profile.common_family = highest(stock.answers.families, 3000);
  profile.metal_family = highest(stock.answers.families, 5000);
  const auto number = [](const std::string& name) { return static_cast<std::int64_t>(stock.answers.others.at(name)); };
  profile.max_threadgroup_memory = number("maxThreadgroupMemoryLength");
  profile.recommended_working_set = number("recommendedMaxWorkingSetSize");
  profile.max_buffer_length = number("maxBufferLength");
  profile.unified_memory = number("hasUnifiedMemory") != 0;
  profile.bfloat = number("supportsBfloat16Format") != 0;
  return profile;
}

struct Emulated {
  std::unique_ptr<Process> process;
  std::unique_ptr<MetalDevice> device;
};

Emulated start_shim(const Environment& environment) {
  Emulated emulated;
  emulated.process = make_process({environment, "fake_host", 0, {}});
  emulated.device = std::make_unique<MetalDevice>(*emulated.process, double_profile());
  auto library = read_library(kDylib, true);
  EXPECT_TRUE(library.ok());
  const Status loaded = emulated.process->load({*library});
  EXPECT_TRUE(loaded.ok()) << to_string(loaded.error());
  return emulated;
}

Answers ask(Process& process, Address device) {
  Answers answers;
  ObjcRuntime& objc = process.objc();
  for (const int base : {1000, 2000, 3000, 4000, 5000}) {
    for (int i = 1; i <= 30; ++i) {
      const auto family = static_cast<std::uint64_t>(base + i);
      if ((objc.send(device, "supportsFamily:", {word(family)}) & 0xffU) != 0) answers.families.insert(base + i);
    }
  }
  for (const char* const name : {"maxThreadgroupMemoryLength", "recommendedMaxWorkingSetSize", "maxBufferLength"}) {
    answers.others[name] = objc.send(device, name);
  }
  for (const char* const name : {"hasUnifiedMemory", "supportsBfloat16Format"}) {
    answers.others[name] = objc.send(device, name) & 0xffU;
  }
  return answers;
}

Seen emulated(const Environment& environment) {
  const Emulated shim = start_shim(environment);
  // As another library would: through what the shim interposes.
  const auto device = shim.process->machine().call(shim.process->lookup("_MTLCreateSystemDefaultDevice"), {});
  EXPECT_TRUE(device.ok()) << to_string(device.error());
  if (!device.ok()) return {};
  EXPECT_EQ(*device, shim.device->object());
  Seen seen{ask(*shim.process, *device), banners_of(shim.process->err)};
  EXPECT_FALSE(shim.process->machine().failed()) << to_string(*shim.process->machine().error());
  return seen;
}

std::vector<Environment> settings() {
  std::vector<Environment> table = {{}};
  for (int level = 1001; level <= 1021; ++level) {
    table.push_back({{"CAPSHIM_SET", "metal.apple_family=" + std::to_string(level)}});
  }
  for (const char* const list :
       {"metal.max_threadgroup_memory=65536", "metal.max_threadgroup_memory=16384", "metal.mac_family=2002",
        "metal.common_family=3001", "metal.common_family=3006", "metal.metal_family=5002",
        "metal.recommended_working_set=70368744177664", "metal.max_buffer_length=1048576", "metal.unified_memory=off",
        "metal.bfloat=on", "metal.apple_family=1009,metal.max_threadgroup_memory=65536,metal.bfloat=on",
        "cpu.isa=x64,vulkan.bfloat16=off",
        // Malformed.
        "", ",", "metal.apple_family", "metal.apple_family=", "metal.apple_family=1000", "metal.apple_family=1022",
        "metal.apple_family=1009,metal.apple_family=1009", "metal.no_such=1", "metal.unified_memory=yes",
        "metal.apple_family=1009 ", "\xff\xfe=1"}) {
    table.push_back({{"CAPSHIM_SET", list}});
    table.push_back({{"CAPSHIM_GUEST", list}});
  }
  table.push_back({{"CAPSHIM_SET", std::string(70'000, 'x')}});
  table.push_back({{"CAPSHIM_GUEST", "metal.apple_family=1003"}, {"CAPSHIM_SET", "metal.apple_family=1007"}});
  table.push_back({{"CAPSHIM_GUEST", "metal.apple_family=1003"}, {"CAPSHIM_SET", "metal.nothing=1"}});
  for (const char* const value : {"1009", "9", "", "x", "99999999999999999999", "1000"}) {
    table.push_back({{"LUME_METAL_APPLE_FAMILY_MAX", value}});
    table.push_back({{"LUME_METAL_MAX_THREADGROUP_MEMORY", value}});
  }
  table.push_back({{"LUME_METAL_APPLE_FAMILY_MAX", "1008"}, {"LUME_METAL_MAX_THREADGROUP_MEMORY", "49152"}});
  table.push_back({{"LUME_METAL_APPLE_FAMILY_MAX", "1008"},
                   {"LUME_METAL_RECOMMENDED_WORKING_SET_SIZE", "17179869184"},
                   {"CAPSHIM_SET", "metal.apple_family=1007"}});
  return table;
}

TEST(CrossBuiltShim, AnswersAsTheOneOfThisMachineForEverySetting) {
  std::size_t changed = 0;
  const Answers stock = on_this_machine({}, false).answers;
  for (const Environment& environment : settings()) {
    std::string name;
    for (const auto& [key, value] : environment) name += key + "=" + value.substr(0, 60) + " ";
    SCOPED_TRACE(name);
    const Seen expected = on_this_machine(environment);
    const Seen seen = emulated(environment);
    EXPECT_EQ(seen.answers, expected.answers);
    EXPECT_EQ(seen.lines, expected.lines);
    if (seen.answers != stock) ++changed;
  }
  // Otherwise the comparison would show nothing.
  EXPECT_GT(changed, 30U);
}

TEST(CrossBuiltShim, AdjustsTheConcreteClassAndSparesItsParent) {
  const Emulated shim = start_shim({{"CAPSHIM_SET", "metal.apple_family=1009,metal.unified_memory=off"}});
  ObjcRuntime& objc = shim.process->objc();
  const Address cls = objc.class_of(shim.device->object());
  const Address family = objc.selector("supportsFamily:");
  EXPECT_EQ(objc.own_method(cls, family), 0U);  // inherited, until the shim has seen the device
  ASSERT_TRUE(shim.process->machine().call(shim.process->lookup("_MTLCreateSystemDefaultDevice"), {}).ok());
  EXPECT_NE(objc.own_method(cls, family), 0U);
  const Address sibling = objc.create("MTLToolsDevice");
  EXPECT_EQ(objc.send(sibling, "supportsFamily:", {word(1009)}) & 0xffU, 0U);
  EXPECT_EQ(objc.send(sibling, "hasUnifiedMemory") & 0xffU, 1U);
  EXPECT_EQ(objc.send(shim.device->object(), "supportsFamily:", {word(1009)}) & 0xffU, 1U);
  EXPECT_EQ(objc.send(shim.device->object(), "hasUnifiedMemory") & 0xffU, 0U);
}

TEST(CrossBuiltShim, ListsOfDevicesAreAdjustedToo) {
  const Emulated shim = start_shim({{"CAPSHIM_SET", "metal.apple_family=1007"}});
  const auto list = shim.process->machine().call(shim.process->lookup("_MTLCopyAllDevices"), {});
  ASSERT_TRUE(list.ok()) << to_string(list.error());
  ObjcRuntime& objc = shim.process->objc();
  ASSERT_EQ(objc.send(*list, "count"), 1U);
  const Address device = objc.send(*list, "objectAtIndexedSubscript:", {word(0)});
  EXPECT_EQ(objc.send(device, "supportsFamily:", {word(1007)}) & 0xffU, 1U);
}

TEST(CrossBuiltShim, CostsLittle) {
  // A shim may take a millisecond at start; an instruction takes far less than a nanosecond on such machines.
  const Emulated shim = start_shim({{"CAPSHIM_SET", "metal.apple_family=1009"}});
  ASSERT_TRUE(shim.process->machine().call(shim.process->lookup("_MTLCreateSystemDefaultDevice"), {}).ok());
  EXPECT_LT(shim.process->machine().instructions(), 500'000U);
}

}  // namespace
}  // namespace capbench::emulate
