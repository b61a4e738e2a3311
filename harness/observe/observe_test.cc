#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "harness/observe/device.h"
#include "harness/observe/environment.h"
#include "harness/observe/ggml_log.h"
#include "harness/observe/treatment.h"
#include "shim/cpu/levels.h"

namespace capbench::observe {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::string_view kLoadedX64 = "load_backend: loaded CPU backend from /a b/libggml-cpu-x64.so\n";
constexpr std::string_view kLoadedHaswell = "load_backend: loaded CPU backend from /a b/libggml-cpu-haswell.so\r\n";

std::string banner(const std::string& roles, const std::string& reported, const std::string& error = "") {
  std::string text = R"(capshim: {"domain":"cpu","version":"1","pid":1,"roles":[)" + roles +
                     R"(],"capabilities":{"cpu.isa":{"device":"haswell","guest":"x64","reported":")" + reported +
                     R"("}})";
  if (!error.empty()) text += R"(,"error":")" + error + "\"";
  return text + "}\n";
}

suite::Arm arm(std::map<std::string, std::string> guest, std::map<std::string, std::string> set) {
  suite::Arm a;
  a.name = "a";
  a.guest = std::move(guest);
  a.set = std::move(set);
  return a;
}

const suite::Arm kBare = arm({}, {});
const suite::Arm kStock = arm({{"cpu.isa", "x64"}}, {});
const suite::Arm kUnlocked = arm({{"cpu.isa", "x64"}}, {{"cpu.isa", "best"}});

// On a machine that is a haswell.
TreatmentVerdict check(const suite::Arm& a, const std::string& log,
                       std::vector<std::string> mapped = {"/bin/llama-bench"}) {
  TreatmentEvidence evidence;
  evidence.log = log;
  evidence.mapped_files = std::move(mapped);
  evidence.cpu_variants = {"haswell", "sse42", "x64"};
  evidence.hardware_features = shim::cpu::kVariants[shim::cpu::find_variant("haswell")].features;
  return check_treatment(a, evidence);
}

TEST(GgmlLog, FindsLoadedBackends) {
  const auto backends = loaded_backends(std::string("noise\n") + std::string(kLoadedHaswell) + "load_backend: loaded ");
  ASSERT_EQ(backends.size(), 1U);
  EXPECT_EQ(backends[0].name, "CPU");
  EXPECT_EQ(backends[0].path, "/a b/libggml-cpu-haswell.so");
  EXPECT_EQ(shim::cpu::variant_in_path(backends[0].path), "haswell");
}

TEST(GgmlLog, LastWordsAreCleanAndShort) {
  EXPECT_EQ(last_words("first\nsec\x1b[31mond\n\n  \n"), "sec[31mond");
  EXPECT_EQ(last_words("error: x\ncapshim: {}\n"), "error: x");
  EXPECT_LE(last_words(std::string(5000, 'x')).size(), 303U);
  EXPECT_EQ(last_words(""), "");
}

TEST(Treatment, ProvenWhenGgmlLoadedWhatTheArmClaims) {
  EXPECT_EQ(check(kBare, std::string(kLoadedHaswell)).treatment, "proven");
  EXPECT_EQ(check(kStock, banner(R"("guest")", "x64") + std::string(kLoadedX64)).treatment, "proven");
  const auto unlocked = check(kUnlocked, banner(R"("guest","shim")", "haswell") + std::string(kLoadedHaswell));
  EXPECT_EQ(unlocked.treatment, "proven") << unlocked.reason;
  ASSERT_EQ(unlocked.capabilities.size(), 2U);
  EXPECT_EQ(unlocked.capabilities[0].observed, "haswell");
  EXPECT_TRUE(unlocked.capabilities[0].agrees);
}

// A guest whose CPUID is masked: the machine seems to be x64, and the shim has run the rest.
TEST(Treatment, BelievesGgmlWhereTheShimRaisedAMaskedCpu) {
  const suite::Arm raised = arm({}, {{"cpu.isa", "haswell"}});
  TreatmentEvidence evidence;
  const std::string says =
      R"(capshim: {"domain":"cpu","version":"1","pid":1,"roles":["shim"],"capabilities":{"cpu.isa":{"device":"x64",)"
      R"("set":"haswell","reported":"haswell","executed":["SSE42","AVX","F16C","FMA","AVX2","BMI2"]}}})"
      "\n" +
      std::string(kLoadedHaswell);
  evidence.log = says;
  evidence.mapped_files = {"/bin/llama-bench"};
  evidence.cpu_variants = {"haswell", "x64"};
  const auto verdict = check_treatment(raised, evidence);
  EXPECT_EQ(verdict.treatment, "proven") << verdict.reason;
}

TEST(Treatment, InvalidWhenItDidNotTake) {
  // Raised in the banner's word only; the shim did not load; it refused its settings.
  EXPECT_EQ(check(kUnlocked, banner(R"("guest","shim")", "haswell") + std::string(kLoadedX64)).treatment, "invalid");
  EXPECT_EQ(check(kUnlocked, std::string(kLoadedHaswell)).treatment, "invalid");
  EXPECT_EQ(check(kStock, std::string(kLoadedHaswell)).treatment, "invalid");
  const auto refused = check(kStock, banner(R"("guest")", "haswell", "unknown name") + std::string(kLoadedX64));
  EXPECT_EQ(refused.treatment, "invalid");
  EXPECT_THAT(refused.reason, HasSubstr("unknown name"));
}

TEST(Treatment, InvalidWhenAShimIsThereThatNobodyAskedFor) {
  EXPECT_EQ(check(kBare, banner(R"("shim")", "haswell") + std::string(kLoadedHaswell)).treatment, "invalid");
  EXPECT_EQ(check(kBare, std::string(kLoadedHaswell), {"/x/libcapshim_cpu.so"}).treatment, "invalid");
  EXPECT_EQ(check(kBare, "[LumeMetalCapabilities] Enabled for x\n" + std::string(kLoadedHaswell)).treatment, "invalid");
  EXPECT_EQ(check(kStock, banner(R"("guest","shim")", "x64") + std::string(kLoadedX64)).treatment, "invalid");
}

TEST(Treatment, UnprovenWhenNothingShowsIt) {
  EXPECT_EQ(check(kStock, banner(R"("guest")", "x64")).treatment, "unproven");
  EXPECT_EQ(check(kBare, "", {}).treatment, "unproven");
  EXPECT_EQ(check(kBare, std::string(kLoadedX64)).treatment, "unproven");
}

std::string vulkan_line(const std::string& fp16, const std::string& cores = "none") {
  return "ggml_vulkan: 0 = llvmpipe (LLVM, 256 bits) (llvmpipe) | uma: 0 | fp16: " + fp16 +
         " | bf16: 0 | fp4: 0 | warp size: 8 | shared memory: 32768 | int dot: 0 | matrix cores: " + cores + "\n";
}

std::string vulkan_banner(const std::string& roles, const std::string& name, const std::string& reported) {
  return R"(capshim: {"domain":"vulkan","version":"1","pid":1,"roles":[)" + roles + R"(],"capabilities":{")" + name +
         R"(":{"device":"on","guest":"off","reported":")" + reported + R"("}}})" + "\n";
}

const suite::Arm kVulkanStock = arm({{"vulkan.shader_float16", "off"}}, {});
const suite::Arm kVulkanUnlocked = arm({{"vulkan.shader_float16", "off"}}, {{"vulkan.shader_float16", "on"}});

TEST(Treatment, OfVulkanIsProvenByGgmlsLine) {
  const std::string guest_says = vulkan_banner(R"("guest")", "vulkan.shader_float16", "off");
  const std::string shim_says = vulkan_banner(R"("guest","shim")", "vulkan.shader_float16", "on");
  const auto stock = check(kVulkanStock, guest_says + vulkan_line("0"));
  EXPECT_EQ(stock.treatment, "proven") << stock.reason;
  // Each role prints a line; the shim has the last word.
  const auto unlocked = check(kVulkanUnlocked, guest_says + shim_says + vulkan_line("1"));
  EXPECT_EQ(unlocked.treatment, "proven") << unlocked.reason;
  ASSERT_GE(unlocked.capabilities.size(), 2U);
  EXPECT_EQ(unlocked.capabilities[0].source, "ggml log");
  EXPECT_EQ(unlocked.capabilities[1].source, "shim banner");
  EXPECT_TRUE(unlocked.capabilities[1].agrees);
  // The shim's word against ggml's.
  const auto not_taken = check(kVulkanUnlocked, guest_says + shim_says + vulkan_line("0"));
  EXPECT_EQ(not_taken.treatment, "invalid");
  EXPECT_TRUE(not_taken.contradicted);
  EXPECT_THAT(not_taken.reason, HasSubstr("vulkan.shader_float16: asked for on, but the ggml log shows off"));
  // A level that the device does not have.
  const suite::Arm impossible = arm({}, {{"vulkan.cooperative_matrix", "on"}});
  EXPECT_EQ(
      check(impossible, vulkan_banner(R"("shim")", "vulkan.cooperative_matrix", "off") + vulkan_line("1")).treatment,
      "invalid");
  // One layer of the two is missing.
  EXPECT_THAT(check(kVulkanUnlocked, guest_says + vulkan_line("1")).reason, HasSubstr("the vulkan shim did not load"));
  EXPECT_THAT(check(kVulkanStock, vulkan_line("0")).reason, HasSubstr("the vulkan stand-in guest did not load"));
}

// An environment variable proves nothing by being set: what it does must show.
TEST(Treatment, OfAVariableIsProvenWhereGgmlShowsIt) {
  const auto log = [](const std::string& cores, int float16) {
    return "ggml_vulkan: 0 = GPU (driver) | uma: 0 | fp16: " + std::to_string(float16) +
           " | bf16: 0 | warp size: 32 | shared memory: 49152 | int dot: 1 | matrix cores: " + cores + "\n";
  };
  const auto judged = [](const std::string& variable, const std::string& printed) {
    suite::Arm a = kBare;
    a.env = {{variable, "1"}};
    TreatmentEvidence evidence;
    evidence.log = printed;
    evidence.mapped_files = {"/bin/llama-bench"};
    evidence.varied_variables = {variable};
    return check_treatment(a, evidence);
  };
  EXPECT_EQ(judged("GGML_VK_DISABLE_COOPMAT", log("none", 1)).treatment, "proven");
  EXPECT_EQ(judged("GGML_VK_DISABLE_F16", log("none", 0)).treatment, "proven");
  const auto ignored = judged("GGML_VK_DISABLE_F16", log("none", 1));
  EXPECT_EQ(ignored.treatment, "unproven");
  EXPECT_THAT(ignored.reason, HasSubstr("nothing shows that GGML_VK_DISABLE_F16 was read"));
  const auto unknown = judged("NOBODY_READS_THIS", log("none", 1));
  EXPECT_EQ(unknown.treatment, "unproven");
  EXPECT_THAT(unknown.reason, HasSubstr("NOBODY_READS_THIS"));
  // What puts a shim in place shows in the shim; what every arm has is no treatment.
  EXPECT_EQ(judged("VK_ADD_LAYER_PATH", log("none", 1)).treatment, "proven");
  suite::Arm shared = kBare;
  shared.env = {{"GGML_VK_VISIBLE_DEVICES", "0"}};
  EXPECT_EQ(check(shared, std::string(kLoadedHaswell)).treatment, "proven");
}

TEST(Treatment, OfWhatGgmlDoesNotPrintNeedsAProbe) {
  const suite::Arm a = arm({}, {{"vulkan.subgroup_size_control", "off"}});
  const std::string log = vulkan_banner(R"("shim")", "vulkan.subgroup_size_control", "off") + vulkan_line("1");
  EXPECT_EQ(check(a, log).treatment, "unproven");
  TreatmentEvidence evidence;
  evidence.log = log;
  evidence.mapped_files = {"/bin/llama-bench"};
  evidence.probe =
      R"({"probe":"vulkan","devices":[{"name":"x","capabilities":{"vulkan.subgroup_size_control":"off"}}]})";
  EXPECT_EQ(check_treatment(a, evidence).treatment, "proven");
  evidence.probe =
      R"({"probe":"vulkan","devices":[{"name":"x","capabilities":{"vulkan.subgroup_size_control":"on"}}]})";
  EXPECT_EQ(check_treatment(a, evidence).treatment, "invalid");
}

TEST(Treatment, OfMetalThroughAPublishedShim) {
  const std::string lume =
      "x [LumeMetalCapabilities] Enabled for llama-bench (appleFamilyMax=1009 maxThreadgroupMemory=65536)\n";
  const std::string device =
      "ggml_metal_device_init: GPU name:   MTL0 (Apple Paravirtual device)\n"
      "ggml_metal_device_init: GPU family: MTLGPUFamilyApple9  (1009)\n"
      "ggml_metal_device_init: recommendedMaxWorkingSetSize  = 11453.25 MB\n";
  EXPECT_EQ(check(arm({}, {{"metal.apple_family", "1009"}}), lume + device).treatment, "proven");
  EXPECT_EQ(check(arm({}, {{"metal.apple_family", "1008"}}), lume + device).treatment, "invalid");
  // Printed rounded.
  EXPECT_EQ(check(arm({}, {{"metal.recommended_working_set", "11453251584"}}), lume + device).treatment, "proven");
  // Not printed: the shim's word alone.
  EXPECT_EQ(check(arm({}, {{"metal.max_threadgroup_memory", "65536"}}), lume + device).treatment, "unproven");
  EXPECT_EQ(check(kBare, lume + device).treatment, "invalid");
  EXPECT_EQ(check(arm({{"metal.apple_family", "1005"}}, {}), device, {"/usr/local/lib/TartMetalCapabilities.dylib"})
                .treatment,
            "invalid");
  EXPECT_EQ(check(kBare, device, {}).treatment, "proven");
}

TEST(Treatment, OfAnArmWhoseShimIsNotThereIsInvalid) {
  TreatmentEvidence evidence;
  evidence.log = kLoadedHaswell;
  evidence.injection_problem = "the shim cannot be loaded: gone";
  const auto verdict = check_treatment(kUnlocked, evidence);
  EXPECT_EQ(verdict.treatment, "invalid");
  EXPECT_EQ(verdict.reason, "the shim cannot be loaded: gone");
}

schema::ResultRecord row(const std::string& backends, const std::string& gpu) {
  schema::ResultRecord result;
  result.backends = backends;
  result.gpu_info = gpu;
  return result;
}

TEST(MissingDevice, IsNotMerelySlow) {
  suite::Arm named;
  named.device = "Vulkan0";
  EXPECT_EQ(missing_device(named, {row("Vulkan", "NVIDIA H200")}, ""), "");
  EXPECT_THAT(missing_device(named, {row("Vulkan", "")}, ""), HasSubstr("ran without a GPU"));
  EXPECT_THAT(missing_device(named, {row("CUDA", "NVIDIA H200")}, ""), HasSubstr("with the backends CUDA"));
  EXPECT_EQ(missing_device(named, {row("", "NVIDIA H200")}, ""), "");  // builds without the field
  EXPECT_EQ(missing_device(named, {}, "error: invalid device: Vulkan0\n"), "there is no device Vulkan0");
  EXPECT_THAT(missing_device(kVulkanStock, {row("Vulkan", "")}, ""), HasSubstr("ran without a GPU"));
  EXPECT_THAT(missing_device(kVulkanStock, {}, "ggml_vulkan: No devices found.\n"), HasSubstr("found none"));
  EXPECT_EQ(missing_device(kBare, {row("Vulkan", "")}, ""), "");
  EXPECT_EQ(missing_device(kStock, {row("", "")}, ""), "");
  suite::Arm cpu;
  cpu.device = "none";
  EXPECT_EQ(missing_device(cpu, {row("Vulkan", "")}, ""), "");
  suite::Arm metal;
  metal.device = "MTL0/MTL1";
  EXPECT_EQ(missing_device(metal, {row("MTL,BLAS", "Apple M1")}, ""), "");
  EXPECT_EQ(missing_device(metal, {row("Metal,BLAS", "Apple M1")}, ""), "");
}

TEST(Treatment, SurvivesMutations) {
  std::mt19937 random(3);  // NOLINT: the same bytes every time
  const std::string whole = banner(R"("guest","shim")", "haswell") + std::string(kLoadedHaswell);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (auto n = random() % 5 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    EXPECT_NE(check(kUnlocked, text).treatment, "");
  }
}

class EnvironmentTest : public ::testing::Test {
 protected:
  fs::path root_ = fs::path(::testing::TempDir()) / "root";
  void SetUp() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    ASSERT_TRUE(replace_file(root_ / name, text).ok());
  }
};

TEST_F(EnvironmentTest, ReadsWhatIsThereAndLeavesOutTheRest) {
  write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: sse hypervisor\n\nprocessor\t: 1\n");
  write("proc/meminfo", "MemTotal:       16777216 kB\n");
  write("sys/class/dmi/id/sys_vendor", "QEMU\n");
  write("etc/machine-id", "0123456789abcdef\n");
  const auto environment = collect_environment(root_);
  EXPECT_EQ(environment.machine_label, "Test CPU, 2 cores, 16 GiB");
  EXPECT_TRUE(environment.is_virtual);
  EXPECT_EQ(virtualization(environment), "KVM");
  const auto facts = nlohmann::json::parse(environment.json);
  EXPECT_FALSE(facts.contains("cpu_governor"));
  // The machine's own id must not be readable from what is published.
  EXPECT_EQ(environment.json.find("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(environment.machine_id.size(), 16U);
  write("etc/machine-id", "another\n");
  EXPECT_NE(collect_environment(root_).machine_id, environment.machine_id);
}

TEST_F(EnvironmentTest, AnEmptySystemIsStillNamed) {
  const auto environment = collect_environment(root_);
  EXPECT_FALSE(environment.id.empty());
  EXPECT_FALSE(environment.is_virtual);
}

TEST(UtcNow, HasMilliseconds) {
  EXPECT_THAT(utc_now(), ::testing::MatchesRegex("20..-..-..T..:..:..\\....Z"));
}

}  // namespace
}  // namespace capbench::observe
