#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/file.h"
#include "harness/observe/ggml_log_cpu.h"
#include "harness/observe/ggml_log_cuda.h"
#include "harness/observe/ggml_log_llama.h"
#include "harness/observe/ggml_log_metal.h"
#include "harness/observe/ggml_log_vulkan.h"
#include "harness/observe/observation.h"
#include "harness/observe/published_shims.h"

namespace capbench::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMetalLog =
    "2026-08-10 05:56:06.624 llama-bench[13495:456681] [LumeMetalCapabilities] Enabled for llama-bench "
    "(appleFamilyMax=1009 maxThreadgroupMemory=65536)\n"
    "ggml_metal_device_init: tensor API disabled for pre-M5 and pre-A19 devices\n"
    "ggml_metal_device_init: GPU name:   MTL0 (Apple Paravirtual device)\n"
    "ggml_metal_device_init: GPU family: MTLGPUFamilyApple9  (1009)\n"
    "ggml_metal_device_init: GPU family: MTLGPUFamilyCommon3 (3003)\n"
    "ggml_metal_device_init: GPU family: MTLGPUFamilyMetal4  (5002)\n"
    "ggml_metal_device_init: simdgroup reduction   = true\n"
    "ggml_metal_device_init: simdgroup matrix mul. = false\n"
    "ggml_metal_device_init: has unified memory    = true\n"
    "ggml_metal_device_init: has bfloat            = true\n"
    "ggml_metal_device_init: has tensor            = false\n"
    "ggml_metal_device_init: use residency sets    = true\n"
    "ggml_metal_device_init: use shared buffers    = true\n"
    "ggml_metal_device_init: recommendedMaxWorkingSetSize  = 11453.25 MB\n";

constexpr std::string_view kVulkanLog =
    "ggml_vulkan: Found 2 Vulkan devices:\n"
    "ggml_vulkan: 0 = llvmpipe (LLVM 15.0.6, 256 bits) (llvmpipe) | uma: 0 | fp16: 1 | bf16: 0 | fp4: 0 | warp size: 8 "
    "| "
    "shared memory: 32768 | int dot: 0 | matrix cores: none\n"
    "ggml_vulkan: Warning: Device type is CPU. This is probably not the device you want.\n"
    "ggml_vulkan: 1 = NVIDIA H200 (NVIDIA) | uma: 0 | fp16: dot2 | bf16: 1 | fp4: 0 | warp size: 32 | "
    "shared memory: 49152 | int dot: 1 | matrix cores: NV_coopmat2v\n";

constexpr std::string_view kCudaLog =
    "ggml_cuda_init: found 2 CUDA devices (Total VRAM: 286334 MiB):\n"
    "  Device 0: NVIDIA H200, compute capability 9.0, VMM: yes, VRAM: 143167 MiB\n"
    "  Device 1: Tesla, compute capability 9.9, compute capability 7.5, VMM: no\n";

std::map<std::string, std::string> by_name(const std::vector<Observation>& seen) {
  std::map<std::string, std::string> values;
  for (const Observation& o : seen) values[o.name] += values[o.name].empty() ? o.value : "," + o.value;
  return values;
}

TEST(MetalLog, TellsAnswersAndConclusions) {
  const auto devices = metal_devices(kMetalLog);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].name, "MTL0");
  EXPECT_EQ(devices[0].description, "Apple Paravirtual device");
  EXPECT_EQ(devices[0].apple_family, 1009);
  EXPECT_EQ(devices[0].common_family, 3003);
  EXPECT_EQ(devices[0].metal_family, 5002);
  EXPECT_EQ(devices[0].mac_family, std::nullopt);
  EXPECT_EQ(devices[0].simdgroup_reduction, true);
  EXPECT_EQ(devices[0].simdgroup_matrix_multiply, false);
  EXPECT_EQ(devices[0].recommended_working_set, 11'453'250'000);
  const auto seen = by_name(observe_ggml_log(kMetalLog, ""));
  EXPECT_EQ(seen.at("metal.apple_family"), "1009");
  EXPECT_EQ(seen.at("metal.unified_memory"), "on");
  EXPECT_EQ(seen.at("ggml.tensor"), "off");
  EXPECT_TRUE(observe_ggml_log(kMetalLog, "MTL1").empty());
}

TEST(MetalLog, ReadsOlderBuildsAndSeveralDevices) {
  const auto devices = metal_devices(
      "ggml_metal_init: picking default device: Apple M2\n"
      "ggml_metal_init: GPU name:   Apple M2\n"
      "ggml_metal_init: GPU family: MTLGPUFamilyApple8  (1008)\n"
      "ggml_metal_init: simdgroup reduction support   = true\n"
      "ggml_metal_init: simdgroup matrix mul. support = true\n"
      "ggml_metal_device_init: GPU name:   MTL1\r\n"
      "ggml_metal_device_init: GPU family: MTLGPUFamilyApple7  (1007)\r\n");
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].description, "Apple M2");
  EXPECT_EQ(devices[0].simdgroup_matrix_multiply, true);
  EXPECT_EQ(devices[1].name, "MTL1");
  EXPECT_EQ(devices[1].apple_family, 1007);
}

TEST(VulkanLog, ReadsTheLineOfV050) {
  const auto devices = vulkan_devices(kVulkanLog);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "llvmpipe (LLVM 15.0.6, 256 bits)");
  EXPECT_EQ(devices[0].driver, "llvmpipe");
  EXPECT_EQ(devices[0].fp16, true);
  EXPECT_EQ(devices[0].fp16_dot2, false);
  EXPECT_EQ(devices[0].warp_size, 8);
  EXPECT_EQ(devices[0].shared_memory, 32768);
  EXPECT_EQ(devices[0].int_dot, false);
  EXPECT_EQ(devices[1].index, 1);
  EXPECT_EQ(devices[1].fp16_dot2, true);
  EXPECT_EQ(devices[1].matrix_cores, "NV_coopmat2v");
  const auto first = by_name(observe_ggml_log(kVulkanLog, "Vulkan0"));
  EXPECT_EQ(first.at("vulkan.cooperative_matrix"), "off");
  EXPECT_EQ(first.at("vulkan.cooperative_matrix2"), "off");
  EXPECT_FALSE(first.contains("vulkan.cooperative_matrix_decode_vector"));
  const auto second = by_name(observe_ggml_log(kVulkanLog, "Vulkan1"));
  EXPECT_EQ(second.at("vulkan.cooperative_matrix2"), "on");
  EXPECT_EQ(second.at("vulkan.cooperative_matrix_decode_vector"), "on");
  EXPECT_EQ(second.at("vulkan.mixed_float_dot_product"), "on");
  EXPECT_FALSE(second.contains("vulkan.cooperative_matrix"));  // hidden behind the second kind
  // An arm that names no device may use them all.
  EXPECT_EQ(by_name(observe_ggml_log(kVulkanLog, "")).at("vulkan.shader_float16"), "on,on");
}

TEST(VulkanLog, ReadsEarlierForms) {
  const auto of_2024 = vulkan_devices(
      "ggml_vulkan: Found 1 Vulkan devices:\nVulkan0: AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0 | fp16: 1 | "
      "warp size: 64\n");
  ASSERT_EQ(of_2024.size(), 1U);
  EXPECT_EQ(of_2024[0].name, "AMD Radeon RX 7900 XTX (RADV NAVI31)");
  EXPECT_EQ(of_2024[0].driver, "radv");
  EXPECT_EQ(of_2024[0].warp_size, 64);
  EXPECT_EQ(of_2024[0].int_dot, std::nullopt);
  const auto of_2025 = vulkan_devices(
      "ggml_vulkan: 0 = Intel(R) Arc(tm) A770 (Intel open-source Mesa driver) | uma: 0 | fp16: 0 | bf16: 0 | "
      "warp size: 32 | shared memory: 65536 | int dot: 1 | matrix cores: KHR_coopmat\n");
  ASSERT_EQ(of_2025.size(), 1U);
  EXPECT_EQ(of_2025[0].fp4, std::nullopt);
  const auto seen = by_name(observe_ggml_log(
      "ggml_vulkan: 0 = A (B) | uma: 0 | fp16: 0 | warp size: 32 | matrix cores: KHR_coopmat\n", "Vulkan0"));
  EXPECT_EQ(seen.at("vulkan.cooperative_matrix"), "on");
  EXPECT_EQ(seen.at("vulkan.cooperative_matrix2"), "off");
  EXPECT_FALSE(seen.contains("vulkan.mixed_float_dot_product"));
}

TEST(VulkanLog, SaysWhenThereIsNoDevice) {
  EXPECT_TRUE(vulkan_found_no_device("x\nggml_vulkan: No devices found.\n"));
  EXPECT_TRUE(vulkan_found_no_device("ggml_vulkan: Device with index 7 does not exist.\n"));
  EXPECT_FALSE(vulkan_found_no_device(kVulkanLog));
}

TEST(CudaLog, ReadsEveryDevice) {
  const auto devices = cuda_devices(kCudaLog);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "NVIDIA H200");
  EXPECT_EQ(devices[0].major, 9);
  EXPECT_EQ(devices[0].minor, 0);
  EXPECT_EQ(devices[0].virtual_memory, true);
  EXPECT_EQ(devices[0].vram_mib, 143167);
  EXPECT_EQ(devices[1].name, "Tesla, compute capability 9.9");
  EXPECT_EQ(devices[1].vram_mib, std::nullopt);
  EXPECT_EQ(by_name(observe_ggml_log(kCudaLog, "CUDA1")).at("cuda.compute_capability"), "7.5");
}

TEST(CpuLog, TakesTheLibraryThatWasLoaded) {
  EXPECT_EQ(cpu_variant_loaded("load_backend: loaded Vulkan backend from /x/libggml-vulkan.so\n"
                               "load_backend: loaded CPU backend from /x y/libggml-cpu-zen4.so\n"),
            "zen4");
  EXPECT_EQ(cpu_variant_loaded("load_backend: loaded CPU backend from /x/libggml-cpu.so\n"), "");
}

TEST(PublishedShims, AreRecognised) {
  const auto banners = published_banners(kMetalLog);
  ASSERT_EQ(banners.size(), 1U);
  EXPECT_EQ(banners[0].shim, "LumeMetalCapabilities");
  EXPECT_TRUE(banners[0].enabled);
  const auto seen = by_name(observe_published_banners(kMetalLog));
  EXPECT_EQ(seen.at("metal.apple_family"), "1009");
  EXPECT_EQ(seen.at("metal.max_threadgroup_memory"), "65536");
  // The broad profile's single ceiling is no capability of ours.
  EXPECT_FALSE(by_name(observe_published_banners("x [TartMetalCapabilities] Enabled for python (familyMax=5001 "
                                                 "maxThreadgroupMemory=65536)"))
                   .contains("metal.apple_family"));
  EXPECT_TRUE(is_published_shim("/usr/local/lib/TartMetalCapabilities.dylib"));
  EXPECT_FALSE(is_published_shim("/MetalCapabilities/libx.so"));
  EXPECT_TRUE(is_own_shim("/x/libcapshim_vulkan.so"));
}

TEST(Probe, IsReadWholeOrRefused) {
  const auto one = parse_probe(R"({"probe":"cpu","name":"A","capabilities":{"cpu.isa":"zen4"}})");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->front().capabilities.at("cpu.isa"), "zen4");
  const std::string_view two =
      R"json({"devices":[{"name":"llvmpipe (LLVM 15.0.6, 256 bits)","capabilities":{"vulkan.shader_float16":true}},
          {"name":"NVIDIA H200","capabilities":{"vulkan.shader_float16":"off","vulkan.subgroup_size":32}}]})json";
  ASSERT_TRUE(parse_probe(two).ok());
  EXPECT_EQ(by_name(observe_probe(two, kVulkanLog, "Vulkan1")).at("vulkan.subgroup_size"), "32");
  EXPECT_EQ(by_name(observe_probe(two, kVulkanLog, "Vulkan0")).at("vulkan.shader_float16"), "on");
  for (const char* bad : {"", "[]", "{}", R"({"devices":1})", R"({"devices":[1]})", R"({"capabilities":[]})"}) {
    EXPECT_FALSE(parse_probe(bad).ok()) << bad;
    EXPECT_TRUE(observe_probe(bad, "", "").empty());
  }
}

// Every prefix, and random bytes in random places: nothing crashes, and what is read is plausible.
TEST(Logs, SurviveTruncationAndRandomBytes) {
  const std::string whole = std::string(kMetalLog) + std::string(kVulkanLog) + std::string(kCudaLog) +
                            R"({"capabilities":{"vulkan.subgroup_size":32}})";
  const auto read_all = [](std::string_view text) {
    std::size_t count = observe_ggml_log(text, "Vulkan0/MTL0").size() + observe_published_banners(text).size() +
                        observe_probe(text, text, "").size();
    for (const VulkanDevice& device : vulkan_devices(text)) count += device.index >= 0 ? 1U : 1000U;
    return count;
  };
  for (std::size_t size = 0; size <= whole.size(); ++size) EXPECT_LT(read_all({whole.data(), size}), 100U);
  std::mt19937 random(11);  // NOLINT: the same bytes every time
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (auto n = random() % 8 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    EXPECT_LT(read_all(text), 200U);
  }
  for (int i = 0; i < 300; ++i) {
    std::string text(random() % 400, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_LT(read_all(text), 100U);
  }
  EXPECT_EQ(vulkan_devices("ggml_vulkan: 99999999999999999999 = A (B) | uma: 0 | fp16: 1\n").size(), 0U);
}

TEST(LlamaLog, SaysWhatFlashAttentionCameTo) {
  EXPECT_EQ(resolved_flash_attention("llama_context: flash_attn            = auto\r\n"), std::nullopt);
  EXPECT_EQ(resolved_flash_attention("llama_context: flash_attn            = auto\n"
                                     "resolve_fused_ops: Flash Attention enabled\n"),
            "on");
  EXPECT_EQ(resolved_flash_attention("resolve_fused_ops: layer 0 is assigned to device MTL0 but Flash Attention is "
                                     "assigned to device CPU (usually due to missing support)\n"
                                     "resolve_fused_ops: Flash Attention not supported, set to disabled\n"),
            "off");
  EXPECT_EQ(resolved_flash_attention("llama_context: Flash Attention was auto, set to enabled\n"), std::nullopt)
      << "a line of another meaning";
  EXPECT_EQ(resolved_flash_attention("llama_context: flash_attn            = disabled\n"), "off");
  EXPECT_EQ(resolved_flash_attention("llama_context: flash_attn    = 1\n"), "on");
  EXPECT_EQ(resolved_flash_attention("a: Flash Attention enabled\na: Flash Attention not supported, set to disabled"),
            "mixed");
  EXPECT_EQ(resolved_flash_attention(""), std::nullopt);
}

TEST(LlamaLog, ListsTheKernelsThatMetalCompiled) {
  const std::string log =
      "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'kernel_mul_mm_q4_0_f32', "
      "name = 'kernel_mul_mm_q4_0_f32_bci=0_bco=1'\n"
      "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'kernel_add', name = 'kernel_add'\r\n"
      "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'kernel_add', name = 'kernel_add_2'\n"
      "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'a b', name = 'x'\n"
      "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'cut";
  EXPECT_EQ(metal_kernels(log), (std::vector<std::string>{"kernel_add", "kernel_mul_mm_q4_0_f32"}));
  std::string many;
  for (std::size_t i = 0; i < 2 * kMaxKernels; ++i) {
    many += fmt::format("x: compiling pipeline: base = 'k{}', name = 'k'\n", i);
  }
  EXPECT_EQ(metal_kernels(many).size(), kMaxKernels);
  const auto seen = by_name(observe_ggml_log(log + "\nresolve_fused_ops: Flash Attention enabled\n", ""));
  EXPECT_EQ(seen.at("ggml.flash_attn"), "on");
  EXPECT_EQ(seen.at("ggml.kernels"), "kernel_add kernel_mul_mm_q4_0_f32");
}

// What real runs printed on a host and in its guest, with and without the published shim.
TEST(RecordedRuns, SayWhatTheyWere) {
  const char* shared = std::getenv("CAPBENCH_SHARED");
  const fs::path evidence = fs::path(shared != nullptr ? shared : "") / "data/evidence/2026-08-10-m1-ultra-gemma4";
  if (shared == nullptr || !fs::exists(evidence))
    GTEST_SKIP() << "no recorded runs: $CAPBENCH_SHARED names their folder";
  struct Expected {
    const char* file;
    const char* family;
    const char* matrix_multiply;
    std::size_t banners;
  };
  for (const Expected& expected :
       {Expected{"gemma4-stock-10x.stderr", "1005", "off", 0}, Expected{"gemma4-safe-shim-10x.stderr", "1009", "on", 1},
        Expected{"gemma4-host-10x.stderr", "1007", "on", 0}}) {
    const auto text = read_file(evidence / expected.file);
    ASSERT_TRUE(text.ok()) << expected.file;
    const auto seen = by_name(observe_ggml_log(*text, ""));
    EXPECT_EQ(seen.at("metal.apple_family"), expected.family) << expected.file;
    EXPECT_EQ(seen.at("ggml.simdgroup_matrix_multiply"), expected.matrix_multiply) << expected.file;
    EXPECT_EQ(published_banners(*text).size(), expected.banners) << expected.file;
    for (std::size_t size = 0; size < text->size(); ++size) observe_ggml_log({text->data(), size}, "");
  }
}

}  // namespace
}  // namespace capbench::observe
