#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "harness/observe/source_table.h"
#include "harness/observe/sources.h"
#include "harness/observe/text.h"
#include "harness/observe/variables.h"

namespace capbench::observe {
namespace {

// The shell's own words only, but for cat's kin `head`, `env`, `sed`, `id`, `uname` and `sleep`.
//
// A command's output goes through `head` to be cut, its status around it on another descriptor. The watchdog's
// descriptors point nowhere: one that held the output open would keep the caller waiting for its `sleep`.
constexpr std::string_view kFunctions = R"sh(
exec </dev/null
begin() { printf '\n@@%s begin %s\n' "$nonce" "$1"; }
finish() { printf '\n@@%s end %s %s\n' "$nonce" "$1" "$2"; }
watched() {
  seconds=$1
  shift
  "$@" 2>/dev/null &
  child=$!
  ( trap 'kill "$nap"; exit 0' TERM; sleep "$seconds" & nap=$!; wait "$nap"; kill -9 "$child" ) >/dev/null 2>&1 &
  dog=$!
  wait "$child"
  status=$?
  kill "$dog"
  wait "$dog"
  return "$status"
}
run() {
  limit=$1 cap=$2
  shift 2
  r=127
  command -v "$1" >/dev/null 2>&1 || return 0
  r=$( { { watched "$limit" "$@" 3>&- 4>&- 2>/dev/null; printf '%s' "$?" >&4; } | head -c "$cap" >&3; } 4>&1 )
}
whole() {
  r=1
  [ -f "$2" ] && [ -r "$2" ] || return 0
  head -c "$1" <"$2" 2>/dev/null
  r=$?
}
first_lines() {
  r=0
  for f in "$@"; do
    [ -f "$f" ] && [ -r "$f" ] || continue
    line=
    { IFS= read -r line <"$f"; } 2>/dev/null
    [ -n "$line" ] && printf '%s\t%s\n' "$f" "$line"
  done
}
any() {
  for f in "$@"; do [ -e "$f" ] && return 0; done
  return 1
}
paths() {
  r=0
  for f in "$@"; do
    [ -e "$f" ] || continue
    access=
    [ -r "$f" ] && access=r
    [ -w "$f" ] && access=${access}w
    printf '%s %s\n' "${access:--}" "$f"
  done
}
)sh";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string clean(std::string_view nonce) {
  std::string text;
  std::copy_if(nonce.begin(), nonce.end(), std::back_inserter(text), is_name_character);
  return text;
}

std::string shell_word(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// A glob with everything quoted but what makes it one.
std::string glob_word(std::string_view pattern) {
  std::string word;
  if (pattern.starts_with("~/")) {
    word = "\"$HOME\"/";
    pattern.remove_prefix(2);
  }
  for (const char c : pattern) {
    const bool plain = is_name_character(c) || std::string_view("/._-*?[]").find(c) != std::string_view::npos;
    word += plain ? std::string(1, c) : shell_word(std::string_view(&c, 1));
  }
  return word;
}

std::string words(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) text += " " + glob_word(pattern);
  return text;
}

std::string source_lines(const Source& source) {
  switch (source.kind) {
    case SourceKind::kFile:
      return fmt::format("whole {} {}\n", source.max_bytes, glob_word(source.patterns.front()));
    case SourceKind::kFirstLines:
      return "first_lines" + words(source.patterns) + "\n";
    case SourceKind::kPaths:
      return "paths" + words(source.patterns) + "\n";
    case SourceKind::kVariables:
      return "printf '%s\\n' \"$variables\"; r=0\n";
    case SourceKind::kUname:
      return "uname -srm; r=$?\n";
    case SourceKind::kPersonal:
      return "printf 'user=%s\\nhome=%s\\nhost=%s\\n' \"$(id -un)\" \"$HOME\" \"$(uname -n)\"; r=0\n";
    case SourceKind::kCommand:
      break;
  }
  std::string lines = "r=127\n";
  if (!source.only_with.empty()) lines += "if any" + words(source.only_with) + "; then\n";
  for (const std::vector<std::string>& argv : source.commands) {
    lines += fmt::format("[ \"$r\" = 0 ] || run {} {}", source.limit_s, source.max_bytes);
    for (const std::string& word : argv) lines += " " + shell_word(word);
    lines += "\n";
  }
  if (!source.only_with.empty()) lines += "fi\n";
  return lines;
}

std::string system_lines(const std::vector<Source>& sources, Os os) {
  std::string lines;
  std::set<std::string_view> seen;  // facts and hygiene share some
  for (const Source& source : sources) {
    if (source.os != os || !seen.insert(source.name).second) continue;
    lines += fmt::format("begin {0}\n{1}finish {0} \"$r\"\n", source.name, source_lines(source));
  }
  return lines;
}

// Keeps the steering variables, then drops those that would put a library into what runs from here on.
std::string variable_lines() {
  std::string names;
  for (const std::string_view name : kSteeringNames) names += fmt::format(" {}", name);
  std::string prefixes;
  for (const std::string_view prefix : kSteeringPrefixes) {
    prefixes += fmt::format("{}{}*=*", prefixes.empty() ? "" : "|", prefix);
  }
  std::string dropped;
  for (const std::string_view name : kInjectionNames) dropped += fmt::format(" {}", name);
  return fmt::format(
      "kept=\nfor n in{0}; do\n  eval \"v=\\${{$n-}}\"\n  [ -n \"$v\" ] && kept=\"$kept$n=$v\n\"\ndone\n"
      // VK_INSTANCE_LAYERS is both dropped and one of the names that `env` would have to show.
      "[ -n \"${{VK_INSTANCE_LAYERS-}}\" ] && kept=\"${{kept}}VK_INSTANCE_LAYERS=$VK_INSTANCE_LAYERS\n\"\n"
      "unset{1}\n"
      "variables=$kept$(env | while IFS= read -r l; do case $l in {2}) printf '%s\\n' \"$l\" ;; esac; done)\n"
      "for n in $(env | sed -n -e 's/^\\(LUME_METAL_[A-Za-z0-9_]*\\)=.*/\\1/p' "
      "-e 's/^\\(TART_METAL_[A-Za-z0-9_]*\\)=.*/\\1/p'); do unset \"$n\"; done\n",
      names, dropped, prefixes);
}

}  // namespace

std::string facts_script(const std::vector<Source>& sources, std::string_view nonce) {
  std::string path;
  for (const std::string_view folder : kToolFolders) path += std::string(folder) + ":";
  std::string script = "#!/bin/sh\nset +eu\n";
  script +=
      fmt::format("LC_ALL=C\nLANG=C\nPATH=\"{}${{PATH-}}:${{HOME-}}/.local/bin\"\nexport LC_ALL LANG PATH\n", path);
  script += variable_lines();
  script += fmt::format("nonce={}\n", clean(nonce));
  script += kFunctions;
  script += "exec 3>&1\ncase $(uname -s) in\nDarwin)\n:\n" + system_lines(sources, Os::kMacos);
  script += ";;\nLinux)\n:\n" + system_lines(sources, Os::kLinux) + ";;\nesac\n";
  return script + "printf '\\n@@%s done\\n' \"$nonce\"\n";
}

Result<SourceTexts> parse_facts_output(std::string_view text, std::string_view nonce) {
  const std::string mark = fmt::format("@@{} ", clean(nonce));
  SourceTexts texts;
  bool done = false;
  std::string open;     // the source that is being read
  std::string content;  // its lines, each with its end
  for_each_line(text, [&](std::string_view line) {
    if (done) return;
    if (!line.starts_with(mark)) {
      if (!open.empty()) content.append(line).append("\n");
      return;
    }
    line.remove_prefix(mark.size());
    if (line == "done") {
      done = true;
    } else if (line.starts_with("begin ")) {
      open = line.substr(6);
      content.clear();
    } else if (!open.empty() && line.starts_with("end " + open + " ")) {
      // The script puts a line end of its own before its mark.
      content.pop_back();
      const auto status = to_integer(line.substr(open.size() + 5));
      texts[open] = {std::move(content), status && *status >= 0 && *status < 256 ? static_cast<int>(*status) : 255};
      open.clear();
      content.clear();
    }
  });
  if (!done) {
    return Error{ErrorKind::kMachine, "the facts of the target",
                 text.empty() ? "nothing came back" : "what came back breaks off before its last line",
                 "run the target's connection by hand, and see that /bin/sh works there"};
  }
  return texts;
}

}  // namespace capbench::observe
