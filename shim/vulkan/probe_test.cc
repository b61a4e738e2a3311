#include "shim/vulkan/probe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "shim/common/toggles.h"
#include "shim/vulkan/testing/session.h"

namespace capbench::shim::vulkan {
namespace {

class Probe : public ::testing::Test {
 protected:
  void SetUp() override {
    if (loader() == nullptr) GTEST_SKIP() << "no Vulkan loader (libvulkan.so.1) on this machine";
    const auto library = workspace_file("shim/vulkan/testing/libmock_icd.so");
    manifest_ = (std::filesystem::path(::testing::TempDir()) / "mock_icd.json").string();
    std::ofstream(manifest_) << R"({"file_format_version":"1.0.0","ICD":{"library_path":")" << library.string()
                             << R"(","api_version":"1.3.0"}})";
  }
  std::string manifest_;
};

TEST_F(Probe, GivesEveryCapabilityOfEveryDevice) {
  const Environment environment({{"VK_ICD_FILENAMES", manifest_}, {"MOCK_DEVICES", "2"}});
  const auto devices = probe_devices();
  ASSERT_TRUE(devices.ok()) << to_string(devices.error());
  ASSERT_EQ(devices->size(), 2U);
  EXPECT_EQ((*devices)[0].name, "Mock GPU 9000");
  EXPECT_EQ((*devices)[0].type, "discrete");
  EXPECT_EQ((*devices)[0].api_version, "1.3.0");
  std::size_t toggle = 0;
  for (const auto& [name, value] : (*devices)[0].capabilities) {
    while (kToggles[toggle].domain != Domain::kVulkan) ++toggle;
    EXPECT_EQ(name, kToggles[toggle++].name);
    if (name == "vulkan.max_compute_shared_memory") {
      EXPECT_EQ(value, "49152");
    } else if (name == "vulkan.subgroup_size") {
      EXPECT_EQ(value, "32");
    } else if (name == "vulkan.max_storage_buffer_range") {
      EXPECT_EQ(value, "4294967295");
    } else {
      EXPECT_EQ(value, "on") << name;
    }
  }
  const std::map<std::string, std::string> second((*devices)[1].capabilities.begin(), (*devices)[1].capabilities.end());
  EXPECT_EQ(second.at("vulkan.cooperative_matrix"), "off");
  EXPECT_EQ(second.at("vulkan.shader_float16"), "on");
  EXPECT_EQ(second.at("vulkan.subgroup_size"), "64");
}

TEST_F(Probe, SeesWhatATrialUnderTheLayersIsTold) {
  auto variables = *layer_environment(layer_folder(), {.guest = true, .shim = true});
  variables["VK_ICD_FILENAMES"] = manifest_;
  variables["CAPSHIM_GUEST"] = "vulkan.cooperative_matrix=off,vulkan.shader_float16=off";
  variables["CAPSHIM_SET"] = "vulkan.shader_float16=on";
  const Environment environment(variables);
  const CapturedStderr quiet;
  const auto devices = probe_devices();
  ASSERT_TRUE(devices.ok()) << to_string(devices.error());
  const std::map<std::string, std::string> told((*devices)[0].capabilities.begin(), (*devices)[0].capabilities.end());
  EXPECT_EQ(told.at("vulkan.cooperative_matrix"), "off");
  EXPECT_EQ(told.at("vulkan.shader_float16"), "on");
}

TEST_F(Probe, NoDriverAndNoLayerAreErrorsOfTheMachine) {
  const CapturedStderr quiet;
  {
    const std::map<std::string, std::string> variables = {{"VK_ICD_FILENAMES", "/nonexistent.json"}};
    const Environment environment(variables);
    const auto devices = probe_devices();
    ASSERT_FALSE(devices.ok());
    EXPECT_EQ(devices.error().kind, ErrorKind::kMachine);
    EXPECT_FALSE(devices.error().remedy.empty());
  }
  const Environment environment({{"VK_ICD_FILENAMES", manifest_},
                                 {"VK_LAYER_PATH", "/nonexistent"},
                                 {"VK_INSTANCE_LAYERS", std::string(kShimLayer)}});
  const auto devices = probe_devices();
  // Loaders differ: a missing layer is an error for some, and left out by others.
  if (!devices.ok()) {
    EXPECT_EQ(devices.error().kind, ErrorKind::kMachine);
    EXPECT_NE(devices.error().cause.find("VK_INSTANCE_LAYERS"), std::string::npos);
  }
}

}  // namespace
}  // namespace capbench::shim::vulkan
