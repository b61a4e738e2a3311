// What a bundle's verification found: one row for each thing that was looked at. Plain values.
#ifndef CAPBENCH_HARNESS_VERIFY_VERDICT_H_
#define CAPBENCH_HARNESS_VERIFY_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::verify {

enum class Outcome : std::uint8_t {
  kPassed,
  kSkipped,  // could not be looked at: what it takes is not in the bundle, or nothing here is of that kind
  kFlagged,  // implausible or unknown: to be shown, never a reason to refuse
  kFailed,   // something contradicts something
};

// "passed", "skipped", "flagged", "failed".
std::string_view outcome_name(Outcome outcome);

// The names of checks, in the order in which verdicts list them.
inline constexpr std::string_view kArchive = "archive";            // form and limits
inline constexpr std::string_view kDigests = "digests";            // of every member
inline constexpr std::string_view kSchema = "schema";              // of every record, its name, its references
inline constexpr std::string_view kSignature = "signature";        // over the manifest
inline constexpr std::string_view kSigner = "signer";              // whether the key is one of those given
inline constexpr std::string_view kSuite = "suite";                // reads as one, and is what it is named by
inline constexpr std::string_view kPlan = "plan";                  // every trial is one that the suite plans
inline constexpr std::string_view kCommand = "command";            // arguments are those of workload and arm
inline constexpr std::string_view kMode = "mode";                  // stock without a shim, unlocked with one, ...
inline constexpr std::string_view kSamples = "samples";            // read from the raw output again
inline constexpr std::string_view kMedians = "medians";            // computed from the samples again
inline constexpr std::string_view kRates = "rates";                // means and rates as printed, against the samples
inline constexpr std::string_view kStatus = "status";              // judged from the raw output again
inline constexpr std::string_view kTreatment = "treatment";        // the same
inline constexpr std::string_view kCapabilities = "capabilities";  // the same
inline constexpr std::string_view kQuality = "quality";            // figures and verdict from raw output again
inline constexpr std::string_view kModels = "models";              // digests against suite and catalog
inline constexpr std::string_view kPrograms = "programs";          // digests against each other
inline constexpr std::string_view kTimes = "times";                // nothing in the future, nothing out of order
inline constexpr std::string_view kRoofline = "roofline";          // no faster than the device can be
inline constexpr std::string_view kSources = "sources";            // of imported results

struct Check {
  std::string name;  // one of the above
  Outcome outcome = Outcome::kPassed;
  std::string detail;  // a clause
  std::string where;   // "trials/ID.json: results[0].samples_ns[2]"; empty: of the whole bundle
};

inline constexpr std::string_view kSelfReported = "self-reported";
inline constexpr std::string_view kConsistent = "consistent";
inline constexpr std::string_view kReproduced = "reproduced";

struct Verdict {
  std::string bundle_id;                          // empty: it could not be opened
  std::string signer;                             // fingerprint of the key whose signature is good; empty: none
  std::string tier = std::string(kSelfReported);  // or `consistent`; verify() never gives `reproduced`
  std::vector<Check> checks;  // at least one row of every name, in order; several where several things are to be said
  std::vector<std::string> missing;  // what keeps it from `consistent`: clauses
  std::size_t trials = 0;

  std::size_t count(Outcome outcome) const;
  bool failed() const { return count(Outcome::kFailed) > 0; }
};

// A table for people, 80 columns. What a bundle says is shown without control characters. `name` is of the file.
std::string verdict_text(const Verdict& verdict, std::string_view name);

// The conclusion in a line, and the rows that failed or are flagged.
std::string summary_text(const Verdict& verdict);

// {"bundle":...,"checks":[{"name","outcome","detail","where"}...],"failed":n,"flagged":n,"missing":[...],"signer":...,
// "tier":...,"trials":n,"verdict":"passed"|"failed"}, in one line without its line break.
std::string verdict_json(const Verdict& verdict);

// `verdict_json` with "file" in front of it, several of them: {"bundles":[...]}.
struct NamedVerdict {
  std::string name;
  Verdict verdict;
};
std::string verdicts_json(const std::vector<NamedVerdict>& verdicts);

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_VERDICT_H_
