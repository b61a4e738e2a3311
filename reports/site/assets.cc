#include "reports/site/embedded.h"
#include "reports/site/site.h"

namespace capbench::site {
namespace {

// Bars of the three modes.
constexpr std::string_view kIcon =
    R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#fcfcfb"/>)svg"
    R"svg(<rect x="5" y="6" width="22" height="5" rx="1.5" fill="#75818e"/><rect x="5" y="14" width="6" height="5" rx="1.5" )svg"
    R"svg(fill="#b4690e"/><rect x="5" y="22" width="20" height="5" rx="1.5" fill="#0b6e99"/></svg>)svg";

}  // namespace

const std::vector<Asset>& assets() {
  static const std::vector<Asset> kAssets = [] {
    std::vector<Asset> all{{"assets/style.css", "text/css; charset=utf-8", kStyle},
                           {"assets/icon.svg", "image/svg+xml", kIcon},
                           {"assets/licences.txt", "text/plain; charset=utf-8", kLicences}};
    for (const Script& script : scripts()) all.push_back({script.path, "text/javascript; charset=utf-8", script.text});
    return all;
  }();
  return kAssets;
}

}  // namespace capbench::site
