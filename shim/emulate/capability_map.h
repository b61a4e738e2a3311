// Which of a device's answers decide what in a release of ggml's Metal backend: found by running it against devices
// that differ in everything it asks.
#ifndef CAPBENCH_SHIM_EMULATE_CAPABILITY_MAP_H_
#define CAPBENCH_SHIM_EMULATE_CAPABILITY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "shim/emulate/explain.h"

namespace capbench::emulate {

// One answer that was varied. Levels rise, the lowest first.
struct Factor {
  std::string name;                  // "metal.apple_family"; "device name" and "tensor compiler" are no capabilities
  std::vector<std::int64_t> levels;  // all that were tried: what the library asks for, and none
  std::vector<std::int64_t> steps;   // of those, the lowest and each at which some yes or no changes
};

// At least these answers; factors that may be at their lowest are left out.
struct Answers {
  struct AtLeast {
    std::size_t factor = 0;
    std::int64_t level = 0;
    bool operator==(const AtLeast&) const = default;
  };
  std::vector<AtLeast> all;
  bool operator==(const Answers&) const = default;
};

// Any of these suffices, and nothing less does. None: it is never so. One that is empty: it is always so.
using Needs = std::vector<Answers>;

struct PropertyNeeds {
  std::string name;  // "has bfloat"
  Needs needs;
};

struct OperatorNeeds {
  std::string op;                       // "MUL_MAT"
  std::vector<std::string> types;       // "Q4_K x F32", ...
  std::vector<std::string> roles;       // "attn_q", ...
  std::vector<std::string> situations;  // "pp512", "tg fa", ...
  bool whole = false;                   // all uses of the operator that were asked about
  Needs needs;
};

// A property that is no yes or no.
struct PropertyFollows {
  std::string name;                  // "recommendedMaxWorkingSetSize"
  std::vector<std::size_t> factors;  // by which it changes
};

struct CapabilityMap {
  LibraryIdentity library;
  std::string model;
  std::vector<Factor> factors;
  std::vector<PropertyNeeds> properties;
  std::vector<PropertyFollows> follows;
  std::vector<OperatorNeeds> operators;
  std::vector<std::string> not_asked;  // variants of the layer that this release cannot build, with the cause
  std::size_t runs = 0;                // devices that were tried
  std::size_t checked = 0;             // of those, drawn at random to check the map
  std::size_t contradictions = 0;      // yes-or-no outcomes, of all runs, that the map gets wrong
  std::vector<std::string> failures;   // devices with which the library did not start, with the cause
};

// Takes seconds. `input.shim` must be empty: the map is of what the device answers.
Result<CapabilityMap> map_capabilities(const ExplainInput& input);

// "metal.apple_family >= 1007, or metal.metal_family >= 5001".
std::string needs_text(const CapabilityMap& map, const Needs& needs);

std::string map_text(const CapabilityMap& map);
std::string map_json(const CapabilityMap& map);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_CAPABILITY_MAP_H_
