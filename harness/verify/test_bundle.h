// A real run (three arms of one CPU, two blocks, quality checked) as a bundle, and ways to falsify it. For tests.
#ifndef CAPBENCH_HARNESS_VERIFY_TEST_BUNDLE_H_
#define CAPBENCH_HARNESS_VERIFY_TEST_BUNDLE_H_

#include <string>
#include <string_view>

#include "harness/verify/verify.h"
#include "schema/bundle/bundle.h"

namespace capbench::verify::testing {

// From testdata/run.json, where its raw output is as llama-bench and llama-perplexity printed it.
bundle::Bundle real_bundle();

// The same suite with so many blocks on another machine, as its plan with that seed has them. Every block measures what
// the first did (`noisy`: what the first two did in turns, which differs widely).
bundle::Bundle repeated_bundle(std::int64_t blocks, const std::string& machine_id, std::uint64_t seed,
                               bool noisy = false);

// The trial of that arm and block.
schema::TrialRecord& trial_of(bundle::Bundle& bundle, std::string_view arm, std::int64_t block);
schema::QualityRecord& quality_of(bundle::Bundle& bundle, std::string_view arm);

enum class Stream { kOut, kErr };

// Other raw output for a trial or check: its bytes are put in, its digest is changed.
void set_raw(bundle::Bundle& bundle, schema::TrialRecord& trial, Stream stream, const std::string& bytes);
void set_raw(bundle::Bundle& bundle, schema::QualityRecord& check, Stream stream, const std::string& bytes);

std::string replaced(std::string text, std::string_view from, std::string_view to);

// Every name made right again for its content, and raw bytes that nothing refers to left out: what somebody would do
// who wants a bundle to open.
void rename(bundle::Bundle& bundle);

// Sealed, opened and verified, a day after it was measured. Throws where it cannot be sealed or opened.
Verdict verdict_of(bundle::Bundle bundle);
Context context();

// The rows of that name that did not pass, one a line: "failed trials/...: detail". Empty if all did.
std::string problems(const Verdict& verdict, std::string_view name);
// The names of checks that failed, and of those that were flagged, in order: "samples status".
std::string names(const Verdict& verdict, Outcome outcome);

}  // namespace capbench::verify::testing

#endif  // CAPBENCH_HARNESS_VERIFY_TEST_BUNDLE_H_
