// `capbench verify` as people run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "harness/verify/test_bundle.h"
#include "schema/bundle/bundle.h"

namespace capbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using verify::testing::real_bundle;

struct Outcome {
  int status = -1;
  std::string out;  // both streams
};

Outcome run_verify(const std::string& arguments) {
  FILE* const pipe = ::popen(("harness/cli/capbench verify " + arguments + " 2>&1").c_str(), "r");
  Outcome outcome;
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.out.append(buffer, n);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string written(const std::string& name, bundle::Bundle content, std::string_view signature = {}) {
  verify::testing::rename(content);
  const auto sealed = bundle::seal(content, signature);
  EXPECT_TRUE(sealed.ok());
  const fs::path path = fs::path(::testing::TempDir()) / name;
  EXPECT_TRUE(replace_file(path, sealed->archive));
  return path.string();
}

bundle::Bundle changed() {
  bundle::Bundle content = real_bundle();
  verify::testing::trial_of(content, "unlocked", 0).results[0].samples_ns[0] -= 1;
  return content;
}

TEST(Verify, SaysWhatItFound) {
  const Outcome good = run_verify(written("good.capbundle", real_bundle()));
  EXPECT_EQ(good.status, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("consistent: nothing in it contradicts itself"));
  const Outcome bad = run_verify(written("bad.capbundle", changed()));
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.out, HasSubstr("failed   samples"));
  EXPECT_THAT(bad.out, HasSubstr("FAILED: "));
}

TEST(Verify, LooksAtEveryFile) {
  const std::string files =
      written("good.capbundle", real_bundle()) + " " + written("bad.capbundle", changed()) + " /nowhere.capbundle";
  const Outcome text = run_verify(files);
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.out, HasSubstr("capbench: /nowhere.capbundle"));
  EXPECT_THAT(text.out, HasSubstr("2 bundles: 1 failed"));
  const Outcome json = run_verify(files + " --format json 2>/dev/null");
  const auto document = nlohmann::json::parse(json.out.substr(json.out.find("{\"bundles\"")));
  ASSERT_EQ(document.at("bundles").size(), 2U);
  EXPECT_EQ(document["bundles"][0]["verdict"], "passed");
  EXPECT_EQ(document["bundles"][1]["verdict"], "failed");
}

TEST(Verify, RefusesWhatIsNoBundle) {
  const fs::path path = fs::path(::testing::TempDir()) / "none.capbundle";
  ASSERT_TRUE(replace_file(path, std::string(5000, 'x')));
  const Outcome outcome = run_verify(path.string());
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr("not a capbench bundle"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  // One that is cut short is a bundle that fails, and says so once.
  const std::string whole = *read_file(written("whole.capbundle", real_bundle()));
  ASSERT_TRUE(replace_file(path, whole.substr(0, whole.size() / 2)));
  const Outcome cut = run_verify(path.string());
  EXPECT_EQ(cut.status, 1);
  EXPECT_THAT(cut.out, HasSubstr("failed   archive"));
  EXPECT_THAT(cut.out, Not(HasSubstr("skipped")));
}

TEST(Verify, RefusesASignatureThatIsNone) {
  const Outcome outcome =
      run_verify(written("signed.capbundle", real_bundle(),
                         "-----BEGIN SSH SIGNATURE-----\nVTJGc2RHVmtYMTg=\n-----END SSH SIGNATURE-----\n"));
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("failed   signature"));
}

TEST(Verify, WantsReadableFiles) {
  EXPECT_EQ(run_verify("").status, 2);
  const Outcome outcome = run_verify(written("good.capbundle", real_bundle()) + " --signers /nowhere");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr("/nowhere"));
}

// Made and checked with ssh-keygen where it is installed.
TEST(Verify, NamesTheSigner) {
  if (std::system("command -v ssh-keygen >/dev/null") != 0) GTEST_SKIP() << "ssh-keygen is not installed";
  bundle::Bundle content = real_bundle();
  verify::testing::rename(content);
  const auto sealed = bundle::seal(content);
  ASSERT_TRUE(sealed.ok());
  const fs::path folder = fs::path(::testing::TempDir()) / "keys";
  fs::remove_all(folder);
  fs::create_directories(folder);
  ASSERT_TRUE(replace_file(folder / "manifest", sealed->manifest));
  const std::string in_folder = "cd '" + folder.string() + "' && ";
  ASSERT_EQ(std::system((in_folder + "ssh-keygen -q -t ed25519 -N '' -C jo -f key && "
                                     "ssh-keygen -q -Y sign -f key -n capbench-bundle manifest 2>/dev/null && "
                                     "{ printf 'jo@example.org '; cat key.pub; } >signers && : >nobody")
                            .c_str()),
            0);
  const auto signature = read_file(folder / "manifest.sig");
  ASSERT_TRUE(signature.ok());
  const std::string file = written("signed.capbundle", real_bundle(), *signature);
  const Outcome alone = run_verify(file);
  EXPECT_EQ(alone.status, 0) << alone.out;
  EXPECT_THAT(alone.out, HasSubstr("passed   signature     by SHA256:"));
  const Outcome known = run_verify(file + " --signers '" + (folder / "signers").string() + "'");
  EXPECT_EQ(known.status, 0) << known.out;
  EXPECT_THAT(known.out, HasSubstr("passed   signer        jo@example.org"));
  const Outcome unknown = run_verify(file + " --signers '" + (folder / "nobody").string() + "'");
  EXPECT_EQ(unknown.status, 0) << unknown.out;
  EXPECT_THAT(unknown.out, HasSubstr("flagged  signer"));
  // Somebody else's content under it.
  const Outcome other = run_verify(written("other.capbundle", changed(), *signature));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.out, HasSubstr("failed   signature"));
}

}  // namespace
}  // namespace capbench
