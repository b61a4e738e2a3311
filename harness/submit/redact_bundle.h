// Takes personal details out of a bundle before it is sealed.
//
// What names a thing stays: ids, digests, suites, facts of environments, names of arms, models, workloads, tests and
// files, samples, what was asked of capabilities and seen. If a personal detail stands there, the bundle is refused
// with the place named. Everything else is replaced: arguments, paths, variables, reasons, notes, fields as printed,
// and raw output, whose digest is computed again and put where the old one stood. The bytes of imported sources name
// their source; if anything would have to be replaced in them, or they are no text, they are withheld.
//
// Redacting twice changes nothing more. Pure; one bundle a thread.
#ifndef CAPBENCH_HARNESS_SUBMIT_REDACT_BUNDLE_H_
#define CAPBENCH_HARNESS_SUBMIT_REDACT_BUNDLE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "harness/observe/redact.h"
#include "schema/bundle/bundle.h"

namespace capbench::submit {

struct RedactionOptions {
  observe::PersonalDetails details;
  // Texts that are nobody's secret although they look like one: they stay, and do not get a bundle refused.
  std::vector<std::string> keep;
};

struct RedactedBundle {
  bundle::Bundle bundle;          // `replaced` lists what was replaced where, without what stood there
  std::vector<std::string> left;  // known names that stay, because they are words of the output (see redact_text.h)
};

// Error (kFinding): a personal detail where nothing may be replaced; it says where, what it is and what to do.
Result<RedactedBundle> redact_bundle(bundle::Bundle bundle, const RedactionOptions& options);

// "user name" for "user", and so on: the kinds as people and bundles have them.
std::string kind_for_people(std::string_view kind);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_REDACT_BUNDLE_H_
