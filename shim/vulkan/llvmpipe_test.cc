// The layer above a real driver, Mesa's software device, and among Khronos's validation layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>

#include "shim/common/evidence.h"
#include "shim/vulkan/testing/session.h"

namespace capbench::shim::vulkan {
namespace {

namespace fs = std::filesystem;

constexpr LayerRoles kBoth{.guest = true, .shim = true};
constexpr LayerRoles kGuestOnly{.guest = true, .shim = false};
constexpr LayerRoles kShimOnly{.guest = false, .shim = true};

// The first manifest in the usual folders whose name begins so.
fs::path manifest(const std::string& kind, const std::string& prefix) {
  for (const char* base : {"/usr/share/vulkan", "/etc/vulkan", "/usr/local/share/vulkan"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(base) / kind, error)) {
      if (entry.path().filename().string().rfind(prefix, 0) == 0) return entry.path();
    }
  }
  return {};
}

class Llvmpipe : public ::testing::Test {
 protected:
  void SetUp() override {
    if (loader() == nullptr) GTEST_SKIP() << "no Vulkan loader (libvulkan.so.1) on this machine";
    driver_ = manifest("icd.d", "lvp_icd");
    if (driver_.empty()) GTEST_SKIP() << "no llvmpipe (mesa-vulkan-drivers) on this machine";
  }

  SessionOptions options(LayerRoles roles, const std::string& guest, const std::string& set) const {
    SessionOptions out;
    out.driver_manifest = driver_;
    out.roles = roles;
    out.guest = guest;
    out.set = set;
    out.newer_extensions = false;
    out.variables["MESA_SHADER_CACHE_DIR"] = ::testing::TempDir();
    return out;
  }

  fs::path driver_;
};

TEST_F(Llvmpipe, IsLoweredAndGivenBack) {
  const CapturedStderr quiet;
  const std::string off =
      "vulkan.shader_float16=off,vulkan.storage_16bit=off,vulkan.subgroup_size_control=off,"
      "vulkan.max_compute_shared_memory=16384,vulkan.subgroup_size=4";
  const std::string on =
      "vulkan.shader_float16=on,vulkan.storage_16bit=on,vulkan.subgroup_size_control=on,"
      "vulkan.max_compute_shared_memory=1048576,vulkan.subgroup_size=128";
  for (const Style style : {Style::kIndividual, Style::kAggregate}) {
    const Session bare(options({}, "", ""));
    const Words stock = bare.words(style);
    ASSERT_EQ(stock.at("shaderFloat16"), 1U);
    ASSERT_EQ(stock.at("storageBuffer16BitAccess"), 1U);
    for (const auto& arm : {options(kGuestOnly, off, ""), options(kShimOnly, "", off)}) {
      const Session session(arm);
      const Words poor = session.words(style);
      EXPECT_EQ(poor.at("shaderFloat16"), 0U);
      EXPECT_EQ(poor.at("shaderInt8"), stock.at("shaderInt8"));
      EXPECT_EQ(poor.at("storageBuffer16BitAccess"), 0U);
      EXPECT_EQ(poor.at("subgroupSizeControl"), 0U);
      EXPECT_EQ(poor.at("requiredSubgroupSizeStages"), 0U);
      EXPECT_EQ(poor.at("subgroupSize"), 4U);
      EXPECT_EQ(poor.at("maxComputeSharedMemorySize"), 16384U);
      EXPECT_EQ(session.create_device_with_all(style), VK_SUCCESS);
    }
    const Session raised(options(kBoth, off, on));
    EXPECT_EQ(raised.words(style), stock);
    EXPECT_EQ(raised.plain_limits(), bare.plain_limits());
    EXPECT_EQ(raised.create_device_with_all(style), VK_SUCCESS);
    EXPECT_EQ(Session(options(kBoth, "", "")).words(style), stock);
  }
}

TEST_F(Llvmpipe, OnePropertyRaisesTheIntegerDotProduct) {
  const CapturedStderr quiet;
  const Words stock = Session(options({}, "", "")).words(Style::kAggregate);
  if (stock.at("integerDotProduct4x8BitPackedSignedAccelerated") != 0) GTEST_SKIP() << "this llvmpipe has it";
  const Session session(options(kShimOnly, "", "vulkan.integer_dot_product=on"));
  Words expected = stock;
  expected["integerDotProduct4x8BitPackedSignedAccelerated"] = 1;
  EXPECT_EQ(session.words(Style::kAggregate), expected);
  EXPECT_EQ(session.create_device_with_all(Style::kAggregate), VK_SUCCESS);
}

// --- With the validation layer ------------------------------------------------------------------------------------

// An empty compute shader that declares Float16. Assembled from:
//   OpCapability Shader, Float16; OpMemoryModel Logical GLSL450; OpEntryPoint GLCompute %1 "main";
//   OpExecutionMode %1 LocalSize 1 1 1; %2 = OpTypeVoid; %3 = OpTypeFloat 16; %4 = OpTypeFunction %2;
//   %1 = OpFunction %2 None %4; %5 = OpLabel; OpReturn; OpFunctionEnd
constexpr std::array<std::uint32_t, 40> kFloat16Shader = {
    0x07230203, 0x00010300, 0,          6,          0, 0x00020011, 1,          0x00020011, 9,          0x0003000E,
    0,          1,          0x0005000F, 5,          1, 0x6E69616D, 0,          0x00060010, 1,          17,
    1,          1,          1,          0x00020013, 2, 0x00030016, 3,          16,         0x00030021, 4,
    2,          0x00050036, 2,          1,          0, 4,          0x000200F8, 5,          0x000100FD, 0x00010038};

VKAPI_ATTR VkBool32 VKAPI_CALL note_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  static_cast<std::set<std::string>*>(user)->insert(data->pMessageIdName == nullptr ? "?" : data->pMessageIdName);
  return VK_FALSE;
}

class Validated : public Llvmpipe {
 protected:
  void SetUp() override {
    Llvmpipe::SetUp();
    if (IsSkipped()) return;
    validation_ = manifest("explicit_layer.d", "VkLayer_khronos_validation");
    if (validation_.empty()) GTEST_SKIP() << "no validation layer (vulkan-validationlayers) on this machine";
  }

  // What the validation layer says while an application asks, makes a device and, with float16 or `always`, a pipeline.
  // `layers`: the shim "s", the guest "g" and the validation layer "v", from the application down.
  std::set<std::string> messages(const std::string& layers, const std::string& guest, const std::string& set,
                                 bool always = false) const {
    std::set<std::string> out;
    SessionOptions arm = options({}, guest, set);
    std::string paths;
    std::string names;
    for (const char layer : layers) {
      if (!paths.empty()) paths += ":";
      if (!names.empty()) names += ":";
      if (layer == 'v') {
        paths += validation_.string();
        names += "VK_LAYER_KHRONOS_validation";
      } else {
        paths += (layer_folder() / (layer == 's' ? kShimManifest : kGuestManifest)).string();
        names += layer == 's' ? kShimLayer : kGuestLayer;
      }
    }
    arm.variables["VK_LAYER_PATH"] = paths;
    arm.variables["VK_INSTANCE_LAYERS"] = names;
    arm.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    VkDebugUtilsMessengerCreateInfoEXT messenger{};
    messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    messenger.messageType =
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    messenger.pfnUserCallback = note_message;
    messenger.pUserData = &out;
    arm.instance_chain = &messenger;
    const CapturedStderr quiet;
    const Session session(arm);
    EXPECT_EQ(session.created(), VK_SUCCESS);
    if (session.created() != VK_SUCCESS) return out;
    const auto create = session.function<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT");
    const auto destroy = session.function<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT");
    VkDebugUtilsMessengerEXT handle = VK_NULL_HANDLE;
    EXPECT_EQ(create(session.instance(), &messenger, nullptr, &handle), VK_SUCCESS);
    session.words(Style::kIndividual);
    session.plain_limits();
    session.extensions();
    for (const Style style : {Style::kIndividual, Style::kAggregate}) {
      const bool float16 = session.words(style).at("shaderFloat16") != 0;
      Chain features = Chain::features(style, false);
      session.function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(
          session.devices()[0], features.head<VkPhysicalDeviceFeatures2>());
      EXPECT_EQ(session.create_device(features, {}, 0,
                                      [&](VkDevice device) {
                                        if (float16 || always) make_pipeline(session, device);
                                      }),
                VK_SUCCESS);
    }
    destroy(session.instance(), handle, nullptr);
    return out;
  }

  // The validation layer looks at a shader's capabilities when a pipeline is made of it.
  static void make_pipeline(const Session& session, VkDevice device) {
    VkShaderModuleCreateInfo shader{};
    shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    shader.codeSize = sizeof kFloat16Shader;
    shader.pCode = kFloat16Shader.data();
    VkShaderModule module = VK_NULL_HANDLE;
    ASSERT_EQ(session.function<PFN_vkCreateShaderModule>("vkCreateShaderModule")(device, &shader, nullptr, &module),
              VK_SUCCESS);
    VkPipelineLayoutCreateInfo empty{};
    empty.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    ASSERT_EQ(session.function<PFN_vkCreatePipelineLayout>("vkCreatePipelineLayout")(device, &empty, nullptr, &layout),
              VK_SUCCESS);
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout;
    VkPipeline pipeline = VK_NULL_HANDLE;
    session.function<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(device, VK_NULL_HANDLE, 1, &info,
                                                                               nullptr, &pipeline);
    session.function<PFN_vkDestroyPipeline>("vkDestroyPipeline")(device, pipeline, nullptr);
    session.function<PFN_vkDestroyPipelineLayout>("vkDestroyPipelineLayout")(device, layout, nullptr);
    session.function<PFN_vkDestroyShaderModule>("vkDestroyShaderModule")(device, module, nullptr);
  }

  fs::path validation_;
};

TEST_F(Validated, TheLayerAddsNoMessage) {
  const std::string off =
      "vulkan.shader_float16=off,vulkan.subgroup_size_control=off,vulkan.integer_dot_product=off,"
      "vulkan.max_compute_shared_memory=16384";
  const std::string on = "vulkan.shader_float16=on,vulkan.max_compute_shared_memory=32768";
  const std::set<std::string> stock = messages("v", "", "");
  for (const char* layers : {"vs", "sv"}) {
    SCOPED_TRACE(layers);
    EXPECT_EQ(messages(layers, "", ""), stock);
    EXPECT_EQ(messages(layers, "", off), stock);
    EXPECT_EQ(messages(layers, "", "vulkan.integer_dot_product=on"), stock);
  }
  for (const char* layers : {"vsg", "svg", "sgv"}) {
    SCOPED_TRACE(layers);
    EXPECT_EQ(messages(layers, "", ""), stock);
    EXPECT_EQ(messages(layers, off, ""), stock);
    EXPECT_EQ(messages(layers, off, on), stock);
  }
}

TEST_F(Validated, TheValidationLayerSeesWhatIsNotEnabled) {
  const std::set<std::string> stock = messages("v", "", "");
  for (const char* layers : {"vs", "sv"}) {
    SCOPED_TRACE(layers);
    std::set<std::string> found = messages(layers, "", "vulkan.shader_float16=off", true);
    for (const std::string& message : stock) found.erase(message);
    EXPECT_TRUE(std::any_of(
        found.begin(), found.end(),
        [](const std::string& id) { return id.find("VkShaderModuleCreateInfo-pCode") != std::string::npos; }))
        << "nothing was said about a shader with a capability that is not enabled, but: "
        << ::testing::PrintToString(found);
  }
}

}  // namespace
}  // namespace capbench::shim::vulkan
