// `capbench serve` as a process: what was acknowledged survives whatever happens to it.
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/wait.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "harness/submit/signature.h"
#include "harness/submit/upload.h"
#include "harness/verify/test_bundle.h"
#include "reports/server/testing/bundles.h"
#include "schema/bundle/exchange.h"
#include "schema/bundle/test_attacks.h"
#include "schema/inbox.h"
#include "schema/store.h"
#include "tests/support/command.h"
#include "tests/support/served.h"

namespace capbench::testing {
namespace {

using nlohmann::json;
using server::testing::numbered;
using server::testing::numbered_bundle;
using server::testing::sealed;

namespace fs = std::filesystem;

constexpr std::uint64_t kMostMemory = 200'000'000;

// A published store may be of an older capbench, and is nobody's to change.
TEST(Serve, AnOlderStoreIsReadAndLeftAsItIs) {
  const Sandbox sandbox;
  const fs::path store = sandbox.dir / "old.db";
  fs::copy_file("reports/published/m1-ultra-2026-08/results.db", store);
  fs::permissions(store, fs::perms::owner_read);
  const std::string before = *read_file(store);
  {
    const Served served(sandbox, {"--read-only"}, store.string());
    httplib::Client client = client_of(served);
    const auto page = client.Get("/speedup.html");
    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 200);
    EXPECT_NE(page->body.find("tinyllama-1.1b"), std::string::npos);
  }
  EXPECT_EQ(*read_file(store), before);
  for (const char* more : {"-wal", "-shm", "-journal"}) EXPECT_FALSE(fs::exists(store.string() + more)) << more;
}

TEST(Serve, WhatWasAcknowledgedSurvivesKill9) {
  const Sandbox sandbox;
  std::set<std::string> acknowledged;
  for (int round = 0; round < 4; ++round) {
    Served served(sandbox);
    Senders senders(served, 4, static_cast<std::uint64_t>(round) * 100'000, true);
    // At once after an acknowledgement, of which there should be some.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (std::size_t taken = 0; taken < 5 + static_cast<std::size_t>(round);) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::lock_guard lock(senders.mutex);
      taken = senders.taken.size();
    }
    EXPECT_TRUE(WIFSIGNALED(served.end(SIGKILL)));
    senders.join();
    EXPECT_TRUE(senders.odd.empty()) << senders.odd.front();
    acknowledged.insert(senders.taken.begin(), senders.taken.end());
    Served again(sandbox);
    expect_all_there(again, acknowledged);
  }
  // The next one verifies what those that were killed had no time for.
  {
    Served last(sandbox);
    expect_verified(last);
    EXPECT_EQ(WEXITSTATUS(last.end(SIGTERM)), 0);
  }
  expect_sound(sandbox.dir / "results.db", acknowledged, false, true);
}

TEST(Serve, StoppingFinishesWhatWasAccepted) {
  for (const int number : {SIGTERM, SIGINT}) {
    const Sandbox sandbox;
    Served served(sandbox);
    Senders senders(served, 6, 0, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const auto start = std::chrono::steady_clock::now();
    const int status = served.end(number);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << served.err();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(25));
    senders.join();
    EXPECT_TRUE(senders.odd.empty()) << senders.odd.front();
    EXPECT_GT(senders.taken.size(), 3U);
    // Whoever got no answer was not accepted, and whoever got one is there.
    expect_sound(sandbox.dir / "results.db", senders.taken, true);
  }
}

TEST(Serve, TwoServersAndAnIngestShareOneStore) {
  const Sandbox sandbox;
  const fs::path db = sandbox.dir / "results.db";
  std::set<std::string> acknowledged;
  {
    Served one(sandbox);
    Served two(sandbox);
    std::mutex mutex;
    std::vector<std::string> odd;
    std::atomic<int> added = 0;
    std::vector<std::thread> threads;
    // Each bundle goes to both servers: it is new once.
    for (const Served* served : {&one, &two, &one, &two}) {
      const bool backwards = threads.size() % 2 == 1;
      threads.emplace_back([&, served, backwards] {
        httplib::Client client = client_of(*served);
        for (std::uint64_t i = 0; i < 25; ++i) {
          const bundle::Sealed bundle = numbered(backwards ? 24 - i : i);
          const auto answer = client.Post(kSubmissions, bundle.archive, kBundleType);
          const std::lock_guard lock(mutex);
          if (answer && (answer->status == 200 || answer->status == 201)) {
            acknowledged.insert(bundle.id);
            added += answer->status == 201 ? 1 : 0;
          } else {
            odd.push_back(answer ? answer->body : "no answer");
          }
        }
      });
    }
    threads.emplace_back([&] {
      auto store = schema::Store::open(db, schema::OpenMode::kCreate);
      for (std::uint64_t i = 100; i < 120; ++i) {
        const bundle::Sealed bundle = numbered(i);
        const auto opened = bundle::open_bundle(bundle.archive);
        const auto outcome = bundle::ingest(*store, *opened, bundle.archive, {});
        const std::lock_guard lock(mutex);
        if (outcome.ok()) {
          acknowledged.insert(bundle.id);
        } else {
          odd.push_back(to_string(outcome.error()));
        }
      }
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(odd.empty()) << odd.size() << " " << odd.front();
    EXPECT_EQ(added, 25);
    EXPECT_EQ(acknowledged.size(), 45U);
    // What came in through one is seen through the other.
    expect_all_there(one, acknowledged);
    expect_all_there(two, acknowledged);
    expect_verified(one);
    expect_verified(two);
    EXPECT_EQ(WEXITSTATUS(one.end(SIGTERM)), 0);
    EXPECT_EQ(WEXITSTATUS(two.end(SIGTERM)), 0);
  }
  expect_sound(db, acknowledged, true, true);
}

TEST(Serve, TheRealClientSubmitsInPartsAndWithdrawsByReceiptAndKey) {
  const Sandbox sandbox;
  const Served served(sandbox);
  const auto address = submit::parse_server(served.url());
  ASSERT_TRUE(address.ok());
  const bundle::Sealed large = numbered(1, 3'000'000);
  ASSERT_GT(large.archive.size(), 1U << 20U);
  submit::UploadOptions options;
  const auto first = submit::upload(*address, large.id, large.archive, options);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  EXPECT_FALSE(first->known);
  EXPECT_EQ(first->tier, "consistent");
  EXPECT_FALSE(first->checks.empty());
  const auto again = submit::upload(*address, large.id, large.archive, options);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->known);
  submit::WithdrawalProof proof;
  proof.receipt = first->receipt;
  const auto withdrawn = submit::withdraw(*address, large.id, proof, options);
  ASSERT_TRUE(withdrawn.ok()) << to_string(withdrawn.error());

  const fs::path key = sandbox.dir / "key";
  ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -f " + key.string()).c_str()),
            0);  // NOLINT: the test's own words
  const bundle::Bundle content = numbered_bundle(2);
  const bundle::Sealed plain = sealed(content);
  const auto signature = submit::sign(plain.manifest, key, submit::Asking::kNever);
  ASSERT_TRUE(signature.ok()) << to_string(signature.error());
  const bundle::Sealed signed_bundle = sealed(content, signature->signature);
  const auto taken = submit::upload(*address, signed_bundle.id, signed_bundle.archive, options);
  ASSERT_TRUE(taken.ok()) << to_string(taken.error());
  httplib::Client client = client_of(served);
  const json submission = json::parse(client.Get(std::string(kSubmissions) + "/" + signed_bundle.id)->body);
  EXPECT_EQ(submission["signer"], signature->signer.fingerprint);
  // A stranger's key does not do.
  const fs::path other = sandbox.dir / "other";
  ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -f " + other.string()).c_str()), 0);  // NOLINT
  submit::WithdrawalProof by_key;
  by_key.signature = submit::sign(submit::withdrawal_text(signed_bundle.id), other, submit::Asking::kNever)->signature;
  EXPECT_FALSE(submit::withdraw(*address, signed_bundle.id, by_key, options).ok());
  by_key.signature = submit::sign(submit::withdrawal_text(signed_bundle.id), key, submit::Asking::kNever)->signature;
  const auto gone = submit::withdraw(*address, signed_bundle.id, by_key, options);
  EXPECT_TRUE(gone.ok()) << to_string(gone.error());
  // A signature over something else is refused as a contradiction.
  const bundle::Sealed forged = sealed(numbered_bundle(3), signature->signature);
  EXPECT_FALSE(submit::upload(*address, forged.id, forged.archive, options).ok());
}

bundle::Sealed signed_with(const bundle::Bundle& content, const fs::path& key) {
  const auto made = submit::sign(sealed(content).manifest, key, submit::Asking::kNever);
  if (!made) throw std::runtime_error(to_string(made.error()));
  return sealed(content, made->signature);
}

// What the server says of its tier, when it says that one or gives up.
std::string tier_of(httplib::Client& client, const std::string& id, const std::string& expected) {
  std::string tier;
  for (int i = 0; i < 500 && tier != expected; ++i) {
    const json said = json::parse(client.Get(std::string(kSubmissions) + "/" + id)->body);
    tier = said["tier"].is_string() ? said["tier"].get<std::string>() : "";
    if (tier != expected) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return tier;
}

TEST(Serve, WhatAnotherSignerMeasuredElsewhereIsReproduced) {
  const Sandbox sandbox;
  for (const char* name : {"ana", "jo", "kim"}) {
    ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -f " + (sandbox.dir / name).string()).c_str()),
              0);  // NOLINT
  }
  using verify::testing::repeated_bundle;
  const bundle::Sealed mine = signed_with(repeated_bundle(4, "machine a", 5), sandbox.dir / "ana");
  const bundle::Sealed same_signer = signed_with(repeated_bundle(4, "machine c", 6), sandbox.dir / "ana");
  const bundle::Sealed wide = signed_with(repeated_bundle(4, "machine b", 7, true), sandbox.dir / "kim");
  const bundle::Sealed theirs = signed_with(repeated_bundle(4, "machine b", 8), sandbox.dir / "jo");
  {
    const Served served(sandbox);
    httplib::Client client = client_of(served);
    for (const bundle::Sealed* one : {&mine, &same_signer, &wide}) {
      const auto answer = client.Post(kSubmissions, one->archive, kBundleType);
      ASSERT_EQ(answer->status, 201) << answer->body;
    }
    expect_verified(served);
    // Neither the same signer nor wide intervals do.
    for (const bundle::Sealed* one : {&mine, &same_signer, &wide})
      EXPECT_EQ(tier_of(client, one->id, "consistent"), "consistent");
    ASSERT_EQ(client.Post(kSubmissions, theirs.archive, kBundleType)->status, 201);
    EXPECT_EQ(tier_of(client, theirs.id, "reproduced"), "reproduced");
    EXPECT_EQ(tier_of(client, mine.id, "reproduced"), "reproduced");
    EXPECT_EQ(tier_of(client, wide.id, "consistent"), "consistent");
    const std::string shown = client.Get(std::string(kSubmissions) + "/" + mine.id)->body;
    EXPECT_NE(shown.find(theirs.id), std::string::npos) << shown;
    // Without it, nobody has.
    submit::WithdrawalProof proof;
    proof.signature =
        submit::sign(submit::withdrawal_text(theirs.id), sandbox.dir / "jo", submit::Asking::kNever)->signature;
    ASSERT_TRUE(submit::withdraw(*submit::parse_server(served.url()), theirs.id, proof, {}).ok());
    EXPECT_EQ(tier_of(client, mine.id, "consistent"), "consistent");
  }
  // `ingest` does the same.
  for (const auto& [name, one] : {std::pair{"a", &mine}, std::pair{"b", &theirs}}) {
    std::ofstream(sandbox.dir / (std::string(name) + ".capbundle"), std::ios::binary) << one->archive;
  }
  const CommandResult taken =
      sandbox.capbench({"ingest", (sandbox.dir / "a.capbundle").string(), (sandbox.dir / "b.capbundle").string(),
                        "--db", (sandbox.dir / "other.db").string()});
  EXPECT_EQ(taken.exit_status, 0) << taken.err;
  EXPECT_NE(taken.err.find("bundle " + mine.id.substr(0, 12) + ": reproduced now"), std::string::npos) << taken.err;
  EXPECT_NE(taken.err.find("bundle " + theirs.id.substr(0, 12) + ": reproduced now"), std::string::npos) << taken.err;
}

// One member of a tar archive.
std::string tar_member(const std::string& name, const std::string& bytes) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  char size[16];
  std::snprintf(size, sizeof size, "%011zo", bytes.size());
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, size);
  put(136, "00000000000");
  put(156, "0");
  put(257, std::string("ustar\0"
                       "00",
                       8));
  put(148, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char check[16];
  std::snprintf(check, sizeof check, "%06o", sum);
  put(148, std::string(check) + '\0' + ' ');
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

std::string compressed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string archive_of(const std::string& name, const std::string& bytes) {
  const std::string manifest = R"({"bundle":1,"created_by":"x","members":[{"path":")" + name + R"(","sha256":")" +
                               sha256(bytes) + R"(","size":)" + std::to_string(bytes.size()) + R"(}],"replaced":[]})";
  return compressed(tar_member("manifest.json", manifest) + tar_member(name, bytes) + std::string(1024, '\0'));
}

TEST(Serve, HostileBundlesAreRefusedWithinTheMemoryItMayUse) {
  const Sandbox sandbox;
  Served served(sandbox);
  const std::string suite = "suites/" + std::string(64, 'a') + ".json";
  const std::string nested(1'000'000, '[');
  std::string elements = "[0";
  for (int i = 0; i < 2'000'000; ++i) elements += ",0";
  elements += "]";
  std::vector<std::string> hostile{
      archive_of(suite, nested),
      archive_of(suite, "{\"json\":\"x\",\"name\":" + nested),
      archive_of(suite, elements),
      archive_of(suite, "{\"id\":" + elements + "}"),
      archive_of("raw/" + sha256(std::string(16U << 20U, '\0')), std::string(16U << 20U, '\0')),
      archive_of("../../etc/passwd", "x"),
      archive_of("trials/" + std::string(64, 'b') + ".json", "{\"results\":[NaN]}"),
      compressed(std::string(31U << 20U, '\0')),
      compressed(std::string(100U << 20U, 'x')),
      std::string(8U << 20U, 'x'),
      compressed(std::string()),
  };
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<std::string> odd;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&, t] {
      httplib::Client client = client_of(served);
      for (std::size_t i = 0; i < hostile.size(); ++i) {
        const std::string& bytes = hostile[(i + static_cast<std::size_t>(t)) % hostile.size()];
        for (int attempt = 0; attempt < 100; ++attempt) {
          const auto answer = client.Post(kSubmissions, bytes, kBundleType);
          if (answer && answer->status == 503) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            continue;
          }
          const std::lock_guard lock(mutex);
          if (!answer || answer->status != 422) odd.push_back(answer ? std::to_string(answer->status) : "no answer");
          break;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(odd.empty()) << odd.size() << " " << odd.front();
  const std::uint64_t memory = served.most_memory();
  RecordProperty("most_memory", std::to_string(memory));
  EXPECT_LT(memory, kMostMemory);
  httplib::Client client = client_of(served);
  EXPECT_EQ(client.Post(kSubmissions, numbered(1).archive, kBundleType)->status, 201);
}

TEST(Serve, AThousandAttacksAreRefusedAndLeaveNothing) {
  const Sandbox sandbox;
  const std::vector<bundle::testing::Attack> attacks = bundle::testing::attacks();
  ASSERT_GE(attacks.size(), 1000U);
  {
    Served served(sandbox);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::vector<std::string> odd;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        httplib::Client client = client_of(served);
        for (std::size_t i = next++; i < attacks.size(); i = next++) {
          const auto answer = client.Post(kSubmissions, attacks[i].archive, kBundleType);
          const json said = answer ? json::parse(answer->body, nullptr, false) : json();
          const bool reason = said.is_object() && said.contains("error") && !said["error"].value("cause", "").empty() &&
                              !said["error"].value("remedy", "").empty();
          const std::lock_guard lock(mutex);
          if (!answer || answer->status != 422 || !reason) {
            odd.push_back(attacks[i].name + ": " + (answer ? std::to_string(answer->status) : "no answer"));
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(odd.empty()) << odd.size() << " " << odd.front();
    EXPECT_LT(served.most_memory(), kMostMemory);
    httplib::Client client = client_of(served);
    EXPECT_EQ(client.Post(kSubmissions, numbered(1).archive, kBundleType)->status, 201);
    expect_verified(served);
    EXPECT_EQ(WEXITSTATUS(served.end(SIGTERM)), 0);
  }
  expect_sound(sandbox.dir / "results.db", {numbered(1).id}, true, true);
}

TEST(Serve, EveryReplyForbidsScriptsInsideIt) {
  const Sandbox sandbox;
  const Served served(sandbox);
  httplib::Client client = client_of(served);
  for (const char* path :
       {"/", "/assets/style.css", "/nothing", "/api/v1/bundles", "/api/v1/trials?limit=x", "/metrics", "/healthz"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->get_header_value("Content-Security-Policy").find("default-src 'none'"), 0U) << path;
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer") << path;
    EXPECT_EQ(answer->get_header_value("Content-Security-Policy").find("unsafe"), std::string::npos) << path;
    EXPECT_EQ(answer->body.find("<script>"), std::string::npos) << path;
    EXPECT_EQ(answer->body.find("<style"), std::string::npos) << path;
    EXPECT_EQ(answer->body.find(" style="), std::string::npos) << path;
  }
}

TEST(Serve, SaysWhatIsWrongWithItsOptions) {
  const Sandbox sandbox;
  const std::string db = (sandbox.dir / "results.db").string();
  EXPECT_EQ(sandbox.capbench({"serve", "--db", db, "--listen", "nonsense"}).exit_status, 2);
  EXPECT_EQ(sandbox.capbench({"serve", "--db", db, "--require", "token"}).exit_status, 2);
  EXPECT_EQ(sandbox.capbench({"serve", "--db", db, "--require", "magic"}).exit_status, 2);
  EXPECT_EQ(sandbox.capbench({"serve", "--db", db, "--tokens", "/nowhere"}).exit_status, 2);
  EXPECT_EQ(sandbox.capbench({"serve", "--db", db, "--read-only"}).exit_status, 2);
  const Served served(sandbox);
  const CommandResult taken =
      sandbox.capbench({"serve", "--db", db, "--listen", "127.0.0.1:" + std::to_string(served.port())});
  EXPECT_EQ(taken.exit_status, 3);
  EXPECT_NE(taken.err.find("in use"), std::string::npos) << taken.err;
  const Served reading(sandbox, {"--read-only"});
  httplib::Client client = client_of(reading);
  EXPECT_EQ(client.Get("/api/v1/bundles")->status, 200);
  EXPECT_EQ(client.Post(kSubmissions, "x", kBundleType)->status, 403);
}

}  // namespace
}  // namespace capbench::testing
