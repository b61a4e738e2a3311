#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/reproduction.h"
#include "harness/cli/speed_share.h"
#include "harness/cli/verify_archive.h"
#include "harness/runner/stop_signal.h"
#include "harness/runner/version.h"
#include "harness/submit/signature.h"
#include "harness/verify/verdict.h"
#include "reports/server/server.h"
#include "schema/older_copy.h"

namespace capbench::cli {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

struct ServeOptions {
  std::string db;
  std::string listen = "127.0.0.1:8080";
  std::string url;
  bool read_only = false;
  std::string require = "none";
  std::string tokens;
  bool trust_proxy = false;
  std::uint64_t max_body_mib = 8;
  std::uint64_t max_unpacked_mib = 32;
  double rate = 60;        // submissions a minute
  double read_rate = 100;  // requests a second
  std::uint64_t connections = 512;
  std::uint64_t threads = 12;
  std::uint64_t inbox = 20'000;
  std::uint64_t inbox_mib = 1024;
  std::uint64_t verify_threads = 0;
};

Result<server::Judgement> judge(const bundle::Opened& opened, const std::shared_ptr<CatalogReads>& catalog) {
  const verify::Verdict verdict = verify_opened(opened, "", catalog);
  server::Judgement judgement;
  judgement.signer = verdict.signer;
  judgement.tier = verdict.tier;
  judgement.verdict = verify::verdict_json(verdict);
  judgement.failed = verdict.failed();
  for (const verify::Check& check : verdict.checks) {
    if (check.outcome != verify::Outcome::kFailed) continue;
    judgement.failures.push_back(check.name + (check.where.empty() ? "" : " (" + check.where + ")") + ": " +
                                 check.detail);
  }
  return judgement;
}

Result<server::Options> server_options(const ServeOptions& chosen) {
  server::Options options;
  const auto db = store_path(chosen.db, !chosen.read_only);
  if (!db) return db.error();
  options.db = *db;
  auto listen = http::parse_endpoint(chosen.listen);
  if (!listen) return std::move(listen).error();
  options.listen = std::move(*listen);
  options.public_url = chosen.url;
  while (!options.public_url.empty() && options.public_url.back() == '/') options.public_url.pop_back();
  options.read_only = chosen.read_only;
  options.require = chosen.require == "token"       ? server::Require::kToken
                    : chosen.require == "signature" ? server::Require::kSignature
                                                    : server::Require::kNothing;
  if (!chosen.tokens.empty()) {
    auto tokens = server::read_tokens(chosen.tokens);
    if (!tokens) return std::move(tokens).error();
    options.tokens = std::move(*tokens);
  }
  if (options.require == server::Require::kToken && options.tokens.empty()) {
    return Error{ErrorKind::kUsage, "--require token", "nobody could submit: there are no tokens",
                 "name a file of their digests with --tokens FILE"};
  }
  options.trust_proxy = chosen.trust_proxy;
  options.bundle.archive_bytes = chosen.max_body_mib * kMiB;
  options.bundle.unpacked_bytes = chosen.max_unpacked_mib * kMiB;
  options.bundle.ratio = 200;
  options.bundle.members = 20'000;
  options.bundle.json_bytes = 4 * kMiB;
  options.bundle.raw_bytes = std::min<std::uint64_t>(options.bundle.unpacked_bytes, 16 * kMiB);
  options.front.bodies_bytes = std::max(4 * options.bundle.archive_bytes, 16 * kMiB);
  options.front.bodies_bytes_per_address = 2 * options.bundle.archive_bytes;
  options.front.connections = chosen.connections;
  options.front.connections_per_address = std::max<std::size_t>(chosen.connections / 8, 16);
  options.opening_bytes = std::max(2 * options.bundle.unpacked_bytes, 64 * kMiB);
  options.submissions = {chosen.rate / 60, std::max(1.0, chosen.rate / 2)};
  options.reads = {chosen.read_rate, std::max(1.0, 4 * chosen.read_rate)};
  options.submission_threads = chosen.threads;
  options.judges.judge = [catalog = make_catalog_reads()](const bundle::Opened& opened) {
    return judge(opened, catalog);
  };
  options.judges.withdrawal_signer = [](std::string_view id, std::string_view signature) -> Result<std::string> {
    Result<submit::Signer> signer = submit::check_signature(submit::withdrawal_text(id), signature);
    if (!signer) return std::move(signer).error();
    return std::move(signer->fingerprint);
  };
  options.judges.reproduced = [](schema::Store& store, std::string_view id) -> Result<std::vector<server::TierChange>> {
    auto changes = changed_tiers(store, id);
    if (!changes) return std::move(changes).error();
    std::vector<server::TierChange> told;
    for (TierChange& change : *changes) {
      told.push_back({std::move(change.id), std::move(change.tier), std::move(change.verdict)});
    }
    return told;
  };
  options.inbox_bundles = chosen.inbox;
  options.inbox_bytes = chosen.inbox_mib * kMiB;
  options.verify_threads = chosen.verify_threads != 0
                               ? chosen.verify_threads
                               : std::max<std::size_t>(1, std::thread::hardware_concurrency() / 2);
  options.version = std::string(runner::kVersion);
  options.log = [](const std::string& line) { tell("capbench serve: " + line + "\n"); };
  return options;
}

int serve(const ServeOptions& chosen) {
  auto options = server_options(chosen);
  if (!options) return fail(options.error());
  std::optional<schema::OlderCopy> copy;
  if (chosen.read_only) {
    auto made = schema::copy_if_older(options->db);
    if (!made) return fail(made.error());
    if (*made) {
      tell(
          fmt::format("capbench serve: {} is of an older version of capbench: a copy of it is served, in which nothing "
                      "appears that is written to it from now on\n",
                      options->db.string()));
      copy.emplace(std::move(**made));
      options->db = copy->path();
    }
  }
  // Before any thread begins, so that all of them leave the signals to it.
  const runner::StopSignal stop;
  auto server = server::Server::start(std::move(*options));
  if (!server) return fail(server.error());
  const std::string line = fmt::format("http://{}\n", http::to_string((*server)->endpoint()));
  if (const int status = print_data(line); status != 0) return status;
  pollfd wait{stop.fd(), POLLIN, 0};
  while (::poll(&wait, 1, -1) <= 0) {
  }
  tell("capbench serve: stopping; requests that have begun are finished\n");
  (*server)->stop();
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, Session& session) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Take submissions and show results over HTTP");
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--listen", options->listen, "ADDRESS:PORT; port 0: a free one, which is printed")
      ->capture_default_str();
  command->add_option("--url", options->url, "what people reach it under, in front of the paths in replies");
  command->add_flag("--read-only", options->read_only, "take no submissions");
  command->add_option("--require", options->require, "of who submits: none, token, signature")
      ->check(CLI::IsMember({"none", "token", "signature"}))
      ->capture_default_str();
  command->add_option("--tokens", options->tokens, "a file with the SHA-256 of each token, one a line");
  command->add_flag("--trust-proxy", options->trust_proxy,
                    "the client is the last entry of X-Forwarded-For; only behind a proxy of yours");
  command->add_option("--max-body", options->max_body_mib, "MiB of one bundle")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--max-unpacked", options->max_unpacked_mib, "MiB of what a bundle unpacks to")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--rate", options->rate, "submissions a minute from one address, or with one token; 0: any")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_option("--read-rate", options->read_rate, "other requests a second from one address; 0: any")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_option("--connections", options->connections, "at one time")
      ->check(CLI::Range(8, 100'000))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "that receive submissions")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--verify-threads", options->verify_threads, "that verify them [half of the processors]")
      ->check(CLI::Range(1, 256));
  command->add_option("--inbox", options->inbox, "bundles that may wait to be verified")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  command->add_option("--inbox-size", options->inbox_mib, "MiB of those bundles")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->footer(
      "The address is printed when it can be used. SIGTERM or Ctrl-C: no more is\n"
      "accepted, what was accepted is verified for ten seconds more; the rest is\n"
      "verified by the next start. There is no TLS: put a proxy that has it in\n"
      "front. What is answered with 201 is on disk.\n"
      "Examples:\n"
      "  capbench serve --db results.db\n"
      "  capbench serve --listen 127.0.0.1:0 --require token --tokens tokens.txt");
  command->callback([&session, options] { session.action = [options] { return serve(*options); }; });
}

}  // namespace capbench::cli
