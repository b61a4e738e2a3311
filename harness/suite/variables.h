// Which environment variables of an arm are its treatment. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_SUITE_VARIABLES_H_
#define CAPBENCH_HARNESS_SUITE_VARIABLES_H_

#include <string>
#include <vector>

#include "harness/suite/structs.h"

namespace capbench::suite {

// Names in `arm.env`, sorted, that some other arm of the same target lacks or sets otherwise. What all arms of a target
// share chooses where they run, as GGML_VK_VISIBLE_DEVICES does, and distinguishes none of them.
std::vector<std::string> varied_variables(const Suite& suite, const Arm& arm);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_VARIABLES_H_
