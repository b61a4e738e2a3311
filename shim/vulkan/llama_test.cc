// The real thing: llama-bench with ggml's own Vulkan backend, on Mesa's software device.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "shim/common/evidence.h"
#include "shim/vulkan/testing/session.h"

namespace capbench::shim::vulkan {
namespace {

namespace fs = std::filesystem;

constexpr LayerRoles kBoth{.guest = true, .shim = true};
constexpr LayerRoles kGuestOnly{.guest = true, .shim = false};
constexpr LayerRoles kShimOnly{.guest = false, .shim = true};

// The smallest model that llama.cpp takes: one layer of zeros.
class ModelWriter {
 public:
  std::string bytes() {
    constexpr std::uint32_t kWidth = 64;
    text("GGUF");
    number<std::uint32_t>(3);
    number<std::uint64_t>(12);
    number<std::uint64_t>(11);
    key("general.architecture", 8);
    string("llama");
    key("tokenizer.ggml.model", 8);
    string("no_vocab");
    key("general.file_type", 4);
    number<std::uint32_t>(0);
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::uint32_t>>{{"context_length", 64},
                                                                                        {"embedding_length", kWidth},
                                                                                        {"block_count", 1},
                                                                                        {"feed_forward_length", kWidth},
                                                                                        {"attention.head_count", 1},
                                                                                        {"attention.head_count_kv", 1},
                                                                                        {"vocab_size", kWidth}}) {
      key("llama." + name, 4);
      number(value);
    }
    key("llama.attention.layer_norm_rms_epsilon", 6);
    number(1e-5F);
    for (const char* name :
         {"token_embd", "output_norm", "output", "blk.0.attn_norm", "blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v",
          "blk.0.attn_output", "blk.0.ffn_norm", "blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down"})
      tensor(std::string(name) + ".weight", kWidth);
    out_.resize((out_.size() + 31) / 32 * 32 + offset_);
    return out_;
  }

 private:
  void text(const std::string& value) { out_ += value; }
  template <class T>
  void number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(const std::string& value) {
    number<std::uint64_t>(value.size());
    text(value);
  }
  void key(const std::string& name, std::uint32_t type) {
    string(name);
    number(type);
  }
  void tensor(const std::string& name, std::uint64_t width) {
    const bool vector = name.find("norm") != std::string::npos;
    string(name);
    number<std::uint32_t>(vector ? 1 : 2);
    number(width);
    if (!vector) number(width);
    number<std::uint32_t>(0);  // F32
    number(offset_);
    offset_ += (vector ? width : width * width) * sizeof(float);
  }
  std::string out_;
  std::uint64_t offset_ = 0;
};

std::string read(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

class Llama : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("CAPBENCH_LLAMA_DIR");
    if (folder == nullptr || !fs::exists(fs::path(folder) / "libggml-vulkan.so"))
      GTEST_SKIP() << "CAPBENCH_LLAMA_DIR names no folder with llama-bench and libggml-vulkan.so";
    if (loader() == nullptr) GTEST_SKIP() << "no Vulkan loader (libvulkan.so.1) on this machine";
    driver_ = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
    if (!fs::exists(driver_)) GTEST_SKIP() << "no llvmpipe (mesa-vulkan-drivers) on this machine";
    program_ = fs::path(folder) / "llama-bench";
  }

  Outcome run(LayerRoles roles, const std::string& guest, const std::string& set, const std::string& arguments,
              std::map<std::string, std::string> more = {}) const {
    auto variables = *layer_environment(layer_folder(), roles);
    variables.merge(more);
    variables["VK_ICD_FILENAMES"] = driver_.string();
    variables["GGML_VK_VISIBLE_DEVICES"] = "0";
    const fs::path folder = ::testing::TempDir();
    variables["MESA_SHADER_CACHE_DIR"] = (folder / "shaders").string();
    if (!guest.empty()) variables["CAPSHIM_GUEST"] = guest;
    if (!set.empty()) variables["CAPSHIM_SET"] = set;
    std::string command = "exec env";
    for (const auto& [name, value] : variables) command += " '" + name + "=" + value + "'";
    command += " '" + program_.string() + "' " + arguments + " >'" + (folder / "out").string() + "' 2>'" +
               (folder / "err").string() + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(folder / "out"), read(folder / "err")};
  }

  // ggml's line about its device 0, from "uma:" on; it comes while the backend registers.
  std::string line(LayerRoles roles, const std::string& guest, const std::string& set,
                   std::map<std::string, std::string> more = {}) const {
    const Outcome outcome = run(roles, guest, set, "--list-devices", std::move(more));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::size_t begin = outcome.err.find("| uma:", outcome.err.find("ggml_vulkan: 0 = "));
    if (begin == std::string::npos) return outcome.err;
    return outcome.err.substr(begin, outcome.err.find('\n', begin) - begin);
  }

  // One token of a model that is written for it.
  static std::string arguments() {
    const fs::path model = fs::path(::testing::TempDir()) / "zeros.gguf";
    std::ofstream(model, std::ios::binary) << ModelWriter().bytes();
    return "-m '" + model.string() + "' -p 0 -n 1 -r 1 --no-warmup -ngl 99 -dev Vulkan0 -fa 0 -o jsonl";
  }

  fs::path program_;
  fs::path driver_;
};

TEST_F(Llama, ItsLineSaysWhatWasSet) {
  const std::string stock = line({}, "", "");
  const std::string no_f16 = line({}, "", "", {{"GGML_VK_DISABLE_F16", "1"}});
  ASSERT_NE(stock.find("| fp16: 1 |"), std::string::npos) << stock;
  ASSERT_NE(no_f16.find("| fp16: 0 |"), std::string::npos) << no_f16;
  EXPECT_EQ(line(kBoth, "", ""), stock);
  EXPECT_EQ(line(kGuestOnly, "vulkan.shader_float16=off", ""), no_f16);
  EXPECT_EQ(line(kShimOnly, "", "vulkan.shader_float16=off"), no_f16);
  EXPECT_EQ(line(kBoth, "vulkan.shader_float16=off", "vulkan.shader_float16=on"), stock);
  EXPECT_EQ(line(kBoth, "vulkan.shader_float16=off", "vulkan.bfloat16=off"), no_f16);

  const std::string small = line(kGuestOnly, "vulkan.max_compute_shared_memory=20000,vulkan.subgroup_size=4", "");
  EXPECT_NE(small.find("| warp size: 4 | shared memory: 20000 |"), std::string::npos) << small;
}

TEST_F(Llama, OnePropertyTurnsTheIntegerDotProductOn) {
  const std::string stock = line({}, "", "");
  if (stock.find("| int dot: 0 |") == std::string::npos) GTEST_SKIP() << "this llvmpipe has a fast one";
  EXPECT_NE(line(kShimOnly, "", "vulkan.integer_dot_product=on").find("| int dot: 1 |"), std::string::npos);
  // Known to be slow underneath, so a stand-in's shim gives back no more than that.
  EXPECT_EQ(line(kBoth, "vulkan.integer_dot_product=off", "vulkan.integer_dot_product=on"), stock);
}

TEST_F(Llama, WithoutSixteenBitStorageItEnds) {
  const Outcome outcome = run(kGuestOnly, "vulkan.storage_16bit=off", "", arguments());
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.err.find("does not support 16-bit storage"), std::string::npos) << outcome.err;
}

// ggml prints its line before it makes a device, so only a run shows that vkCreateDevice agrees. Compiling the shaders
// takes most of the time.
TEST_F(Llama, RunsOnWhatWasGivenBack) {
  const std::string name = "vulkan.shader_float16";
  const Outcome outcome = run(kBoth, name + "=off", name + "=on", arguments());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"backends\": \"Vulkan\""), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("\"n_gen\": 1"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("| fp16: 1 |"), std::string::npos) << outcome.err;
  const BannerScan scan = scan_banners(outcome.err);
  ASSERT_EQ(scan.banners.size(), 1U) << outcome.err;
  EXPECT_EQ(scan.banners[0].roles, (std::vector<std::string>{"guest", "shim"}));
  EXPECT_EQ(scan.banners[0].capabilities.at(name).guest, "off");
  EXPECT_EQ(scan.banners[0].capabilities.at(name).reported, "on");
}

}  // namespace
}  // namespace capbench::shim::vulkan
