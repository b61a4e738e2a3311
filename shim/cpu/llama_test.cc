// The real thing: llama-bench with ggml's own CPU libraries.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "shim/common/evidence.h"
#include "shim/common/testing/run.h"
#include "shim/cpu/detect.h"
#include "shim/cpu/levels.h"

namespace capbench::shim::cpu {
namespace {

namespace fs = std::filesystem;

class Llama : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("CAPBENCH_LLAMA_DIR");
    if (folder == nullptr || !fs::exists(fs::path(folder) / "llama-bench")) {
      GTEST_SKIP() << "CAPBENCH_LLAMA_DIR names no folder with llama-bench";
    }
    if (!detect_cpu().known) GTEST_SKIP() << "not x86-64: no level applies here";
    folder_ = folder;
    for (std::size_t i = 0; i < kVariantCount; ++i) {
      if (fs::exists(library(i))) available_ |= 1U << i;
    }
    if (available_ == 0) GTEST_SKIP() << "that llama-bench has no CPU library per level";
    hardware_ = detect_cpu().usable();
  }

  fs::path library(std::size_t variant) const {
    return folder_ / ("libggml-cpu-" + std::string(kVariants[variant].name) + ".so");
  }

  // The variant that llama-bench says it loaded.
  std::string loaded(const std::map<std::string, std::string>& settings) const {
    std::map<std::string, std::string> environment = settings;
    environment["LD_PRELOAD"] = runfile("shim/cpu/libcapshim_cpu.so");
    const Outcome outcome = run({(folder_ / "llama-bench").string(), "--version"}, environment);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(scan_banners(outcome.err).banners.size(), 1U) << outcome.err;
    const std::string mark = "load_backend: loaded CPU backend from ";
    const std::size_t at = outcome.err.find(mark);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + mark.size();
    return std::string(variant_in_path(outcome.err.substr(begin, outcome.err.find('\n', begin) - begin)));
  }

  fs::path folder_;
  FeatureSet hardware_ = 0;
  std::uint32_t available_ = 0;
};

TEST_F(Llama, LoadsWhatTheLevelSays) {
  EXPECT_EQ(loaded({}), best_variant(hardware_, available_));
  for (const std::string_view level : kCpuIsaLevels) {
    const std::string list = "cpu.isa=" + std::string(level);
    const std::string expected(expected_variant(level, hardware_, available_));
    EXPECT_EQ(loaded({{"CAPSHIM_GUEST", list}}), expected) << level;
    EXPECT_EQ(loaded({{"CAPSHIM_GUEST", "cpu.isa=x64"}, {"CAPSHIM_SET", list}}), expected) << level;
  }
}

TEST_F(Llama, MalformedSettingsChangeNothing) {
  EXPECT_EQ(loaded({{"CAPSHIM_SET", "cpu.isa=i386"}, {"CAPSHIM_GUEST", "cpu.isa=x64"}}),
            best_variant(hardware_, available_));
}

// The table against the libraries: each one's own score is the table's, where the CPU has what it needs, and 0
// elsewhere.
TEST_F(Llama, TheTableScoresAsGgmlDoes) {
  for (std::size_t i = 0; i < kVariantCount; ++i) {
    if ((available_ >> i & 1U) == 0) continue;
    // NODELETE: libggml-base, which all of them need, does not survive being loaded twice.
    void* handle = dlopen(library(i).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto own = reinterpret_cast<int (*)()>(dlsym(handle, "ggml_backend_score"));
    ASSERT_NE(own, nullptr) << kVariants[i].name;
    const FeatureSet needs = kVariants[i].features;
    EXPECT_EQ(own(), is_subset(needs, detect_cpu().claimed) ? score(needs) : 0) << kVariants[i].name;
    dlclose(handle);
  }
}

}  // namespace
}  // namespace capbench::shim::cpu
