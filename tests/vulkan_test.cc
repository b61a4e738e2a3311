// The Vulkan suite with the real llama-bench on llvmpipe: every arm proven, and broken arms found out.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file.h"
#include "schema/store.h"
#include "tests/support/command.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class VulkanRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (llama_dir().empty()) GTEST_SKIP() << kNoLlama;
    const auto text = read_file("suites/vulkan-llvmpipe.json");
    ASSERT_TRUE(text.ok()) << to_string(text.error());
    suite_ = json::parse(*text);
    const std::string driver = suite_["arms"][0]["env"]["VK_ICD_FILENAMES"];
    if (!fs::exists(driver)) GTEST_SKIP() << "no llvmpipe (" << driver << "): apt-get install mesa-vulkan-drivers";
    // The committed suite, as short as it can be: one token, once. Shaders are compiled on first use, which takes far
    // longer than anything that is measured here.
    suite_["runtime"]["executable"] = (llama_dir() / "llama-bench").string();
    suite_["workloads"] = json::array({{{"name", "tg1"}, {"n", 1}, {"r", 1}, {"ngl", -1}}});
    suite_["protocol"]["trials"] = 1;
    suite_["protocol"]["order"] = "as-written";
    for (const char* file : {"libcapshim_vulkan.so", "VkLayer_capshim.json", "VkLayer_capshim_guest.json"}) {
      fs::create_directories(shims_);
      fs::copy_file(fs::path("shim/vulkan") / file, shims_ / file, fs::copy_options::overwrite_existing);
    }
  }

  CommandResult run(const json& suite, const fs::path& shims, const std::string& db) const {
    const std::string path = sandbox_.write("suite.json", suite.dump()).string();
    return sandbox_.capbench({"run", path, "--db", (sandbox_.dir / db).string()},
                             {{"CAPBENCH_SHIM_DIR", shims.string()}, {"MESA_SHADER_CACHE_DIR", shaders()}});
  }

  // By arm. With one trial each, all there is.
  std::map<std::string, schema::TrialRecord> trials(const std::string& db) const {
    std::map<std::string, schema::TrialRecord> by_arm;
    auto store = schema::Store::open(sandbox_.dir / db, schema::OpenMode::kReadOnly);
    EXPECT_TRUE(store.ok());
    if (!store.ok()) return by_arm;
    for (const schema::TrialView& view : *store->trials({})) by_arm[view.trial.arm] = view.trial;
    return by_arm;
  }

  // One cache for all tests of this process, so that each shader is compiled once.
  static std::string shaders() { return (fs::path(::testing::TempDir()) / "shaders").string(); }

  Sandbox sandbox_;
  json suite_;
  fs::path shims_ = sandbox_.dir / "shims";
};

std::string observed(const schema::TrialRecord& trial, const std::string& name, const std::string& source) {
  for (const schema::CapabilityRecord& c : trial.capabilities) {
    if (c.name == name && c.source == source) return c.observed;
  }
  return "";
}

TEST_F(VulkanRun, EveryArmIsProvenAndEveryFileNamed) {
  const auto result = run(suite_, shims_, "r.db");
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const auto by_arm = trials("r.db");
  ASSERT_EQ(by_arm.size(), 3U);
  for (const auto& [arm, trial] : by_arm) {
    EXPECT_EQ(trial.status, "ok") << arm << ": " << trial.reason;
    EXPECT_EQ(trial.treatment, "proven") << arm << ": " << trial.reason;
    ASSERT_EQ(trial.results.size(), 1U);
    EXPECT_NE(trial.results[0].gpu_info.find("llvmpipe"), std::string::npos);
  }
  EXPECT_EQ(observed(by_arm.at("bare-metal"), "vulkan.shader_float16", "ggml log"), "on");
  EXPECT_EQ(observed(by_arm.at("stock"), "vulkan.shader_float16", "ggml log"), "off");
  EXPECT_EQ(observed(by_arm.at("stock"), "vulkan.max_compute_shared_memory", "ggml log"), "24576");
  EXPECT_EQ(observed(by_arm.at("unlocked"), "vulkan.shader_float16", "ggml log"), "on");
  // What ggml does not print is shown by the probe under the same injection.
  EXPECT_EQ(observed(by_arm.at("stock"), "vulkan.subgroup_size_control", "probe"), "off");
  EXPECT_EQ(observed(by_arm.at("unlocked"), "vulkan.subgroup_size_control", "probe"), "on");
  EXPECT_EQ(observed(by_arm.at("unlocked"), "vulkan.shader_float16", "shim banner"), "on");
  // The layer's library and the manifests that put it in place are part of what ran.
  auto store = schema::Store::open(sandbox_.dir / "r.db", schema::OpenMode::kReadOnly);
  ASSERT_TRUE(store.ok());
  const std::map<std::string, std::set<std::string>> expected{
      {"bare-metal", {}},
      {"stock", {"libcapshim_vulkan.so", "VkLayer_capshim_guest.json"}},
      {"unlocked", {"libcapshim_vulkan.so", "VkLayer_capshim.json", "VkLayer_capshim_guest.json"}}};
  for (const auto& [arm, trial] : by_arm) {
    const auto closure = store->closure(trial.closure_id);
    ASSERT_TRUE(closure.ok() && closure->has_value());
    std::set<std::string> shims;
    for (const auto& member : (*closure)->members) {
      if (member.role == "shim") shims.insert(member.artifact.name);
    }
    EXPECT_EQ(shims, expected.at(arm)) << arm;
    // What the probe said is kept as it said it; an arm without settings needs none.
    EXPECT_EQ(trial.probe_sha256.empty(), arm == "bare-metal");
    if (trial.probe_sha256.empty()) continue;
    const auto probe = store->blob(trial.probe_sha256);
    ASSERT_TRUE(probe.ok());
    EXPECT_EQ(json::parse(*probe)["devices"][0]["capabilities"]["vulkan.shader_float16"],
              arm == "stock" ? "off" : "on");
  }
}

// The run goes on; each broken arm is a row that says what is wrong with it.
TEST_F(VulkanRun, BrokenArmsAreInvalidAndDoNotStopTheRun) {
  const fs::path empty = sandbox_.dir / "no-layer";
  fs::create_directories(empty);
  json broken = suite_;
  const auto result = run(broken, empty, "missing.db");
  EXPECT_EQ(result.exit_status, 1) << result.err;
  auto by_arm = trials("missing.db");
  ASSERT_EQ(by_arm.size(), 3U);
  EXPECT_EQ(by_arm.at("bare-metal").status, "ok") << by_arm.at("bare-metal").reason;
  for (const char* arm : {"stock", "unlocked"}) {
    EXPECT_EQ(by_arm.at(arm).status, "invalid_treatment") << by_arm.at(arm).reason;
    EXPECT_EQ(by_arm.at(arm).treatment, "invalid");
    EXPECT_NE(by_arm.at(arm).reason.find("libcapshim_vulkan.so"), std::string::npos) << by_arm.at(arm).reason;
  }
  // A device that is not there, a layer that is not where the arm says, and an answer that the device cannot give.
  broken["arms"] = json::array({suite_["arms"][0], suite_["arms"][2], suite_["arms"][2]});
  broken["arms"][0]["device"] = "Vulkan7";
  broken["arms"][1]["name"] = "wrong path";
  broken["arms"][1]["shim"] = "nowhere/libcapshim_vulkan.so";
  broken["arms"][2]["name"] = "unsupported level";
  broken["arms"][2].erase("guest");
  broken["arms"][2]["set"] = {{"vulkan.cooperative_matrix", "on"}};
  EXPECT_EQ(run(broken, shims_, "broken.db").exit_status, 1);
  by_arm = trials("broken.db");
  ASSERT_EQ(by_arm.size(), 3U);
  EXPECT_EQ(by_arm.at("bare-metal").status, "no_device") << by_arm.at("bare-metal").reason;
  EXPECT_EQ(by_arm.at("wrong path").status, "invalid_treatment") << by_arm.at("wrong path").reason;
  EXPECT_EQ(by_arm.at("unsupported level").status, "invalid_treatment") << by_arm.at("unsupported level").reason;
  EXPECT_NE(by_arm.at("unsupported level").reason.find("vulkan.cooperative_matrix"), std::string::npos)
      << by_arm.at("unsupported level").reason;
}

// Every combination of three answers of llvmpipe and two controls, and the report that says what depends on what.
TEST_F(VulkanRun, AFullFactorialIsProvenInEveryCell) {
  const auto text = read_file("suites/vulkan-factorial-llvmpipe.json");
  ASSERT_TRUE(text.ok()) << to_string(text.error());
  json factorial = json::parse(*text);
  factorial["runtime"]["executable"] = (llama_dir() / "llama-bench").string();
  factorial["workloads"] = json::array({{{"name", "tg1"}, {"n", 1}, {"r", 1}, {"ngl", -1}}});
  factorial["protocol"]["trials"] = 1;
  const auto result = run(factorial, shims_, "factorial.db");
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const auto by_arm = trials("factorial.db");
  EXPECT_EQ(by_arm.size(), 10U);  // 8 cells, placebo and bare metal
  for (const auto& [arm, trial] : by_arm) {
    EXPECT_EQ(trial.status, "ok") << arm << ": " << trial.reason;
    EXPECT_EQ(trial.treatment, "proven") << arm << ": " << trial.reason;
  }
  const auto report =
      sandbox_.capbench({"report", "ablation", "--db", (sandbox_.dir / "factorial.db").string(), "--format", "json"});
  ASSERT_EQ(report.exit_status, 0) << report.err;
  // One process an arm: what is within a process, and no claim.
  EXPECT_NE(report.out.find("shader_float16"), std::string::npos);
  EXPECT_EQ(report.out.find("\"depends_on\": \"yes\""), std::string::npos) << report.out;
}

TEST_F(VulkanRun, DoctorSeesWhetherTheDeviceIsThere) {
  const std::string suite = sandbox_.write("doctor.json", suite_.dump()).string();
  const auto present = sandbox_.capbench({"doctor", suite}, {{"CAPBENCH_SHIM_DIR", shims_.string()}});
  EXPECT_NE(present.out.find("device Vulkan0"), std::string::npos) << present.out;
  EXPECT_NE(present.out.find("llvmpipe"), std::string::npos) << present.out;
  json other = suite_;
  for (json& arm : other["arms"]) arm["device"] = "Vulkan7";
  const std::string wrong = sandbox_.write("wrong.json", other.dump()).string();
  const auto missing = sandbox_.capbench({"doctor", wrong}, {{"CAPBENCH_SHIM_DIR", shims_.string()}});
  EXPECT_EQ(missing.exit_status, 3) << missing.out;
  EXPECT_NE(missing.out.find("MISSING  device Vulkan7"), std::string::npos) << missing.out;
}

}  // namespace
}  // namespace capbench::testing
