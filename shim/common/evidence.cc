#include "shim/common/evidence.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "shim/common/banner.h"
#include "shim/common/settings.h"

namespace capbench::shim {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLine = 64U * 1024U;
constexpr std::string_view kMark = "capshim: {";

Error unreadable(std::string cause) {
  return {ErrorKind::kFinding, "capshim line", std::move(cause), "the shim that came with this capbench"};
}

// The string at `key`; false if it is there with another type. A missing one leaves `text` as it is.
bool take_string(const json& object, const char* key, std::string& text) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_string()) return false;
  text = found->get<std::string>();
  return true;
}

bool take_strings(const json& object, const char* key, std::vector<std::string>& texts) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_array()) return false;
  for (const json& item : *found) {
    if (!item.is_string()) return false;
    texts.push_back(item.get<std::string>());
  }
  return true;
}

bool take_capability(const json& object, BannerCapability& capability) {
  return object.is_object() && take_string(object, "device", capability.device) &&
         take_string(object, "guest", capability.guest) && take_string(object, "set", capability.set) &&
         take_string(object, "reported", capability.reported) && take_strings(object, "executed", capability.executed);
}

Result<Banner> read_object(const json& object) {
  Banner banner;
  if (!object.is_object()) return unreadable("not a JSON object");
  if (!take_string(object, "domain", banner.domain) || banner.domain.empty()) return unreadable("no string \"domain\"");
  if (!take_string(object, "version", banner.version)) return unreadable("\"version\" is not a string");
  const auto pid = object.find("pid");
  if (pid == object.end() || !pid->is_number_integer()) return unreadable("no integer \"pid\"");
  banner.pid = pid->get<std::int64_t>();
  if (!object.contains("roles") || !take_strings(object, "roles", banner.roles)) {
    return unreadable("no list of strings \"roles\"");
  }
  const auto capabilities = object.find("capabilities");
  if (capabilities == object.end() || !capabilities->is_object()) return unreadable("no object \"capabilities\"");
  for (const auto& [name, value] : capabilities->items()) {
    if (!take_capability(value, banner.capabilities[name]))
      return unreadable("\"capabilities\" holds a malformed entry");
  }
  if (!take_string(object, "note", banner.note)) return unreadable("\"note\" is not a string");
  if (!take_string(object, "error", banner.error)) return unreadable("\"error\" is not a string");
  return banner;
}

}  // namespace

std::string format_settings(const std::map<std::string, std::string>& settings) {
  std::string list;
  for (const auto& [name, value] : settings) {
    if (!list.empty()) list += ',';
    list += name;
    list += '=';
    list += value;
  }
  return list;
}

Status check_settings(const std::map<std::string, std::string>& settings) {
  for (const auto& [name, value] : settings) {
    const std::size_t toggle = find_toggle(name);
    if (toggle == kToggleCount) return Error{ErrorKind::kUsage, name, "unknown capability", "`capbench shim describe`"};
    // A comma would begin a second entry; the parser is only asked about one.
    if (value.find(',') == std::string::npos && parse_settings(name, name + "=" + value).error.empty()) continue;
    std::array<char, 512> buffer{};
    TextBuilder expected(buffer.data(), buffer.size());
    append_expected(expected, kToggles[toggle]);
    return Error{ErrorKind::kUsage, name, "\"" + value + "\"; expected " + std::string(expected.view()),
                 "`capbench shim describe " + name + "`"};
  }
  return {};
}

bool Banner::has_role(std::string_view role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

Result<Banner> parse_banner(std::string_view line) {
  if (line.size() > kMaxLine) return unreadable("longer than 65536 bytes");
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return unreadable("does not hold \"capshim: {\"");
  line.remove_prefix(mark + kBannerPrefix.size());
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  const json object = json::parse(line, nullptr, false);
  if (object.is_discarded()) return unreadable("not JSON after \"capshim: \"");
  return read_object(object);
}

BannerScan scan_banners(std::string_view stderr_text) {
  BannerScan scan;
  while (!stderr_text.empty()) {
    const std::size_t mark = stderr_text.find(kMark);
    if (mark == std::string_view::npos) break;
    stderr_text.remove_prefix(mark);
    const std::size_t end = std::min(stderr_text.find('\n'), stderr_text.size());
    Result<Banner> banner = parse_banner(stderr_text.substr(0, end));
    if (banner.ok()) {
      scan.banners.push_back(std::move(banner).value());
    } else {
      scan.malformed.push_back(std::move(banner).error());
    }
    stderr_text.remove_prefix(end);
  }
  return scan;
}

}  // namespace capbench::shim
