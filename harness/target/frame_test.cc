#include "harness/target/frame.h"

#include <gtest/gtest.h>

#include <random>

#include "harness/target/file_scripts.h"
#include "harness/target/kept_run.h"

namespace capbench::target {
namespace {

const std::string kNonce = "0123456789abcdef0123456789abcdef";

std::string run_script(const std::string& text) {
  auto output = make_local_tools()->run({{"/bin/sh", "-c", text}, "", 0, "", {}}, {});
  return output ? output->out : std::string();
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(Frame, KeepsWhatTheScriptPrintedAndItsStatus) {
  const auto framed = read_frame(run_script(framed_script("printf 'a\\nb'; exit 3", kNonce)), kNonce);
  ASSERT_TRUE(framed);
  EXPECT_EQ(framed->text, "a\nb");
  EXPECT_EQ(framed->exit_status, 3);
  const auto silent = read_frame(run_script(framed_script("true", kNonce)), kNonce);
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->text, "");
}

TEST(Frame, IsFoundAmongTheToolsOwnWords) {
  const std::string inside = run_script(framed_script("echo x", kNonce));
  const auto framed = read_frame("[2026-01-01] INFO: connecting\nwarning\n" + inside + "\n\ndone\n", kNonce);
  ASSERT_TRUE(framed);
  EXPECT_EQ(framed->text, "x\n");
}

TEST(Frame, SurvivesCarriageReturns) {
  std::string text = run_script(framed_script("echo x; exit 4", kNonce));
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  const auto framed = read_frame(text, kNonce);
  ASSERT_TRUE(framed);
  EXPECT_EQ(framed->text, "x\r\n");
  EXPECT_EQ(framed->exit_status, 4);
}

// A tool that logs the command line shows the marks' parts, never a mark.
TEST(Frame, IsNotFoundInTheCommandItself) {
  EXPECT_FALSE(read_frame(framed_script("echo x", kNonce), kNonce));
}

TEST(Frame, CutAnywhereIsNoFrame) {
  const std::string whole = run_script(framed_script("echo some words", kNonce));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read_frame(whole.substr(0, length), kNonce)) << length;
  }
}

TEST(Frame, TakesAnyBytes) {
  std::mt19937 random(3);  // NOLINT: the same bytes every time
  for (int round = 0; round < 500; ++round) {
    std::string bytes = random_bytes(random, random() % 200);
    bytes.insert(random() % (bytes.size() + 1), "capbench:" + kNonce + ":begin\n");
    bytes.insert(random() % (bytes.size() + 1), "\ncapbench:" + kNonce + ":end:0\n");
    (void)read_frame(bytes, kNonce);
    (void)read_files(bytes);
    (void)read_blobs(bytes);
    (void)read_ready(bytes);
    (void)read_digest(bytes);
  }
}

class SentFiles : public ::testing::Test {
 protected:
  // What the target would print for a file with these bytes; `path` empty hides the base64 program.
  static std::string send(const std::string& bytes, const std::string& before = {}) {
    const std::string file = ::testing::TempDir() + "/sent";
    {
      FILE* out = std::fopen(file.c_str(), "wb");
      std::fwrite(bytes.data(), 1, bytes.size(), out);
      std::fclose(out);
    }
    return run_script(before + "cd " + ::testing::TempDir() + "\n" + std::string(send_file_function()) +
                      "send_file sent\nsend_file absent\n");
  }
};

TEST_F(SentFiles, ArriveAsTheyWere) {
  std::mt19937 random(5);  // NOLINT: the same bytes every time
  for (const unsigned size : {0U, 1U, 2U, 3U, 4U, 56U, 57U, 58U, 1000U, 100'000U}) {
    const std::string bytes = random_bytes(random, size);
    const auto files = read_files(send(bytes));
    ASSERT_TRUE(files) << size;
    ASSERT_EQ(files->size(), 1U);
    EXPECT_EQ(files->at("sent"), bytes) << size;
  }
}

TEST_F(SentFiles, ArriveWhereThereIsNoBase64) {
  const std::string hide = "command() { false; }\n";
  std::mt19937 random(6);  // NOLINT: the same bytes every time
  const std::string bytes = random_bytes(random, 1000);
  const std::string text = send(bytes, hide);
  EXPECT_NE(text.find(" hex "), std::string::npos);
  const auto files = read_files(text);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->at("sent"), bytes);
}

TEST_F(SentFiles, CutAnywhereAreRefused) {
  const std::string text = send("some bytes that matter, and a few more of them to fill a second line of base64");
  for (std::size_t length = text.find('\n'); length + 2 < text.size(); ++length) {
    EXPECT_FALSE(read_files(std::string_view(text).substr(0, length))) << length;
  }
}

TEST_F(SentFiles, WithALogLineInTheMiddleAreRefused) {
  std::string text = send(std::string(200, 'x'));
  text.insert(text.find('\n', text.find('\n') + 1) + 1, "[warning] something\n");
  EXPECT_FALSE(read_files(text));
}

TEST(LastLine, IsTheLastThatSaysSomething) {
  EXPECT_EQ(last_line("a\n  b \r\n\n \n"), "b");
  EXPECT_EQ(last_line(" \n"), "");
  EXPECT_EQ(last_line("one"), "one");
}

TEST(Nonce, IsNeverTheSame) {
  EXPECT_EQ(make_nonce().size(), 32U);
  EXPECT_NE(make_nonce(), make_nonce());
}

}  // namespace
}  // namespace capbench::target
