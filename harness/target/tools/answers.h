// What the kinds share: commands, and readers of what tools answer. Pure; the readers take any bytes.
#ifndef CAPBENCH_HARNESS_TARGET_TOOLS_ANSWERS_H_
#define CAPBENCH_HARNESS_TARGET_TOOLS_ANSWERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/target/transport.h"

namespace capbench::target {

ToolCommand tool_command(std::vector<std::string> argv);

// Appends the words that run `script` by /bin/sh, for tools that pass each argument as it is.
void append_shell(std::vector<std::string>& argv, const std::string& script);

// "VM:PATH", as copy commands name a file in a VM.
std::string in_vm(const std::string& vm, const std::string& path);

// A VM's name that such a copy command splits off at the right place: without ":" and "/".
Status check_vm_name(const TargetSpec& spec);

// An IPv4 or IPv6 address by its characters: tools print words where there is none.
bool looks_like_address(std::string_view text);

// "macos" for what tools call macOS, darwin, macosx; "linux"; else the word in small letters.
std::string os_name(std::string_view word);

// Whether a failed tool says that there is no such VM or image.
bool says_absent(const ToolOutput& output);

// Whether either stream holds these words.
bool says(const ToolOutput& output, std::string_view words);

// The error of a tool that failed: its first line of stderr, never its stdout, which may hold passwords.
Error refusal(std::string_view tool, const ToolOutput& output, std::string remedy);

// The error for an answer that has not the form it should have.
Error strange_answer(std::string_view command);

// The first word that looks like a version: "5.5.0", "1.14.1+mac". Empty if there is none.
std::string version_in(std::string_view text);

// Runs `argv` and takes the version from what it prints.
Query version_query(std::vector<std::string> argv);

// The digest over a VM's configuration and disks: SHA-256 of lines "SHA256 NAME\n" in the order of the names. `path` is
// the VM's bundle (a folder) or its disk; "~/" is the home of the user who has the tool. Takes minutes for a large
// disk. An error if something writes to it meanwhile: then the digest would name no image.
Query bundle_query(std::string_view tool, const std::string& path);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_TOOLS_ANSWERS_H_
