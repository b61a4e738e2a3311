// Does everything in a bundle follow from the raw output in it? Pure: no file, clock or network is asked. Thread-safe.
//
// `consistent` says that every number was derived again, that every treatment is proven and every output checked: that
// nothing contradicts itself, not that nobody lied. Whoever makes up raw output that fits gets it too; `reproduced`
// (reproduced.h) is what takes a second signer.
#ifndef CAPBENCH_HARNESS_VERIFY_VERIFY_H_
#define CAPBENCH_HARNESS_VERIFY_VERIFY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "harness/suite/structs.h"
#include "harness/verify/verdict.h"
#include "schema/bundle/bundle.h"
#include "schema/records.h"

namespace capbench::verify {

// What came of looking at the signature, which takes a program and is done elsewhere.
struct SignatureAnswer {
  enum class State : std::uint8_t { kNotChecked, kGood, kBad };
  State state = State::kNotChecked;
  std::string fingerprint;  // "SHA256:..." of the key, if good
  std::string why;          // if it is not good
};

// Whether the key is one of those that signatures are expected from.
struct SignerAnswer {
  bool known = false;
  std::string identity;  // the name that the list has for the key
  std::string why;       // if it is not known
};

// How near a speed comes to what its device can do.
struct SpeedShare {
  std::optional<double> percent;  // nothing: `why` says what is not known
  std::string why;
  std::string of;            // "of the memory bandwidth of an H200"
  bool approximate = false;  // the whole model counted as read
};
struct SpeedQuestion {
  const schema::TrialRecord& trial;
  const schema::ResultRecord& result;
  double tokens_per_second = 0;         // of the fastest sample
  const suite::Model* model = nullptr;  // nullptr: the suite has no such model
  std::string_view environment;         // facts as JSON; empty: none
};

struct Context {
  std::string now;  // UTC, "2026-11-30T04:25:07.123Z"; empty: nothing is held to be in the future
  SignatureAnswer signature;
  std::optional<SignerAnswer> signer;  // nothing: no list of signers was given, everybody's signature is welcome
  std::function<SpeedShare(const SpeedQuestion&)> speed_share;  // empty: the roofline is not looked at
};

Verdict verify(const bundle::Opened& opened, const Context& context);

// The verdict of a file that open_bundle() refused: the check that the error belongs to fails, the others are skipped.
Verdict refused(const Error& error);

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_VERIFY_H_
