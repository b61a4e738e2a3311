// The probe's own code above devices of the tests' own.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "shim/metal/policy.h"
#include "shim/metal/testing/run_host.h"

namespace capbench::shim::metal {
namespace {

using nlohmann::json;

const std::string kProbe = testing_file("metal-capabilities");
const std::string kShim = testing_file("libcapshim_metal_gnu.so");

Outcome probe(std::vector<std::string> arguments, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), kProbe);
  return run(arguments, environment);
}

TEST(Probe, OneFamilyAsThePublishedProbePrintsIt) {
  EXPECT_EQ(probe({"1009"}).out,
            "device=Apple Paravirtual device\nfamily=1009\nsupports_family=false\nmax_threadgroup_memory=32768\n");
  EXPECT_EQ(probe({"1009"}, {{"LD_PRELOAD", kShim}, {"LUME_METAL_APPLE_FAMILY_MAX", "1009"}}).out,
            "device=Apple Paravirtual device\nfamily=1009\nsupports_family=true\nmax_threadgroup_memory=65536\n");
  const json object = json::parse(probe({"--json", "1005"}).out);
  EXPECT_EQ(object["supports_family"], true);
  EXPECT_EQ(object["max_threadgroup_memory"], 32768);
}

TEST(Probe, EverythingAsJson) {
  const Outcome outcome = probe({"--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json all = json::parse(outcome.out);
  EXPECT_EQ(all["probe"], "metal");
  EXPECT_EQ(all["name"], "Apple Paravirtual device");
  EXPECT_EQ(all["class"], "FakeParavirtual");
  EXPECT_EQ(all["capabilities"].size(), kCapabilityCount);
  EXPECT_EQ(all["capabilities"]["metal.apple_family"], "1005");
  EXPECT_EQ(all["capabilities"]["metal.metal_family"], "none");
  EXPECT_EQ(all["capabilities"]["metal.unified_memory"], "on");
  EXPECT_EQ(all["families"].size(), 37U);
  EXPECT_EQ(all["families"]["MTLGPUFamilyApple5"], true);
  EXPECT_EQ(all["families"]["MTLGPUFamilyApple6"], false);
  EXPECT_EQ(all["families"]["MTLGPUFamilyMacCatalyst1"], true);
  EXPECT_EQ(all["families"]["MTLGPUFamilyMetal3"], false);
  EXPECT_EQ(all["limits"]["recommendedMaxWorkingSetSize"], 12009603072U);
  EXPECT_EQ(all["limits"]["maxThreadsPerThreadgroup"], json({1024, 1024, 1024}));
  EXPECT_EQ(all["features"]["supportsRaytracing"], false);
  EXPECT_FALSE(all["features"].contains("supports32BitMSAA")) << "the device has no such method";
}

TEST(Probe, NamesOfFamiliesMeanTheNumbersThatMetalGivesThem) {
  const Environment metal4 = {{"LD_PRELOAD", kShim}, {"CAPSHIM_SET", "metal.metal_family=5002"}};
  const json all = json::parse(probe({"--json"}, metal4).out);
  EXPECT_EQ(all["families"]["MTLGPUFamilyMetal3"], true);
  EXPECT_EQ(all["families"]["MTLGPUFamilyMetal4"], true);
  EXPECT_EQ(all["families"]["MTLGPUFamilyMetal5"], false);
  EXPECT_EQ(all["capabilities"]["metal.metal_family"], "5002");
}

TEST(Probe, EverythingAsText) {
  const std::string text = probe({}).out;
  EXPECT_EQ(text.rfind("device: Apple Paravirtual device\n", 0), 0U) << text;
  EXPECT_NE(text.find("  MTLGPUFamilyApple5 (1005): yes\n  MTLGPUFamilyApple6 (1006): no\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  maxThreadgroupMemoryLength: 32768\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  hasUnifiedMemory: yes\n"), std::string::npos) << text;
}

TEST(Probe, AHostileNameStaysOneLine) {
  const std::string name = "GPU\n\x1b[31m\"\\\xff" + std::string(3000, 'x');
  const Outcome text = probe({"1009"}, {{"FAKE_METAL_NAME", name}});
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 4) << text.out;
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
  const json all = json::parse(probe({"--json"}, {{"FAKE_METAL_NAME", name}}).out);
  EXPECT_EQ(all["name"].get<std::string>().substr(0, 5), "GPU\n\x1b");
}

TEST(Probe, ExitStatuses) {
  EXPECT_EQ(probe({"--help"}).status, 0);
  for (const std::string wrong : {"", "x", "-1", "10099999999999", "--jsn", "1009 "}) {
    const Outcome outcome = probe({wrong});
    EXPECT_EQ(outcome.status, 2) << wrong;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("error: metal-capabilities: expected"), std::string::npos);
  }
  EXPECT_EQ(probe({"1009", "1007"}).status, 2);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"1009"}, {"--json"}}) {
    const Outcome outcome = probe(arguments, {{"FAKE_METAL_DEVICES", "none"}});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("no Metal device; try: "), std::string::npos) << outcome.err;
  }
}

TEST(Probe, ADeviceWithFewMethods) {
  const Outcome outcome = probe({"--json"}, {{"FAKE_METAL_DEVICES", "bare"}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json all = json::parse(outcome.out);
  EXPECT_EQ(all["capabilities"].size(), 4U);
  EXPECT_TRUE(all["features"].empty());
  EXPECT_EQ(probe({"3001"}, {{"FAKE_METAL_DEVICES", "bare"}}).out,
            "device=Apple Paravirtual device\nfamily=3001\nsupports_family=true\nmax_threadgroup_memory=0\n");
}

}  // namespace
}  // namespace capbench::shim::metal
