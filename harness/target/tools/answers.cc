#include "harness/target/tools/answers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/digest.h"

namespace capbench::target {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string first_line(std::string_view text) {
  constexpr std::size_t kEnough = 200;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::string printable;
    for (const char c : line.substr(0, kEnough)) {
      if (c != '\r') printable += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
    }
    if (printable.find_first_not_of(' ') != std::string::npos) return printable;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

// Names of configuration and disk files in the bundles of all frontends. What a VM changes by merely starting (NVRAM, a
// saved state, logs) is no part of the image.
constexpr const char* kBundleScript = R"sh(
path=$1
case $path in "~/"*) path=$HOME/${path#"~/"} ;; esac
[ -e "$path" ] || { printf 'no such file or folder: %s\n' "$path" >&2; exit 3; }
sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi; }
stamp=$(mktemp) || exit 3
trap 'rm -f "$stamp"' EXIT
if [ -d "$path" ]; then
  cd "$path" || exit 3
  set -- . -type f '(' -name config.json -o -name config.plist -o -name config.pvs -o -name DiskDescriptor.xml \
    -o -name '*.img' -o -name '*.qcow2' -o -name '*.hds' -o -name '*.raw' ')'
else
  set -- "$path"
fi
find "$@" | LC_ALL=C sort | while IFS= read -r file; do
  [ -z "$(find "$file" -mmin -1)" ] || { echo busy; exit 0; }
  printf '%s %s\n' "$(sum <"$file" | cut -c1-64)" "${file##*/}"
  [ -z "$(find "$file" -newer "$stamp")" ] || { echo busy; exit 0; }
done
)sh";

Status read_bundle(std::string_view tool, const ToolOutput& output, TargetInfo& info) {
  if (output.exit_status != 0) return refusal(tool, output, "name the VM's bundle as `bundle`, or state `image`");
  std::string_view rest = output.out;
  std::string digests;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (line == "busy") {
      return Error{ErrorKind::kUsage, std::string(tool) + ": the VM's disk",
                   "is being written, so it has no digest yet", "stop the VM for a minute, or state `image`"};
    }
    const bool whole = line.size() > 65 && line.substr(0, 64).find_first_not_of(kHex) == std::string_view::npos &&
                       line[64] == ' ' && end != std::string_view::npos;
    if (!whole) return strange_answer("digests of the bundle");
    digests.append(line).append("\n");
    rest.remove_prefix(end + 1);
  }
  if (digests.empty()) {
    return Error{ErrorKind::kUsage, std::string(tool) + ": `bundle`", "holds no disk and no configuration",
                 "name the VM's own folder or its disk"};
  }
  info.image.digest = "sha256:" + sha256(digests);
  info.image.source = "bundle";
  return {};
}

}  // namespace

ToolCommand tool_command(std::vector<std::string> argv) {
  ToolCommand command;
  command.argv = std::move(argv);
  return command;
}

void append_shell(std::vector<std::string>& argv, const std::string& script) {
  argv.insert(argv.end(), {"/bin/sh", "-c", script});
}

std::string in_vm(const std::string& vm, const std::string& path) {
  return vm + ":" + path;
}

Status check_vm_name(const TargetSpec& spec) {
  const std::string name = option(spec, "name");
  if (name.find_first_of(":/") == std::string::npos) return {};
  return Error{ErrorKind::kUsage, spec.kind + ": name \"" + name + "\"", "holds \":\" or \"/\"",
               "give the VM's name as its tool lists it"};
}

bool looks_like_address(std::string_view text) {
  const bool digits = text.find_first_of("0123456789") != std::string_view::npos;
  const bool dotted = text.find_first_of(".:") != std::string_view::npos;
  constexpr std::size_t kLongest = 45;  // an IPv6 address that embeds an IPv4 one
  return digits && dotted && text.size() <= kLongest &&
         text.find_first_not_of("0123456789abcdefABCDEF.:") == std::string_view::npos;
}

std::string os_name(std::string_view word) {
  const std::string small = lower(word);
  if (small == "darwin" || small == "macosx" || small.starts_with("macos")) return "macos";
  return small;
}

bool says_absent(const ToolOutput& output) {
  constexpr std::array<std::string_view, 6> kWords{
      "not found", "does not exist", "could not be found", "No instance matching", "image not known", "No such image"};
  return std::any_of(kWords.begin(), kWords.end(), [&output](std::string_view words) { return says(output, words); });
}

bool says(const ToolOutput& output, std::string_view words) {
  return output.err.find(words) != std::string::npos || output.out.find(words) != std::string::npos;
}

Error refusal(std::string_view tool, const ToolOutput& output, std::string remedy) {
  const std::string line = first_line(output.err);
  const std::string status = "status " + std::to_string(output.exit_status);
  return Error{ErrorKind::kMachine, std::string(tool), line.empty() ? "failed with " + status : line,
               std::move(remedy)};
}

Error strange_answer(std::string_view command) {
  return Error{ErrorKind::kMachine, "`" + std::string(command) + "`", "its answer has an unknown form",
               "run it by hand; another version of the tool may help"};
}

std::string version_in(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (alphanumeric(text[end]) || (end > at && (text[end] == '.' || text[end] == '+' || text[end] == '-')))) {
      ++end;
    }
    std::string_view word = text.substr(at, end - at);
    if (word.starts_with('v')) word.remove_prefix(1);
    const bool starts_right = !word.empty() && word.front() >= '0' && word.front() <= '9';
    if (starts_right && word.size() <= kLongest && word.find('.') != std::string_view::npos) return std::string(word);
    at = std::max(end, at + 1);
  }
  return {};
}

Query version_query(std::vector<std::string> argv) {
  const std::string tool = argv.front();
  return Query{tool_command(std::move(argv)), [tool](const ToolOutput& output, TargetInfo& info) -> Status {
                 if (output.exit_status != 0) return refusal(tool, output, "install " + tool);
                 info.frontend_version = version_in(output.out);
                 return {};
               }};
}

Query bundle_query(std::string_view tool, const std::string& path) {
  return Query{tool_command({"/bin/sh", "-c", kBundleScript, "sh", path}),
               [name = std::string(tool)](const ToolOutput& output, TargetInfo& info) {
                 return read_bundle(name, output, info);
               }};
}

}  // namespace capbench::target
