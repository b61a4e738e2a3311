// What flags mean, for those who read them.
#ifndef CAPBENCH_REPORTS_FLAGS_TEXT_H_
#define CAPBENCH_REPORTS_FLAGS_TEXT_H_

#include <set>
#include <string>
#include <vector>

namespace capbench::reports {

// A sentence for each flag that has a meaning here, in a fixed order: "Flag drift: the samples of ...".
std::vector<std::string> flag_explanations(const std::set<std::string>& used);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_FLAGS_TEXT_H_
