#include "models/inspect.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/file.h"
#include "models/catalog.h"
#include "models/gguf_writer.h"
#include "models/synth.h"
#include "models/verify.h"

namespace capbench::models {
namespace {

using nlohmann::json;

void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

// One twin for the whole program.
const std::filesystem::path& tiny_twin() {
  static const std::filesystem::path path = [] {
    auto file = std::filesystem::path(::testing::TempDir()) / "inspected-tiny.gguf";
    EXPECT_TRUE(synth(*find_shape("tiny"), 9, Fill::kPlanted, file).ok());
    return file;
  }();
  return path;
}

std::filesystem::path changed_twin(const std::string& name, std::size_t at) {
  std::string bytes = *read_file(tiny_twin());
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  const auto path = std::filesystem::path(::testing::TempDir()) / name;
  EXPECT_TRUE(replace_file(path, bytes).ok());
  return path;
}

TEST(Inspect, DescribesATwin) {
  const auto info = inspect(tiny_twin());
  ASSERT_TRUE(info.ok()) << to_string(info.error());
  EXPECT_EQ(kind_of(*info), "twin");
  EXPECT_EQ(info->architecture, "llama");
  EXPECT_EQ(info->file_type, "Q4_K - Medium");
  EXPECT_EQ(info->parameters, 9966080U);
  EXPECT_EQ(info->weight_bytes, 6027264U);
  EXPECT_EQ(info->layers, 4U);
  EXPECT_EQ(info->context, 512U);
  EXPECT_EQ(info->tokenizer, "llama");
  EXPECT_EQ(info->tokens, 512U);
  ASSERT_TRUE(info->twin.has_value());
  EXPECT_EQ(info->twin->like, "tiny");
  EXPECT_EQ(info->twin->seed, 9U);
  EXPECT_EQ(info->twin->fill, "planted");
  ASSERT_EQ(info->types.size(), 3U);
  EXPECT_EQ(info->types[0].type, TensorType::kQ4_K);
  EXPECT_EQ(info->types[0].tensors + info->types[1].tensors + info->types[2].tensors, 39U);

  const std::string text = inspect_text(*info);
  expect_fits(text);
  EXPECT_NE(text.find("twin of tiny, seed 9, planted weights"), std::string::npos);
  EXPECT_NE(text.find("4 layers, 512 wide, 8/4 heads, 1024 ffn"), std::string::npos);
  const json object = json::parse(inspect_json(*info));
  EXPECT_EQ(object["kind"], "twin");
  EXPECT_EQ(object["parameters"], 9966080);
  EXPECT_EQ(object["quantisation"][0]["type"], "Q4_K");
  EXPECT_EQ(object["twin"]["seed"], 9);
  EXPECT_EQ(object["tokenizer"]["tokens"], 512);
}

TEST(Inspect, CallsAFileWithoutMarksReal) {
  auto head = lay_out_gguf({{"general.architecture", std::string("llama")}, {"general.file_type", std::uint32_t{999}}},
                           {{"t", {32}, TensorType::kF32, 0, 0, 0}});
  ASSERT_TRUE(head.ok());
  const ModelInfo info = inspect(head->layout, "real.gguf");
  EXPECT_EQ(kind_of(info), "real");
  EXPECT_EQ(info.file_type, "file type 999");
  EXPECT_EQ(info.layers, std::nullopt);
  expect_fits(inspect_text(info));
  const json object = json::parse(inspect_json(info));
  EXPECT_EQ(object["kind"], "real");
  EXPECT_TRUE(object["twin"].is_null());
  EXPECT_TRUE(object["layers"].is_null());
}

TEST(Inspect, HostileTextStaysInItsColumns) {
  const std::string nasty = std::string(300, 'x') + "\x1b[2J\xff\n";
  Gguf gguf;
  gguf.metadata = {{"general.architecture", nasty},
                   {"general.name", "\xff\x1b" + nasty},
                   {"tokenizer.ggml.model", nasty},
                   {"capbench.twin.like", nasty},
                   {"tokenizer.ggml.tokens", string_array({"a"})}};
  const ModelInfo info = inspect(gguf, nasty);
  const std::string text = inspect_text(info);
  expect_fits(text);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
  EXPECT_EQ(json::parse(inspect_json(info))["kind"], "twin");
}

TEST(Inspect, PassesErrorsOn) {
  const auto info = inspect(std::filesystem::path(::testing::TempDir()) / "absent.gguf");
  ASSERT_FALSE(info.ok());
  EXPECT_EQ(info.error().kind, ErrorKind::kUsage);
}

TEST(Verify, AWholeTwinIsFoundWhole) {
  const auto verified = verify(tiny_twin());
  ASSERT_TRUE(verified.ok()) << to_string(verified.error());
  EXPECT_EQ(verified->name, "tiny");
  EXPECT_EQ(verified->kind, "twin");
  EXPECT_TRUE(verify(tiny_twin(), "tiny").ok());
  EXPECT_NE(verify_text(*verified).find("a whole twin"), std::string::npos);
  EXPECT_EQ(json::parse(verify_json(*verified))["sha256"], verified->sha256);
}

TEST(Verify, OneFlippedBitIsFoundAndPlaced) {
  const auto gguf = read_gguf(tiny_twin());
  ASSERT_TRUE(gguf.ok());
  const GgufTensor& tensor = gguf->tensors[20];
  const auto weights = verify(changed_twin("flipped-weight", gguf->data_start + tensor.offset + 1000));
  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().kind, ErrorKind::kFinding);
  EXPECT_NE(weights.error().cause.find("in tensor '" + tensor.name + "'"), std::string::npos) << weights.error().cause;
  const std::size_t name = read_file(tiny_twin())->find("Tiny twin");
  const auto metadata = verify(changed_twin("flipped-name", name));
  ASSERT_FALSE(metadata.ok());
  EXPECT_NE(metadata.error().cause.find("in its metadata"), std::string::npos);
}

TEST(Verify, RefusesOtherModelsAndUnknownNames) {
  const auto other = verify(tiny_twin(), "quickstart");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::kFinding);
  EXPECT_NE(other.error().cause.find("it is tiny, not quickstart"), std::string::npos);
  const auto unknown = verify(tiny_twin(), "no-such-model");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
}

TEST(Verify, ComparesARealFileWithThePinnedDigest) {
  auto head = lay_out_gguf({{"general.architecture", std::string("llama")}}, {});
  ASSERT_TRUE(head.ok());
  const auto folder = std::filesystem::path(::testing::TempDir());
  const auto impostor = folder / "tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf";
  ASSERT_TRUE(replace_file(impostor, head->bytes).ok());
  for (const char* expected : {"", "tinyllama-1.1b"}) {
    const auto verified = verify(impostor, expected);
    ASSERT_FALSE(verified.ok());
    EXPECT_EQ(verified.error().kind, ErrorKind::kFinding);
    EXPECT_NE(verified.error().cause.find("pinned is 9fecc3b3cd76bba8"), std::string::npos);
    EXPECT_NE(verified.error().cause.find("668788096"), std::string::npos);
  }
  ASSERT_TRUE(replace_file(folder / "other.gguf", head->bytes).ok());
  const auto unknown = verify(folder / "other.gguf");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().cause.find("none of the catalog's"), std::string::npos);
}

TEST(Catalog, NamesAreUniqueAndShapesPossible) {
  std::set<std::string> names;
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_TRUE(entry.file.has_value() || entry.shape.has_value()) << entry.name;
    if (entry.shape) {
      EXPECT_EQ(entry.shape->name, entry.name);
      EXPECT_TRUE(check_shape(*entry.shape).ok()) << entry.name;
    }
    if (entry.file && !entry.file->file_name.empty()) {
      EXPECT_EQ(entry.file->sha256.size(), 64U);
      EXPECT_GT(entry.file->size, 0U);
    }
  }
  EXPECT_TRUE(names.contains("tinyllama-1.1b") && names.contains("tiny") && names.contains("quickstart"));
  EXPECT_NEAR(static_cast<double>(*twin_size(*find_shape("quickstart"))) / (1U << 20U), 14.7, 0.1);
  EXPECT_LT(*twin_size(*find_shape("tiny")), 6U << 20U);
}

TEST(Catalog, ListsForPeopleAndPrograms) {
  expect_fits(catalog_text());
  EXPECT_NE(catalog_text().find("tinyllama-1.1b"), std::string::npos);
  const json list = json::parse(catalog_json());
  ASSERT_EQ(list.size(), catalog().size());
  EXPECT_EQ(list[0]["file"]["sha256"], "9fecc3b3cd76bba89d504f29b616eedf7da85b96540e490ca5824d3f7d2776a0");
  EXPECT_EQ(list[0]["twin"]["layers"], 22);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["twin"].is_null(), !catalog()[i].shape.has_value());
    EXPECT_EQ(list[i]["file"].is_null(), !catalog()[i].file.has_value());
  }
}

TEST(Catalog, AnUnknownNameGetsTheKnownOnes) {
  const auto model = find_model("llama");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind, ErrorKind::kUsage);
  EXPECT_NE(model.error().remedy.find("tinyllama-1.1b"), std::string::npos);
  // A pinned file without a twin has no shape.
  const auto shape = find_shape("gemma-4-12b");
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.error().remedy.find("gemma"), std::string::npos);
  EXPECT_TRUE(find_model("gemma-4-12b").ok());
}

}  // namespace
}  // namespace capbench::models
