// The server without sockets: every route, policy and refusal.
#include "reports/server/service.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <variant>

#include "base/digest.h"
#include "harness/verify/test_bundle.h"
#include "harness/verify/verify.h"
#include "reports/server/embedded.h"
#include "reports/server/http/head.h"
#include "reports/server/testing/bundles.h"
#include "schema/database.h"
#include "schema/inbox.h"
#include "schema/test_postgres.h"

namespace capbench::server {
namespace {

using nlohmann::json;
using testing::numbered;
using testing::numbered_bundle;
using testing::sealed;

constexpr std::string_view kBundleType = "Content-Type: application/vnd.capbench.bundle\r\n";

Result<Judgement> judge_for_real(const bundle::Opened& opened) {
  verify::Context context;
  context.now = "2030-01-01T00:00:00.000Z";
  if (!opened.signature.empty()) {
    // What signs for real is a program; here the signature is its own fingerprint.
    context.signature = {verify::SignatureAnswer::State::kGood, "SHA256:" + opened.signature, ""};
  }
  const verify::Verdict verdict = verify::verify(opened, context);
  Judgement judgement{verdict.signer, verdict.tier, verify::verdict_json(verdict), verdict.failed(), {}};
  for (const verify::Check& check : verdict.checks) {
    if (check.outcome == verify::Outcome::kFailed) judgement.failures.push_back(check.name + ": " + check.detail);
  }
  return judgement;
}

class ServiceTest : public ::testing::TestWithParam<schema::Backend> {
 protected:
  ServiceTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "capbench-service-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = pattern;
    options_.db = place_.path();
    // Parts of uploads to a store that is no file are kept there.
    ::setenv("XDG_DATA_HOME", folder_.c_str(), 1);
    options_.submissions = {0, 1};
    options_.reads = {0, 1};
    options_.judges.judge = judge_for_real;
    options_.judges.withdrawal_signer = [](std::string_view id, std::string_view signature) -> Result<std::string> {
      const std::string suffix = " withdraws " + std::string(id);
      const std::size_t at = signature.find(suffix);
      if (at == std::string_view::npos) {
        return Error{ErrorKind::kFinding, "the signature", "is of something else", "sign the withdrawal"};
      }
      return "SHA256:" + std::string(signature.substr(0, at));
    };
  }
  ~ServiceTest() override {
    service_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Service& service() {
    if (!service_) {
      auto opened = Service::open(options_);
      if (!opened) throw std::runtime_error(to_string(opened.error()));
      service_ = std::move(*opened);
    }
    return *service_;
  }
  void reopen() { service_.reset(); }

  http::Reply ask(const std::string& method, const std::string& target, const std::string& fields = "",
                  const std::string& body = "", const std::string& address = "192.0.2.1") {
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + fields;
    if (!body.empty() || method == "POST" || method == "PUT") {
      text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    auto parsed = http::parse_head(text + "\r\n", http::HeadLimits());
    if (const auto* refusal = std::get_if<http::Refusal>(&parsed)) {
      ADD_FAILURE() << to_string(refusal->error);
      return {};
    }
    http::Request request{std::get<http::Head>(std::move(parsed)), body, address};
    if (auto refusal = service().admit(request.head, address)) return std::move(*refusal);
    return service().handle(request);
  }
  http::Reply submit(const bundle::Sealed& sealed, const std::string& fields = "") {
    return ask("POST", "/api/v1/submissions", std::string(kBundleType) + fields, sealed.archive);
  }
  json get(const std::string& target, int status = 200) {
    const http::Reply reply = ask("GET", target);
    EXPECT_EQ(reply.status, status) << target << " " << (reply.body ? *reply.body : "");
    return reply.body ? json::parse(*reply.body, nullptr, false) : json();
  }
  static std::string field(const http::Reply& reply, std::string_view name) {
    for (const http::Field& field : reply.fields) {
      if (field.name == name) return field.value;
    }
    return "";
  }
  static std::string text(const http::Reply& reply) { return reply.body ? *reply.body : ""; }

  std::filesystem::path folder_;
  schema::testing::Place place_{GetParam()};
  Options options_;
  std::unique_ptr<Service> service_;
};

void expect_problem(const http::Reply& reply, int status) {
  EXPECT_EQ(reply.status, status) << (reply.body ? *reply.body : "");
  ASSERT_TRUE(reply.body);
  const json said = json::parse(*reply.body, nullptr, false);
  ASSERT_TRUE(said.is_object()) << *reply.body;
  for (const char* member : {"name", "cause", "remedy"}) EXPECT_NE(said["error"].value(member, ""), "") << *reply.body;
}

TEST_P(ServiceTest, ASubmissionIsTakenAndShownEverywhere) {
  const bundle::Sealed bundle = numbered(1);
  const http::Reply taken = submit(bundle);
  ASSERT_EQ(taken.status, 201) << text(taken);
  const json said = json::parse(text(taken));
  EXPECT_EQ(said["id"], bundle.id);
  EXPECT_EQ(said["tier"], "consistent");
  EXPECT_EQ(said["receipt"].get<std::string>().size(), 64U);
  EXPECT_EQ(said["trials"]["added"], 6);
  EXPECT_GT(said["checks"].size(), 15U);
  EXPECT_EQ(said["url"], "/api/v1/submissions/" + bundle.id);
  EXPECT_EQ(field(taken, "Location"), said["url"].get<std::string>());

  const http::Reply again = submit(bundle);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(json::parse(text(again))["known"], true);
  EXPECT_EQ(text(again).find("receipt"), std::string::npos);

  const json submission = get("/api/v1/submissions/" + bundle.id);
  EXPECT_EQ(submission["tier"], "consistent");
  EXPECT_EQ(submission["trials"], 6);
  EXPECT_EQ(submission["checks"].size(), said["checks"].size());
  EXPECT_EQ(submission.dump().find("receipt"), std::string::npos);
  const json bundles = get("/api/v1/bundles?tier=consistent");
  ASSERT_EQ(bundles["items"].size(), 1U);
  EXPECT_EQ(bundles["items"][0]["id"], bundle.id);
  EXPECT_EQ(get("/api/v1/bundles?tier=reproduced")["items"].size(), 0U);
  EXPECT_NE(text(ask("GET", "/submissions.html")).find(bundle.id), std::string::npos);
  EXPECT_EQ(text(ask("GET", "/api/v1/submissions/" + bundle.id + "/bundle")), bundle.archive);

  const json suites = get("/api/v1/suites");
  ASSERT_EQ(suites["items"].size(), 1U);
  const std::string suite = suites["items"][0]["id"];
  EXPECT_EQ(get("/api/v1/suites/" + suite)["runs"].size(), 1U);
  const json machines = get("/api/v1/machines");
  ASSERT_EQ(machines["items"].size(), 1U);
  const std::string environment = machines["items"][0]["environments"][0];
  EXPECT_TRUE(get("/api/v1/environments/" + environment)["facts"].is_object());
  const json trials = get("/api/v1/trials?suite=" + suite + "&mode=unlocked&bundle=" + bundle.id);
  ASSERT_EQ(trials["items"].size(), 2U);
  EXPECT_GT(trials["items"][0]["results"][0]["median_ts"], 0);
  const json trial = get("/api/v1/trials/" + trials["items"][0]["id"].get<std::string>());
  EXPECT_TRUE(trial["results"][0]["samples_ns"].is_array());
  EXPECT_FALSE(trial["capabilities"].empty());
  EXPECT_FALSE(trial["closure"].empty());
  EXPECT_EQ(trial["bundles"][0]["id"], bundle.id);
  const std::string digest = trial["stdout_sha256"];
  const http::Reply raw = ask("GET", "/api/v1/raw/" + digest);
  EXPECT_EQ(raw.status, 200);
  EXPECT_EQ(sha256(text(raw)), digest);
  EXPECT_EQ(raw.type, "application/octet-stream");
  EXPECT_NE(field(raw, "Content-Disposition").find("attachment"), std::string::npos);
  for (const char* kind : {"speedup", "ablation", "capabilities", "noise"}) {
    EXPECT_EQ(get(std::string("/api/v1/reports/") + kind)["report"], kind);
    EXPECT_EQ(ask("GET", std::string("/api/v1/reports/") + kind + "?format=csv&suite=" + suite).status, 200);
  }
  const std::string metrics = text(ask("GET", "/metrics"));
  EXPECT_NE(metrics.find("capbench_submissions_total{outcome=\"added\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("route=\"/api/v1/trials/{id}\""), std::string::npos);
  EXPECT_EQ(get("/healthz")["status"], "ok");
}

TEST_P(ServiceTest, RepliesAreNotSentAgainUntilTheStoreChanges) {
  const http::Reply before = ask("GET", "/api/v1/bundles");
  const std::string etag = field(before, "ETag");
  ASSERT_FALSE(etag.empty());
  for (const std::string& tag : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
    const http::Reply same = ask("GET", "/api/v1/bundles", "If-None-Match: " + tag + "\r\n");
    EXPECT_EQ(same.status, 304) << tag;
    EXPECT_EQ(same.body, nullptr);
    EXPECT_EQ(field(same, "ETag"), etag);
  }
  EXPECT_EQ(ask("GET", "/api/v1/bundles", "If-None-Match: \"x\", y, \"\r\n").status, 200);
  ASSERT_EQ(submit(numbered(1)).status, 201);
  const http::Reply after = ask("GET", "/api/v1/bundles", "If-None-Match: " + etag + "\r\n");
  EXPECT_EQ(after.status, 200);
  EXPECT_NE(field(after, "ETag"), etag);
  // A reply that came out the same is still the client's.
  const std::string style = field(ask("GET", "/assets/style.css"), "ETag");
  EXPECT_EQ(ask("GET", "/assets/style.css", "If-None-Match: " + style + "\r\n").status, 304);
}

TEST_P(ServiceTest, CompressesForWhoAsks) {
  const http::Reply plain = ask("GET", "/api/v1/openapi.json");
  const http::Reply small = ask("GET", "/api/v1/openapi.json", "Accept-Encoding: br, gzip;q=0.8\r\n");
  EXPECT_EQ(field(small, "Content-Encoding"), "gzip");
  EXPECT_EQ(field(small, "Vary"), "Accept-Encoding");
  EXPECT_LT(small.body->size() * 3, plain.body->size());
  std::string unpacked(plain.body->size() + 1, '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  std::string packed = *small.body;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_out = static_cast<uInt>(unpacked.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  unpacked.pop_back();
  EXPECT_EQ(unpacked, *plain.body);
  EXPECT_EQ(ask("GET", "/api/v1/openapi.json", "If-None-Match: " + field(small, "ETag") + "\r\n").status, 304);
  EXPECT_EQ(field(ask("GET", "/api/v1/openapi.json", "Accept-Encoding: gzip;q=0\r\n"), "Content-Encoding"), "");
}

TEST_P(ServiceTest, WhoeverHasTheReceiptWithdraws) {
  const bundle::Sealed bundle = numbered(1);
  const std::string path = "/api/v1/submissions/" + bundle.id;
  const std::string receipt = json::parse(text(submit(bundle)))["receipt"];
  const std::string trial = get("/api/v1/trials")["items"][0]["id"];
  const std::string raw = get("/api/v1/trials/" + trial)["stdout_sha256"];
  expect_problem(ask("DELETE", path), 401);
  expect_problem(ask("DELETE", path, "Capbench-Receipt: " + std::string(64, '0') + "\r\n"), 403);
  expect_problem(ask("DELETE", path, "Capbench-Receipt: " + sha256(receipt) + "\r\n"), 403);
  EXPECT_EQ(get(path)["withdrawn_at"], nullptr);
  const http::Reply done = ask("DELETE", path + "?why=wrong%20model", "Capbench-Receipt: " + receipt + "\r\n");
  EXPECT_EQ(done.status, 200) << text(done);
  EXPECT_EQ(json::parse(text(done))["excluded"], 6);
  const http::Reply twice = ask("DELETE", path, "Capbench-Receipt: " + receipt + "\r\n");
  EXPECT_EQ(twice.status, 200);
  EXPECT_EQ(json::parse(text(twice))["already"], true);
  EXPECT_NE(get(path)["why"].get<std::string>().find("wrong model"), std::string::npos);
  expect_problem(ask("GET", path + "/bundle"), 410);
  expect_problem(ask("GET", "/api/v1/raw/" + raw), 410);
  const json hidden = get("/api/v1/trials/" + trial);
  EXPECT_EQ(hidden["status"], "excluded");
  EXPECT_EQ(hidden["stdout_sha256"], nullptr);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 0U);
  EXPECT_EQ(get("/api/v1/bundles?withdrawn=true")["items"].size(), 1U);
  expect_problem(submit(bundle), 409);
  expect_problem(ask("DELETE", "/api/v1/submissions/" + std::string(64, 'a'), "Capbench-Receipt: x\r\n"), 404);
}

// Judges when it is let, so that bundles wait.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  Result<Judgement> judge(const bundle::Opened& opened) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    return judge_for_real(opened);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class InboxTest : public ServiceTest {
 protected:
  InboxTest() {
    options_.verify_wait = std::chrono::milliseconds(0);
    options_.judges.judge = [gate = gate_](const bundle::Opened& opened) { return gate->judge(opened); };
  }
  ~InboxTest() override { gate_->open(); }
  // What is said of it when it is not pending any more.
  json decided(const std::string& id) {
    for (int i = 0; i < 1000; ++i) {
      json said = get("/api/v1/submissions/" + id);
      if (said["state"] != "pending") return said;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "it is pending for ever";
    return {};
  }
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_P(InboxTest, WhatWasAcknowledgedIsPendingAndThenTaken) {
  const bundle::Sealed bundle = numbered(1);
  const http::Reply reply = submit(bundle);
  ASSERT_EQ(reply.status, 201) << text(reply);
  const json said = json::parse(text(reply));
  EXPECT_EQ(said["state"], "pending");
  EXPECT_EQ(said["receipt"].get<std::string>().size(), 64U);
  const json pending = get("/api/v1/submissions/" + bundle.id);
  EXPECT_EQ(pending["state"], "pending");
  EXPECT_EQ(pending["tier"], nullptr);
  EXPECT_EQ(pending["size"], bundle.archive.size());
  // Nothing of it is shown anywhere.
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 0U);
  EXPECT_EQ(get("/api/v1/trials")["items"].size(), 0U);
  expect_problem(ask("GET", "/api/v1/submissions/" + bundle.id + "/bundle"), 404);
  EXPECT_NE(text(ask("GET", "/metrics")).find("\ncapbench_inbox_bundles 1\n"), std::string::npos);
  const http::Reply again = submit(bundle);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(json::parse(text(again))["state"], "pending");
  EXPECT_EQ(text(again).find("receipt"), std::string::npos);
  gate_->open();
  const json taken = decided(bundle.id);
  EXPECT_EQ(taken["state"], "taken");
  EXPECT_EQ(taken["tier"], "consistent");
  EXPECT_EQ(taken["trials"], 6);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 1U);
  EXPECT_NE(text(ask("GET", "/metrics")).find("\ncapbench_inbox_bundles 0\n"), std::string::npos);
}

TEST_P(InboxTest, WhatIsRefusedLaterSaysWhy) {
  bundle::Bundle changed = numbered_bundle(1);
  changed.trials[0].results[0].samples_ns[0] -= 1'000'000;
  verify::testing::rename(changed);
  const bundle::Sealed bundle = sealed(changed);
  ASSERT_EQ(submit(bundle).status, 201);
  gate_->open();
  const json refused = decided(bundle.id);
  EXPECT_EQ(refused["state"], "refused");
  EXPECT_NE(refused["error"]["cause"].get<std::string>().find("samples"), std::string::npos) << refused;
  EXPECT_GT(refused["checks"].size(), 15U);
  EXPECT_EQ(get("/api/v1/trials")["items"].size(), 0U);
  EXPECT_NE(text(ask("GET", "/metrics")).find("capbench_submissions_total{outcome=\"refused\"} 1\n"),
            std::string::npos);
  // It is looked at again when it is sent again.
  EXPECT_EQ(submit(bundle).status, 201);
  EXPECT_EQ(decided(bundle.id)["state"], "refused");
}

TEST_P(InboxTest, APendingOneSurvivesARestart) {
  options_.verify_grace = std::chrono::milliseconds(0);
  std::set<std::string> ids;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const bundle::Sealed bundle = numbered(i);
    ASSERT_EQ(submit(bundle).status, 201);
    ids.insert(bundle.id);
  }
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate_->open();
  });
  reopen();  // ends with the one that it has in its hands
  later.join();
  {
    auto store = schema::Store::open(options_.db, schema::OpenMode::kCreate);
    ASSERT_TRUE(store.ok());
    EXPECT_GE(schema::Inbox(*store).counts()->pending, 3U);
  }
  for (const std::string& id : ids) EXPECT_EQ(decided(id)["state"], "taken") << id;
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 5U);
}

TEST_P(InboxTest, HasAnEnd) {
  options_.inbox_bundles = 2;
  EXPECT_EQ(submit(numbered(1)).status, 201);
  EXPECT_EQ(submit(numbered(2)).status, 201);
  const http::Reply full = submit(numbered(3));
  expect_problem(full, 503);
  EXPECT_FALSE(field(full, "Retry-After").empty());
  EXPECT_EQ(submit(numbered(1)).status, 200);  // what is there is there
  gate_->open();
  decided(numbered(1).id);
  decided(numbered(2).id);
  EXPECT_EQ(submit(numbered(3)).status, 201);
}

TEST_P(InboxTest, ABurstIsLookedAtWhenItIsOver) {
  options_.burst_gap = std::chrono::hours(1);
  options_.burst_most = std::chrono::hours(1);
  const bundle::Sealed first = numbered(1);
  const bundle::Sealed second = numbered(2);
  ASSERT_EQ(submit(first).status, 201);  // is in the verifier's hands
  ASSERT_EQ(submit(second).status, 201);
  gate_->open();
  EXPECT_EQ(decided(first.id)["state"], "taken");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(get("/api/v1/submissions/" + second.id)["state"], "pending");
  reopen();  // looks at what was left, whenever it came
  EXPECT_EQ(decided(second.id)["state"], "taken");
}

TEST_P(InboxTest, ALongBurstKeepsNobodyWaiting) {
  options_.burst_gap = std::chrono::hours(1);
  options_.burst_most = std::chrono::milliseconds(100);
  gate_->open();
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(submit(numbered(i)).status, 201);
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(decided(numbered(i).id)["state"], "taken");
}

TEST_P(InboxTest, APendingOneCanBeWithdrawn) {
  const bundle::Sealed bundle = numbered(1);
  const std::string path = "/api/v1/submissions/" + bundle.id;
  const std::string receipt = json::parse(text(submit(bundle)))["receipt"];
  expect_problem(ask("DELETE", path, "", "jo withdraws " + bundle.id), 409);
  expect_problem(ask("DELETE", path, "Capbench-Receipt: " + std::string(64, '0') + "\r\n"), 403);
  const http::Reply done = ask("DELETE", path + "?why=oops", "Capbench-Receipt: " + receipt + "\r\n");
  EXPECT_EQ(done.status, 200) << text(done);
  EXPECT_EQ(json::parse(text(ask("DELETE", path, "Capbench-Receipt: " + receipt + "\r\n")))["already"], true);
  EXPECT_EQ(get(path)["state"], "withdrawn");
  EXPECT_EQ(get(path)["why"], "oops");
  gate_->open();
  expect_problem(submit(bundle), 409);
  ASSERT_EQ(submit(numbered(2)).status, 201);
  decided(numbered(2).id);
  EXPECT_EQ(get(path)["state"], "withdrawn");
  EXPECT_EQ(get("/api/v1/bundles?withdrawn=true")["items"].size(), 1U);
}

// A full disk, or a PostgreSQL that is away: what is acknowledged waits, and so does whoever looks at it.
TEST_P(ServiceTest, AStoreThatTakesNothingIsNotAskedWithoutEnd) {
  std::atomic<int> judged = 0;
  options_.judges.judge = [&](const bundle::Opened&) -> Result<Judgement> {
    ++judged;
    return Judgement{"", "self-reported", "{\"checks\":[]}", false, {}};
  };
  options_.verify_wait = std::chrono::milliseconds(0);
  options_.verify_grace = std::chrono::milliseconds(0);
  service();
  auto database = schema::Database::open(options_.db, schema::Database::Access::kWrite, std::chrono::seconds(1));
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->exec("ALTER TABLE bundle_trial RENAME TO elsewhere").ok());
  for (std::uint64_t n = 0; n < 5; ++n) EXPECT_EQ(submit(numbered(n)).status, 201);
  // A busy machine may come to the first one late; from then on the time is counted.
  const auto begun_by = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (judged < 1 && std::chrono::steady_clock::now() < begun_by) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(judged, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1'200));
  EXPECT_LE(judged, 20);  // all of them once, and again after half a second
  EXPECT_EQ(get("/api/v1/submissions/" + numbered(4).id)["state"], "pending");
  ASSERT_TRUE(database->exec("ALTER TABLE elsewhere RENAME TO bundle_trial").ok());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (std::uint64_t n = 0; n < 5; ++n) {
    while (get("/api/v1/submissions/" + numbered(n).id)["state"] != "taken") {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

TEST_P(InboxTest, AReceiptOfTheClientsOwnIsNotLost) {
  const bundle::Sealed bundle = numbered(1);
  const std::string mine = "Capbench-Receipt-SHA256: " + sha256("secret") + "\r\n";
  const std::string others = "Capbench-Receipt-SHA256: " + sha256("other") + "\r\n";
  expect_problem(submit(bundle, "Capbench-Receipt-SHA256: secret\r\n"), 400);
  const json said = json::parse(text(submit(bundle, mine)));
  EXPECT_EQ(said["yours"], true);
  EXPECT_FALSE(said.contains("receipt"));
  const std::string path = "/api/v1/submissions/" + bundle.id;
  const auto ask_with = [&](const std::string& fields) { return json::parse(text(ask("GET", path, fields))); };
  for (const char* state : {"pending", "taken"}) {
    EXPECT_EQ(ask_with("")["state"], state);
    EXPECT_EQ(json::parse(text(submit(bundle, mine)))["yours"], true);
    EXPECT_EQ(json::parse(text(submit(bundle, others)))["yours"], false);
    EXPECT_FALSE(json::parse(text(submit(bundle))).contains("yours"));
    EXPECT_EQ(ask_with(mine)["yours"], true);
    EXPECT_EQ(ask_with(others)["yours"], false);
    EXPECT_FALSE(ask_with("").contains("yours"));
    gate_->open();
    decided(bundle.id);
  }
  EXPECT_EQ(ask("DELETE", path, "Capbench-Receipt: secret\r\n").status, 200);
}

TEST_P(ServiceTest, NoOutputOfAWithdrawnBundleIsGivenOut) {
  bundle::Bundle content = numbered_bundle(1);
  for (schema::TrialRecord& trial : content.trials) {
    const std::string probe = "{\"probe\":\"" + trial.arm + "\"}";
    trial.probe_sha256 = sha256(probe);
    content.raw[trial.probe_sha256] = probe;
  }
  options_.judges.judge = [](const bundle::Opened&) -> Result<Judgement> {
    return Judgement{"", "self-reported", "{\"checks\":[]}", false, {}};
  };
  verify::testing::rename(content);
  const std::string receipt = json::parse(text(submit(sealed(content))))["receipt"];
  for (const auto& [digest, bytes] : content.raw) EXPECT_EQ(ask("GET", "/api/v1/raw/" + digest).status, 200) << digest;
  const std::string id = sealed(content).id;
  ASSERT_EQ(ask("DELETE", "/api/v1/submissions/" + id, "Capbench-Receipt: " + receipt + "\r\n").status, 200);
  for (const auto& [digest, bytes] : content.raw) expect_problem(ask("GET", "/api/v1/raw/" + digest), 410);
}

TEST_P(ServiceTest, TheSignerWithdraws) {
  const bundle::Sealed bundle = sealed(numbered_bundle(1), "jo");
  const json said = json::parse(text(submit(bundle)));
  EXPECT_EQ(said["signer"], "SHA256:jo") << said.dump();
  const std::string path = "/api/v1/submissions/" + bundle.id;
  expect_problem(ask("DELETE", path, "", "someone withdraws " + bundle.id), 403);
  expect_problem(ask("DELETE", path, "", "jo withdraws " + std::string(64, 'a')), 403);
  expect_problem(ask("DELETE", path, "", std::string(17U << 10U, 'x')), 413);
  EXPECT_EQ(ask("DELETE", path, "Content-Type: text/plain\r\n", "jo withdraws " + bundle.id).status, 200);
}

TEST_P(ServiceTest, BundlesComeInParts) {
  const bundle::Sealed bundle = numbered(1, 100'000);
  const std::string path = "/api/v1/uploads/" + bundle.id;
  const std::string& bytes = bundle.archive;
  const std::string total = "/" + std::to_string(bytes.size());
  const auto put = [&](std::size_t from, std::size_t to) {
    return ask("PUT", path,
               "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(to - 1) + total + "\r\n",
               bytes.substr(from, to - from));
  };
  EXPECT_EQ(ask("HEAD", path).status, 404);
  EXPECT_EQ(put(0, 10'000).status, 204);
  EXPECT_EQ(field(ask("HEAD", path), "Upload-Offset"), "10000");
  const http::Reply gap = put(20'000, 30'000);
  expect_problem(gap, 409);
  EXPECT_EQ(field(gap, "Upload-Offset"), "10000");
  // What was sent already is taken again, and a part that overlaps goes on behind it.
  EXPECT_EQ(field(put(0, 10'000), "Upload-Offset"), "10000");
  EXPECT_EQ(field(put(5'000, 20'000), "Upload-Offset"), "20000");
  const http::Reply early = ask("POST", "/api/v1/submissions?upload=" + bundle.id);
  expect_problem(early, 409);
  EXPECT_EQ(field(early, "Upload-Offset"), "20000");
  reopen();  // a server that was restarted goes on
  EXPECT_EQ(put(20'000, bytes.size()).status, 204);
  const http::Reply taken = ask("POST", "/api/v1/submissions?upload=" + bundle.id);
  EXPECT_EQ(taken.status, 201) << text(taken);
  EXPECT_EQ(ask("HEAD", path).status, 404);
  expect_problem(ask("POST", "/api/v1/submissions?upload=" + bundle.id), 404);
  EXPECT_EQ(text(ask("GET", "/api/v1/submissions/" + bundle.id + "/bundle")), bytes);
}

TEST_P(ServiceTest, AnUploadIsWhatItsNameSays) {
  const bundle::Sealed bundle = numbered(1);
  const std::string other(64, 'a');
  const std::string range = "Content-Range: bytes 0-" + std::to_string(bundle.archive.size() - 1) + "/" +
                            std::to_string(bundle.archive.size()) + "\r\n";
  EXPECT_EQ(ask("PUT", "/api/v1/uploads/" + other, range, bundle.archive).status, 204);
  expect_problem(ask("POST", "/api/v1/submissions?upload=" + other), 422);
  EXPECT_EQ(ask("HEAD", "/api/v1/uploads/" + other).status, 404);
  for (const char* name :
       {"..", "%2e%2e%2fresults.db", "x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaA"}) {
    const http::Reply reply = ask("PUT", std::string("/api/v1/uploads/") + name, range, bundle.archive);
    EXPECT_TRUE(reply.status == 400 || reply.status == 404) << name << " " << reply.status;
  }
  expect_problem(ask("PUT", "/api/v1/uploads/" + other, "", "x"), 400);
  for (const char* wrong :
       {"bytes 0-1/1", "bytes 1-0/5", "bytes -1-0/5", "bytes 0-0", "0-0/1", "bytes 0-0/*", "bytes 0-5/10"}) {
    expect_problem(ask("PUT", "/api/v1/uploads/" + other, std::string("Content-Range: ") + wrong + "\r\n", "x"), 400);
  }
  expect_problem(ask("PUT", "/api/v1/uploads/" + other, "Content-Range: bytes 0-0/999999999999\r\n", "x"), 413);
  expect_problem(
      ask("PUT", "/api/v1/uploads/" + other, "Content-Range: bytes 0-1048576/2000000\r\n", std::string(1048577, 'x')),
      413);
  expect_problem(ask("POST", "/api/v1/submissions?upload=" + other, std::string(kBundleType), "x"), 400);
}

TEST_P(ServiceTest, RefusesWhatIsNoBundle) {
  const std::string path = "/api/v1/submissions";
  expect_problem(ask("POST", path), 422);
  expect_problem(ask("POST", path, std::string(kBundleType), "not a bundle"), 422);
  expect_problem(ask("POST", path, "Content-Type: multipart/form-data; boundary=x\r\n", "x"), 415);
  expect_problem(ask("POST", path, "Content-Type: application/json\r\n", "{}"), 415);
  expect_problem(ask("POST", path, std::string(kBundleType), std::string((64U << 20U) + 1, 'x')), 413);
  const std::string archive = numbered(1).archive;
  for (std::size_t length = 1; length < archive.size(); length += archive.size() / 40) {
    expect_problem(ask("POST", path, std::string(kBundleType), archive.substr(0, length)), 422);
  }
  // A bomb: the frame says how large it is, and it is not unpacked.
  const std::string zeros(200U << 20U, '\0');
  std::string bomb(ZSTD_compressBound(zeros.size()), '\0');
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 1));
  expect_problem(ask("POST", path, std::string(kBundleType), bomb), 422);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 0U);
  EXPECT_EQ(get("/api/v1/trials")["items"].size(), 0U);
}

TEST_P(ServiceTest, NamesTheCheckThatABundleFails) {
  bundle::Bundle changed = numbered_bundle(1);
  changed.trials[0].results[0].samples_ns[0] -= 1'000'000;
  verify::testing::rename(changed);
  const http::Reply reply = submit(sealed(changed));
  expect_problem(reply, 422);
  EXPECT_NE(text(reply).find("samples"), std::string::npos) << text(reply);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 0U);
}

TEST_P(ServiceTest, ConflictingContentIsRefused) {
  options_.judges.judge = [](const bundle::Opened&) -> Result<Judgement> {
    return Judgement{"", "self-reported", "{\"checks\":[]}", false, {}};
  };
  const bundle::Bundle first = numbered_bundle(1);
  bundle::Bundle second = first;
  second.trials[0].capabilities[0].observed += "x";
  ASSERT_EQ(submit(sealed(first)).status, 201);
  const http::Reply reply = submit(sealed(second));
  expect_problem(reply, 409);
  EXPECT_EQ(text(reply).find(options_.db.string()), std::string::npos) << "a path of this machine: " << text(reply);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 1U);
}

TEST_P(ServiceTest, TokensAndSignaturesByPolicy) {
  options_.require = Require::kToken;
  options_.tokens = *parse_tokens("# the lab\n" + sha256("secret") + " lab\n\n");
  const bundle::Sealed bundle = numbered(1);
  const http::Reply without = submit(bundle);
  expect_problem(without, 401);
  EXPECT_NE(field(without, "WWW-Authenticate").find("Bearer"), std::string::npos);
  expect_problem(submit(bundle, "Authorization: Bearer wrong\r\n"), 403);
  expect_problem(submit(bundle, "Authorization: Bearer " + sha256("secret") + "\r\n"), 403);
  expect_problem(submit(bundle, "Authorization: Basic secret\r\n"), 401);
  EXPECT_EQ(submit(bundle, "Authorization: bearer secret\r\n").status, 201);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 1U);  // reading is free
  reopen();
  options_.require = Require::kSignature;
  expect_problem(submit(numbered(2)), 403);
  EXPECT_EQ(submit(sealed(numbered_bundle(2), "jo")).status, 201);
  reopen();
  options_.read_only = true;
  expect_problem(submit(numbered(3)), 403);
  expect_problem(ask("PUT", "/api/v1/uploads/" + bundle.id, "", "x"), 403);
  expect_problem(ask("DELETE", "/api/v1/submissions/" + bundle.id), 403);
  EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 2U);
}

TEST_P(ServiceTest, EachClientHasARate) {
  options_.submissions = {0.01, 3};
  options_.reads = {0.01, 5};
  const std::string digest = sha256("secret");
  for (int i = 0; i < 3; ++i) expect_problem(ask("POST", "/api/v1/submissions"), 422);
  const http::Reply refused = ask("POST", "/api/v1/submissions");
  expect_problem(refused, 429);
  EXPECT_GE(std::stoi(field(refused, "Retry-After")), 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/healthz").status, 429);
  // Who is not there cannot be asked for without limit either, and others are not concerned.
  EXPECT_EQ(ask("GET", "/nothing").status, 429);
  EXPECT_EQ(ask("GET", "/healthz", "", "", "192.0.2.2").status, 200);
  // What a client says of itself counts only behind a proxy.
  EXPECT_EQ(ask("GET", "/healthz", "X-Forwarded-For: 192.0.2.3\r\n").status, 429);
  reopen();
  options_.trust_proxy = true;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ask("GET", "/healthz", "X-Forwarded-For: " + std::to_string(i) + ", 192.0.2.3\r\n").status, 200);
  }
  EXPECT_EQ(ask("GET", "/healthz", "X-Forwarded-For: 9, 192.0.2.3\r\n").status, 429);
  EXPECT_EQ(ask("GET", "/healthz", "X-Forwarded-For: 192.0.2.4\r\n").status, 200);
}

TEST_P(ServiceTest, ATokenHasARateOfItsOwn) {
  options_.submissions = {0.01, 2};
  options_.tokens = {sha256("secret")};
  const std::string token = "Authorization: Bearer secret\r\n";
  expect_problem(ask("POST", "/api/v1/submissions", token, "", "192.0.2.1"), 422);
  expect_problem(ask("POST", "/api/v1/submissions", token, "", "192.0.2.2"), 422);
  expect_problem(ask("POST", "/api/v1/submissions", token, "", "192.0.2.3"), 429);
  expect_problem(ask("POST", "/api/v1/submissions", "", "", "192.0.2.4"), 422);
}

TEST_P(ServiceTest, UnknownPathsMethodsAndParameters) {
  for (const char* path :
       {"/x", "/api", "/api/v1", "/api/v1/", "/api/v1/trials/", "/api/v1/trials/x/y", "//", "/api/v2/trials",
        "/assets/style.css/", "/..", "/api/v1/raw/..%2f..%2fetc%2fpasswd", "/%2e%2e/etc/passwd"}) {
    expect_problem(ask("GET", path), 404);
  }
  for (const char* path :
       {"/api/v1/trials/", "/api/v1/suites/", "/api/v1/environments/", "/api/v1/raw/", "/api/v1/submissions/"}) {
    expect_problem(ask("GET", path + std::string(64, 'a')), 404);
    expect_problem(ask("GET", std::string(path) + "'%20OR%201=1"), 404);
    expect_problem(ask("GET", path + std::string(64, 'A')), 404);
  }
  expect_problem(ask("GET", "/api/v1/reports/paper"), 404);
  expect_problem(ask("GET", "/api/v1/reports/speedup?format=html"), 400);
  const http::Reply wrong = ask("PUT", "/api/v1/submissions", "", "x");
  expect_problem(wrong, 405);
  EXPECT_EQ(field(wrong, "Allow"), "POST");
  EXPECT_EQ(field(ask("POST", "/api/v1/trials", "", ""), "Allow"), "GET, HEAD");
  EXPECT_EQ(ask("TRACE", "/").status, 405);
  expect_problem(ask("GET", "/api/v1/trials?sute=x"), 400);
  expect_problem(ask("GET", "/api/v1/trials?suite=x&suite=y"), 400);
  for (const char* limit : {"0", "-1", "201", "x", "1e3", "99999999999999999999"}) {
    expect_problem(ask("GET", std::string("/api/v1/trials?limit=") + limit), 400);
  }
  for (const char* cursor : {"x", "AAAA", "%00", "c3VpdGVzOjE", "!"}) {
    const http::Reply reply = ask("GET", std::string("/api/v1/trials?cursor=") + (cursor[0] == '%' ? "%20" : cursor));
    expect_problem(reply, 400);
  }
  expect_problem(ask("GET", "/api/v1/bundles?withdrawn=1"), 400);
  expect_problem(ask("GET", "/api/v1/trials", "", "a body"), 400);
  EXPECT_EQ(get("/api/v1/trials?suite='%20OR%20'1'='1")["items"].size(), 0U);
}

TEST_P(ServiceTest, HeadIsGetWithoutItsBody) {
  const http::Reply head = ask("HEAD", "/api/v1/bundles");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(field(head, "ETag"), field(ask("GET", "/api/v1/bundles"), "ETag"));
}

TEST_P(ServiceTest, ListsComeInPagesThatJoin) {
  for (std::uint64_t i = 0; i < 7; ++i) ASSERT_EQ(submit(numbered(i)).status, 201);
  for (const std::string list : {"trials", "bundles", "suites", "machines"}) {
    std::set<std::string> seen;
    std::size_t count = 0;
    std::string cursor;
    for (int pages = 0; pages < 100; ++pages) {
      const json page = get("/api/v1/" + list + "?limit=3" + (cursor.empty() ? "" : "&cursor=" + cursor));
      EXPECT_LE(page["items"].size(), 3U);
      for (const json& item : page["items"]) {
        seen.insert(item["id"].get<std::string>());
        ++count;
      }
      if (page["next"].is_null()) break;
      cursor = page["next"];
    }
    EXPECT_EQ(count, seen.size()) << list;
    EXPECT_EQ(count, list == "trials" ? 42U : list == "bundles" ? 7U : 1U) << list;
  }
}

TEST_P(ServiceTest, TextsOfBundlesComeBackEscaped) {
  options_.judges.judge = [](const bundle::Opened&) -> Result<Judgement> {
    return Judgement{
        "SHA256:<script>alert(1)</script>",
        "self-reported",
        R"({"checks":[{"name":"<script>x</script>","outcome":"flagged","detail":"<img src=x onerror=y>","where":""}]})",
        false,
        {}};
  };
  const std::string evil = "</td><script>alert('x')</script>\"'; DROP TABLE trial; --";
  bundle::Bundle hostile = numbered_bundle(1);
  hostile.environments[0].machine_label = evil;
  for (schema::TrialRecord& trial : hostile.trials) {
    trial.workload = evil;
    trial.target = evil;
    trial.reason = evil;
    trial.argv = {evil};
    trial.environment_set = {evil};
    trial.flags = {evil};
    for (schema::ResultRecord& result : trial.results) {
      result.build = result.model_type = result.backends = result.cpu_info = result.gpu_info = evil;
    }
    for (schema::CapabilityRecord& capability : trial.capabilities) capability.source = evil;
  }
  verify::testing::rename(hostile);
  const http::Reply taken = submit(sealed(hostile));
  ASSERT_EQ(taken.status, 201) << text(taken);
  const std::string trial = get("/api/v1/trials")["items"][0]["id"];
  const std::string environment = get("/api/v1/machines")["items"][0]["environments"][0];
  const std::string id = json::parse(text(taken))["id"];
  std::vector<std::string> paths{"/metrics", "/api/v1/bundles", "/api/v1/trials", "/api/v1/machines", "/api/v1/suites"};
  paths.push_back("/api/v1/trials/" + trial);
  paths.push_back("/api/v1/environments/" + environment);
  paths.push_back("/api/v1/submissions/" + id);
  for (const char* kind : {"speedup", "ablation", "capabilities", "noise"}) {
    paths.push_back(std::string("/api/v1/reports/") + kind);
  }
  for (const std::string& path : paths) {
    const http::Reply reply = ask("GET", path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(text(reply).find("<script"), std::string::npos) << path;
    EXPECT_EQ(text(reply).find("<img"), std::string::npos) << path;
    if (reply.type == "application/json") {
      EXPECT_FALSE(json::parse(text(reply), nullptr, false).is_discarded()) << path;
    }
  }
  EXPECT_EQ(get("/api/v1/trials/" + trial)["workload"], evil);
  // The site's pages have scripts, none of them out of a bundle.
  const std::vector<std::string> pages{"/",
                                       "/speedup.html",
                                       "/history.html",
                                       "/compare.html",
                                       "/map.html",
                                       "/machines.html",
                                       "/submissions.html",
                                       "/trial/" + trial + ".html",
                                       "/submission/" + id + ".html",
                                       "/compare/" + environment.substr(0, 16) + ".js"};
  for (const std::string& page : pages) {
    const http::Reply reply = ask("GET", page);
    EXPECT_EQ(reply.status, 200) << page;
    EXPECT_EQ(text(reply).find("<script>"), std::string::npos) << page;
    EXPECT_EQ(text(reply).find("<img"), std::string::npos) << page;
  }
  EXPECT_NE(text(ask("GET", "/submissions.html")).find("&lt;script&gt;"), std::string::npos);
}

TEST_P(ServiceTest, AReportDoesNotReadEverything) {
  options_.report_trials = 8;
  ASSERT_EQ(submit(numbered(1)).status, 201);
  EXPECT_EQ(ask("GET", "/api/v1/reports/speedup").status, 200);
  ASSERT_EQ(submit(numbered(2)).status, 201);
  expect_problem(ask("GET", "/api/v1/reports/noise"), 400);
}

TEST_P(ServiceTest, ASubmissionThatCannotBeWrittenIsNotAcknowledged) {
  ASSERT_EQ(submit(numbered(1)).status, 201);
  auto other = schema::Store::open(options_.db, schema::OpenMode::kCreate);
  ASSERT_TRUE(other.ok());
  {
    // Another program holds the lock for longer than the server waits.
    auto batch = other->begin_batch();
    ASSERT_TRUE(batch.ok());
    const http::Reply busy = submit(numbered(2));
    if (GetParam() == schema::Backend::kPostgres) {
      EXPECT_EQ(busy.status, 201);  // there the inbox needs nobody's lock
      return;
    }
    expect_problem(busy, 503);
    EXPECT_FALSE(field(busy, "Retry-After").empty());
    EXPECT_EQ(text(busy).find(options_.db.string()), std::string::npos);
    EXPECT_EQ(get("/api/v1/bundles")["items"].size(), 1U);  // reading goes on
  }
  EXPECT_EQ(submit(numbered(2)).status, 201);
}

TEST_P(ServiceTest, ReadOnlyNeedsAStoreAndChangesNothing) {
  options_.read_only = true;
  EXPECT_FALSE(Service::open(options_).ok());
}

// The document and the program name the same things.
TEST_P(ServiceTest, TheDocumentListsEveryRouteAndNoOther) {
  const json document = json::parse(kOpenApi);
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> documented;
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      if (method == "parameters") continue;
      std::string name = method;
      for (char& c : name) c = static_cast<char>(std::toupper(c));
      std::set<std::string> parameters;
      for (json parameter : operation.value("parameters", json::array())) {
        if (parameter.contains("$ref")) {
          parameter = document[json::json_pointer(parameter["$ref"].get<std::string>().substr(1))];
        }
        if (parameter["in"] == "query") parameters.insert(parameter["name"].get<std::string>());
      }
      documented.insert(name + " " + path);
      const Matched matched = match(name, path);
      ASSERT_NE(matched.route, nullptr) << name << " " << path;
      EXPECT_EQ(matched.route->method, name) << path;
      std::set<std::string> known(matched.route->parameters.begin(), matched.route->parameters.end());
      EXPECT_EQ(parameters, known) << name << " " << path;
      EXPECT_FALSE(operation["responses"].empty());
      // It is served: whatever the answer, it is none of "no such path" and "no such method".
      std::string target = path;
      for (const char* variable : {"{id}", "{sha256}"}) {
        if (const auto at = target.find(variable); at != std::string::npos)
          target.replace(at, std::strlen(variable), std::string(64, 'a'));
      }
      for (const auto& [variable, value] :
           {std::pair("{kind}", "speedup"), std::pair("{folder}", "assets"), std::pair("{page}", "style.css")}) {
        if (const auto at = target.find(variable); at != std::string::npos) {
          target.replace(at, std::strlen(variable), value);
        }
      }
      const http::Reply reply = ask(name, target);
      EXPECT_NE(reply.status, 405) << name << " " << target;
      EXPECT_TRUE(operation["responses"].contains(std::to_string(reply.status)))
          << name << " " << target << " " << reply.status;
    }
  }
  for (const Route& route : routes()) {
    EXPECT_TRUE(documented.count(std::string(route.method) + " " + std::string(route.pattern)) == 1) << route.pattern;
  }
  // No reference leads nowhere.
  std::vector<const json*> open{&document};
  while (!open.empty()) {
    const json* value = open.back();
    open.pop_back();
    if (value->is_object() && value->contains("$ref")) {
      EXPECT_TRUE(document.contains(json::json_pointer((*value)["$ref"].get<std::string>().substr(1))))
          << value->dump();
    }
    if (value->is_structured()) {
      for (const json& child : *value) open.push_back(&child);
    }
  }
}

const auto kName = [](const auto& named) { return schema::testing::backend_name(named.param); };
INSTANTIATE_TEST_SUITE_P(Both, ServiceTest, ::testing::ValuesIn(schema::testing::backends()), kName);
INSTANTIATE_TEST_SUITE_P(Both, InboxTest, ::testing::ValuesIn(schema::testing::backends()), kName);

}  // namespace
}  // namespace capbench::server
