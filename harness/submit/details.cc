#include "harness/submit/details.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "harness/observe/facts.h"
#include "harness/observe/run_command.h"
#include "harness/observe/sources.h"

namespace capbench::submit {
namespace {

namespace fs = std::filesystem;

// What the firmware says of the machine; some of it only to root.
constexpr auto kFirmware = std::to_array<std::string_view>({
    "sys/class/dmi/id/product_serial",
    "sys/class/dmi/id/product_uuid",
    "sys/class/dmi/id/board_serial",
    "sys/class/dmi/id/chassis_serial",
    "sys/class/dmi/id/product_asset_tag",
    "sys/class/dmi/id/board_asset_tag",
    "sys/class/dmi/id/chassis_asset_tag",
    "sys/firmware/devicetree/base/serial-number",
    "var/lib/dbus/machine-id",
});

// What firmware says where nobody filled it in.
bool is_filler(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view filler : {"serial", "default", "o.e.m", "not ", "none", "unknown", "asset", "system",
                                        "chassis", "board", "to be filled", "n/a", "amazon", "ec2", "123456"}) {
    if (folded.find(filler) != std::string::npos) return true;
  }
  // "00000000", "........"
  return std::all_of(folded.begin(), folded.end(), [&](char c) { return c == folded.front(); });
}

void add(std::vector<std::string>& list, std::string_view text) {
  constexpr std::string_view kBlank = std::string_view(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return;
  text = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  if (std::find(list.begin(), list.end(), text) == list.end()) list.emplace_back(text);
}

void add_variable(std::vector<std::string>& list, const char* name) {
  if (const char* value = std::getenv(name); value != nullptr) add(list, value);
}

void add_user(observe::PersonalDetails& details) {
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 1U << 14U> buffer{};
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) {
    add(details.users, found->pw_name);
    add(details.homes, found->pw_dir);
    // "Jo Q. Smith,room,telephone": the name.
    const std::string_view name = found->pw_gecos == nullptr ? "" : found->pw_gecos;
    add(details.users, name.substr(0, name.find(',')));
  }
  for (const char* name : {"USER", "LOGNAME", "SUDO_USER"}) add_variable(details.users, name);
  add_variable(details.homes, "HOME");
}

void add_file(const fs::path& path, std::vector<std::string>& list) {
  constexpr std::uint64_t kMost = 4096;
  const auto text = read_file(path, kMost);
  if (!text) return;
  const std::string_view line = std::string_view(*text).substr(0, text->find_first_of(std::string_view("\r\n\0", 3)));
  if (!line.empty() && !is_filler(line)) add(list, line);
}

void tidy(std::vector<std::string>& list) {
  std::vector<std::string> once;
  for (const std::string& text : list) add(once, text);
  list = std::move(once);
}

}  // namespace

observe::PersonalDetails details_of_this_machine(const fs::path& root) {
  std::vector<observe::Source> asked = observe::sources(observe::this_os(), observe::Purpose::kEnvironment);
  std::erase_if(asked, [](const observe::Source& source) {
    return !source.name.starts_with("personal") && source.name != "platform" && source.name != "machine_id";
  });
  observe::PersonalDetails details =
      observe::personal_details(observe::read_sources_locally(asked, observe::run_command, root));
  add_user(details);
  add_file(root / "etc/hostname", details.hosts);
  for (const std::string_view name : kFirmware) add_file(root / name, details.secrets);
  for (const std::string& host : std::vector<std::string>(details.hosts)) {
    add(details.hosts, std::string_view(host).substr(0, host.find('.')));
  }
  while (!details.homes.empty() && details.homes.back().ends_with('/') && details.homes.back().size() > 1) {
    details.homes.back().pop_back();
  }
  for (auto* list : {&details.users, &details.homes, &details.hosts, &details.secrets}) tidy(*list);
  return details;
}

}  // namespace capbench::submit
