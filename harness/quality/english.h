// The English text of quality checks.
#ifndef CAPBENCH_HARNESS_QUALITY_ENGLISH_H_
#define CAPBENCH_HARNESS_QUALITY_ENGLISH_H_

#include <string_view>

namespace capbench::quality {

// Never changed: results name it by its digest.
std::string_view english();

}  // namespace capbench::quality

#endif  // CAPBENCH_HARNESS_QUALITY_ENGLISH_H_
