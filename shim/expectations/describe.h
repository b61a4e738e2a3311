// What a capability is and what is expected of it, for people and as JSON. Pure.
#ifndef CAPBENCH_SHIM_EXPECTATIONS_DESCRIBE_H_
#define CAPBENCH_SHIM_EXPECTATIONS_DESCRIBE_H_

#include <string>
#include <vector>

#include "shim/common/toggles.h"
#include "shim/expectations/expectations.h"

namespace capbench::shim {

// Every capability with its description. At most 80 columns.
std::string list_text();

// At most 80 columns.
std::string describe_text(const Toggle& toggle, const std::vector<ExpectationMap>& maps);

// {"capability":...,"expectations":[...]}: shim/expectations/describe.schema.json.
std::string describe_json(const Toggle& toggle, const std::vector<ExpectationMap>& maps);

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_EXPECTATIONS_DESCRIBE_H_
