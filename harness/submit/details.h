// Whose machine this is: what must not leave it.
#ifndef CAPBENCH_HARNESS_SUBMIT_DETAILS_H_
#define CAPBENCH_HARNESS_SUBMIT_DETAILS_H_

#include <filesystem>

#include "harness/observe/redact.h"

namespace capbench::submit {

// This user's names and home folder, the machine's names, its serial numbers and ids as far as this user may read them;
// each once. With another `root`: the machine's from files below it, and the user's all the same.
observe::PersonalDetails details_of_this_machine(const std::filesystem::path& root = "/");

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_DETAILS_H_
