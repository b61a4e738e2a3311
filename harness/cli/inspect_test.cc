// `capbench inspect` as people run it: real files, exit statuses, and injection itself against the verdict.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "shim/macho/testing/fixtures.h"

namespace capbench {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

std::string quoted(const std::string& word) {
  return "'" + word + "'";
}

// Through the shell; words that a test makes hold no quotes.
Outcome run(const std::string& command) {
  const fs::path err = fs::path(::testing::TempDir()) / "stderr";
  FILE* const pipe = ::popen((command + " 2>" + quoted(err.string())).c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  Outcome outcome;
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.out.append(buffer, n);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const Result<std::string> text = read_file(err);
  if (text) outcome.err = *text;
  return outcome;
}

Outcome inspect(const std::string& arguments) {
  return run("harness/cli/capbench inspect " + arguments);
}

std::string written(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
  const fs::path path = fs::path(::testing::TempDir()) / name;
  EXPECT_TRUE(replace_file(path, bytes));
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return quoted(path.string());
}

void expect_error(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("capbench: ", 0), 0U) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("; try: "), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(Inspect, TheVerdictAgreesWithTheDynamicLinker) {
  const std::string shim = quoted((fs::current_path() / "shim/cpu/libcapshim_cpu.so").string());
  for (const auto& [name, works] : {std::pair("program", true), std::pair("static_program", false)}) {
    const std::string path = std::string("shim/inspect/testing/") + name;
    const Outcome verdict = inspect(path);
    EXPECT_EQ(verdict.status, works ? 0 : 1) << verdict.out;
    EXPECT_EQ(verdict.err, "");
    const Outcome injected = run("LD_PRELOAD=" + shim + " " + path);
    EXPECT_EQ(injected.out, "here\n");
    EXPECT_EQ(injected.err.find("capshim: ") != std::string::npos, works) << injected.err;
  }
}

TEST(Inspect, ASetuidCopyIsAFinding) {
  const Result<std::string> program = read_file("shim/inspect/testing/program");
  ASSERT_TRUE(program);
  const Outcome outcome = inspect(written("setuid", *program, 04755) + " --format json");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["injection"], "blocked");
  EXPECT_EQ(document["images"][0]["verdict"]["obstacles"][0]["code"], "setuid");
}

TEST(Inspect, MachOOnThisMachine) {
  const Outcome program = inspect("shim/macho/testing/program_arm64");
  EXPECT_EQ(program.status, 0) << program.err;
  EXPECT_NE(program.out.find("metal.max_threadgroup_memory"), std::string::npos) << program.out;
  EXPECT_NE(program.out.find("works, with DYLD_INSERT_LIBRARIES"), std::string::npos) << program.out;
  const Outcome library = inspect("shim/macho/testing/library_arm64.dylib --format json");
  EXPECT_EQ(library.status, 0) << library.err;
  EXPECT_EQ(nlohmann::json::parse(library.out)["injection"], "program-decides");

  macho::testing::SignatureParts parts;
  parts.flags = 0x10000;
  const std::string hardened =
      written("hardened", macho::testing::signed_again(macho::testing::fixture("program_arm64"), parts));
  const Outcome blocked = inspect(hardened);
  EXPECT_EQ(blocked.status, 1) << blocked.err;
  EXPECT_NE(blocked.out.find("[hardened-runtime]"), std::string::npos) << blocked.out;
}

TEST(Inspect, TheShimIsCompared) {
  const std::string arm64e =
      written("arm64e", macho::testing::with_subtype(macho::testing::fixture("program_arm64"), 0x80000002));
  EXPECT_EQ(inspect(arm64e).status, 1);
  const std::string thin = macho::testing::fixture("library_arm64.dylib");
  const std::string shim =
      written("shim.dylib", macho::testing::fat_file({thin, macho::testing::with_subtype(thin, 0x80000002)}));
  EXPECT_EQ(inspect(arm64e + " --shim " + shim).status, 0);
  expect_error(inspect(arm64e + " --shim " + arm64e), "is not a library");
}

TEST(Inspect, WhatCannotBeReadIsOneClearError) {
  expect_error(inspect("/nowhere"), "/nowhere");
  expect_error(inspect("."), "name a file, not a folder");
  expect_error(inspect("/dev/null"), "is not a regular file");
  expect_error(inspect(written("script", "#!/bin/sh\n")), "is a script, not a binary");
  expect_error(inspect(written("empty", "")), "is neither a Mach-O nor an ELF binary");
  const std::string thin = macho::testing::fixture("program_arm64");
  expect_error(inspect(written("cut", thin.substr(0, 1000))), "Mach-O");
  const std::string fat = macho::testing::fat_file({thin});
  expect_error(inspect(written("cut_fat", fat.substr(0, fat.size() - 10))), "slice 0 of the fat file");
  std::string hostile = thin;
  hostile.replace(16, 4, "\xff\xff\xff\xff");
  expect_error(inspect(written("hostile", hostile)), "says 4294967295 load commands");
  EXPECT_EQ(inspect("").status, 2);
  EXPECT_EQ(inspect("shim/macho/testing/program_arm64 --format yaml").status, 2);
}

TEST(Inspect, HelpHasExamples) {
  const Outcome help = inspect("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("capbench inspect libggml-metal.so --format json"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("Exit status: 0"), std::string::npos);
}

// A published Metal library: VERSION/libggml-metal.so, however deep, below the folder that CAPBENCH_METAL_DIR names.
TEST(Inspect, PublishedMetalLibraries) {
  const char* const folder = std::getenv("CAPBENCH_METAL_DIR");
  if (folder == nullptr) GTEST_SKIP() << "CAPBENCH_METAL_DIR names no folder with VERSION/libggml-metal.so";
  int libraries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "libggml-metal.so") continue;
    ++libraries;
    const Outcome outcome = inspect(quoted(entry.path().string()) + " --format json");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::vector<std::string> selectors;
    const nlohmann::json document = nlohmann::json::parse(outcome.out);
    for (const auto& question : document["images"][0]["questions"]) {
      if (question["evidence"] == "selector reference") selectors.push_back(question["name"]);
    }
    for (const char* wanted : {"supportsFamily:", "maxThreadgroupMemoryLength", "recommendedMaxWorkingSetSize",
                               "maxBufferLength", "hasUnifiedMemory"}) {
      EXPECT_EQ(std::count(selectors.begin(), selectors.end(), wanted), 1) << entry.path() << wanted;
    }
  }
  EXPECT_GT(libraries, 0);
}

}  // namespace
}  // namespace capbench
