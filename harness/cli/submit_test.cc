// `capbench submit` and `withdraw` as a user types them, up to a server's store.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "harness/verify/test_bundle.h"
#include "schema/bundle/bundle.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// `capbench serve` on a port of its own.
class Server {
 public:
  Server(const std::string& db, const std::vector<std::string>& more) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    std::vector<std::string> words{"harness/cli/capbench", "serve", "--db", db, "--listen", "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    char c = 0;
    while (::read(ends[0], &c, 1) == 1 && c != '\n') url_ += c;
    ::close(ends[0]);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  const std::string& url() const { return url_; }

 private:
  pid_t process_ = -1;
  std::string url_;
};

class Submit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "capbench-submit-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::setenv("XDG_DATA_HOME", (folder_ / "data").c_str(), 1);
    ::setenv("LOGNAME", "jolene", 1);
    ::unsetenv("CAPBENCH_TOKEN");
    bundle_ = verify::testing::real_bundle();
    schema::TrialRecord& trial = bundle_.trials.front();
    const std::string err = bundle_.raw.at(trial.stderr_sha256);
    verify::testing::set_raw(bundle_, trial, verify::testing::Stream::kErr,
                             "seen by jolene in /home/ana at 192.168.64.7\n" + err);
    verify::testing::rename(bundle_);
    fill_store();
  }
  void TearDown() override { fs::remove_all(folder_); }

  // As results that were measured here.
  void fill_store() {
    auto store = schema::Store::open(db(), schema::OpenMode::kCreate);
    ASSERT_TRUE(store.ok());
    const auto raw = [&](const std::string& digest) {
      return bundle_.raw.contains(digest) ? bundle_.raw.at(digest) : "";
    };
    for (const auto& suite : bundle_.suites) ASSERT_TRUE(store->put_suite(suite).ok());
    for (const auto& environment : bundle_.environments) ASSERT_TRUE(store->put_environment(environment).ok());
    for (const auto& closure : bundle_.closures) ASSERT_TRUE(store->put_closure(closure).ok());
    for (const auto& run : bundle_.runs) ASSERT_TRUE(store->put_run(run).ok());
    for (const auto& trial : bundle_.trials) {
      const Status status =
          store->put_trial(trial, raw(trial.stdout_sha256), raw(trial.stderr_sha256), raw(trial.probe_sha256));
      ASSERT_TRUE(status.ok()) << to_string(status.error());
    }
    for (const auto& check : bundle_.quality) {
      ASSERT_TRUE(store->put_quality(check, raw(check.stdout_sha256), raw(check.stderr_sha256)).ok());
    }
  }

  // The exit status; what it printed to stdout and stderr is in out_ and err_. Without a terminal.
  int capbench(const std::string& arguments) {
    const fs::path err = folder_ / "stderr";
    const std::string command = "harness/cli/capbench " + arguments + " </dev/null 2>" + err.string();
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return -1;
    out_.clear();
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out_.append(buffer.data(), n);
    const int status = ::pclose(pipe);
    err_ = *read_file(err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int submit(const std::string& arguments) { return capbench("submit --db " + db() + " " + arguments); }

  std::string db() const { return (folder_ / "results.db").string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
  bundle::Bundle bundle_;
  std::string out_;
  std::string err_;
};

TEST_F(Submit, ADryRunShowsEverythingAndDoesNothing) {
  EXPECT_EQ(submit("--dry-run"), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr(bundle::trial_member(bundle_.trials[0]))));
  EXPECT_THAT(out_, HasSubstr("consistent: nothing in it contradicts itself"));
  EXPECT_EQ(submit("--dry-run --list"), 0) << err_;
  for (const auto& trial : bundle_.trials) EXPECT_THAT(out_, HasSubstr(bundle::trial_member(trial)));
  EXPECT_THAT(out_, HasSubstr("home folder"));
  EXPECT_THAT(out_, HasSubstr("user name"));
  EXPECT_THAT(out_, Not(HasSubstr("jolene")));
  EXPECT_EQ(submit("--dry-run --format json"), 0) << err_;
  const json shown = json::parse(out_);
  EXPECT_EQ(shown["environments"][0], json::parse(bundle_.environments[0].json));
  EXPECT_FALSE(fs::exists(folder_ / "data"));
}

TEST_F(Submit, NothingLeavesUnasked) {
  EXPECT_EQ(submit("--out " + path("a.capbundle")), 2);
  EXPECT_THAT(err_, HasSubstr("--yes"));
  EXPECT_FALSE(fs::exists(path("a.capbundle")));
  EXPECT_EQ(submit("--yes"), 2);
  EXPECT_EQ(submit("--yes --out a --to http://127.0.0.1:1"), 2);
  EXPECT_EQ(submit("--yes --to ftp://x"), 2);
  EXPECT_EQ(submit("--yes --out " + path("a.capbundle") + " --run 00000000"), 2);
  EXPECT_THAT(err_, HasSubstr("no such run"));
}

TEST_F(Submit, AFileIsNotReplacedUnlessAskedFor) {
  const std::string file = path("a.capbundle");
  ASSERT_TRUE(replace_file(file, "mine").ok());
  EXPECT_EQ(submit("--yes --out " + file), 2);
  EXPECT_EQ(*read_file(file), "mine");
  EXPECT_EQ(submit("--yes --force --out " + file), 0) << err_;
  auto opened = bundle::open_bundle(*read_file(file));
  ASSERT_TRUE(opened.ok());
  EXPECT_THAT(out_, HasSubstr(opened->id));
  EXPECT_EQ(submit("--yes --out " + path("nowhere/a.capbundle")), 2);
}

TEST_F(Submit, TheFileHoldsNoDetailProvesItselfAndAddsNothingHere) {
  const std::string file = path("a.capbundle");
  ASSERT_EQ(submit("--yes --out " + file + " --run " + bundle_.runs[0].id.substr(0, 8)), 0) << err_;
  auto opened = bundle::open_bundle(*read_file(file));
  ASSERT_TRUE(opened.ok());
  for (const auto& [digest, bytes] : opened->bundle.raw) {
    for (const char* secret : {"jolene", "/home/ana", "192.168.64.7"}) EXPECT_THAT(bytes, Not(HasSubstr(secret)));
  }
  // The same results give the same bytes.
  ASSERT_EQ(submit("--yes --out " + path("b.capbundle")), 0) << err_;
  EXPECT_EQ(*read_file(file), *read_file(path("b.capbundle")));
  EXPECT_EQ(capbench("verify --format json " + file), 0) << out_ << err_;
  EXPECT_THAT(out_, HasSubstr("\"consistent\"")) << out_;
  EXPECT_EQ(capbench("ingest " + file + " --db " + db()), 0) << out_ << err_;
  auto store = schema::Store::open(db(), schema::OpenMode::kReadOnly);
  EXPECT_EQ(store->trials({})->size(), bundle_.trials.size());
}

TEST_F(Submit, ADetailInANameIsRefusedUntilItIsAllowed) {
  // A user who is called like the suite.
  const std::string name = bundle_.suites[0].name;
  ::setenv("LOGNAME", name.c_str(), 1);
  EXPECT_EQ(submit("--dry-run"), 1) << name;
  EXPECT_THAT(err_, HasSubstr("suites/"));
  EXPECT_THAT(err_, HasSubstr("--keep"));
  EXPECT_EQ(submit("--dry-run --keep " + name), 0) << err_;
}

TEST_F(Submit, FromTheStoreToAServerAndBack) {
  ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -C jolene -f " + path("key")).c_str()), 0);  // NOLINT
  const Server server(path("server.db"), {});
  ASSERT_THAT(server.url(), HasSubstr("http://127.0.0.1:"));
  ASSERT_EQ(submit("--yes --format json --sign " + path("key") + " --to " + server.url()), 0) << err_;
  const json sent = json::parse(out_);
  const std::string id = sent["bundle"];
  EXPECT_EQ(sent["tier"], "consistent");
  EXPECT_EQ(sent["known"], false);
  EXPECT_THAT(err_, HasSubstr("signed with SHA256:"));
  // The secret is in the user's file and nowhere else.
  const std::string kept = *read_file(folder_ / "data/capbench/receipts.json");
  const std::string receipt = json::parse(kept)["receipts"][0]["receipt"];
  EXPECT_THAT(out_ + err_, Not(HasSubstr(receipt)));
  struct stat info = {};
  ASSERT_EQ(::stat((folder_ / "data/capbench/receipts.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(schema::Store::open(path("server.db"), schema::OpenMode::kReadOnly)->trials({})->size(),
            bundle_.trials.size());
  // Again: known.
  ASSERT_EQ(submit("--yes --format json --sign " + path("key") + " --to " + server.url()), 0) << err_;
  EXPECT_EQ(json::parse(out_)["known"], true);
  // Another's key and another receipt withdraw nothing.
  ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -C ana -f " + path("other")).c_str()), 0);  // NOLINT
  EXPECT_EQ(capbench("withdraw " + id + " --to " + server.url() + " --sign " + path("other")), 1) << err_;
  EXPECT_EQ(capbench("withdraw " + id + " --to " + server.url() + " --receipt nothing"), 1) << err_;
  EXPECT_EQ(capbench("withdraw 0123 --to " + server.url()), 2) << err_;
  // The kept receipt does, by the first digits; a second time changes nothing.
  EXPECT_EQ(capbench("withdraw " + id.substr(0, 8) + " --why 'a backup ran' --to " + server.url()), 0) << err_;
  EXPECT_THAT(err_, HasSubstr(std::to_string(bundle_.trials.size())));
  EXPECT_EQ(capbench("withdraw " + id + " --to " + server.url() + " --sign " + path("key")), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("before; nothing changed"));
  EXPECT_NE(submit("--yes --sign " + path("key") + " --to " + server.url()), 0);
  EXPECT_THAT(err_, HasSubstr("withdrawn"));
  // What was measured here is here.
  EXPECT_EQ(schema::Store::open(db(), schema::OpenMode::kReadOnly)->trials({})->size(), bundle_.trials.size());
}

TEST_F(Submit, ABundleThatFailsItsChecksStaysHere) {
  // The store was edited: the record's sample is not the one that was printed, and its name follows it.
  bundle::Bundle changed = bundle_;
  changed.runs[0].seed += 1;
  changed.trials[0].results[0].samples_ns[0] -= 1'000'000;
  verify::testing::rename(changed);
  fs::remove(db());
  bundle_ = changed;
  fill_store();
  EXPECT_EQ(submit("--yes --out " + path("a.capbundle")), 1);
  EXPECT_THAT(err_, HasSubstr("does not prove itself"));
  EXPECT_THAT(err_, HasSubstr("samples"));
  EXPECT_FALSE(fs::exists(path("a.capbundle")));
  EXPECT_EQ(submit("--dry-run"), 1);
  EXPECT_EQ(submit("--yes --allow-failing --out " + path("a.capbundle")), 0) << err_;
  EXPECT_EQ(capbench("verify " + path("a.capbundle")), 1);
}

TEST_F(Submit, AStoreThatWasEditedIsNamedAndNotTheBundle) {
  ASSERT_EQ(std::system(("sqlite3 --version >/dev/null 2>&1 || exit 0; sqlite3 " + db() +  // NOLINT
                         " \"UPDATE result SET samples_ns = '[1,2]' WHERE ordinal = 0\"")
                            .c_str()),
            0);
  if (submit("--dry-run") == 0) GTEST_SKIP() << "sqlite3 is not installed";
  EXPECT_THAT(err_, HasSubstr("results.db"));
  EXPECT_THAT(err_, HasSubstr("restore it from a copy"));
  EXPECT_THAT(err_, Not(HasSubstr("capbench submit --out")));
}

TEST_F(Submit, AServerThatWantsATokenGetsIt) {
  // SHA-256 of "open-sesame".
  ASSERT_EQ(std::system(("printf open-sesame | sha256sum | cut -c1-64 > " + path("tokens")).c_str()), 0);  // NOLINT
  ASSERT_TRUE(replace_file(path("token"), "open-sesame\n").ok());
  const Server server(path("server.db"), {"--require", "token", "--tokens", path("tokens")});
  EXPECT_EQ(submit("--yes --to " + server.url()), 2);
  EXPECT_THAT(err_, HasSubstr("--token-file"));
  EXPECT_EQ(submit("--yes --to " + server.url() + " --token-file " + path("token")), 0) << err_;
  EXPECT_THAT(out_ + err_, Not(HasSubstr("open-sesame")));
  ::setenv("CAPBENCH_TOKEN", "open-sesame", 1);
  const std::string id = out_.substr(0, 64);
  EXPECT_EQ(capbench("withdraw " + id + " --to " + server.url()), 0) << err_;
}

}  // namespace
}  // namespace capbench::cli
