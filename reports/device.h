// The device that a result was measured on, and which trials may stand together for it. Pure.
#ifndef CAPBENCH_REPORTS_DEVICE_H_
#define CAPBENCH_REPORTS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/records.h"

namespace capbench::reports {

// The GPU's name if the workload used one: the application names one, a backend other than the CPU's was loaded, and
// neither the layers (n_gpu_layers 0) nor the choice of device ("none") kept it away. Else the CPU's. Where the
// application names several GPUs, the choice of device follows in brackets. May be empty.
std::string device_of(const schema::ResultRecord& result);

// What one block of one run says: the device of each arm that got as far as a result.
struct BlockDevices {
  std::string run_id;
  std::int64_t block = 0;
  std::map<std::string, std::string> by_arm;
};

// Sets of blocks in which no arm changed its device. Different arms may differ: a guest's GPU has a name of its own. A
// block goes to the first set of its own run that does not contradict it, else to the first of any run. One without
// devices belongs to every set of its run, or, if there is none, to every set. At least one set if there are blocks.
// `blocks`: each once, sorted by run and block. The answer holds their places in it.
std::vector<std::vector<std::size_t>> sets_of_one_device(const std::vector<BlockDevices>& blocks);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_DEVICE_H_
