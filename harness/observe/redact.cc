#include "harness/observe/redact.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace capbench::observe {
namespace {

// Machines' own names for people, places and themselves, and the words that stand in for what was replaced.
constexpr std::array<std::string_view, 54> kCommonNames{
    "root",      "admin",     "administrator", "user",        "users",       "lume",      "tart",
    "runner",    "ubuntu",    "debian",        "fedora",      "centos",      "rocky",     "arch",
    "alpine",    "core",      "ec2-user",      "azureuser",   "vagrant",     "packer",    "nobody",
    "daemon",    "guest",     "test",          "build",       "builder",     "docker",    "podman",
    "linuxbrew", "shared",    "public",        "default",     "anka",        "parallels", "vm",
    "host",      "localhost", "local",         "localdomain", "mac",         "macos",     "virtualmac",
    "home",      "secret",    "serial",        "password",    "credentials", "uuid",      "ipv4",
    "ipv6",      "darwin",    "linux",         "unknown",     "none"};

struct Span {
  std::size_t offset;
  std::size_t length;
  std::string_view kind;
};

using Spans = std::vector<Span>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

char at_or_nul(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : '\0';
}
char before(std::string_view text, std::size_t at) {
  return at == 0 ? '\0' : text[at - 1];
}

std::size_t run_length(std::string_view text, std::size_t at, bool (*belongs)(char)) {
  std::size_t end = at;
  while (end < text.size() && belongs(text[end])) ++end;
  return end - at;
}

// Every place where `name` stands as a whole word.
void find_word(std::string_view text, std::string_view name, std::string_view kind, Spans& spans) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; at += name.size()) {
    if (is_word(name.front()) && is_word(before(text, at))) continue;
    if (is_word(name.back()) && is_word(at_or_nul(text, at + name.size()))) continue;
    spans.push_back({at, name.size(), kind});
  }
}

void find_known(std::string_view text, std::string_view folded, const PersonalDetails& details, Spans& spans) {
  for (const std::string& home : details.homes) {
    const std::size_t slash = home.rfind('/');
    const std::string_view own = std::string_view(home).substr(slash == std::string::npos ? 0 : slash + 1);
    if (home.size() > 1 && !own.empty() && !is_common_name(own)) find_word(text, home, "home", spans);
  }
  for (const std::string& user : details.users) {
    if (!is_common_name(user)) find_word(text, user, "user", spans);
  }
  for (const std::string& host : details.hosts) {
    if (!is_common_name(host)) find_word(folded, lower(host), "host", spans);
  }
  constexpr std::size_t kShortestSecret = 4;
  for (const std::string& secret : details.secrets) {
    if (secret.size() < kShortestSecret) continue;
    const std::string wanted = lower(secret);
    for (std::size_t at = 0; (at = folded.find(wanted, at)) != std::string_view::npos; at += wanted.size()) {
      spans.push_back({at, wanted.size(), "secret"});
    }
  }
}

bool is_folder_character(char c) {
  return is_word(c) || c == '.' || c == '-' || c == '+';
}

void find_homes(std::string_view text, Spans& spans) {
  constexpr std::array<std::string_view, 4> kParents{"/home/", "/Users/", "\\Users\\", "\\\\Users\\\\"};
  for (const std::string_view parent : kParents) {
    for (std::size_t at = 0; (at = text.find(parent, at)) != std::string_view::npos; at += parent.size()) {
      const std::size_t start = at + parent.size();
      const std::size_t length = run_length(text, start, is_folder_character);
      if (length == 0 || is_common_name(text.substr(start, length))) continue;
      spans.push_back({at, parent.size() + length, "home"});
    }
  }
}

std::size_t skip_any(std::string_view text, std::size_t at, std::string_view characters) {
  while (at < text.size() && characters.find(text[at]) != std::string_view::npos) ++at;
  return at;
}

// Behind a key, what separates it from its value: quotes and spaces, one of ":=" or a tab, quotes and spaces again.
std::optional<std::size_t> value_start(std::string_view text, std::size_t at) {
  const std::size_t sign = skip_any(text, at, " \"'\\");
  if (at_or_nul(text, sign) != ':' && at_or_nul(text, sign) != '=' && at_or_nul(text, sign) != '\t')
    return std::nullopt;
  return skip_any(text, sign + 1, " \t\"'\\");
}

bool is_serial_character(char c) {
  return is_digit(c) || is_letter(c) || c == '-';
}

void find_serials(std::string_view text, std::string_view folded, Spans& spans) {
  constexpr std::string_view kWord = "serial";
  for (std::size_t at = 0; (at = folded.find(kWord, at)) != std::string_view::npos; at += kWord.size()) {
    std::size_t end = skip_any(folded, at + kWord.size(), " _-");
    for (const std::string_view more : {"number", "num", "nr", "no", "id"}) {
      if (!folded.substr(end).starts_with(more)) continue;
      end += more.size();
      break;
    }
    // "Serial Number (system): ..."
    if (const std::size_t open = skip_any(folded, end, " "); at_or_nul(folded, open) == '(') {
      constexpr std::size_t kLongestNote = 24;
      const std::size_t close = folded.substr(open, kLongestNote).find(')');
      if (close != std::string_view::npos) end = open + close + 1;
    }
    const auto start = value_start(text, end);
    if (!start) continue;
    const std::size_t length = run_length(text, *start, is_serial_character);
    const std::string_view value = text.substr(*start, length);
    constexpr std::size_t kShortest = 5;
    if (length >= kShortest && std::any_of(value.begin(), value.end(), is_digit)) {
      spans.push_back({*start, length, "serial"});
    }
  }
}

bool is_password_character(char c) {
  return static_cast<unsigned char>(c) > ' ' && std::string_view("\"',;<>\\").find(c) == std::string_view::npos;
}

// A quoted value ends at its quote, another at a space, a comma or a bracket of a tag.
std::size_t password_length(std::string_view text, std::size_t start) {
  const char quote = before(text, start);
  if (quote != '"' && quote != '\'') return run_length(text, start, is_password_character);
  std::size_t end = start;
  while (end < text.size() && text[end] != '\n' && (text[end] != quote || text[end - 1] == '\\')) ++end;
  return end - start;
}

// A literal of JSON, or what this file puts in a password's place.
bool says_nothing(std::string_view value) {
  if (value == "null" || value == "true" || value == "false") return true;
  return value.starts_with('<') && value.find('>') == value.size() - 1;
}

void find_passwords(std::string_view text, std::string_view folded, Spans& spans) {
  for (const std::string_view word : {"password", "passwd", "passphrase"}) {
    for (std::size_t at = 0; (at = folded.find(word, at)) != std::string_view::npos; at += word.size()) {
      const auto start = value_start(text, at + word.size());
      if (!start) continue;
      const std::size_t length = password_length(text, *start);
      if (length > 0 && !says_nothing(folded.substr(*start, length))) {
        spans.push_back({*start, length, "password"});
      }
    }
  }
}

// "vnc://:word@127.0.0.1:5900": what stands before the `@`.
void find_credentials(std::string_view text, Spans& spans) {
  constexpr std::string_view kMark = "://";
  const auto belongs = [](char c) {
    return is_word(c) || std::string_view(".~%!$&'()*+,;=:-").find(c) != std::string_view::npos;
  };
  for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string_view::npos; at += kMark.size()) {
    const std::size_t length = run_length(text, at + kMark.size(), belongs);
    if (length > 0 && at_or_nul(text, at + kMark.size() + length) == '@') {
      spans.push_back({at + kMark.size(), length, "credentials"});
    }
  }
}

void find_uuid(std::string_view text, std::size_t at, Spans& spans) {
  constexpr std::array<std::size_t, 5> kGroups{8, 4, 4, 4, 12};
  std::size_t end = at;
  for (const std::size_t group : kGroups) {
    if (end != at && at_or_nul(text, end++) != '-') return;
    for (std::size_t i = 0; i < group; ++i) {
      if (!is_hex(at_or_nul(text, end++))) return;
    }
  }
  if (!is_word(at_or_nul(text, end))) spans.push_back({at, end - at, "uuid"});
}

void find_mac(std::string_view text, std::size_t at, Spans& spans) {
  const char separator = at_or_nul(text, at + 2);
  if (separator != ':' && separator != '-') return;
  constexpr std::size_t kLength = 17;
  for (std::size_t i = 0; i < kLength; ++i) {
    const char c = at_or_nul(text, at + i);
    if (i % 3 == 2 ? c != separator : !is_hex(c)) return;
  }
  const char next = at_or_nul(text, at + kLength);
  if (!is_word(next) && !(next == separator && is_hex(at_or_nul(text, at + kLength + 1)))) {
    spans.push_back({at, kLength, "mac"});
  }
}

// A four-part number behind "version" is no address.
bool is_version(std::string_view text, std::size_t at) {
  constexpr std::string_view kBetween = " \t:=(\"'";
  while (at > 0 && kBetween.find(text[at - 1]) != std::string_view::npos) --at;
  constexpr std::string_view kWord = "version";
  return at >= kWord.size() && lower(text.substr(at - kWord.size(), kWord.size())) == kWord;
}

void find_ipv4(std::string_view text, std::size_t at, Spans& spans) {
  std::array<int, 4> parts{};
  std::size_t end = at;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && at_or_nul(text, end++) != '.') return;
    std::size_t digits = 0;
    for (; digits < 3 && is_digit(at_or_nul(text, end)); ++digits) parts[i] = parts[i] * 10 + (text[end++] - '0');
    if (digits == 0 || parts[i] > 255) return;
  }
  const char next = at_or_nul(text, end);
  if (is_word(next) || (next == '.' && is_word(at_or_nul(text, end + 1)))) return;
  const bool everywhere = parts == std::array<int, 4>{0, 0, 0, 0} || parts == std::array<int, 4>{255, 255, 255, 255};
  if (parts[0] == 127 || everywhere || is_version(text, at)) return;
  spans.push_back({at, end - at, "ipv4"});
}

// Returns where to go on.
std::size_t find_ipv6(std::string_view text, std::size_t at, Spans& spans) {
  const std::size_t run = run_length(text, at, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
  std::size_t length = run;
  while (length > 0 && (text[at + length - 1] == '.' || text[at + length - 1] == ':')) {
    if (length > 1 && text[at + length - 1] == ':' && text[at + length - 2] == ':') break;
    --length;
  }
  constexpr std::size_t kLongest = 45;
  const std::string candidate(text.substr(at, std::min(length, kLongest + 1)));
  const auto colons = std::count(candidate.begin(), candidate.end(), ':');
  std::array<std::uint8_t, 16> bytes{};
  if (colons < 2 || length > kLongest || is_word(at_or_nul(text, at + length)) ||
      ::inet_pton(AF_INET6, candidate.c_str(), bytes.data()) != 1) {
    return at + run;
  }
  // "::", "::1", and what only looks like an address: "a::b" in a program's message.
  const bool all_but_last_zero = std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t b) { return b == 0; });
  const std::size_t first_group = candidate.find(':');
  if (!all_but_last_zero && (colons > 2 || first_group == 4)) spans.push_back({at, length, "ipv6"});
  return at + run;
}

void find_forms(std::string_view text, Spans& spans) {
  std::size_t after_ipv6 = 0;  // an address is looked for once in every run of its characters
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (!is_hex(c) && c != ':') continue;
    const char previous = before(text, at);
    if (at >= after_ipv6 && !is_word(previous) && previous != ':' && previous != '.') {
      after_ipv6 = find_ipv6(text, at, spans);
    }
    if (c == ':' || is_word(previous)) continue;
    find_uuid(text, at, spans);
    if (previous != ':') find_mac(text, at, spans);
    if (is_digit(c) && previous != '.') find_ipv4(text, at, spans);
  }
}

// By offset, those that overlap made one: no byte of either may stay.
Spans united(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length > b.length;
  });
  Spans result;
  for (const Span& span : spans) {
    if (!result.empty() && span.offset < result.back().offset + result.back().length) {
      Span& last = result.back();
      last.length = std::max(last.length, span.offset + span.length - last.offset);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

Spans find_all(std::string_view text, const PersonalDetails& details, Addresses addresses) {
  const std::string folded = lower(text);
  Spans spans;
  find_known(text, folded, details, spans);
  find_homes(text, spans);
  find_serials(text, folded, spans);
  find_passwords(text, folded, spans);
  find_credentials(text, spans);
  find_forms(text, spans);
  if (addresses == Addresses::kKeep) std::erase_if(spans, [](const Span& span) { return span.kind == "ipv4"; });
  return united(std::move(spans));
}

std::string rendered(std::string_view text, const Spans& spans) {
  std::string result;
  std::size_t done = 0;
  for (const Span& span : spans) {
    result.append(text.substr(done, span.offset - done)).append("<").append(span.kind).append(">");
    done = span.offset + span.length;
  }
  return result.append(text.substr(done));
}

// Places in the rendered text as places in the original; one that touches a find's stand-in takes in the whole find.
Spans in_original(const Spans& found, const Spans& spans) {
  std::vector<std::size_t> starts;  // of the stand-ins
  std::size_t removed = 0;
  std::size_t added = 0;
  for (const Span& span : spans) {
    starts.push_back(span.offset - removed + added);
    removed += span.length;
    added += span.kind.size() + 2;
  }
  // The original byte behind a rendered one: the find's first or last for one of a stand-in.
  const auto original = [&](std::size_t at, bool last) {
    const auto next = std::upper_bound(starts.begin(), starts.end(), at);
    if (next == starts.begin()) return at;
    const auto i = static_cast<std::size_t>(next - starts.begin() - 1);
    const std::size_t size = spans[i].kind.size() + 2;
    if (at < starts[i] + size) return last ? spans[i].offset + spans[i].length - 1 : spans[i].offset;
    return spans[i].offset + spans[i].length + (at - starts[i] - size);
  };
  Spans result;
  for (const Span& place : found) {
    const std::size_t start = original(place.offset, false);
    result.push_back({start, original(place.offset + place.length - 1, true) + 1 - start, place.kind});
  }
  return result;
}

Spans both(Spans first, const Spans& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

bool is_common_name(std::string_view name) {
  if (name.size() < 2) return true;
  const std::string folded = lower(name);
  return std::find(kCommonNames.begin(), kCommonNames.end(), folded) != kCommonNames.end();
}

Redacted redact(std::string_view text, const PersonalDetails& details, Addresses addresses) {
  // What stood next to a find may be one itself, now that it ends where the find began.
  constexpr int kMostPasses = 16;
  Spans spans;
  std::string shown(text);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const Spans more = find_all(shown, details, addresses);
    if (more.empty()) break;
    spans = united(both(spans, in_original(more, spans)));
    shown = rendered(text, spans);
  }
  Redacted result{std::move(shown), {}};
  for (const Span& span : spans) result.replaced.push_back({std::string(span.kind), span.offset, span.length});
  return result;
}

}  // namespace capbench::observe
