#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "harness/observe/environment.h"
#include "harness/observe/ggml_log.h"
#include "harness/observe/treatment.h"

namespace capbench::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
  EXPECT_EQ(cpu_variant(backends[0].path), "haswell");
  EXPECT_EQ(cpu_variant("/x/libggml-vulkan.so"), "");
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
