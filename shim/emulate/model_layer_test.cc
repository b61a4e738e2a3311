#include "shim/emulate/model_layer.h"

#include <gtest/gtest.h>

#include <utility>

#include "models/gguf_writer.h"

namespace capbench::emulate {
namespace {

using models::GgufKey;
using models::GgufTensor;
using models::TensorType;

GgufTensor tensor(std::string name, std::vector<std::uint64_t> shape, TensorType type) {
  GgufTensor made;
  made.name = std::move(name);
  made.shape = std::move(shape);
  made.type = type;
  return made;
}

std::vector<GgufKey> metadata(const std::string& architecture, std::uint32_t width, std::uint32_t heads,
                              std::uint32_t kv_heads) {
  return {{"general.architecture", architecture},
          {architecture + ".embedding_length", width},
          {architecture + ".attention.head_count", heads},
          {architecture + ".attention.head_count_kv", kv_heads},
          {architecture + ".attention.layer_norm_rms_epsilon", 1e-6F}};
}

std::vector<GgufTensor> plain_tensors() {
  return {tensor("token_embd.weight", {512, 1000}, TensorType::kQ4_0),
          tensor("blk.0.attn_norm.weight", {512}, TensorType::kF32),
          tensor("blk.0.attn_q.weight", {512, 512}, TensorType::kQ4_K),
          tensor("blk.0.attn_k.weight", {512, 128}, TensorType::kQ4_K),
          tensor("blk.0.attn_v.weight", {512, 128}, TensorType::kQ4_K),
          tensor("blk.1.attn_v.weight", {512, 128}, TensorType::kQ6_K),
          tensor("blk.0.attn_output.weight", {512, 512}, TensorType::kQ4_K),
          tensor("blk.0.ffn_up.weight", {512, 1024}, TensorType::kQ4_K),
          tensor("blk.0.ffn_down.weight", {1024, 512}, TensorType::kQ4_K)};
}

Result<ModelLayer> read(std::vector<GgufKey> keys, std::vector<GgufTensor> tensors) {
  const auto head = models::lay_out_gguf(std::move(keys), std::move(tensors));
  if (!head.ok()) {
    ADD_FAILURE() << to_string(head.error());
    return head.error();
  }
  return read_model_layer(head->layout, "test");
}

TEST(ModelLayer, OfAPlainModel) {
  const auto layer = read(metadata("llama", 512, 8, 2), plain_tensors());
  ASSERT_TRUE(layer.ok()) << to_string(layer.error());
  EXPECT_EQ(layer->width, 512U);
  EXPECT_EQ(layer->key_length, 64U);
  EXPECT_EQ(layer->kv_heads, 2U);
  EXPECT_FALSE(layer->rope_neox);
  EXPECT_TRUE(layer->rms_norm);
  EXPECT_EQ(layer->find("attn_v")->types, (std::vector<TensorType>{TensorType::kQ4_K, TensorType::kQ6_K}));
  EXPECT_EQ(layer->find("output"), nullptr);
  EXPECT_TRUE(layer->not_covered.empty());
}

TEST(ModelLayer, SaysWhatItDoesNotCover) {
  auto tensors = plain_tensors();
  tensors.push_back(tensor("blk.0.ssm_in.weight", {512, 512}, TensorType::kF16));
  const auto layer = read(metadata("qwen3", 512, 8, 2), tensors);
  ASSERT_TRUE(layer.ok());
  EXPECT_EQ(layer->not_covered, std::vector<std::string>{"ssm_in"});
  EXPECT_TRUE(layer->rope_neox);
}

TEST(ModelLayer, TheCatalogsModels) {
  for (const char* const name : {"tinyllama-1.1b", "quickstart", "tiny"}) {
    const auto layer = find_model_layer(name);
    ASSERT_TRUE(layer.ok()) << to_string(layer.error());
    EXPECT_NE(layer->find("ffn_gate"), nullptr);
    const ModelLayer bf16 = with_weight_type(*layer, TensorType::kBF16);
    EXPECT_EQ(bf16.find("attn_q")->types, std::vector<TensorType>{TensorType::kBF16});
    EXPECT_EQ(bf16.find("attn_norm")->types, std::vector<TensorType>{TensorType::kF32});
  }
}

TEST(ModelLayer, WhatIsNoDecoderIsRefused) {
  struct Case {
    std::vector<GgufKey> keys;
    std::vector<GgufTensor> tensors;
    std::string words;
  };
  auto no_attention = plain_tensors();
  std::erase_if(no_attention, [](const GgufTensor& t) { return t.name.find("attn_q") != std::string::npos; });
  auto odd_heads = plain_tensors();
  odd_heads[2].shape = {512, 500};
  odd_heads[2].type = TensorType::kF32;
  for (const Case& bad :
       {Case{{}, plain_tensors(), "architecture"}, Case{metadata("llama", 0, 8, 2), plain_tensors(), "width 0"},
        Case{metadata("llama", 512, 0, 0), plain_tensors(), "0 heads"},
        Case{metadata("llama", 512, 8, 3), plain_tensors(), "3 key heads"},
        Case{metadata("llama", 512, 8, 2), no_attention, "no attention"},
        Case{metadata("llama", 512, 8, 2), odd_heads, "whole number of heads"}}) {
    const auto layer = read(bad.keys, bad.tensors);
    ASSERT_FALSE(layer.ok()) << bad.words;
    EXPECT_NE(layer.error().cause.find(bad.words), std::string::npos) << layer.error().cause;
  }
}

}  // namespace
}  // namespace capbench::emulate
