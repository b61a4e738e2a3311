// The layer's line on stderr (shim/common/banner.h), from what each level of the chain answers.
#ifndef CAPBENCH_SHIM_VULKAN_LINE_H_
#define CAPBENCH_SHIM_VULKAN_LINE_H_

#include <string_view>

#include "shim/common/settings.h"
#include "shim/vulkan/answers.h"

namespace capbench::shim::vulkan {

struct Line {
  bool guest = false;               // a stand-in guest acts, here or below
  bool shim = false;                // the shim acts
  CapabilitySet touched = 0;        // what to report on; 0: everything
  const Settings* set = nullptr;    // the shim's settings; nullptr in the stand-in's line
  const Answers* device = nullptr;  // nullptr: there is no device to report on, and no capability is listed
  const Answers* of_guest = nullptr;
  const Answers* told = nullptr;
  std::string_view note;
  std::string_view error;
};

// Never blocks: a line that stderr cannot take at once is lost.
void print_line(const Line& line);

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_LINE_H_
