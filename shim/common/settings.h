// CAPSHIM_SET and CAPSHIM_GUEST: lists "name=value,name=value" of toggles.h. Pure; no allocation, no exception, so a
// preload library may use it before anything else runs.
#ifndef CAPBENCH_SHIM_COMMON_SETTINGS_H_
#define CAPBENCH_SHIM_COMMON_SETTINGS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/common/text.h"
#include "shim/common/toggles.h"

namespace capbench::shim {

inline constexpr std::string_view kSetVariable = "CAPSHIM_SET";      // what this process is told
inline constexpr std::string_view kGuestVariable = "CAPSHIM_GUEST";  // what the stand-in guest below answers

// A longer variable is refused unread. All toggles together need a small part of it.
inline constexpr std::size_t kMaxSettingsBytes = 64U * 1024U;

struct Setting {
  std::size_t toggle = kToggleCount;  // index into kToggles
  std::int64_t value = 0;             // index into the toggle's levels, the integer, or 1 for on and 0 for off
};

// At most one setting per toggle, in the order written.
struct Settings {
  std::array<Setting, kToggleCount> items{};
  std::size_t count = 0;

  // The setting of that toggle, or nullptr.
  const Setting* find(std::string_view name) const;
  bool touches(Domain domain) const;
};

struct ParsedSettings {
  Settings settings;  // empty if there is an error
  ErrorText error;    // names the variable, the entry, the cause and a remedy
};

// Parses one variable's value. `variable` is only named in errors. Refused: an empty list or entry, an entry without
// '=', an unknown name, a value out of range, a name given twice, bytes that are not UTF-8, more than
// kMaxSettingsBytes.
ParsedSettings parse_settings(std::string_view variable, std::string_view value);

// What a toggle accepts, for people: "one of x64, sse42, ...", "an integer from 1001 to 1021", "on or off".
void append_expected(TextBuilder& out, const Toggle& toggle);

// Both variables of a process. An error in one drops both: a half-treated process would be neither arm.
struct Roles {
  Settings guest;
  Settings set;
  ErrorText error;
};

// The values as getenv gives them: nullptr is unset. Reads at most kMaxSettingsBytes + 1 bytes of each.
Roles read_roles(const char* guest_value, const char* set_value);

}  // namespace capbench::shim

#endif  // CAPBENCH_SHIM_COMMON_SETTINGS_H_
