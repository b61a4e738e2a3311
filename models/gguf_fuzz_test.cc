// Mutated files must be refused or read, never crash; run it under -fsanitize=address,undefined too.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/gguf.h"
#include "models/gguf_writer.h"
#include "models/inspect.h"
#include "models/little_endian.h"
#include "models/twin_plan.h"

namespace capbench::models {
namespace {

std::string small_twin() {
  Shape shape;
  shape.name = "fuzz";
  shape.title = "Fuzz";
  shape.layers = 1;
  shape.width = 32;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.ffn = 32;
  shape.vocab = 260;
  shape.context = 8;
  shape.mix = Mix::kQ8_0;
  const auto plan = plan_twin(shape, 1, Fill::kPlanted);
  std::string bytes = plan->head.bytes;
  bytes.resize(plan->head.size);
  return bytes;
}

void mutate(std::string& bytes, std::mt19937_64& random) {
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  // Most of the file is data, which nothing reads; the head is where parsing happens.
  const std::size_t head = std::min<std::size_t>(bytes.size(), random() % 4 == 0 ? 1U << 20U : 1200);
  if (head < 16) return;
  switch (below(6)) {
    case 0:
      bytes[below(head)] = static_cast<char>(random());
      break;
    case 1:
      bytes.resize(below(bytes.size()));
      break;
    case 2:
      bytes.erase(below(head), 1 + below(16));
      break;
    case 3:
      bytes.insert(below(head), 1 + below(16), static_cast<char>(random()));
      break;
    case 4: {
      constexpr std::uint64_t kNasty[] = {0, 1, 7, 0x7FFFFFFF, 0xFFFFFFFF, INT64_MAX, UINT64_MAX, 1ULL << 40U};
      store(bytes.data() + below(head - 8), kNasty[below(std::size(kNasty))]);
      break;
    }
    default:
      store(bytes.data() + below(head - 4), static_cast<std::uint32_t>(below(64)));
      break;
  }
}

TEST(GgufFuzz, MutatedFilesNeverCrash) {
  const std::string valid = small_twin();
  ASSERT_TRUE(parse_gguf(valid, "valid").ok());
  std::mt19937_64 random(20261130);
  int refused = 0;
  int read = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string bytes = valid;
    const std::uint64_t rounds = 1 + random() % 4;
    for (std::uint64_t j = 0; j < rounds; ++j) mutate(bytes, random);
    const auto gguf = parse_gguf(bytes, "mutated");
    if (!gguf) {
      ++refused;
      EXPECT_FALSE(gguf.error().cause.empty());
      continue;
    }
    ++read;
    const ModelInfo info = inspect(*gguf, "mutated");
    EXPECT_FALSE(inspect_json(info).empty());
    EXPECT_FALSE(inspect_text(info).empty());
    for (const GgufKey& key : gguf->metadata) {
      if (const auto* array = std::get_if<GgufArray>(&key.value)) {
        EXPECT_LE(strings_of(*array).size(), array->count);
      }
    }
    // What was read can be trusted: all data lie inside the file.
    for (const GgufTensor& tensor : gguf->tensors) {
      EXPECT_LE(gguf->data_start + tensor.offset + tensor.bytes, bytes.size());
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);
}

TEST(GgufFuzz, RandomBytesBehindAValidMagicNeverCrash) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = "GGUF";
    append<std::uint32_t>(bytes, 3);
    append<std::uint64_t>(bytes, random() % 5);
    append<std::uint64_t>(bytes, random() % 5);
    for (int j = 0; j < 200; ++j) bytes += static_cast<char>(random() % 3 == 0 ? random() : 0);
    const auto gguf = parse_gguf(bytes, "random");
    if (gguf.ok()) {
      EXPECT_LE(gguf->metadata.size(), 4U);
    }
  }
}

}  // namespace
}  // namespace capbench::models
