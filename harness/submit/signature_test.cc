#include "harness/submit/signature.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>

#include "base/file.h"

namespace capbench::submit {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kManifest = R"({"bundle":1,"created_by":"capbench 0.1.0","members":[]})";

// Fresh copies of keys that were made once: making them takes longer than all the rest.
class Keys : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = new_folder();
    const std::string to = " -C jo -f " + made_.string() + "/";
    const std::string make = "ssh-keygen -q -t ed25519 -N ''" + to + "ed && ssh-keygen -q -t ecdsa -N ''" + to +
                             "ec && ssh-keygen -q -t rsa -b 2048 -N ''" + to +
                             "rsa && ssh-keygen -q -t ed25519 -a 4 -N 'a secret'" + to + "locked";
    ASSERT_EQ(std::system(make.c_str()), 0) << "these tests need ssh-keygen";  // NOLINT: the test's own words
  }
  static void TearDownTestSuite() { fs::remove_all(made_); }

  void SetUp() override {
    folder_ = new_folder();
    for (const auto& entry : fs::directory_iterator(made_)) fs::copy_file(entry, folder_ / entry.path().filename());
  }
  void TearDown() override { fs::remove_all(folder_); }

  static fs::path new_folder() {
    // Not the test's own folder, whose path may be longer than an agent's socket may have.
    std::string pattern = fs::temp_directory_path() / "capbench-keys-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    return pattern;
  }

  // Runs it with KEYS replaced by the folder.
  int shell(std::string command) const {
    for (std::size_t at = 0; (at = command.find("KEYS", at)) != std::string::npos;) {
      command.replace(at, 4, folder_.string());
    }
    const int status = std::system((command + " >/dev/null 2>&1").c_str());  // NOLINT: the test's own words
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  fs::path key(const std::string& name) const { return folder_ / name; }

  std::string signature(const std::string& name) const {
    auto made = sign(kManifest, key(name), Asking::kNever);
    if (!made) ADD_FAILURE() << to_string(made.error());
    return made ? made->signature : "";
  }

  static fs::path made_;
  fs::path folder_;
};

fs::path Keys::made_;

TEST_F(Keys, EveryKindOfKeySignsAndIsRecognised) {
  const std::pair<const char*, const char*> kinds[] = {{"ed", "ED25519"}, {"ec", "ECDSA"}, {"rsa", "RSA"}};
  for (const auto& [name, type] : kinds) {
    auto made = sign(kManifest, key(name), Asking::kNever);
    ASSERT_TRUE(made.ok()) << to_string(made.error());
    EXPECT_EQ(made->signer.key_type, type);
    EXPECT_THAT(made->signer.fingerprint, StartsWith("SHA256:"));
    EXPECT_EQ(made->signer.fingerprint.size(), 50U);
    auto checked = check_signature(kManifest, made->signature);
    ASSERT_TRUE(checked.ok()) << to_string(checked.error());
    EXPECT_EQ(*checked, made->signer);
    // The same fingerprint as people see elsewhere.
    EXPECT_EQ(
        shell("ssh-keygen -l -f KEYS/" + std::string(name) + ".pub | grep -F ' " + made->signer.fingerprint + " '"), 0);
  }
}

TEST_F(Keys, AnotherMessageIsRefused) {
  const std::string text = signature("ed");
  for (const std::string& message : {std::string(kManifest) + " ", std::string(), std::string(kManifest.substr(1))}) {
    auto checked = check_signature(message, text);
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().kind, ErrorKind::kFinding);
    EXPECT_THAT(checked.error().cause, HasSubstr("not over these bytes"));
  }
}

TEST_F(Keys, AnotherPurposeIsRefused) {
  ASSERT_EQ(shell("printf x > KEYS/m && ssh-keygen -Y sign -n file -f KEYS/ed KEYS/m"), 0);
  const std::string text = *read_file(key("m.sig"));
  auto checked = check_signature("x", text);
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(checked.error().cause, HasSubstr("namespace"));
}

TEST_F(Keys, AKeyWithAPassphraseDoesNotHang) {
  const auto start = std::chrono::steady_clock::now();
  auto made = sign(kManifest, key("locked"), Asking::kNever);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().cause, HasSubstr("passphrase"));
  EXPECT_THAT(made.error().remedy, HasSubstr("ssh-add"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

// A program that asks in a window must not be started either: there may be nobody before it.
TEST_F(Keys, NoWindowIsOpened) {
  ASSERT_EQ(shell("printf '#!/bin/sh\\ntouch KEYS/asked\\nsleep 60\\n' > KEYS/ask && chmod 700 KEYS/ask"), 0);
  ::setenv("SSH_ASKPASS", key("ask").c_str(), 1);
  ::setenv("DISPLAY", ":9", 1);
  EXPECT_FALSE(sign(kManifest, key("locked"), Asking::kNever).ok());
  ::unsetenv("SSH_ASKPASS");
  ::unsetenv("DISPLAY");
  EXPECT_FALSE(fs::exists(key("asked")));
}

TEST_F(Keys, APassphraseIsAskedForOnTheTerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const std::string name = ::ptsname(terminal);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const int side = ::open(name.c_str(), O_RDWR);  // becomes the controlling terminal
    ::dup2(side, STDIN_FILENO);
    auto made = sign(kManifest, folder_ / "locked", Asking::kOnTerminal);
    ::_exit(made && check_signature(kManifest, made->signature) ? 0 : 1);
  }
  std::string seen;
  char c = 0;
  while (seen.find("assphrase") == std::string::npos && ::read(terminal, &c, 1) == 1) seen += c;
  ASSERT_EQ(::write(terminal, "a secret\n", 9), 9);
  int status = 0;
  while (::read(terminal, &c, 1) == 1) {
  }
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << seen;
}

TEST_F(Keys, AnAgentSignsForAPublicKey) {
  // Nobody holds it.
  ASSERT_EQ(shell("mv KEYS/ed KEYS/away"), 0);
  ::unsetenv("SSH_AUTH_SOCK");
  auto none = sign(kManifest, key("ed.pub"), Asking::kNever);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().cause, HasSubstr("agent"));
  ASSERT_EQ(shell("ssh-agent -a KEYS/agent > KEYS/agent.sh && SSH_AUTH_SOCK=KEYS/agent ssh-add KEYS/away"), 0);
  ::setenv("SSH_AUTH_SOCK", key("agent").c_str(), 1);
  auto made = sign(kManifest, key("ed.pub"), Asking::kNever);
  ::unsetenv("SSH_AUTH_SOCK");
  shell(". KEYS/agent.sh && ssh-agent -k");
  ASSERT_TRUE(made.ok()) << to_string(made.error());
  EXPECT_EQ(made->signer.key_type, "ED25519");
}

TEST_F(Keys, WrongKeysAreNamed) {
  auto missing = sign(kManifest, key("nobody"), Asking::kNever);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(to_string(missing.error()), HasSubstr("nobody: No such file"));
  ASSERT_EQ(shell("echo hello > KEYS/text; chmod 600 KEYS/text"), 0);
  auto text = sign(kManifest, key("text"), Asking::kNever);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(to_string(text.error()), HasSubstr("not an SSH key"));
  EXPECT_FALSE(sign(kManifest, folder_, Asking::kNever).ok());
  ASSERT_EQ(shell("chmod 644 KEYS/ed"), 0);
  auto open = sign(kManifest, key("ed"), Asking::kNever);
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().remedy, HasSubstr("chmod 600"));
}

TEST_F(Keys, WithoutSshKeygenTheRemedySaysWhatToInstall) {
  const std::string text = signature("ed");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder_.c_str(), 1);
  auto checked = check_signature(kManifest, text);
  auto made = sign(kManifest, key("ed"), Asking::kNever);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().kind, ErrorKind::kMachine);
  EXPECT_THAT(to_string(checked.error()), HasSubstr("ssh-keygen: no such program on the PATH; try: install OpenSSH"));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kMachine);
}

TEST_F(Keys, KnownSignersHaveNames) {
  const fs::path allowed = key("allowed");
  const std::string line = *read_file(key("ed.pub"));
  ASSERT_TRUE(replace_file(allowed, "jo@example.org,jo@example.net namespaces=\"capbench-bundle\" " + line).ok());
  const std::string text = signature("ed");
  auto known = verify_signature(kManifest, text, allowed);
  ASSERT_TRUE(known.ok()) << to_string(known.error());
  EXPECT_EQ(known->identity, "jo@example.org");
  EXPECT_TRUE(verify_signature(kManifest, text, allowed, "jo@example.net").ok());
  auto other = verify_signature(kManifest, text, allowed, "ana@example.org");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::kFinding);
  auto stranger = verify_signature(kManifest, signature("ec"), allowed);
  ASSERT_FALSE(stranger.ok());
  EXPECT_THAT(stranger.error().cause, HasSubstr("not in"));
  ASSERT_TRUE(replace_file(allowed, "jo namespaces=\"git\" " + line).ok());
  EXPECT_FALSE(verify_signature(kManifest, text, allowed).ok());
  ASSERT_TRUE(replace_file(allowed, "jo valid-before=\"20200101\" " + line).ok());
  EXPECT_FALSE(verify_signature(kManifest, text, allowed).ok());
  EXPECT_FALSE(verify_signature(kManifest, text, key("nothing")).ok());
}

TEST_F(Keys, EveryCutAndEveryChangedByteIsRefused) {
  const std::string text = signature("ed");
  ASSERT_TRUE(check_signature_text(text).ok());
  std::string bare = text;
  while (bare.ends_with('\n')) bare.pop_back();
  for (std::size_t length = 0; length < bare.size(); ++length) {
    EXPECT_FALSE(check_signature_text(text.substr(0, length)).ok()) << length;
  }
  // What the form alone lets through, the program does not.
  std::mt19937 random(3);  // NOLINT: the same changes every time
  int reached = 0;
  for (int i = 0; i < 400; ++i) {
    std::string changed = bare;
    const std::size_t at = random() % changed.size();
    changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
    if (!check_signature_text(changed)) continue;
    if (++reached <= 20) {
      EXPECT_FALSE(check_signature(kManifest, changed).ok()) << changed;
    }
  }
  EXPECT_GT(reached, 0);
}

TEST(SignatureText, OnlyOneSignatureAndNothingElse) {
  const std::string begin = "-----BEGIN SSH SIGNATURE-----\n";
  const std::string end = "-----END SSH SIGNATURE-----\n";
  const std::string texts[] = {
      "",
      begin,
      begin + end,
      begin + "U1NIU0lH\n" + end,
      begin + "====\n" + end,
      begin + "-n other\n" + end,
      begin + "U1NIU0lH\n" + end + begin + "U1NIU0lH\n" + end,
      "x" + begin + "U1NIU0lH\n" + end,
      "-----BEGIN OPENSSH PRIVATE KEY-----\n",
      begin + std::string(kMostSignatureBytes, 'A') + "\n" + end,
      begin + std::string(4, '\0') + "\n" + end,
      // A length of four billion.
      begin + "U1NIU0lHAAAAAf////8AAAAA\n" + end,
  };
  for (const std::string& text : texts) {
    const Status status = check_signature_text(text);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().kind, ErrorKind::kFinding);
    EXPECT_FALSE(status.error().remedy.empty());
  }
}

TEST(Withdrawal, IsSignedInWordsThatNoManifestHas) {
  EXPECT_EQ(withdrawal_text("abc"), "withdraw abc");
}

}  // namespace
}  // namespace capbench::submit
