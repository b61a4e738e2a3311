#include "models/gguf_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "base/digest.h"
#include "base/file.h"

namespace capbench::models {
namespace {

std::filesystem::path fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::size_t entries(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

GgufHead two_tensors(std::uint64_t rows = 3) {
  auto head = lay_out_gguf({{"general.architecture", std::string("llama")}},
                           {{"a", {5, rows}, TensorType::kF32, 0, 0, 0}, {"b", {8}, TensorType::kF16, 0, 0, 0}});
  EXPECT_TRUE(head.ok());
  return *head;
}

TEST(GgufWriter, WritesAFileThatReadsBack) {
  const auto path = fresh_folder("writes") / "model.gguf";
  auto writer = GgufWriter::create(path, two_tensors());
  ASSERT_TRUE(writer.ok()) << to_string(writer.error());
  EXPECT_FALSE(std::filesystem::exists(path));
  // One piece spans both tensors and the padding between them.
  const std::string first(60, 'A');
  const std::string second(16, 'B');
  ASSERT_TRUE(writer->write(first.substr(0, 7)).ok());
  ASSERT_TRUE(writer->write(first.substr(7) + second).ok());
  const auto written = writer->finish();
  ASSERT_TRUE(written.ok()) << to_string(written.error());
  EXPECT_EQ(written->size, std::filesystem::file_size(path));
  EXPECT_EQ(written->sha256, *sha256_file(path));
  const auto gguf = read_gguf(path);
  ASSERT_TRUE(gguf.ok()) << to_string(gguf.error());
  EXPECT_EQ(gguf->tensors, two_tensors().layout.tensors);
  const std::string bytes = *read_file(path);
  EXPECT_EQ(bytes.substr(gguf->data_start, 60), first);
  EXPECT_EQ(bytes.substr(gguf->data_start + 60, 4), std::string(4, '\0'));
  EXPECT_EQ(bytes.substr(gguf->data_start + 64, 16), second);
  EXPECT_EQ(bytes.size() % 32, 0U);
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0644U);
  EXPECT_EQ(entries(path.parent_path()), 1U);
}

TEST(GgufWriter, AbandonedItLeavesTheOldFileAndNothingElse) {
  const auto path = fresh_folder("abandons") / "model.gguf";
  ASSERT_TRUE(replace_file(path, "old").ok());
  {
    auto writer = GgufWriter::create(path, two_tensors());
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write("some").ok());
    EXPECT_EQ(entries(path.parent_path()), 2U);
  }
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(entries(path.parent_path()), 1U);
}

TEST(GgufWriter, RefusesMissingAndExcessData) {
  const auto folder = fresh_folder("refuses");
  {
    auto writer = GgufWriter::create(folder / "short", two_tensors());
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(std::string(60, 'A')).ok());
    const auto finished = writer->finish();
    ASSERT_FALSE(finished.ok());
    EXPECT_NE(to_string(finished.error()).find("tensor 'b' are missing"), std::string::npos);
  }
  {
    auto writer = GgufWriter::create(folder / "long", two_tensors());
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(writer->write(std::string(77, 'A')).ok());
  }
  EXPECT_EQ(entries(folder), 0U);
}

TEST(GgufWriter, RefusesPlacesItCannotWriteTo) {
  const auto folder = fresh_folder("places");
  const auto absent = GgufWriter::create(folder / "absent" / "model.gguf", two_tensors());
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().what, (folder / "absent" / "model.gguf").string());
  EXPECT_FALSE(GgufWriter::create(folder, two_tensors()).ok());
  EXPECT_EQ(entries(folder), 0U);
}

// Runs `body` in a child that may write files of at most 64 KiB, after `body` says so; true if it returned true.
bool in_limited_child(const std::function<bool(const std::function<void()>& limit)>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const bool passed = body([] {
      const rlimit limit{64U << 10U, 64U << 10U};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    });
    ::_exit(passed ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool names_size_and_place(const Error& error, const std::filesystem::path& path, std::uint64_t size) {
  return error.kind == ErrorKind::kMachine && error.what == path.string() && !error.remedy.empty() &&
         error.cause.find("needs " + std::to_string(size) + " bytes") != std::string::npos;
}

TEST(GgufWriter, NoRoomIsOneErrorBeforeTheWork) {
  const auto path = fresh_folder("no-room") / "model.gguf";
  EXPECT_TRUE(in_limited_child([&](const auto& limit) {
    limit();
    const GgufHead head = two_tensors(1U << 20U);
    const auto writer = GgufWriter::create(path, head);
    return !writer.ok() && names_size_and_place(writer.error(), path, head.size);
  }));
  EXPECT_EQ(entries(path.parent_path()), 0U);
}

TEST(GgufWriter, RunningOutOfRoomIsOneErrorAndLeavesNothing) {
  const auto path = fresh_folder("runs-out") / "model.gguf";
  EXPECT_TRUE(in_limited_child([&](const auto& limit) {
    const GgufHead head = two_tensors(1U << 20U);
    auto writer = GgufWriter::create(path, head);
    if (!writer.ok()) return false;
    limit();
    const Status status = writer->write(std::string(1U << 20U, 'A'));
    const bool right = !status.ok() && names_size_and_place(status.error(), path, head.size);
    { const GgufWriter gone = std::move(*writer); }
    return right;
  }));
  EXPECT_EQ(entries(path.parent_path()), 0U);
}

TEST(Layout, RefusesWhatNoFileCanHold) {
  const auto tensor = [](std::string name, std::vector<std::uint64_t> shape, TensorType type) {
    return lay_out_gguf({}, {{std::move(name), std::move(shape), type, 0, 0, 0}});
  };
  EXPECT_TRUE(tensor("t", {32}, TensorType::kQ4_0).ok());
  EXPECT_FALSE(tensor("t", {33}, TensorType::kQ4_0).ok());
  EXPECT_FALSE(tensor("", {32}, TensorType::kQ4_0).ok());
  EXPECT_FALSE(tensor(std::string(64, 'n'), {32}, TensorType::kQ4_0).ok());
  EXPECT_FALSE(tensor("t", {}, TensorType::kF32).ok());
  EXPECT_FALSE(tensor("t", {0}, TensorType::kF32).ok());
  EXPECT_FALSE(tensor("t", {1, 1, 1, 1, 1}, TensorType::kF32).ok());
  EXPECT_FALSE(tensor("t", {std::uint64_t{1} << 40U, std::uint64_t{1} << 40U}, TensorType::kF32).ok());
  EXPECT_FALSE(lay_out_gguf({}, {{"t", {8}, TensorType::kF32, 0, 0, 0}, {"t", {8}, TensorType::kF32, 0, 0, 0}}).ok());
  EXPECT_FALSE(lay_out_gguf({{"k", true}, {"k", false}}, {}).ok());
  EXPECT_FALSE(lay_out_gguf({{"", true}}, {}).ok());
  EXPECT_FALSE(lay_out_gguf({{"general.alignment", std::uint32_t{48}}}, {}).ok());
  EXPECT_FALSE(lay_out_gguf({{"general.alignment", std::uint64_t{64}}}, {}).ok());
  const auto wide = lay_out_gguf({{"general.alignment", std::uint32_t{64}}}, {});
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->bytes.size() % 64, 0U);
}

}  // namespace
}  // namespace capbench::models
