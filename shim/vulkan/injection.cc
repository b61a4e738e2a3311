#include "shim/vulkan/injection.h"

namespace capbench::shim::vulkan {

Result<std::map<std::string, std::string>> layer_environment(const std::filesystem::path& folder, LayerRoles roles) {
  std::map<std::string, std::string> environment;
  if (!roles.guest && !roles.shim) return environment;
  const bool is_symbolic = folder.native().starts_with('<');
  if (!(folder.is_absolute() || is_symbolic) || folder.native().find(':') != std::string::npos) {
    return Error{ErrorKind::kMachine, "the Vulkan layer's folder " + folder.string(),
                 folder.is_absolute() || is_symbolic ? "a ':' in its name would end it in VK_LAYER_PATH"
                                                     : "not an absolute path",
                 "name an absolute path without ':' in $CAPBENCH_SHIM_DIR"};
  }
  std::string& manifests = environment["VK_LAYER_PATH"];
  std::string& layers = environment["VK_INSTANCE_LAYERS"];
  const auto add = [&](std::string_view manifest, std::string_view layer) {
    if (!manifests.empty()) manifests += ':';
    if (!layers.empty()) layers += ':';
    manifests += (folder / manifest).string();
    layers += layer;
  };
  // The first is nearest to the application.
  if (roles.shim) add(kShimManifest, kShimLayer);
  if (roles.guest) add(kGuestManifest, kGuestLayer);
  return environment;
}

}  // namespace capbench::shim::vulkan
