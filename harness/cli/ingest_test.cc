// `capbench ingest` as a user types it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "harness/verify/test_bundle.h"
#include "schema/bundle/bundle.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

class Ingest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "capbench-ingest-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The exit status; what it printed is in output_.
  int ingest(const std::string& arguments, const std::string& subcommand = "ingest") {
    const std::string command = "harness/cli/capbench " + subcommand + " " + arguments + " --db " + db() + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return -1;
    output_.clear();
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output_.append(buffer, n);
    const int status = ::pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string db() const { return (folder_ / "results.db").string(); }

  std::string write(const std::string& name, const std::string& bytes) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(replace_file(path, bytes).ok());
    return path.string();
  }

  static std::string sealed(const bundle::Bundle& bundle) { return bundle::seal(bundle).value().archive; }

  std::size_t trials() {
    auto store = schema::Store::open(db(), schema::OpenMode::kReadOnly);
    return store ? store->trials({})->size() : 0;
  }

  bool says(const std::string& part) const { return output_.find(part) != std::string::npos; }

  fs::path folder_;
  std::string output_;
};

TEST_F(Ingest, TakesAFolderAndTwiceChangesNothing) {
  const bundle::Bundle bundle = verify::testing::real_bundle();
  write("in/a/results.capbundle", sealed(bundle));
  write("in/notes.txt", "no bundle");
  const std::string in = (folder_ / "in").string();
  EXPECT_EQ(ingest(in), 0) << output_;
  EXPECT_TRUE(says("results.capbundle: " + std::to_string(bundle.trials.size()) + " trials added, 0 known, "))
      << output_;
  EXPECT_EQ(trials(), bundle.trials.size());
  EXPECT_EQ(ingest(in), 0) << output_;
  EXPECT_TRUE(says("known, nothing changed")) << output_;
  EXPECT_EQ(trials(), bundle.trials.size());
}

TEST_F(Ingest, OneThatIsRefusedDoesNotKeepTheOthersOut) {
  const bundle::Bundle bundle = verify::testing::real_bundle();
  bundle::Bundle forged = bundle;  // a sample that the raw output does not have
  forged.runs[0].seed += 1;
  forged.trials[0].results[0].samples_ns[0] += 1;
  verify::testing::rename(forged);
  write("in/1.capbundle", "no bundle at all");
  write("in/2.capbundle", sealed(forged));
  write("in/3.capbundle", sealed(bundle));
  EXPECT_EQ(ingest((folder_ / "in").string()), 1) << output_;
  EXPECT_TRUE(says("1.capbundle: the bundle: not a capbench bundle")) << output_;
  EXPECT_TRUE(says("2.capbundle: samples (trials/")) << output_;
  EXPECT_TRUE(says("2 bundles refused")) << output_;
  EXPECT_EQ(trials(), bundle.trials.size());
}

TEST_F(Ingest, ImportTakesBundlesToo) {
  const bundle::Bundle bundle = verify::testing::real_bundle();
  const std::string file = write("any name", sealed(bundle));
  const std::string count = std::to_string(bundle.trials.size());
  EXPECT_EQ(ingest("'" + file + "'", "import"), 0) << output_;
  EXPECT_TRUE(says(count + " trials added, 0 known; the table")) << output_;
  EXPECT_EQ(trials(), bundle.trials.size());
  EXPECT_EQ(ingest("'" + write("cut", sealed(bundle).substr(0, 200)) + "'", "import"), 1) << output_;
  EXPECT_EQ(trials(), bundle.trials.size());
}

TEST_F(Ingest, WhatIsNotThereIsAnError) {
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(ingest((folder_ / "empty").string()), 2) << output_;
  EXPECT_TRUE(says("no file in it ends in .capbundle")) << output_;
  EXPECT_EQ(ingest((folder_ / "absent.capbundle").string()), 2) << output_;
}

}  // namespace
}  // namespace capbench::cli
