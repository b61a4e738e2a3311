// What `metal-capabilities` prints about a device.
#ifndef CAPBENCH_SHIM_METAL_PROBE_PRINT_H_
#define CAPBENCH_SHIM_METAL_PROBE_PRINT_H_

#include <cstdint>

#include "shim/common/text.h"
#include "shim/metal/objc.h"

namespace capbench::shim::metal {

// Everything, for people.
void print_all(id device, TextBuilder& out);

// Everything, as one JSON object on one line.
void print_all_json(id device, TextBuilder& out);

// One family, in the four lines of the published probe: device, family, supports_family, max_threadgroup_memory.
void print_family(id device, std::uint64_t family, TextBuilder& out);

// The same as one JSON object.
void print_family_json(id device, std::uint64_t family, TextBuilder& out);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_PROBE_PRINT_H_
