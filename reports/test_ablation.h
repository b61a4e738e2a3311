// Trials and a suite made by hand for the tests of the ablation report.
#ifndef CAPBENCH_REPORTS_TEST_ABLATION_H_
#define CAPBENCH_REPORTS_TEST_ABLATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/ablation.h"
#include "schema/store.h"

namespace capbench::reports::testing {

// An arm whose `set` are these levels, in mode "layer".
suite::Arm layer_arm(const std::string& name, const std::map<std::string, std::string>& set);

// A trial of an arm with results pp512 and tg128 around these speeds, five samples each, that differ a little by block
// (by about `spread`), always the same way.
schema::TrialView ablation_trial(const suite::Arm& arm, std::int64_t block, double prompt, double generation,
                                 double spread = 0.004);

// As observed by a probe.
void observe(schema::TrialView& view, const std::string& name, const std::string& requested,
             const std::string& observed, const std::string& source = "probe");

// A full factorial over two matrix extensions that stand in for each other and an integer dot product that matters only
// without them, eight blocks on an H200 in a stand-in guest; and arms of which one fails, one was never run, one has
// wrong output and one is expected to fail.
std::vector<schema::TrialView> ablation_trials();
AblationBackground ablation_background();

// The same with every name and text that a stranger's bundle could choose.
std::vector<schema::TrialView> ablation_trials_named(const std::string& name);
AblationBackground ablation_background_named(const std::string& name);

}  // namespace capbench::reports::testing

#endif  // CAPBENCH_REPORTS_TEST_ABLATION_H_
