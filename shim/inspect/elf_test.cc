#include "shim/inspect/elf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/file.h"
#include "shim/inspect/questions.h"

namespace capbench::shim::inspect {
namespace {

std::string built(const std::string& name) {
  const Result<std::string> bytes = read_file("shim/inspect/testing/" + name);
  EXPECT_TRUE(bytes) << (bytes ? "" : to_string(bytes.error()));
  return bytes ? *bytes : "";
}

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Elf, DynamicProgram) {
  const std::string file = built("program");
  const Result<Elf> elf = read_elf(macho::as_bytes(file));
  ASSERT_TRUE(elf) << to_string(elf.error());
  EXPECT_TRUE(elf->kind == ElfKind::kPie || elf->kind == ElfKind::kExecutable);
  EXPECT_NE(elf->interpreter.find("ld"), std::string_view::npos);
  EXPECT_TRUE(has(elf->needed, "libc.so.6"));
  EXPECT_TRUE(has(elf->imports, "puts"));
  EXPECT_FALSE(has(elf->exports, "puts"));
}

TEST(Elf, StaticProgram) {
  const std::string file = built("static_program");
  const Result<Elf> elf = read_elf(macho::as_bytes(file));
  ASSERT_TRUE(elf) << to_string(elf.error());
  EXPECT_TRUE(elf->kind == ElfKind::kStatic || elf->kind == ElfKind::kStaticPie);
  EXPECT_TRUE(elf->interpreter.empty());
  EXPECT_TRUE(elf->needed.empty());
}

TEST(Elf, Library) {
  const std::string file = built("libasking.so");
  const Result<Elf> elf = read_elf(macho::as_bytes(file));
  ASSERT_TRUE(elf) << to_string(elf.error());
  EXPECT_EQ(elf->kind, ElfKind::kSharedLibrary);
  EXPECT_EQ(elf->soname, "libasking.so.1");
  EXPECT_TRUE(has(elf->run_paths, "/somewhere"));
  EXPECT_TRUE(has(elf->imports, "vkGetInstanceProcAddr"));
  EXPECT_TRUE(has(elf->exports, "ggml_backend_score"));
}

TEST(Elf, SymbolsAreFoundWithoutSectionHeaders) {
  std::string file = built("libasking.so");
  const Result<Elf> with = read_elf(macho::as_bytes(file));
  ASSERT_TRUE(with) << to_string(with.error());
  const std::vector<std::string> imports(with->imports.begin(), with->imports.end());
  file.replace(40, 8, 8, '\0');
  file.replace(60, 2, 2, '\0');
  const Result<Elf> without = read_elf(macho::as_bytes(file));
  ASSERT_TRUE(without) << to_string(without.error());
  EXPECT_EQ(std::vector<std::string>(without->imports.begin(), without->imports.end()), imports);
  EXPECT_EQ(without->exports.size(), with->exports.size());
}

TEST(Elf, Questions) {
  const std::string file = built("libasking.so");
  const Result<Elf> elf = read_elf(macho::as_bytes(file));
  ASSERT_TRUE(elf) << to_string(elf.error());
  std::vector<std::string> told;
  for (const Question& question : questions_of(*elf)) {
    told.push_back(question.name + " " + std::string(evidence_name(question.evidence)));
  }
  EXPECT_EQ(told, (std::vector<std::string>{
                      "ggml_backend_score exported symbol",
                      "VK_KHR_cooperative_matrix string",
                      "vkGetInstanceProcAddr imported symbol",
                      "vkGetPhysicalDeviceProperties2 string",
                  }));
}

TEST(Elf, SaysWhatIsWrong) {
  const auto cause = [](const std::string& file) {
    const Result<Elf> elf = read_elf(macho::as_bytes(file));
    return elf.ok() ? std::string("no error") : elf.error().cause;
  };
  std::string file = built("program");
  EXPECT_EQ(cause(file.substr(0, 20)), "is cut off after 20 bytes");
  EXPECT_EQ(cause(file.substr(0, 64)), "its program headers end beyond the file");
  file[4] = '\1';
  EXPECT_EQ(cause(file), "is not 64-bit and little-endian");
}

void read_everything(const std::string& file) {
  const Result<Elf> elf = read_elf(macho::as_bytes(file));
  if (elf) questions_of(*elf);
}

TEST(Elf, CutOffAnywhere) {
  for (const char* name : {"program", "libasking.so"}) {
    const std::string file = built(name);
    for (std::size_t size = 0; size < file.size(); ++size) read_everything(file.substr(0, size));
  }
}

TEST(Elf, Damage) {
  std::mt19937 random(20260102);
  for (const char* name : {"program", "libasking.so"}) {
    const std::string file = built(name);
    std::string changed = file;
    for (std::size_t at = 0; at < std::min<std::size_t>(file.size(), 2048); ++at) {
      for (const char value : {'\0', '\x01', '\x7f', '\xff'}) {
        changed[at] = value;
        read_everything(changed);
      }
      changed[at] = file[at];
    }
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < file.size(); ++i) {
      if (file[i] != '\0') places.push_back(i);
    }
    for (int round = 0; round < 2000; ++round) {
      changed = file;
      for (std::uint32_t hits = 1 + random() % 8; hits > 0; --hits) {
        changed[places[random() % places.size()]] = static_cast<char>(random() & 0xffU);
      }
      read_everything(changed);
    }
  }
}

}  // namespace
}  // namespace capbench::shim::inspect
