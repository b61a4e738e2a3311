// How the Vulkan layer gets into a process: which environment variables, with which values. Pure; for the harness.
//
// One library, two explicit layers, each with a manifest beside the library: the shim, and below it (nearer to the
// driver) the stand-in guest. Settings go into CAPSHIM_SET and CAPSHIM_GUEST (shim/common/settings.h), which one
// process shares among all domains; the variables here only put the layers in place:
//
//   arm                 roles              settings
//   nothing             (no variables)     neither
//   stand-in guest      {.guest}           CAPSHIM_GUEST
//   guest and shim      {.guest, .shim}    CAPSHIM_GUEST and CAPSHIM_SET
//   shim                {.shim}            CAPSHIM_SET
//   placebo             {.guest, .shim}    neither: both layers are loaded and change nothing
//
// Take `guest` if CAPSHIM_GUEST names a vulkan.* capability: with such a setting and no stand-in below it, the shim
// refuses to act, since it would then raise above the real device. A role whose variable names no vulkan.* capability
// changes nothing.
#ifndef CAPBENCH_SHIM_VULKAN_INJECTION_H_
#define CAPBENCH_SHIM_VULKAN_INJECTION_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::shim::vulkan {

inline constexpr std::string_view kLibraryFile = "libcapshim_vulkan.so";

// The manifests lie in the library's folder and name it as "./libcapshim_vulkan.so".
inline constexpr std::string_view kShimManifest = "VkLayer_capshim.json";
inline constexpr std::string_view kGuestManifest = "VkLayer_capshim_guest.json";

// The names that the manifests give the layers.
inline constexpr std::string_view kShimLayer = "VK_LAYER_CAPBENCH_capshim";
inline constexpr std::string_view kGuestLayer = "VK_LAYER_CAPBENCH_capshim_guest";

struct LayerRoles {
  bool guest = false;
  bool shim = false;
};

// The variables for one process: VK_LAYER_PATH and VK_INSTANCE_LAYERS, or none if there is no role. `folder` holds the
// library and both manifests. They replace what the process would inherit, so other explicit layers are not found.
//
// VK_LAYER_PATH lists the manifest files and not the folder: some loaders (1.3.234 to 1.3.246) stack layers in the
// order in which they find them, and the order within a folder is the file system's.
//
// Set them on the process itself, not on a shell before it. Programs that are setuid, or have file capabilities, drop
// VK_LAYER_PATH without a word: only the layer's own line (shim/common/banner.h) shows that it is there. Errors: a
// folder that is not absolute, or has ':' in its name (the list's separator). A place to be filled in, as a plan names
// it ("<shim>"), is taken as it is.
Result<std::map<std::string, std::string>> layer_environment(const std::filesystem::path& folder, LayerRoles roles);

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_INJECTION_H_
