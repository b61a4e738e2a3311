#include "shim/common/settings.h"

#include <cstring>

#include "shim/common/utf8.h"

namespace capbench::shim {
namespace {

// Splits `text` at the first `separator`; `rest` is empty and `found` false if there is none.
struct Cut {
  std::string_view head;
  std::string_view rest;
  bool found = false;
};

Cut cut(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}, false};
  return {{text.data(), at}, {text.data() + at + 1, text.size() - at - 1}, true};
}

bool parse_integer(std::string_view text, std::int64_t& number) {
  if (text.empty() || text.size() > 18) return false;  // 18 digits always fit, and no range needs more
  number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  return true;
}

bool parse_value(const Toggle& toggle, std::string_view text, std::int64_t& value) {
  switch (toggle.kind) {
    case ValueKind::kLevel:
      for (std::size_t i = 0; i < toggle.levels.count; ++i) {
        if (toggle.levels.names[i] == text) {
          value = static_cast<std::int64_t>(i);
          return true;
        }
      }
      return false;
    case ValueKind::kInteger:
      return parse_integer(text, value) && value >= toggle.low && value <= toggle.high;
    case ValueKind::kSwitch:
      value = text == "on" ? 1 : 0;
      return text == "on" || text == "off";
  }
  return false;
}

// "VARIABLE: CAUSE; nothing is changed; try: REMEDY". The cause is written by `cause(TextBuilder&)`.
template <class Cause>
void refuse(ErrorText& error, std::string_view variable, std::string_view remedy, Cause cause) {
  TextBuilder out(error.bytes.data(), error.bytes.size());
  out.append(variable);
  out.append(": ");
  cause(out);
  out.append("; nothing is changed; try: ");
  out.append(remedy);
  error.size = out.view().size();
}

constexpr std::string_view kListForm = "NAME=VALUE,NAME=VALUE, as in cpu.isa=haswell";

// Fills `error` if the whole value cannot be a list.
void check_whole(std::string_view variable, std::string_view value, ErrorText& error) {
  if (value.size() > kMaxSettingsBytes) {
    refuse(error, variable, "a list of at most 65536 bytes",
           [](TextBuilder& out) { out.append("longer than 65536 bytes"); });
    return;
  }
  const std::size_t valid = utf8_valid_prefix(value);
  if (valid != value.size()) {
    refuse(error, variable, kListForm, [&](TextBuilder& out) {
      out.append("not UTF-8 text from byte ");
      out.append_number(static_cast<std::int64_t>(valid));
      out.append(" on");
    });
    return;
  }
  if (value.empty()) {
    refuse(error, variable, "unsetting it, or NAME=VALUE", [](TextBuilder& out) { out.append("an empty list"); });
  }
}

// Adds one "name=value" or fills `error`. `number` counts entries from 1.
void add_entry(std::string_view variable, std::string_view entry, std::int64_t number, ParsedSettings& parsed) {
  const Cut parts = cut(entry, '=');
  const auto place = [&](TextBuilder& out) {
    out.append("entry ");
    out.append_number(number);
    out.append(": ");
  };
  if (entry.empty() || !parts.found) {
    refuse(parsed.error, variable, kListForm, [&](TextBuilder& out) {
      place(out);
      if (entry.empty()) {
        out.append("empty");
      } else {
        out.append_quoted(entry);
        out.append(" has no '='");
      }
    });
    return;
  }
  const std::size_t index = find_toggle(parts.head);
  if (index == kToggleCount) {
    refuse(parsed.error, variable, "a capability that shim/README.md lists", [&](TextBuilder& out) {
      place(out);
      out.append("unknown capability ");
      out.append_quoted(parts.head);
    });
    return;
  }
  const Toggle& toggle = kToggles[index];
  if (parsed.settings.find(toggle.name) != nullptr) {
    refuse(parsed.error, variable, "naming it once", [&](TextBuilder& out) {
      place(out);
      out.append(toggle.name);
      out.append(" is given twice");
    });
    return;
  }
  std::int64_t value = 0;
  if (!parse_value(toggle, parts.rest, value)) {
    refuse(parsed.error, variable, "an expected value", [&](TextBuilder& out) {
      place(out);
      out.append(toggle.name);
      out.append("=");
      out.append_quoted(parts.rest);
      out.append(": expected ");
      append_expected(out, toggle);
    });
    return;
  }
  parsed.settings.items[parsed.settings.count] = {index, value};
  ++parsed.settings.count;
}

ParsedSettings parse_variable(std::string_view variable, const char* value) {
  if (value == nullptr) return {};
  return parse_settings(variable, {value, strnlen(value, kMaxSettingsBytes + 1)});
}

}  // namespace

void append_expected(TextBuilder& out, const Toggle& toggle) {
  switch (toggle.kind) {
    case ValueKind::kLevel:
      out.append("one of");
      for (std::size_t i = 0; i < toggle.levels.count; ++i) {
        out.append(i == 0 ? " " : ", ");
        out.append(toggle.levels.names[i]);
      }
      break;
    case ValueKind::kInteger:
      out.append("an integer from ");
      out.append_number(toggle.low);
      out.append(" to ");
      out.append_number(toggle.high);
      break;
    case ValueKind::kSwitch:
      out.append("on or off");
      break;
  }
}

const Setting* Settings::find(std::string_view name) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (kToggles[items[i].toggle].name == name) return &items[i];
  }
  return nullptr;
}

bool Settings::touches(Domain domain) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (kToggles[items[i].toggle].domain == domain) return true;
  }
  return false;
}

ParsedSettings parse_settings(std::string_view variable, std::string_view value) {
  ParsedSettings parsed;
  check_whole(variable, value, parsed.error);
  std::int64_t number = 1;
  Cut next{{}, value, true};
  while (parsed.error.empty() && next.found) {
    next = cut(next.rest, ',');
    add_entry(variable, next.head, number, parsed);
    ++number;
  }
  if (!parsed.error.empty()) parsed.settings = {};
  return parsed;
}

Roles read_roles(const char* guest_value, const char* set_value) {
  const ParsedSettings guest = parse_variable(kGuestVariable, guest_value);
  const ParsedSettings set = parse_variable(kSetVariable, set_value);
  if (!guest.error.empty()) return {{}, {}, guest.error};
  if (!set.error.empty()) return {{}, {}, set.error};
  return {guest.settings, set.settings, {}};
}

}  // namespace capbench::shim
