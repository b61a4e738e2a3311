// Brings a sealed bundle to a results server, and withdraws it there.
//
// The server is asked first whether it has the bundle: then nothing is sent. A bundle of at most one part goes in one
// POST; a larger one in parts of an upload that the server keeps under the bundle's id, so that a later call with the
// same bundle goes on where this one was cut. Servers without such uploads get it whole. No answer, "too many requests"
// and failures of the server itself are tried again after growing pauses, or the pause that the server asks for; after
// every lost connection the server is asked again what it has. All that a server says is bounded and shown without
// control characters. One upload a thread.
//
// A server may answer before it has looked at the bundle; it is asked for its verdict then, for as long as the options
// say.
#ifndef CAPBENCH_HARNESS_SUBMIT_UPLOAD_H_
#define CAPBENCH_HARNESS_SUBMIT_UPLOAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/submit/http_client.h"

namespace capbench::submit {

struct UploadOptions {
  std::string token;  // sent as "Authorization: Bearer TOKEN"; only over https, or to this machine
  HttpLimits limits;
  int attempts = 6;                            // in a row without anything gained
  std::chrono::milliseconds first_wait{1000};  // doubled after each
  std::chrono::milliseconds longest_wait{60000};
  std::chrono::milliseconds longest_asked_wait{300000};  // by the server; a longer one ends the upload
  std::size_t part_bytes = 1U << 20U;
  // The secret that is to withdraw the bundle, kept before it is sent: only its digest goes, so that a lost answer
  // loses nothing. Empty: the server makes one.
  std::string receipt;
  std::chrono::milliseconds verdict_wait{60000};  // for a bundle that was taken to be looked at later; 0: not at all
  // Called on the calling thread after every part and ten times a second in a pause; returning false stops with
  // ErrorKind::kInterrupted.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
  std::function<void(const std::string& what)> note;  // one line for people: a pause and its reason, where it goes on
};

// One row of the server's verdict.
struct ServerCheck {
  std::string name;
  std::string outcome;
  std::string detail;
};

struct Submission {
  std::string id;
  bool known = false;    // the server had it already
  bool pending = false;  // the server has it and has yet to look at it
  std::string receipt;   // the secret that withdraws it; empty: the server gave none (this time)
  std::string tier;
  std::string url;  // where people find it; empty: not said
  std::vector<ServerCheck> checks;
  std::uint64_t resumed_from = 0;  // bytes that an earlier call had brought there
};

// Errors: what the server refuses, in its own words (kFinding); a wrong address or token (kUsage); the network
// (kMachine).
Result<Submission> upload(const ServerAddress& server, std::string_view id, std::string_view archive,
                          const UploadOptions& options);

// Either proves that the bundle is one's own.
struct WithdrawalProof {
  std::string receipt;
  std::string signature;  // armoured, by the bundle's signer, over withdrawal_text(id)
  std::string why;        // for people; may be empty, at most kMostWhyBytes
};
inline constexpr std::size_t kMostWhyBytes = 400;
struct Withdrawal {
  std::int64_t excluded = 0;  // trials that reports leave out from now on
  bool already = false;       // it was withdrawn before
};
Result<Withdrawal> withdraw(const ServerAddress& server, std::string_view id, const WithdrawalProof& proof,
                            const UploadOptions& options);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_UPLOAD_H_
