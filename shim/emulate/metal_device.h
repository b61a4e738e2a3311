// A made-up Metal device in a process: Metal's two functions that give devices, the device, and what it makes.
#ifndef CAPBENCH_SHIM_EMULATE_METAL_DEVICE_H_
#define CAPBENCH_SHIM_EMULATE_METAL_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shim/emulate/device_profile.h"
#include "shim/emulate/process.h"

namespace capbench::emulate {

// One message to the device.
struct Asked {
  Address sender = 0;
  std::string selector;
  std::string argument;  // "1007"; empty if there is none that matters
  std::string told;      // what the sender got: "true", "32768", "an object", ...
  std::string device;    // what the device itself answers; the same unless a shim stands between
};

// The classes are "AppleParavirtDevice" below "MTLToolsDevice" (which answers families and memory), or "AppleDevice"
// with the same parent for a profile that is no guest.
class MetalDevice {
 public:
  MetalDevice(Process& process, DeviceProfile profile);
  MetalDevice(const MetalDevice&) = delete;
  MetalDevice& operator=(const MetalDevice&) = delete;

  // Another device in its place, that nobody has asked yet: for a process that was restored.
  void reset(DeviceProfile profile);

  const DeviceProfile& profile() const { return profile_; }
  Address object() const { return object_; }
  const std::vector<Asked>& asked() const { return asked_; }

 private:
  void add_answers();
  void add_factories();
  void add_objects();
  void note(const Message& message);

  Process& process_;
  DeviceProfile profile_;
  Address object_ = 0;
  std::vector<Asked> asked_;
};

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_METAL_DEVICE_H_
