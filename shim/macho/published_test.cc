// Libraries as published for macOS, in folders VERSION/ under the one that CAPBENCH_METAL_DIR names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "shim/macho/exports.h"
#include "shim/macho/fixups.h"
#include "shim/macho/image.h"
#include "shim/macho/signature.h"
#include "shim/macho/symbols.h"

namespace capbench::macho {
namespace {

TEST(Published, EveryLibraryIsRead) {
  const char* const folder = std::getenv("CAPBENCH_METAL_DIR");
  if (folder == nullptr) GTEST_SKIP() << "CAPBENCH_METAL_DIR names no folder with VERSION/libggml-metal.so";
  int libraries = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const Result<std::string> bytes = read_file(entry.path());
    ASSERT_TRUE(bytes) << to_string(bytes.error());
    if (!looks_like_macho(as_bytes(*bytes))) continue;
    const Result<std::vector<Slice>> slices = read_slices(as_bytes(*bytes));
    ASSERT_TRUE(slices) << entry.path() << ": " << to_string(slices.error());
    for (const Slice& slice : *slices) {
      ++libraries;
      const Result<Image> image = read_image(slice.bytes);
      ASSERT_TRUE(image) << entry.path() << ": " << to_string(image.error());
      EXPECT_FALSE(image->builds.empty()) << entry.path();
      const Result<std::vector<Fixup>> fixups = read_fixups(*image);
      ASSERT_TRUE(fixups) << entry.path() << ": " << to_string(fixups.error());
      EXPECT_FALSE(fixups->empty()) << entry.path();
      const Result<std::vector<Export>> exports = read_exports(*image);
      ASSERT_TRUE(exports) << entry.path() << ": " << to_string(exports.error());
      EXPECT_FALSE(exports->empty()) << entry.path();
      EXPECT_TRUE(read_initialisers(*image, *fixups)) << entry.path();
      const Result<std::vector<Symbol>> symbols = read_symbols(*image);
      ASSERT_TRUE(symbols) << entry.path() << ": " << to_string(symbols.error());
      // What the trie exports, the symbol table defines at the same address.
      for (const Symbol& symbol : *symbols) {
        const Export* exported = find_export(*exports, symbol.name);
        if (exported != nullptr && symbol.external() && symbol.defined()) {
          EXPECT_EQ(exported->address, symbol.value) << entry.path() << " " << symbol.name;
        }
      }
      const Result<std::optional<Signature>> signature = read_signature(*image);
      ASSERT_TRUE(signature) << entry.path() << ": " << to_string(signature.error());
    }
  }
  EXPECT_GT(libraries, 0) << folder;
}

}  // namespace
}  // namespace capbench::macho
