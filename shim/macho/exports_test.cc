#include "shim/macho/exports.h"

#include <gtest/gtest.h>

#include "shim/macho/testing/fixtures.h"

namespace capbench::macho {
namespace {

using testing::fixture;

std::vector<std::string> names(const std::vector<Export>& exports) {
  std::vector<std::string> all;
  for (const Export& entry : exports) all.push_back(entry.name);
  return all;
}

TEST(Exports, OfATrie) {
  for (const char* name : {"library_arm64.dylib", "library_arm64_opcodes.dylib", "library_x86_64.dylib"}) {
    const std::string file = fixture(name);
    const Result<Image> image = read_image(as_bytes(file));
    ASSERT_TRUE(image) << to_string(image.error());
    const Result<std::vector<Export>> exports = read_exports(*image);
    ASSERT_TRUE(exports) << to_string(exports.error());
    EXPECT_EQ(names(*exports),
              (std::vector<std::string>{"_answer", "_inside_malloc", "_maybe", "_per_thread", "_release",
                                        "_shared_address", "_shared_definition", "_third_value"}));
    const Export* answer = find_export(*exports, "_answer");
    ASSERT_NE(answer, nullptr);
    const Section* text = image->find_section("__TEXT", "__text");
    ASSERT_NE(text, nullptr);
    EXPECT_TRUE(answer->address >= text->address && answer->address < text->address + text->size);
    EXPECT_TRUE(find_export(*exports, "_shared_definition")->weak);
    EXPECT_EQ(find_export(*exports, "_per_thread")->kind, ExportKind::kThreadLocal);
    EXPECT_EQ(find_export(*exports, "_hidden"), nullptr);
  }
}

TEST(Exports, OfTheSymbolTableWhereThereIsNoTrie) {
  const std::string file = fixture("library_arm64.dylib");
  Result<Image> image = read_image(as_bytes(file));
  ASSERT_TRUE(image) << to_string(image.error());
  const Result<std::vector<Export>> of_trie = read_exports(*image);
  image->exports_trie = {};
  const Result<std::vector<Export>> of_table = read_exports(*image);
  ASSERT_TRUE(of_trie && of_table);
  ASSERT_EQ(names(*of_trie), names(*of_table));
  for (std::size_t i = 0; i < of_trie->size(); ++i) EXPECT_EQ((*of_trie)[i].address, (*of_table)[i].address);
}

// Root with one edge "_a" to the node at 6.
std::string one_edge(const std::string& node) {
  return std::string("\0\1_a\0\6", 6) + node;
}

TEST(Exports, EveryKindOfEntry) {
  const auto read = [](const std::string& node) {
    const std::string file = testing::opcode_dylib({"", "", "", "", one_edge(node)});
    const Result<Image> image = read_image(as_bytes(file));
    EXPECT_TRUE(image) << to_string(image.error());
    Result<std::vector<Export>> exports = read_exports(*image);
    EXPECT_TRUE(exports && exports->size() == 1) << (exports ? "" : to_string(exports.error()));
    Export entry = exports && !exports->empty() ? exports->front() : Export{};
    // Its view ends with the file.
    EXPECT_TRUE(entry.reexport_name.empty() || entry.reexport_name == "_b");
    return entry;
  };
  Export entry = read(std::string("\3\0\x80\1\0", 5));
  EXPECT_EQ(entry.name, "_a");
  EXPECT_EQ(entry.address, 0x4080U);
  entry = read(std::string("\2\2\x7f\0", 4));
  EXPECT_EQ(entry.kind, ExportKind::kAbsolute);
  EXPECT_EQ(entry.address, 0x7fU);
  entry = read(std::string("\5\x08\1_b\0\0", 7));
  EXPECT_EQ(entry.kind, ExportKind::kReexport);
  EXPECT_EQ(entry.reexport_library, 1U);
  entry = read(std::string("\3\x14\x10\x20\0", 5));
  EXPECT_TRUE(entry.weak);
  EXPECT_EQ(entry.resolver, 0x4020U);
}

TEST(Exports, BrokenTriesAreErrors) {
  const auto cause = [](const std::string& trie) {
    const std::string file = testing::opcode_dylib({"", "", "", "", trie});
    const Result<Image> image = read_image(as_bytes(file));
    EXPECT_TRUE(image) << to_string(image.error());
    const Result<std::vector<Export>> exports = read_exports(*image);
    return exports.ok() ? std::string("no error") : exports.error().cause;
  };
  EXPECT_EQ(cause(std::string("\0\1_a\0\0", 6)), "a node is reached twice");
  EXPECT_EQ(cause(std::string("\0\1_a\0\x7f", 6)), "a node lies beyond the end");
  EXPECT_EQ(cause(std::string("\0\1_a", 4)), "a node is cut off");
  EXPECT_EQ(cause(one_edge(std::string("\x10\0", 2))), "a node is cut off");
  EXPECT_EQ(cause(one_edge(std::string("\1\0\0", 3))), "an export is cut off");
  EXPECT_EQ(cause(one_edge(std::string("\2\3\0\0", 4))), "an export of unknown kind");
  // A ladder of nodes, each behind an edge of 500 characters: the names would need quadratic memory.
  std::string ladder;
  while (ladder.size() < 100000) {
    const std::size_t next = ladder.size() + 2 + 501 + 3;
    ladder += std::string("\0\1", 2) + std::string(500, 'x') + '\0';
    ladder += static_cast<char>((next & 0x7fU) | 0x80U);
    ladder += static_cast<char>((next >> 7U & 0x7fU) | 0x80U);
    ladder += static_cast<char>(next >> 14U);
  }
  EXPECT_EQ(cause(ladder + std::string("\0\0", 2)), "the names are too long");
}

}  // namespace
}  // namespace capbench::macho
