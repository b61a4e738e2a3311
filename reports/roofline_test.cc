#include "reports/roofline.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/catalog.h"
#include "reports/devices.h"

namespace capbench::reports {
namespace {

constexpr double kMib = 1048576;

models::GgufTensor tensor(const std::string& name, std::vector<std::uint64_t> shape, std::uint64_t bytes) {
  models::GgufTensor out;
  out.name = name;
  out.shape = std::move(shape);
  out.elements = 1;
  for (const std::uint64_t n : out.shape) out.elements *= n;
  out.bytes = bytes;
  return out;
}

TEST(Devices, NamesAsDriversPrintThem) {
  EXPECT_EQ(device_key("NVIDIA GeForce RTX 4090"), "rtx 4090");
  EXPECT_EQ(device_key("AMD Radeon RX 7900 XTX (RADV NAVI31)"), "rx 7900 xtx");
  EXPECT_EQ(device_key("AMD Instinct MI300X"), "mi300x");
  EXPECT_EQ(device_key("Tesla T4"), "t4");
  EXPECT_EQ(device_key("NVIDIA H100 80GB HBM3"), "h100 80gb hbm3");
  EXPECT_EQ(device_key("Apple M3 Max"), "apple m3 max");
  EXPECT_EQ(device_key(""), "");
  EXPECT_EQ(device_key("("), "(");
}

TEST(Devices, KnowsThemByNameAndCores) {
  const auto h200 = find_device("NVIDIA H200");
  ASSERT_TRUE(h200);
  EXPECT_EQ(h200->bandwidth.value, 4.8e12);
  const auto m3_max = find_device("Apple M3 Max");
  ASSERT_TRUE(m3_max);
  EXPECT_DOUBLE_EQ(m3_max->bandwidth.value, 409.6e9);  // the largest of the name
  const auto smaller = find_device("Apple M3 Max", 30);
  ASSERT_TRUE(smaller);
  EXPECT_DOUBLE_EQ(smaller->bandwidth.value, 307.2e9);
}

// What is reckoned from units and clocks, against figures that makers state as such.
TEST(Devices, DerivedRatesAreThoseThatMakersState) {
  const std::vector<std::pair<std::string, double>> stated = {
      {"Apple M1", 2.6},     {"Apple M1 Pro", 5.2},  {"Apple M1 Max", 10.4}, {"Apple M1 Ultra", 21},
      {"RTX 3070", 81.3},    {"RTX 3080 Ti", 136.4}, {"RTX 3090", 142},      {"RTX 3090 Ti", 160},
      {"RTX 4080", 194.9},   {"RTX 4090", 330.3},    {"RTX 5080", 225},      {"RTX 5090", 419},
      {"RX 6900 XT", 46.08}, {"RX 7900 XT", 103},    {"RX 7900 XTX", 122.9}, {"RX 9070 XT", 195},
  };
  for (const auto& [name, tera] : stated) {
    const auto found = find_device(name);
    ASSERT_TRUE(found) << name;
    EXPECT_NEAR(found->arithmetic.value, tera * 1e12, 0.022 * tera * 1e12) << name;
    EXPECT_TRUE(found->arithmetic.compared) << name;
  }
}

// Figures with sparsity are twice as high: nothing may be held against those.
TEST(Devices, RatesAreDense) {
  EXPECT_LT(find_device("NVIDIA H200")->arithmetic.value, 990e12);
  EXPECT_LT(find_device("NVIDIA H100 PCIe")->arithmetic.value, 757e12);
  EXPECT_LT(find_device("NVIDIA A100-SXM4-80GB")->arithmetic.value, 313e12);
  EXPECT_LT(find_device("NVIDIA L4")->arithmetic.value, 122e12);
  EXPECT_LT(find_device("NVIDIA A10G")->arithmetic.value, 71e12);
}

TEST(Devices, SayWhatWasComparedWithADocument) {
  std::size_t open = 0;
  for (const DeviceLimits& device : known_devices()) {
    EXPECT_TRUE(device.bandwidth.compared) << device.name;
    open += device.arithmetic.compared ? 0U : 1U;
    EXPECT_EQ(device.arithmetic.compared, !device.arithmetic.source.starts_with("not published")) << device.name;
  }
  EXPECT_GT(open, 0U);
  EXPECT_FALSE(find_device("Apple M4 Max")->arithmetic.compared);
}

TEST(Devices, WhatIsNotInTheTableIsUnknown) {
  for (const char* name : {"", "Apple Paravirtual device", "NVIDIA GeForce RTX 4090 Laptop GPU", "llvmpipe (LLVM 15)",
                           "NVIDIA H200, NVIDIA H200", "Intel(R) Xeon(R) Processor"}) {
    EXPECT_FALSE(find_device(name)) << name;
  }
}

TEST(Devices, TheTableIsSound) {
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (const DeviceLimits& device : known_devices()) {
    EXPECT_EQ(device_key(device.name), device.name);
    EXPECT_TRUE(seen.emplace(device.name, device.gpu_cores).second) << device.name;
    EXPECT_GT(device.bandwidth.value, 50e9) << device.name;
    EXPECT_LT(device.bandwidth.value, 10e12) << device.name;
    EXPECT_GT(device.arithmetic.value, 1e12) << device.name;
    EXPECT_LT(device.arithmetic.value, 3e15) << device.name;
    EXPECT_GT(device.cache_bytes, 0) << device.name;
    EXPECT_FALSE(device.bandwidth.source.empty()) << device.name;
    EXPECT_FALSE(device.arithmetic.source.empty()) << device.name;
    const auto largest = find_device(device.name);
    ASSERT_TRUE(largest) << device.name;
    EXPECT_GE(largest->bandwidth.value, device.bandwidth.value);
    EXPECT_GE(largest->arithmetic.value, device.arithmetic.value);
  }
}

TEST(Reads, OfATwinsShape) {
  const auto shape = models::find_shape("tinyllama-1.1b-q4_0");
  ASSERT_TRUE(shape.ok());
  const auto reads = reads_of(*shape);
  ASSERT_TRUE(reads);
  EXPECT_TRUE(reads->exact);
  // 606.53 MiB in all, of which the embedding of 32,000 x 2,048 in Q4_0 is looked up: one row of 2048/32*18 bytes.
  const double embedding = 32000.0 * 2048 / 32 * 18;
  EXPECT_NEAR(reads->generation_bytes, 606.53 * kMib - embedding + 1152, 0.01 * kMib);
  // 1.1e9 without embedding, output and the vectors.
  EXPECT_NEAR(reads->prompt_parameters, 1100048384.0 - 2 * 65536000 - 45 * 2048, 1);
}

TEST(Reads, OfTiedEmbeddings) {
  models::Gguf gguf;
  gguf.tensors = {tensor("token_embd.weight", {100, 1000}, 50000), tensor("blk.0.attn_q.weight", {100, 100}, 5000)};
  const ModelReads tied = reads_of(gguf);
  EXPECT_EQ(tied.generation_bytes, 55000);   // the embedding is the output matrix too
  EXPECT_EQ(tied.prompt_parameters, 10000);  // which a prompt needs once
  gguf.tensors.push_back(tensor("output.weight", {100, 1000}, 80000));
  EXPECT_EQ(reads_of(gguf).generation_bytes, 50 + 5000 + 80000);
}

TEST(Reads, OnlyActiveExpertsCount) {
  models::Gguf gguf;
  gguf.metadata = {{"general.architecture", std::string("llama")},
                   {"llama.expert_count", std::uint32_t{8}},
                   {"llama.expert_used_count", std::uint32_t{2}}};
  gguf.tensors = {tensor("output.weight", {100, 10}, 500), tensor("blk.0.ffn_up_exps.weight", {100, 50, 8}, 40000),
                  tensor("blk.0.ffn_gate_inp.weight", {100, 8}, 3200)};
  const ModelReads reads = reads_of(gguf);
  EXPECT_EQ(reads.generation_bytes, 500 + 10000 + 3200);
  EXPECT_EQ(reads.prompt_parameters, 10000 + 800);
  // Nonsense in the file is not believed.
  gguf.metadata[2].value = std::uint32_t{9};
  EXPECT_EQ(reads_of(gguf).generation_bytes, 500 + 40000 + 3200);
}

TEST(Reads, OfAPrintedSize) {
  schema::ResultRecord result;
  EXPECT_FALSE(reads_of(result));
  result.model_size = 100;
  result.model_n_params = 200;
  const auto reads = reads_of(result);
  ASSERT_TRUE(reads);
  EXPECT_FALSE(reads->exact);
  EXPECT_EQ(reads->generation_bytes, 100);
}

TEST(Roofline, GenerationAgainstBandwidthAndPromptsAgainstArithmetic) {
  const auto device = find_device("NVIDIA H200");
  const ModelReads reads = {1e9, 1.1e9, true};
  const RooflineShare generation = roofline_share(480, 0, 128, device, reads);
  ASSERT_TRUE(generation.percent);
  EXPECT_DOUBLE_EQ(*generation.percent, 10);
  EXPECT_EQ(generation.bound, "bandwidth");
  EXPECT_FALSE(generation.over);
  const RooflineShare prompt = roofline_share(989.4e12 / 2.2e9 / 2, 512, 0, device, reads);
  ASSERT_TRUE(prompt.percent);
  EXPECT_NEAR(*prompt.percent, 50, 1e-9);
  EXPECT_EQ(prompt.bound, "arithmetic");
  EXPECT_TRUE(roofline_share(10000, 0, 128, device, reads).over);
}

TEST(Roofline, SaysWhetherItsFigureWasCompared) {
  const ModelReads reads = {1e9, 1.1e9, true};
  const auto device = find_device("Apple M4 Max");
  const RooflineShare generation = roofline_share(100, 0, 128, device, reads);
  EXPECT_TRUE(generation.compared);
  EXPECT_EQ(generation.source, device->bandwidth.source);
  const RooflineShare prompt = roofline_share(100, 512, 0, device, reads);
  EXPECT_FALSE(prompt.compared);
  EXPECT_EQ(prompt.source, device->arithmetic.source);
}

TEST(Roofline, SaysWhyThereIsNone) {
  const auto device = find_device("NVIDIA H200");
  const ModelReads reads = {1e9, 1e9, true};
  EXPECT_EQ(roofline_share(1, 0, 128, std::nullopt, reads).why, "unknown device");
  EXPECT_EQ(roofline_share(1, 0, 128, device, std::nullopt).why, "unknown model size");
  EXPECT_FALSE(roofline_share(1, 512, 128, device, reads).percent);
  EXPECT_FALSE(roofline_share(1, 1, 0, device, reads).percent);
  // 50 MiB of cache hold a model of 15 MiB.
  const ModelReads small = {15 * kMib, 1e7, true};
  EXPECT_EQ(roofline_share(1, 0, 128, device, small).why, "the weights fit the cache");
  EXPECT_TRUE(roofline_share(1, 512, 0, device, small).percent);
}

}  // namespace
}  // namespace capbench::reports
