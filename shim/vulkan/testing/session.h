// A Vulkan application in a test: the real loader, a driver, and the layer as an arm asks for it.
#ifndef CAPBENCH_SHIM_VULKAN_TESTING_SESSION_H_
#define CAPBENCH_SHIM_VULKAN_TESTING_SESSION_H_

#include <vulkan/vulkan_core.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shim/vulkan/injection.h"
#include "shim/vulkan/newer_structures.h"
#include "shim/vulkan/testing/structures.h"

namespace capbench::shim::vulkan {

// The folder of the built library and its manifests.
std::filesystem::path layer_folder();

// An absolute path of a file of this workspace that the test depends on.
std::filesystem::path workspace_file(const std::string& path);

// Sets variables of this process, and puts back what was there.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

// What this process writes to stderr meanwhile.
class CapturedStderr {
 public:
  CapturedStderr();
  ~CapturedStderr();
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;
  std::string text() const;

 private:
  int saved_ = -1;
  int file_ = -1;
};

// Whether a structure may stand in the chain of features, and in which style of chain.
enum class Style { kIndividual, kAggregate };

// A chain of every structure with a word of interest, allocated together.
class Chain {
 public:
  static Chain features(Style style, bool newer_extensions);
  static Chain properties(Style style, bool newer_extensions);

  template <class T>
  T* head() {
    return reinterpret_cast<T*>(blocks_.front().get());
  }
  Words read() const;

 private:
  void add(VkStructureType type);
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

struct SessionOptions {
  std::string driver_manifest;  // a path; VK_ICD_FILENAMES
  std::string guest;            // CAPSHIM_GUEST; "": not set
  std::string set;              // CAPSHIM_SET; "": not set
  LayerRoles roles;
  std::map<std::string, std::string> variables;  // more, or other values than those above give
  std::uint32_t version = VK_API_VERSION_1_3;
  std::vector<const char*> instance_extensions;
  const void* instance_chain = nullptr;
  bool newer_extensions = true;  // ask for structures that no header of 2023 has
};

// One instance. Functions are those that vkGetInstanceProcAddr gives an application.
class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  VkResult created() const { return created_; }
  VkInstance instance() const { return instance_; }
  const std::vector<VkPhysicalDevice>& devices() const { return devices_; }

  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(lookup(name));
  }

  // Every word of interest; `suffix` is "" or "KHR".
  Words words(Style style, const std::string& suffix = "", std::size_t device = 0) const;
  // The limits as vkGetPhysicalDeviceProperties gives them.
  Words plain_limits(std::size_t device = 0) const;
  std::vector<std::string> extensions(std::size_t device = 0) const;
  std::vector<CooperativeMatrixShape> shapes(std::size_t device = 0) const;
  std::vector<FlexibleDimensions> flexible(std::size_t device = 0) const;

  // Makes a device that enables exactly the chain's features, and destroys it after `use`.
  VkResult create_device(Chain& features, const std::vector<const char*>& extensions, std::size_t device = 0,
                         const std::function<void(VkDevice)>& use = {}) const;
  // Asks for the features and then enables what was answered, as ggml does.
  VkResult create_device_with_all(Style style, std::size_t device = 0) const;

 private:
  PFN_vkVoidFunction lookup(const char* name) const;

  SessionOptions options_;
  VkResult created_ = VK_ERROR_INITIALIZATION_FAILED;
  VkInstance instance_ = VK_NULL_HANDLE;
  std::vector<VkPhysicalDevice> devices_;
};

// vkGetInstanceProcAddr of the loader, opened once; nullptr if this machine has none.
PFN_vkGetInstanceProcAddr loader();

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_TESTING_SESSION_H_
