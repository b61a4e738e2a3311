// How a server is set up. Plain values.
#ifndef CAPBENCH_REPORTS_SERVER_OPTIONS_H_
#define CAPBENCH_REPORTS_SERVER_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reports/server/http/front.h"
#include "reports/server/http/listener.h"
#include "reports/server/rate_limit.h"
#include "reports/server/tokens.h"
#include "reports/server/uploads.h"
#include "schema/bundle/bundle.h"
#include "schema/store.h"

namespace capbench::server {

// What was found out about a bundle before it is taken.
struct Judgement {
  std::string signer;                 // fingerprint of the key whose signature is good; empty: none
  std::string tier;                   // as the store keeps it
  std::string verdict;                // JSON object with "checks"
  bool failed = false;                // something contradicts something: it is refused
  std::vector<std::string> failures;  // which checks, with their details
};

// A bundle whose tier is another one now.
struct TierChange {
  std::string id;
  std::string tier;
  std::string verdict;  // JSON object with "checks"
};

// What the server cannot know by itself. Called by several threads at once. An error of kind kMachine means that it
// could not be asked now.
struct Judges {
  std::function<Result<Judgement>(const bundle::Opened& opened)> judge;
  // The fingerprint of the key that signed the withdrawal of that bundle.
  std::function<Result<std::string>(std::string_view bundle_id, std::string_view signature)> withdrawal_signer;
  // Which bundles of the store are reproduced, or no longer, now that this one was taken or withdrawn. May be empty.
  std::function<Result<std::vector<TierChange>>(schema::Store& store, std::string_view bundle_id)> reproduced;
};

enum class Require {
  kNothing,    // everybody may submit
  kToken,      // whoever has one of the tokens
  kSignature,  // everybody, signed bundles only
};

struct Options {
  std::filesystem::path db;
  http::Endpoint listen{"127.0.0.1", 8080};
  std::string public_url;  // in front of the paths in replies: "https://results.example"; may be empty
  bool read_only = false;
  Require require = Require::kNothing;
  TokenDigests tokens;
  // The peer is a proxy of ours: the client is who the last entry of X-Forwarded-For names.
  bool trust_proxy = false;
  Rate submissions{1.0, 30};  // for each address, and for each token
  Rate reads{100, 400};
  std::size_t submission_threads = 12;
  std::size_t read_threads = 4;
  std::size_t waiting = 128;  // requests, for each kind
  http::FrontLimits front;
  bundle::Limits bundle;
  UploadLimits uploads;
  std::uint64_t opening_bytes = 64U << 20U;  // for the bundles that are opened at one time
  // Bundles that are acknowledged and have yet to be looked at.
  std::uint64_t inbox_bundles = 20'000;
  std::uint64_t inbox_bytes = 1U << 30U;
  std::size_t verify_threads = 1;
  std::chrono::milliseconds verify_wait =
      std::chrono::seconds(5);  // a reply waits for its verdict, if nothing else does
  std::chrono::milliseconds verify_grace = std::chrono::seconds(10);  // what is pending when it stops
  // Bundles that come no further apart than this are a burst, and are looked at when it is over; none waits longer for
  // that than `burst_most`.
  std::chrono::milliseconds burst_gap{50};
  std::chrono::milliseconds burst_most = std::chrono::seconds(10);
  std::uint64_t cache_bytes = 16U << 20U;
  std::int64_t report_trials = 20'000;  // no report reads more
  Judges judges;
  std::string version;                          // of this program
  std::function<void(const std::string&)> log;  // a line for whoever runs the server; may be empty
};

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_OPTIONS_H_
