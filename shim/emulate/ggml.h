// llama.cpp's Metal backend in a process, spoken to through ggml's public interface, so that releases years apart
// answer the same questions.
#ifndef CAPBENCH_SHIM_EMULATE_GGML_H_
#define CAPBENCH_SHIM_EMULATE_GGML_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/emulate/metal_device.h"
#include "shim/emulate/process.h"

namespace capbench::emulate {

// The files of one release.
struct GgmlLibraries {
  Library metal;                // libggml-metal.so
  Library base;                 // libggml-base.dylib
  std::optional<Library> shim;  // inserted before them
};

// Reads the library and the libggml-base.dylib beside it; `shim` may be empty.
Result<GgmlLibraries> read_ggml(const std::string& metal, const std::string& shim);

// What ggml derives from the device's answers; names are those of its log ("simdgroup reduction", "has bfloat", ...)
// and values as it prints them.
using DerivedProperties = std::map<std::string, std::string>;

class Ggml {
 public:
  // Starts a process with the libraries and a device; the Metal backend has not been asked for anything yet.
  static Result<std::unique_ptr<Ggml>> load(const GgmlLibraries& libraries, const DeviceProfile& profile,
                                            const std::map<std::string, std::string>& environment,
                                            const Limits& limits = {});
  // Lets the Metal backend find its device.
  Status initialise();
  // Both.
  static Result<std::unique_ptr<Ggml>> start(const GgmlLibraries& libraries, const DeviceProfile& profile,
                                             const std::map<std::string, std::string>& environment,
                                             const Limits& limits = {});
  // Back to a snapshot of the process, with that device.
  void restore(const Process::Snapshot& snapshot, const DeviceProfile& profile);

  Process& process() { return *process_; }
  const MetalDevice& device() const { return *device_; }

  // Everything on stderr so far.
  std::string_view log() const { return process_->err; }
  // "b10068", "v0.4.0 (commit ...)", as far as the library knows; empty if it does not.
  std::string version();
  std::string description();  // of the device, as ggml gives it
  std::uint64_t total_memory();

  // From the log, and from ggml_metal_device_get_props() where the release has it and what it gives agrees with the
  // log.
  DerivedProperties properties();
  // From the log alone, which costs nothing.
  DerivedProperties logged_properties() const;

  // Whether the device takes the operator that computes this tensor.
  bool supports(Address tensor);

  // Calls one of ggml's functions. Errors are the machine's: check process().machine().failed().
  Address call(std::string_view name, std::initializer_list<Argument> arguments);
  bool has(std::string_view name) const { return process_->find("_" + std::string(name)).has_value(); }
  std::string text(std::string_view name, std::initializer_list<Argument> arguments);

 private:
  Ggml() = default;
  void read_props(DerivedProperties& properties);

  std::string library_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<MetalDevice> device_;
  Address dev_ = 0;  // ggml_backend_dev_t
};

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_GGML_H_
