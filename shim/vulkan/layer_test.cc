// The built layer, loaded by the machine's own Vulkan loader, above a made-up driver that has everything.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "shim/common/evidence.h"
#include "shim/vulkan/capabilities.h"
#include "shim/vulkan/testing/mock_icd.h"
#include "shim/vulkan/testing/session.h"

namespace capbench::shim::vulkan {
namespace {

namespace fs = std::filesystem;

constexpr LayerRoles kBoth{.guest = true, .shim = true};
constexpr LayerRoles kGuestOnly{.guest = true, .shim = false};
constexpr LayerRoles kShimOnly{.guest = false, .shim = true};

// Which of the tests' words each switch takes away.
const std::map<std::string, std::vector<std::string>>& words_of_switches() {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"vulkan.cooperative_matrix",
       {"cooperativeMatrix", "cooperativeMatrixRobustBufferAccess", "cooperativeMatrixSupportedStages"}},
      {"vulkan.cooperative_matrix2",
       {"cooperativeMatrixWorkgroupScope", "cooperativeMatrixFlexibleDimensions", "cooperativeMatrixReductions",
        "cooperativeMatrixConversions", "cooperativeMatrixPerElementOperations", "cooperativeMatrixTensorAddressing",
        "cooperativeMatrixBlockLoads", "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize",
        "cooperativeMatrixFlexibleDimensionsMaxDimension", "cooperativeMatrixWorkgroupScopeReservedSharedMemory"}},
      {"vulkan.cooperative_matrix_decode_vector", {"cooperativeMatrixDecodeVector"}},
      {"vulkan.shader_float16", {"shaderFloat16"}},
      {"vulkan.mixed_float_dot_product",
       {"shaderMixedFloatDotProductFloat16AccFloat32", "shaderMixedFloatDotProductBFloat16Acc"}},
      {"vulkan.bfloat16", {"shaderBFloat16Type", "shaderBFloat16CooperativeMatrix"}},
      {"vulkan.ocp_fp4", {"shaderFloat4", "shaderFloat8UnsignedE8M0", "shaderFloat8", "shaderFloat8CooperativeMatrix"}},
      {"vulkan.integer_dot_product",
       {"shaderIntegerDotProduct", "integerDotProduct8BitUnsignedAccelerated",
        "integerDotProduct4x8BitPackedUnsignedAccelerated", "integerDotProduct4x8BitPackedSignedAccelerated",
        "integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated",
        "integerDotProductAccumulatingSaturating64BitMixedSignednessAccelerated"}},
      {"vulkan.storage_16bit", {"storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess"}},
      {"vulkan.subgroup_size_control", {"subgroupSizeControl", "computeFullSubgroups", "requiredSubgroupSizeStages"}},
  };
  return words;
}

class Layer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (loader() == nullptr) return;
    const fs::path library = workspace_file("shim/vulkan/testing/libmock_icd.so");
    manifest_ = fs::path(::testing::TempDir()) / "mock_icd.json";
    std::ofstream(manifest_) << R"({"file_format_version":"1.0.0","ICD":{"library_path":")" << library.string()
                             << R"(","api_version":"1.3.0"}})";
    // Held open, so that what it remembers outlives an instance.
    void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    last_request_ = reinterpret_cast<LastRequest>(::dlsym(handle, "mock_last_request"));
    ASSERT_NE(last_request_, nullptr);
  }

  void SetUp() override {
    if (loader() == nullptr) GTEST_SKIP() << "no Vulkan loader (libvulkan.so.1) on this machine";
  }

  static SessionOptions options(LayerRoles roles, const std::string& guest, const std::string& set) {
    SessionOptions out;
    out.driver_manifest = manifest_;
    out.roles = roles;
    out.guest = guest;
    out.set = set;
    return out;
  }

  static DeviceRequest last_request() {
    DeviceRequest out;
    last_request_(&out);
    return out;
  }

  // Words as the layer should give them with one switch off.
  static Words without(Words words, const std::string& name) {
    for (const std::string& word : words_of_switches().at(name)) {
      EXPECT_NE(words.at(word), 0U) << word << " was 0 to begin with";
      words[word] = 0;
    }
    return words;
  }

  inline static fs::path manifest_;
  inline static LastRequest last_request_ = nullptr;
};

TEST_F(Layer, TheTestsKnowEverySwitch) {
  std::size_t switches = 0;
  for (const std::string_view name : kCapabilityNames) {
    if (kToggles[find_toggle(name)].kind != ValueKind::kSwitch) continue;
    ++switches;
    EXPECT_TRUE(words_of_switches().contains(std::string(name))) << name;
  }
  EXPECT_EQ(switches, words_of_switches().size());
}

TEST_F(Layer, EachSwitchIsLoweredByEitherRoleAndGivenBack) {
  for (const Style style : {Style::kIndividual, Style::kAggregate}) {
    const Words stock = Session(options({}, "", "")).words(style);
    for (const auto& [name, ignored] : words_of_switches()) {
      SCOPED_TRACE(name);
      const Words poor = without(stock, name);
      const CapturedStderr quiet;
      EXPECT_EQ(Session(options(kShimOnly, "", name + "=off")).words(style), poor);
      EXPECT_EQ(Session(options(kGuestOnly, name + "=off", "")).words(style), poor);
      EXPECT_EQ(Session(options(kBoth, name + "=off", "")).words(style), poor);
      EXPECT_EQ(Session(options(kBoth, name + "=off", name + "=on")).words(style), stock);
      EXPECT_EQ(Session(options(kBoth, name + "=on", name + "=off")).words(style), poor);
    }
    const CapturedStderr quiet;
    EXPECT_EQ(Session(options(kBoth, "", "")).words(style), stock);
  }
}

TEST_F(Layer, CreateDeviceGetsWhatWasAnsweredAndRefusesWhatWasHidden) {
  for (const Style style : {Style::kIndividual, Style::kAggregate}) {
    for (const auto& [name, words] : words_of_switches()) {
      SCOPED_TRACE(name);
      const CapturedStderr quiet;
      for (const auto& arm : {options(kShimOnly, "", name + "=off"), options(kGuestOnly, name + "=off", "")}) {
        const Session session(arm);
        ASSERT_EQ(session.create_device_with_all(style), VK_SUCCESS);
        for (const auto& [feature, asked] : last_request().features) {
          if (std::find(words.begin(), words.end(), feature) != words.end()) {
            EXPECT_EQ(asked, 0U) << feature;
          }
        }
        // What is hidden, asked for all the same.
        const int before = last_request().calls;
        for (const std::string& word : words) {
          Chain wish = Chain::features(style, true);
          bool is_feature = false;
          for (auto* node = wish.head<VkBaseOutStructure>(); node != nullptr; node = node->pNext) {
            visit_structure(node, [&](const char* each, std::uint32_t& value) {
              if (each != word) return;
              value = VK_TRUE;
              is_feature = true;
            });
          }
          if (!is_feature) continue;
          EXPECT_EQ(session.create_device(wish, {}), VK_ERROR_FEATURE_NOT_PRESENT) << word;
        }
        EXPECT_EQ(last_request().calls, before);
      }
      const Session raised(options(kBoth, name + "=off", name + "=on"));
      ASSERT_EQ(raised.create_device_with_all(style), VK_SUCCESS);
      const auto features = last_request().features;
      for (const std::string& word : words) {
        if (features.contains(word)) {
          EXPECT_EQ(features.at(word), VK_TRUE) << word;
        }
      }
    }
  }
}

TEST_F(Layer, TheStandInStillRefusesWhatTheShimDoesNotRaise) {
  const CapturedStderr quiet;
  const Session session(options(kBoth, "vulkan.shader_float16=off,vulkan.bfloat16=off", "vulkan.bfloat16=on"));
  Chain wish = Chain::features(Style::kAggregate, true);
  for (auto* node = wish.head<VkBaseOutStructure>(); node != nullptr; node = node->pNext) {
    visit_structure(node, [](std::string_view name, std::uint32_t& value) { value = name == "shaderFloat16"; });
  }
  EXPECT_EQ(session.create_device(wish, {}), VK_ERROR_FEATURE_NOT_PRESENT);
  EXPECT_EQ(session.create_device_with_all(Style::kAggregate), VK_SUCCESS);
}

TEST_F(Layer, IntegersAreToldEverywhereAndNeverAboveTheDevice) {
  const CapturedStderr quiet;
  const std::string low = "vulkan.max_compute_shared_memory=16384,vulkan.max_storage_buffer_range=134217728";
  const std::string high = "vulkan.max_compute_shared_memory=65536,vulkan.max_storage_buffer_range=4294967295";
  const Words poor{{"maxComputeSharedMemorySize", 16384}, {"maxStorageBufferRange", 134217728}};
  const Words stock{{"maxComputeSharedMemorySize", 49152}, {"maxStorageBufferRange", 4294967295U}};
  const Words claimed{{"maxComputeSharedMemorySize", 65536}, {"maxStorageBufferRange", 4294967295U}};
  const auto expect = [&](const SessionOptions& arm, const Words& expected) {
    const Session session(arm);
    EXPECT_EQ(session.plain_limits(), expected);
    for (const Style style : {Style::kIndividual, Style::kAggregate}) {
      const Words words = session.words(style);
      for (const auto& [name, value] : expected) EXPECT_EQ(words.at(name), value) << name;
    }
  };
  expect(options(kShimOnly, "", low), poor);
  expect(options(kGuestOnly, low, ""), poor);
  expect(options(kGuestOnly, high, ""), stock);
  expect(options(kBoth, low, high), stock);
  expect(options(kShimOnly, "", high), claimed);

  for (const Style style : {Style::kIndividual, Style::kAggregate}) {
    const Words words = Session(options(kGuestOnly, "vulkan.subgroup_size=8", "")).words(style);
    EXPECT_EQ(words.at("subgroupSize"), 8U);
    EXPECT_EQ(words.at("minSubgroupSize"), 8U);
    EXPECT_EQ(words.at("maxSubgroupSize"), 32U);
    EXPECT_EQ(Session(options(kBoth, "vulkan.subgroup_size=8", "vulkan.subgroup_size=32")).words(style),
              Session(options({}, "", "")).words(style));
  }
}

TEST_F(Layer, TheAliasesOfTheExtensionAreCoveredToo) {
  const CapturedStderr quiet;
  for (const std::uint32_t version : {VK_API_VERSION_1_0, VK_API_VERSION_1_3}) {
    SessionOptions arm = options(kShimOnly, "", "vulkan.shader_float16=off,vulkan.max_compute_shared_memory=16384");
    arm.version = version;
    arm.instance_extensions = {VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME};
    const Session session(arm);
    for (const std::string suffix : {"", "KHR"}) {
      if (version == VK_API_VERSION_1_0 && suffix.empty()) continue;
      const Words words = session.words(Style::kIndividual, suffix);
      EXPECT_EQ(words.at("shaderFloat16"), 0U);
      EXPECT_EQ(words.at("shaderInt8"), 1U);
      EXPECT_EQ(words.at("maxComputeSharedMemorySize"), 16384U);
    }
  }
}

std::vector<std::int32_t> inputs(const auto& shapes) {
  std::vector<std::int32_t> out;
  for (const auto& shape : shapes) out.push_back(shape.AType);
  return out;
}

TEST_F(Layer, MultiplicationsAgreeWithTheFeatures) {
  const CapturedStderr quiet;
  const std::int32_t fp4 = kFirstMicroscalingComponent;
  const std::vector<std::int32_t> all = {kComponentFloat16, kComponentBfloat16, kComponentFloat8E4M3, fp4,
                                         kComponentFloat16};
  const std::vector<std::int32_t> all_flexible = {kComponentFloat16, kComponentFloat16, kComponentBfloat16,
                                                  kComponentFloat8E5M2};
  const auto expect = [&](const SessionOptions& arm, const std::vector<std::int32_t>& shapes,
                          const std::vector<std::int32_t>& flexible) {
    SCOPED_TRACE(arm.guest + " / " + arm.set);
    const Session session(arm);
    EXPECT_EQ(inputs(session.shapes()), shapes);
    EXPECT_EQ(inputs(session.flexible()), flexible);
  };
  expect(options({}, "", ""), all, all_flexible);
  expect(options(kBoth, "", ""), all, all_flexible);
  for (const LayerRoles roles : {kShimOnly, kGuestOnly}) {
    const auto lowered_by = [&](const std::string& list) {
      return roles.shim ? options(roles, "", list) : options(roles, list, "");
    };
    expect(lowered_by("vulkan.cooperative_matrix=off"), {}, all_flexible);
    expect(lowered_by("vulkan.cooperative_matrix2=off"), all, {});
    expect(lowered_by("vulkan.bfloat16=off"), {kComponentFloat16, kComponentFloat8E4M3, fp4, kComponentFloat16},
           {kComponentFloat16, kComponentFloat16, kComponentFloat8E5M2});
    expect(lowered_by("vulkan.ocp_fp4=off"), {kComponentFloat16, kComponentBfloat16, kComponentFloat16},
           {kComponentFloat16, kComponentFloat16, kComponentBfloat16});
    expect(lowered_by("vulkan.shader_float16=off"), all, all_flexible);
  }
  const std::string off = "vulkan.cooperative_matrix=off,vulkan.cooperative_matrix2=off,vulkan.bfloat16=off";
  expect(options(kBoth, off, "vulkan.cooperative_matrix=on,vulkan.cooperative_matrix2=on,vulkan.bfloat16=on"), all,
         all_flexible);
  // Given back, except for what the stand-in still hides.
  expect(options(kBoth, off, "vulkan.cooperative_matrix=on"),
         {kComponentFloat16, kComponentFloat8E4M3, fp4, kComponentFloat16}, {});
}

TEST_F(Layer, ArraysThatAreTooSmallAreFilledAndSaidToBe) {
  const CapturedStderr quiet;
  const Session session(options(kShimOnly, "", "vulkan.bfloat16=off"));
  const auto list =
      session.function<EnumerateShapes<CooperativeMatrixShape>>("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  std::uint32_t total = 0;
  ASSERT_EQ(list(session.devices()[0], &total, nullptr), VK_SUCCESS);
  ASSERT_EQ(total, 4U);
  for (std::uint32_t room = 0; room <= 6; ++room) {
    std::vector<CooperativeMatrixShape> out(room);
    int beyond = 0;
    for (auto& shape : out) {
      shape.sType = kCooperativeMatrixShape;
      shape.pNext = &beyond;
    }
    std::uint32_t count = room;
    CooperativeMatrixShape none{};
    EXPECT_EQ(list(session.devices()[0], &count, room == 0 ? &none : out.data()),
              room < total ? VK_INCOMPLETE : VK_SUCCESS);
    EXPECT_EQ(count, std::min(room, total));
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(out[i].sType, kCooperativeMatrixShape);
      EXPECT_EQ(out[i].pNext, &beyond);
      EXPECT_EQ(out[i].MSize, 16U);
      EXPECT_NE(out[i].AType, kComponentBfloat16);
    }
  }
}

TEST_F(Layer, NoExtensionIsHiddenOrMadeUp) {
  const std::vector<std::string> stock = Session(options({}, "", "")).extensions();
  std::string everything;
  for (const auto& [name, ignored] : words_of_switches()) everything += (everything.empty() ? "" : ",") + name + "=off";
  const CapturedStderr quiet;
  for (const auto& arm : {options(kShimOnly, "", everything), options(kGuestOnly, everything, "")}) {
    const Session session(arm);
    EXPECT_EQ(session.extensions(), stock);
    const auto list =
        session.function<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
    for (std::uint32_t room = 0; room <= stock.size() + 1; ++room) {
      std::vector<VkExtensionProperties> out(room + 1);
      std::uint32_t count = room;
      EXPECT_EQ(list(session.devices()[0], nullptr, &count, out.data()),
                room < stock.size() ? VK_INCOMPLETE : VK_SUCCESS);
      EXPECT_EQ(count, std::min<std::uint32_t>(room, static_cast<std::uint32_t>(stock.size())));
    }
    Chain nothing = Chain::features(Style::kIndividual, true);
    ASSERT_EQ(session.create_device(nothing, {"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"}), VK_SUCCESS);
    EXPECT_EQ(last_request().extensions,
              (std::vector<std::string>{"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"}));
  }
}

TEST_F(Layer, EveryDeviceHasItsOwnAnswers) {
  const std::string off = "vulkan.cooperative_matrix=off,vulkan.subgroup_size=16";
  const std::string on = "vulkan.cooperative_matrix=on,vulkan.subgroup_size=64";
  SessionOptions stock_options = options({}, "", "");
  stock_options.variables["MOCK_DEVICES"] = "2";
  const Session stock(stock_options);
  ASSERT_EQ(stock.devices().size(), 2U);
  const CapturedStderr captured;
  {
    SessionOptions arm = options(kBoth, off, on);
    arm.variables["MOCK_DEVICES"] = "2";
    const Session session(arm);
    for (const Style style : {Style::kIndividual, Style::kAggregate}) {
      EXPECT_EQ(session.words(style, "", 0), stock.words(style, "", 0));
      EXPECT_EQ(session.words(style, "", 1), stock.words(style, "", 1));
    }
    EXPECT_TRUE(session.shapes(1).empty());
    EXPECT_TRUE(session.flexible(1).empty());
    EXPECT_EQ(session.create_device_with_all(Style::kIndividual, 1), VK_SUCCESS);
  }
  const BannerScan scan = scan_banners(captured.text());
  ASSERT_EQ(scan.banners.size(), 2U) << captured.text();
  EXPECT_EQ(scan.banners[0].note, "of the device Mock GPU 9000");
  EXPECT_EQ(scan.banners[1].note, "of the device Mock GPU 100");
  EXPECT_EQ(scan.banners[0].capabilities.at("vulkan.cooperative_matrix").reported, "on");
  EXPECT_EQ(scan.banners[1].capabilities.at("vulkan.cooperative_matrix").reported, "off");
  EXPECT_EQ(scan.banners[0].capabilities.at("vulkan.subgroup_size").reported, "32");
  EXPECT_EQ(scan.banners[1].capabilities.at("vulkan.subgroup_size").reported, "64");
}

TEST_F(Layer, InstancesSideBySideKeepTheirOwnSettings) {
  const CapturedStderr quiet;
  const Session first(options(kShimOnly, "", "vulkan.shader_float16=off"));
  auto second = std::make_unique<Session>(options(kBoth, "vulkan.bfloat16=off", ""));
  const Session third(options({}, "", ""));
  EXPECT_EQ(first.words(Style::kAggregate), without(third.words(Style::kAggregate), "vulkan.shader_float16"));
  EXPECT_EQ(second->words(Style::kAggregate), without(third.words(Style::kAggregate), "vulkan.bfloat16"));
  second.reset();
  EXPECT_EQ(first.words(Style::kIndividual), without(third.words(Style::kIndividual), "vulkan.shader_float16"));
}

TEST_F(Layer, ThreadsMayAskAtTheSameTime) {
  const Words stock = Session(options({}, "", "")).words(Style::kAggregate);
  const Words poor = without(stock, "vulkan.cooperative_matrix2");
  const CapturedStderr captured;
  {
    SessionOptions arm = options(kBoth, "vulkan.cooperative_matrix2=off", "");
    const Session session(arm);
    // The loader (1.3.239) gives a function that it does not know a slot when it is first asked for, without a lock.
    EXPECT_TRUE(session.flexible().empty());
    std::vector<std::thread> threads;
    std::atomic<int> wrong_words{0};
    std::atomic<int> wrong_shapes{0};
    std::atomic<int> wrong_devices{0};
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          if (session.words(Style::kAggregate) != poor) ++wrong_words;
          if (!session.flexible().empty()) ++wrong_shapes;
          if (session.create_device_with_all(Style::kAggregate) != VK_SUCCESS) ++wrong_devices;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong_words.load(), 0);
    EXPECT_EQ(wrong_shapes.load(), 0);
    EXPECT_EQ(wrong_devices.load(), 0);
  }
  EXPECT_EQ(scan_banners(captured.text()).banners.size(), 1U) << captured.text();
}

// One banner of an instance that asked for everything.
Banner banner_of(const SessionOptions& arm) {
  const CapturedStderr captured;
  { Session(arm).words(Style::kAggregate); }
  const BannerScan scan = scan_banners(captured.text());
  EXPECT_EQ(scan.banners.size(), 1U) << captured.text();
  EXPECT_TRUE(scan.malformed.empty());
  return scan.banners.empty() ? Banner{} : scan.banners.front();
}

TEST_F(Layer, TheLineSaysWhatEachLevelAnswers) {
  const std::string list = "vulkan.cooperative_matrix=off,vulkan.max_compute_shared_memory=20000";
  const auto capability = [](const Banner& banner, const char* name) { return banner.capabilities.at(name); };

  const Banner guest = banner_of(options(kGuestOnly, list, ""));
  EXPECT_EQ(guest.domain, "vulkan");
  EXPECT_EQ(guest.roles, std::vector<std::string>{"guest"});
  EXPECT_EQ(guest.capabilities.size(), 2U);
  EXPECT_EQ(capability(guest, "vulkan.cooperative_matrix").device, "on");
  EXPECT_EQ(capability(guest, "vulkan.cooperative_matrix").guest, "off");
  EXPECT_EQ(capability(guest, "vulkan.cooperative_matrix").reported, "off");
  EXPECT_EQ(capability(guest, "vulkan.max_compute_shared_memory").reported, "20000");

  const Banner shim = banner_of(options(kShimOnly, "", list));
  EXPECT_EQ(shim.roles, std::vector<std::string>{"shim"});
  EXPECT_EQ(capability(shim, "vulkan.cooperative_matrix").guest, "");
  EXPECT_EQ(capability(shim, "vulkan.cooperative_matrix").set, "off");
  EXPECT_EQ(capability(shim, "vulkan.cooperative_matrix").reported, "off");

  const Banner both = banner_of(options(kBoth, list, "vulkan.cooperative_matrix=on"));
  EXPECT_EQ(both.roles, (std::vector<std::string>{"guest", "shim"}));
  EXPECT_EQ(capability(both, "vulkan.cooperative_matrix").device, "on");
  EXPECT_EQ(capability(both, "vulkan.cooperative_matrix").guest, "off");
  EXPECT_EQ(capability(both, "vulkan.cooperative_matrix").set, "on");
  EXPECT_EQ(capability(both, "vulkan.cooperative_matrix").reported, "on");
  EXPECT_EQ(capability(both, "vulkan.max_compute_shared_memory").device, "49152");
  EXPECT_EQ(capability(both, "vulkan.max_compute_shared_memory").guest, "20000");
  EXPECT_EQ(capability(both, "vulkan.max_compute_shared_memory").set, "");
  EXPECT_EQ(capability(both, "vulkan.max_compute_shared_memory").reported, "20000");

  const Banner placebo = banner_of(options(kBoth, "", ""));
  EXPECT_TRUE(placebo.roles.empty());
  EXPECT_EQ(placebo.capabilities.size(), kCapabilityCount);
  EXPECT_TRUE(placebo.note.empty());
}

TEST_F(Layer, BadSettingsChangeNothingAndAreSaidOnce) {
  const Words stock = Session(options({}, "", "")).words(Style::kAggregate);
  for (const std::string& bad : {std::string("vulkan.shader_float16"), std::string("vulkan.shader_float16=maybe"),
                                 std::string("vulkan.magic=on"), std::string("vulkan.subgroup_size=48"),
                                 std::string("vulkan.max_compute_shared_memory=1"), std::string(","),
                                 std::string("vulkan.bfloat16=off,vulkan.bfloat16=on"),
                                 std::string("vulkan.bfloat16=\xff"), std::string(70000, 'x')}) {
    for (const auto& arm :
         {options(kBoth, "vulkan.shader_float16=off", bad), options(kBoth, bad, "vulkan.shader_float16=off"),
          options(kShimOnly, "", bad), options(kGuestOnly, bad, "")}) {
      SCOPED_TRACE(bad.substr(0, 60));
      const CapturedStderr captured;
      {
        const Session session(arm);
        EXPECT_EQ(session.words(Style::kAggregate), stock);
        EXPECT_EQ(session.create_device_with_all(Style::kAggregate), VK_SUCCESS);
      }
      const BannerScan scan = scan_banners(captured.text());
      ASSERT_EQ(scan.banners.size(), 1U) << captured.text();
      EXPECT_FALSE(scan.banners[0].error.empty());
      EXPECT_TRUE(scan.banners[0].roles.empty());
    }
  }
}

TEST_F(Layer, SettingsOfOtherDomainsAreNotItsBusiness) {
  const Banner banner = banner_of(options(kShimOnly, "cpu.isa=x64", "cpu.isa=best,vulkan.bfloat16=off"));
  EXPECT_TRUE(banner.error.empty()) << banner.error;
  EXPECT_EQ(banner.roles, std::vector<std::string>{"shim"});
  EXPECT_EQ(banner.capabilities.size(), 1U);
}

TEST_F(Layer, WithoutTheStandInBelowTheShimRefuses) {
  const Words stock = Session(options({}, "", "")).words(Style::kAggregate);
  const CapturedStderr captured;
  {
    EXPECT_EQ(Session(options(kShimOnly, "vulkan.bfloat16=off", "vulkan.bfloat16=on")).words(Style::kAggregate), stock);
  }
  const BannerScan scan = scan_banners(captured.text());
  ASSERT_EQ(scan.banners.size(), 1U);
  EXPECT_NE(scan.banners[0].error.find("no stand-in guest answers below"), std::string::npos);
  EXPECT_NE(scan.banners[0].error.find("try:"), std::string::npos);
  EXPECT_TRUE(scan.banners[0].roles.empty());
}

TEST_F(Layer, InTheWrongOrderNothingIsRaisedAndItIsSaid) {
  SessionOptions arm = options(kBoth, "vulkan.bfloat16=off", "vulkan.bfloat16=on");
  const std::string folder = layer_folder().string() + "/";
  arm.variables["VK_LAYER_PATH"] = folder + std::string(kGuestManifest) + ":" + folder + std::string(kShimManifest);
  arm.variables["VK_INSTANCE_LAYERS"] = std::string(kGuestLayer) + ":" + std::string(kShimLayer);
  const CapturedStderr captured;
  { EXPECT_EQ(Session(arm).words(Style::kAggregate).at("shaderBFloat16Type"), 0U); }
  const BannerScan scan = scan_banners(captured.text());
  ASSERT_EQ(scan.banners.size(), 2U) << captured.text();
  EXPECT_EQ(std::count_if(scan.banners.begin(), scan.banners.end(), [](const Banner& b) { return !b.error.empty(); }),
            1);
}

TEST_F(Layer, InARealGuestClaimsAreTestedByTheDriver) {
  SessionOptions arm = options(kShimOnly, "", "vulkan.integer_dot_product=on,vulkan.max_compute_shared_memory=65536");
  arm.variables["MOCK_POOR"] = "1";
  const CapturedStderr quiet;
  {
    // One property and one limit: nothing that vkCreateDevice could refuse.
    const Session session(arm);
    const Words words = session.words(Style::kAggregate);
    EXPECT_EQ(words.at("integerDotProduct4x8BitPackedSignedAccelerated"), 1U);
    EXPECT_EQ(words.at("integerDotProduct4x8BitPackedUnsignedAccelerated"), 0U);
    EXPECT_EQ(words.at("maxComputeSharedMemorySize"), 65536U);
    EXPECT_EQ(session.create_device_with_all(Style::kAggregate), VK_SUCCESS);
  }
  arm.set = "vulkan.cooperative_matrix=on";
  {
    const Session session(arm);
    EXPECT_EQ(session.words(Style::kAggregate).at("cooperativeMatrix"), 1U);
    const int before = last_request().calls;
    EXPECT_EQ(session.create_device_with_all(Style::kAggregate), VK_ERROR_FEATURE_NOT_PRESENT);
    EXPECT_EQ(last_request().calls, before + 1);
  }
}

TEST_F(Layer, NothingIsMadeUpForADriverThatDoesNotKnowTheExtension) {
  SessionOptions arm = options(kShimOnly, "", "vulkan.cooperative_matrix=on,vulkan.cooperative_matrix2=on");
  arm.variables["MOCK_OLD"] = "1";
  const CapturedStderr captured;
  {
    const Session session(arm);
    const Words words = session.words(Style::kIndividual);
    EXPECT_EQ(words.at("cooperativeMatrix"), 0U);
    EXPECT_TRUE(session.shapes().empty());
    EXPECT_TRUE(session.flexible().empty());
    EXPECT_EQ(session.create_device_with_all(Style::kIndividual), VK_SUCCESS);
  }
  const BannerScan scan = scan_banners(captured.text());
  ASSERT_EQ(scan.banners.size(), 1U);
  EXPECT_EQ(scan.banners[0].capabilities.at("vulkan.cooperative_matrix").set, "on");
  EXPECT_EQ(scan.banners[0].capabilities.at("vulkan.cooperative_matrix").reported, "off");
}

TEST_F(Layer, TheRolesFindEachOtherAcrossTwoCopiesOfTheLibrary) {
  const fs::path copy = fs::path(::testing::TempDir()) / "copy";
  fs::create_directories(copy);
  for (const std::string_view file : {kLibraryFile, kGuestManifest})
    fs::copy_file(layer_folder() / file, copy / file, fs::copy_options::overwrite_existing);
  SessionOptions arm = options(kBoth, "vulkan.cooperative_matrix=off", "vulkan.cooperative_matrix=on");
  arm.variables["VK_LAYER_PATH"] = (layer_folder() / kShimManifest).string() + ":" + (copy / kGuestManifest).string();
  const Banner banner = banner_of(arm);
  EXPECT_EQ(banner.roles, (std::vector<std::string>{"guest", "shim"}));
  const CapturedStderr quiet;
  const Session session(arm);
  EXPECT_EQ(session.words(Style::kAggregate).at("cooperativeMatrix"), 1U);
  EXPECT_EQ(session.create_device_with_all(Style::kAggregate), VK_SUCCESS);
  EXPECT_EQ(last_request().features.at("cooperativeMatrix"), VK_TRUE);
}

TEST_F(Layer, AnInstanceThatAsksNothingStillLeavesALine) {
  const CapturedStderr captured;
  { const Session session(options(kBoth, "vulkan.bfloat16=off", "vulkan.bfloat16=on")); }
  const BannerScan scan = scan_banners(captured.text());
  ASSERT_EQ(scan.banners.size(), 1U) << captured.text();
  EXPECT_EQ(scan.banners[0].note, "no physical device was asked for its features");
}

TEST_F(Layer, DeviceFunctionsResolvePastTheLayer) {
  const CapturedStderr quiet;
  const Session session(options(kBoth, "vulkan.bfloat16=off", ""));
  Chain nothing = Chain::features(Style::kAggregate, true);
  EXPECT_EQ(session.create_device(nothing, {}, 0,
                                  [&](VkDevice device) {
                                    const auto get = session.function<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
                                    const auto wait = get(device, "vkDeviceWaitIdle");
                                    Dl_info info{};
                                    ASSERT_NE(::dladdr(reinterpret_cast<void*>(wait), &info), 0);
                                    EXPECT_NE(std::string(info.dli_fname).find("libmock_icd.so"), std::string::npos);
                                    EXPECT_EQ(get(device, "vkNoSuchFunction"), nullptr);
                                  }),
            VK_SUCCESS);
}

TEST_F(Layer, TheLibraryExportsTwoFunctionsAndStandsAlone) {
  void* const handle = ::dlopen((layer_folder() / kLibraryFile).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << ::dlerror();
  EXPECT_NE(::dlsym(handle, "capshimNegotiateShim"), nullptr);
  EXPECT_NE(::dlsym(handle, "capshimNegotiateGuest"), nullptr);
  const auto negotiate = reinterpret_cast<VkResult (*)(void*)>(::dlsym(handle, "capshimNegotiateShim"));
  EXPECT_EQ(negotiate(nullptr), VK_ERROR_INITIALIZATION_FAILED);
  ::dlclose(handle);
}

}  // namespace
}  // namespace capbench::shim::vulkan
