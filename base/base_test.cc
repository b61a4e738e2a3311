#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/digest.h"
#include "base/file.h"
#include "base/result.h"

namespace capbench {
namespace {

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / name;
}

TEST(Error, IsOneLineWithCauseAndRemedy) {
  const Error error{ErrorKind::kMachine, "llama-bench", "exited\n1", "`scripts/setup`"};
  EXPECT_EQ(to_string(error), "llama-bench: exited 1; try: `scripts/setup`");
  EXPECT_EQ(exit_status(error.kind), 3);
  EXPECT_EQ(exit_status(ErrorKind::kFinding), 1);
  EXPECT_EQ(exit_status(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_status(ErrorKind::kInterrupted), 130);
}

TEST(Digest, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, IsKnownByItsDigits) {
  const std::string good = sha256("");
  EXPECT_TRUE(is_sha256(good));
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "0", 'E' + good.substr(1), ' ' + good.substr(1)}) {
    EXPECT_FALSE(is_sha256(bad)) << bad;
  }
}

TEST(Digest, OfAFileIsThatOfItsBytes) {
  const auto path = scratch("bytes");
  std::string bytes(3 << 20, 'x');
  ASSERT_TRUE(replace_file(path, bytes).ok());
  EXPECT_EQ(*sha256_file(path), sha256(bytes));
  EXPECT_FALSE(sha256_file(scratch("absent")).ok());
}

TEST(File, ReadsWhatWasWrittenAndRefusesTooMuch) {
  const auto path = scratch("whole");
  ASSERT_TRUE(replace_file(path, "one").ok());
  ASSERT_TRUE(replace_file(path, "two").ok());
  EXPECT_EQ(*read_file(path), "two");
  const auto refused = read_file(path, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(to_string(refused.error()).find("larger than 2 bytes"), std::string::npos);
}

TEST(File, NamesThePathInErrors) {
  const auto missing = read_file(scratch("absent"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(missing.error().what, scratch("absent").string());
  EXPECT_FALSE(read_file(::testing::TempDir()).ok());
}

TEST(File, AFullDiskLeavesTheOldFileAndNoLitter) {
  // /dev/full is no place for a temporary file, so an unwritable folder stands for the failing disk here;
  // the end-to-end tests mount a small file system.
  const auto folder = scratch("no-such-folder");
  EXPECT_FALSE(replace_file(folder / "file", "x").ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(File, ReadsFilesWithoutASize) {
  const auto text = read_file("/proc/self/status");
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("Name:"), std::string::npos);
}

}  // namespace
}  // namespace capbench
