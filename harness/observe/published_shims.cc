#include "harness/observe/published_shims.h"

#include <array>

#include "harness/observe/log_lines.h"

namespace capbench::observe {
namespace {

constexpr std::array<std::string_view, 2> kShims{"LumeMetalCapabilities", "TartMetalCapabilities"};

struct Name {
  std::string_view theirs;
  std::string_view ours;
};

constexpr std::array<Name, 3> kNames{{
    {"appleFamilyMax", "metal.apple_family"},
    {"maxThreadgroupMemory", "metal.max_threadgroup_memory"},
    {"recommendedWorkingSetSize", "metal.recommended_working_set"},
}};

constexpr std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "appleFamilyMax=1009 maxThreadgroupMemory=65536".
std::map<std::string, std::string> read_pairs(std::string_view text) {
  constexpr std::size_t kMaxPairs = 100;
  std::map<std::string, std::string> pairs;
  while (!text.empty() && pairs.size() < kMaxPairs) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) pairs.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

}  // namespace

std::map<std::string, std::string> PublishedBanner::capabilities() const {
  std::map<std::string, std::string> known;
  for (const Name& name : kNames) {
    const auto it = says.find(std::string(name.theirs));
    if (it != says.end()) known.emplace(name.ours, it->second);
  }
  return known;
}

std::vector<PublishedBanner> published_banners(std::string_view log) {
  std::vector<PublishedBanner> banners;
  for_each_line(log, [&](std::string_view line) {
    for (const std::string_view shim : kShims) {
      const auto said = after(line, "[" + std::string(shim) + "]");
      if (!said) continue;
      PublishedBanner banner;
      banner.shim = shim;
      banner.enabled = trimmed(*said).starts_with("Enabled");
      const std::size_t open = said->rfind('(');
      const std::size_t close = said->rfind(')');
      if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
        banner.says = read_pairs(said->substr(open + 1, close - open - 1));
      }
      banners.push_back(std::move(banner));
      return;
    }
  });
  return banners;
}

bool is_published_shim(std::string_view path) {
  const std::string_view name = file_name(path);
  return name.find("MetalCapabilities") != std::string_view::npos;
}

bool is_own_shim(std::string_view path) {
  return file_name(path).find("capshim") != std::string_view::npos;
}

}  // namespace capbench::observe
