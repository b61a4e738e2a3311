// A bundle with every kind of record, for this room's tests.
#ifndef CAPBENCH_HARNESS_SUBMIT_TEST_BUNDLE_H_
#define CAPBENCH_HARNESS_SUBMIT_TEST_BUNDLE_H_

#include <string>

#include "schema/bundle/bundle.h"

namespace capbench::submit::testing {

// Two trials with output and a probe, an imported one with a stated result, a quality check, a source with a row in
// quarantine. `planted` stands in every text that may be replaced and in all raw output, with words around it.
bundle::Bundle bundle_with(const std::string& planted);

// The bundle's names made anew, after a change of what they are made of.
void name_again(bundle::Bundle& bundle);

}  // namespace capbench::submit::testing

#endif  // CAPBENCH_HARNESS_SUBMIT_TEST_BUNDLE_H_
