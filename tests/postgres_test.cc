// The program over PostgreSQL: several servers share it, it may go away and come back, and a store moves there and
// back.
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "reports/server/testing/bundles.h"
#include "schema/bundle/exchange.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "tests/support/command.h"
#include "tests/support/served.h"

namespace capbench::testing {
namespace {

using schema::testing::Postgres;
using server::testing::numbered;

class OverPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Postgres::missing().empty()) GTEST_SKIP() << Postgres::missing();
    db_ = Postgres::get().fresh();
  }
  Sandbox sandbox_;
  std::string db_;
};

// The load that two servers over one file are tested with, on four: each bundle goes to all of them.
TEST_F(OverPostgres, FourServersAndAnIngestShareOneStore) {
  std::set<std::string> acknowledged;
  {
    std::vector<std::unique_ptr<Served>> servers;
    for (int i = 0; i < 4; ++i) {
      servers.push_back(std::make_unique<Served>(sandbox_, std::vector<std::string>{}, db_));
    }
    std::mutex mutex;
    std::vector<std::string> odd;
    std::atomic<int> added = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        httplib::Client client = client_of(*servers[static_cast<std::size_t>(i) % 4]);
        for (std::uint64_t n = 0; n < 25; ++n) {
          const bundle::Sealed bundle = numbered(i % 2 == 1 ? 24 - n : n);
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
      auto store = schema::Store::open(db_, schema::OpenMode::kCreate);
      for (std::uint64_t n = 100; n < 120; ++n) {
        const bundle::Sealed bundle = numbered(n);
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
    for (const auto& served : servers) {
      expect_all_there(*served, acknowledged);
      expect_verified(*served);
    }
    for (const auto& served : servers) EXPECT_EQ(WEXITSTATUS(served->end(SIGTERM)), 0) << served->err();
  }
  expect_sound(db_, acknowledged, true, true);
}

TEST_F(OverPostgres, WhatWasAcknowledgedSurvivesTheEndOfTheServersAndOfPostgres) {
  std::set<std::string> acknowledged;
  for (int round = 0; round < 2; ++round) {
    std::array<std::unique_ptr<Served>, 4> servers;
    std::vector<std::unique_ptr<Senders>> senders;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      servers.at(i) = std::make_unique<Served>(sandbox_, std::vector<std::string>{}, db_);
      const auto first = static_cast<std::uint64_t>(round) * 100'000 + i * 10'000;
      senders.push_back(std::make_unique<Senders>(*servers.at(i), 2, first, true));
    }
    const auto taken = [&] {
      std::size_t sum = 0;
      for (const auto& some : senders) {
        const std::lock_guard lock(some->mutex);
        sum += some->taken.size();
      }
      return sum;
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (taken() < 20) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const auto& served : servers) EXPECT_TRUE(WIFSIGNALED(served->end(SIGKILL)));
    for (const auto& some : senders) {
      some->join();
      EXPECT_TRUE(some->odd.empty()) << some->odd.front();
      acknowledged.insert(some->taken.begin(), some->taken.end());
    }
  }
  Served last(sandbox_, {}, db_);
  expect_all_there(last, acknowledged);
  expect_verified(last);
  EXPECT_EQ(WEXITSTATUS(last.end(SIGTERM)), 0);
  expect_sound(db_, acknowledged, false, true);
}

TEST_F(OverPostgres, EveryListReportAndPageIsAnswered) {
  Served served(sandbox_, {}, db_);
  httplib::Client client = client_of(served);
  for (std::uint64_t n = 0; n < 2; ++n) {
    ASSERT_EQ(client.Post(kSubmissions, numbered(n).archive, kBundleType)->status, 201);
  }
  expect_verified(served);
  const auto first = [&](const std::string& path, const std::string& name) {
    const std::string body = client.Get("/api/v1" + path)->body;
    const std::string key = "\"" + name + "\":\"";
    const std::size_t at = body.find(key);
    EXPECT_NE(at, std::string::npos) << path << body;
    return at == std::string::npos ? ""
                                   : body.substr(at + key.size(), body.find('"', at + key.size()) - at - key.size());
  };
  const std::string suite = first("/suites", "id");
  const std::string machine = first("/machines", "id");
  const std::string trial = first("/trials?limit=1", "id");
  const std::string environment = first("/trials?limit=1", "environment");
  const std::string run = first("/trials?limit=1", "run");
  const std::string bundle = first("/bundles", "id");
  for (const std::string& filter :
       {"suite=" + suite, "machine=" + machine, "environment=" + environment, "run=" + run, "bundle=" + bundle,
        "suite=" + suite + "&machine=" + machine, std::string("status=ok")}) {
    EXPECT_FALSE(first("/trials?limit=1&" + filter, "id").empty()) << filter;
  }
  for (const std::string& path :
       {"/api/v1/suites/" + suite, "/api/v1/trials/" + trial, "/api/v1/environments/" + environment,
        std::string("/api/v1/reports/speedup"), "/api/v1/reports/speedup?suite=" + suite,
        std::string("/api/v1/reports/capabilities"), "/api/v1/raw/" + first("/trials/" + trial, "stdout_sha256"),
        std::string("/"), std::string("/speedup.html"), std::string("/history.html"), std::string("/machines.html"),
        std::string("/submissions.html"), "/trial/" + trial + ".html"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path << answer->body << served.err();
  }
}

TEST_F(OverPostgres, AServerComesBackWhenPostgresDoes) {
  Served served(sandbox_, {}, db_);
  httplib::Client client = client_of(served);
  const bundle::Sealed before = numbered(1);
  ASSERT_EQ(client.Post(kSubmissions, before.archive, kBundleType)->status, 201);
  expect_verified(served);
  Postgres::get().stop(SIGINT);
  const bundle::Sealed after = numbered(2);
  const auto refused = client.Post(kSubmissions, after.archive, kBundleType);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503) << refused->body;
  EXPECT_EQ(refused->body.find("search_path"), std::string::npos) << refused->body;
  Postgres::get().start();
  EXPECT_EQ(client.Get(std::string(kSubmissions) + "/" + before.id)->status, 200);
  ASSERT_EQ(client.Post(kSubmissions, after.archive, kBundleType)->status, 201);
  expect_verified(served);
  EXPECT_EQ(WEXITSTATUS(served.end(SIGTERM)), 0);
  expect_sound(db_, {before.id, after.id}, true, true);
}

TEST_F(OverPostgres, AStoreMovesThereAndBackAndItsReportsStayTheSame) {
  const std::string file = (sandbox_.dir / "first.db").string();
  const std::string back = (sandbox_.dir / "back.db").string();
  {
    auto store = schema::Store::open(file, schema::OpenMode::kCreate);
    ASSERT_TRUE(store.ok());
    for (std::uint64_t n = 0; n < 3; ++n) {
      const bundle::Sealed bundle = numbered(n);
      ASSERT_TRUE(bundle::ingest(*store, *bundle::open_bundle(bundle.archive), bundle.archive, {}).ok());
    }
  }
  const CommandResult there = sandbox_.capbench({"copy", "--from", file, "--to", db_});
  ASSERT_EQ(there.exit_status, 0) << there.err;
  EXPECT_NE(there.out.find("\ntrial\t18\t18\t"), std::string::npos) << there.out;
  const CommandResult home = sandbox_.capbench({"copy", "--from", db_, "--to", back});
  ASSERT_EQ(home.exit_status, 0) << home.err;
  EXPECT_EQ(home.out, there.out);
  // Again: everything is there.
  const CommandResult again = sandbox_.capbench({"copy", "--from", back, "--to", db_});
  ASSERT_EQ(again.exit_status, 0) << again.err;
  EXPECT_NE(again.out.find("\ntrial\t18\t0\t"), std::string::npos) << again.out;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"report", "speedup", "--format", "json"},
                                             {"report", "capabilities", "--format", "json"},
                                             {"report", "compare", "--format", "json"},
                                             {"report", "noise", "--format", "json"},
                                             {"export", "--format", "jsonl"}}) {
    std::vector<std::string> of_file = command;
    std::vector<std::string> of_server = command;
    of_file.insert(of_file.end(), {"--db", file});
    of_server.insert(of_server.end(), {"--db", db_});
    const CommandResult one = sandbox_.capbench(of_file);
    const CommandResult other = sandbox_.capbench(of_server);
    EXPECT_EQ(one.exit_status, other.exit_status) << command[1] << other.err;
    EXPECT_EQ(one.out, other.out) << command[1];
  }
  // The same site, but for where and when it was read.
  const CommandResult site = sandbox_.capbench({"site", (sandbox_.dir / "site").string(), "--db", db_});
  EXPECT_EQ(site.exit_status, 0) << site.err;
}

TEST_F(OverPostgres, APasswordIsNeverPrinted) {
  const std::string address = Postgres::get().over_tcp("nobody", "s3cr3t");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"report", "speedup", "--db", address},
                                             {"check", "--baseline", "previous", "--db", address},
                                             {"export", "--db", address},
                                             {"site", (sandbox_.dir / "site").string(), "--db", address},
                                             {"serve", "--db", address},
                                             {"ingest", "x.capbundle", "--db", address},
                                             {"import", "x.json", "--db", address},
                                             {"exclude", "0123", "--why", "x", "--db", address},
                                             {"submit", "--dry-run", "--db", address},
                                             {"copy", "--from", address, "--to", "x.db"},
                                             {"copy", "--from", address, "--to", address}}) {
    const CommandResult result = sandbox_.capbench(command);
    EXPECT_EQ(result.exit_status, 2) << command[0] << result.err;
    EXPECT_EQ((result.out + result.err).find("s3cr3t"), std::string::npos) << command[0] << result.err;
  }
}

}  // namespace
}  // namespace capbench::testing
