#include "models/catalog.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/embedded_catalog.h"

namespace capbench::models {
namespace {

constexpr std::string_view kOne =
    R"({"models":[{"name":"a","title":"A","purpose":"p","file":{"repository":"o/r","revision":"unpinned",)"
    R"("name":"f.gguf","size":"unpinned","sha256":"unpinned"},"twin":{"title":"T","layers":4,"width":512,"heads":8,)"
    R"("kv_heads":4,"ffn":1024,"vocabulary":512,"context":512,"mix":"Q4_K_M"}}]})";

std::string changed(std::string_view from, std::string_view to) {
  std::string text(kOne);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(std::string_view text) {
  const auto parsed = parse_catalog(text);
  return parsed.ok() ? "" : to_string(parsed.error());
}

TEST(Catalog, TheEmbeddedOneIsWhole) {
  const auto parsed = parse_catalog(embedded_catalog());
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
  EXPECT_GE(parsed->size(), 9U);
  const auto gemma = find_model("gemma-4-12b");
  ASSERT_TRUE(gemma.ok());
  EXPECT_EQ(gemma->file->size, 6975879296U);
  EXPECT_EQ(gemma->file->sha256, "93567e57a8fe10b23569b9d9ec38cd005deedf71e29477c421a4b83f418a538b");
  EXPECT_FALSE(gemma->shape.has_value());
  const auto folder = find_model("llama-3.2-3b-mlx");
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->file->file_name, "");
  EXPECT_EQ(folder->file->size, 0U);
}

TEST(Catalog, UnpinnedIsNotKnown) {
  const auto parsed = parse_catalog(kOne);
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
  const CatalogEntry& entry = parsed->front();
  EXPECT_EQ(entry.file->sha256, "");
  EXPECT_EQ(entry.file->size, 0U);
  EXPECT_EQ(entry.file->revision, "");
  EXPECT_EQ(entry.file->file_name, "f.gguf");
  EXPECT_EQ(entry.shape->name, "a");
  EXPECT_EQ(entry.shape->mix, Mix::kQ4_K_M);
}

TEST(Catalog, NamesWhatIsWrong) {
  EXPECT_NE(error_of(changed(R"("size":"unpinned")", R"("size":-1)")).find("models[0].file.size"), std::string::npos);
  EXPECT_NE(error_of(changed(R"("size":"unpinned")", R"("size":1.5)")), "");
  EXPECT_NE(error_of(changed(R"("sha256":"unpinned")", R"("sha256":"ABC")")).find("sha256"), std::string::npos);
  EXPECT_NE(error_of(changed("f.gguf", "../f.gguf")).find("plain file name"), std::string::npos);
  EXPECT_NE(error_of(changed("f.gguf", "..")), "");
  EXPECT_NE(error_of(changed("f.gguf", "f\\u0000.gguf")), "");
  EXPECT_NE(error_of(changed(R"("layers":4)", R"("layers":0)")).find("twin.layers"), std::string::npos);
  EXPECT_NE(error_of(changed(R"("width":512)", R"("width":500)")), "");
  EXPECT_NE(error_of(changed("Q4_K_M", "Q9")).find("twin.mix"), std::string::npos);
  EXPECT_NE(error_of(changed(R"("purpose")", R"("porpoise")")).find("porpoise"), std::string::npos);
  EXPECT_NE(error_of(R"({"models":[{"name":"a","title":"A","purpose":"p"}]})").find("neither"), std::string::npos);
  EXPECT_NE(error_of(R"({"models":{}})"), "");
  EXPECT_NE(error_of(""), "");
}

TEST(Catalog, SurvivesTruncationMutationAndDepth) {
  for (std::size_t length = 0; length < kOne.size(); ++length) {
    EXPECT_FALSE(parse_catalog(kOne.substr(0, length)).ok()) << length;
  }
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (int i = 0; i < 3000; ++i) {
    std::string text(kOne);
    for (auto n = random() % 5 + 1; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    const auto parsed = parse_catalog(text);
    if (parsed.ok()) {
      EXPECT_LE(parsed->size(), 1U);
    }
  }
  EXPECT_FALSE(parse_catalog(R"({"models":)" + std::string(100'000, '[')).ok());
}

}  // namespace
}  // namespace capbench::models
