// Trials made by hand for the tests of this room.
#ifndef CAPBENCH_REPORTS_TEST_TRIALS_H_
#define CAPBENCH_REPORTS_TEST_TRIALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reports/speedup.h"
#include "schema/store.h"

namespace capbench::reports::testing {

// An ok trial of suite "quick" on machine "box", model "m" (real), workload "w", run "run-1", with the treatment
// proven; it has no results yet. The guest is "vm" unless the mode is bare-metal.
schema::TrialView trial(const std::string& mode, std::int64_t block);

// Adds a result of 100 prompt tokens whose samples run at these speeds, in tokens per second.
void add_result(schema::TrialView& view, const std::string& test, const std::vector<double>& speeds);

// As add_result, for n tokens generated.
void add_generation(schema::TrialView& view, std::int64_t n_gen, const std::vector<double>& speeds);

// `n` ok trials of one mode with a result "pp100" each, around `speed`.
std::vector<schema::TrialView> arm(const std::string& mode, double speed, int n);

// Ends a trial with this status and reason, and takes its results away.
void fail(schema::TrialView& view, const std::string& status, const std::string& reason);

void append(std::vector<schema::TrialView>& to, const std::vector<schema::TrialView>& more);

// What the golden files show: a twin in a stand-in guest on a virtual machine, five trials an arm and one timeout; a
// real model in a VM whose GPU has a name of its own, one process an arm; and a suite with several stock arms, two arms
// of a mode of its own, no bare metal, and wrong output.
std::vector<schema::TrialView> golden_trials();

// And what their store would add.
Background golden_background();

// A name for every way out of every format.
inline constexpr const char* kHostile =
    "a|b `c` \"d\" 'e' <script>alert(1)</script> & ]]> --> \\ \n# h\r\n- l, *x* _y_ [z](u) \x01\xff\xe2\x80\xae";

}  // namespace capbench::reports::testing

#endif  // CAPBENCH_REPORTS_TEST_TRIALS_H_
