// Where the facts about a machine come from: files, folders and commands, none of which needs root.
//
// One table serves two ways of collecting. On this machine the files are read directly. On any other target one POSIX
// sh script prints every source between markers, and the same pure parsers read what came back.
#ifndef CAPBENCH_HARNESS_OBSERVE_SOURCES_H_
#define CAPBENCH_HARNESS_OBSERVE_SOURCES_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capbench::observe {

enum class Os { kLinux, kMacos };

// Facts name the machine and stay the same from one minute to the next; hygiene is the state that trials run in.
enum class Purpose { kEnvironment, kHygiene };

enum class SourceKind {
  kFile,        // patterns[0]: the whole file
  kFirstLines,  // the first line of every file that the patterns match, as "PATH TAB LINE"
  kPaths,       // what the patterns match, as "ACCESS PATH"; ACCESS is "rw", "r", "w" or "-", for this user
  kCommand,     // commands, tried in order until one exits with 0; their standard output
  kVariables,   // the environment variables that steer what is measured, as "NAME=VALUE"
  kUname,       // system, release and machine: "Linux 6.1.0 x86_64". Not the host name
  kPersonal,    // "user=", "home=" and "host=": what redact() must look for. Never stored
};

struct Source {
  std::string name;  // "cpuinfo", "nvidia.gpus": what the parsers know it by
  Os os = Os::kLinux;
  Purpose purpose = Purpose::kEnvironment;
  SourceKind kind = SourceKind::kFile;
  std::vector<std::string> patterns;               // shell globs; "~/" is the home folder
  std::vector<std::vector<std::string>> commands;  // a program's name and its arguments
  std::vector<std::string> only_with;              // globs: commands run only where one matches; empty: everywhere
  int limit_s = 5;                                 // for one command
  std::size_t max_bytes = 64U << 10U;              // what is longer is cut
};

// What one source gave. A file that cannot be read and a program that is not there, or is not
// asked, have no text and a status other than 0 (1 and 127); a command that ran over its time limit has 137.
struct SourceText {
  std::string text;
  int status = 0;

  bool operator==(const SourceText&) const = default;
};

using SourceTexts = std::map<std::string, SourceText, std::less<>>;  // by the source's name

// The table's rows for one system and purpose.
std::vector<Source> sources(Os os, Purpose purpose);
// All of a purpose, for facts_script(), which finds out on the target which system it is.
std::vector<Source> sources(Purpose purpose);
std::vector<Source> all_sources();

// The system that this program was built for.
Os this_os();

// A POSIX sh script that prints the sources of the system that it finds itself on. It runs every source whatever
// happens to the others, reads nothing from its standard input, ends by itself, and takes injected libraries out of its
// environment before it starts anything. Only letters and digits of `nonce` count.
//
// What it prints holds personal details (the machine's own ids, user and host names): parse it, and keep only what
// facts_json() and hygiene_from() make of it. Pure.
std::string facts_script(const std::vector<Source>& sources, std::string_view nonce);

// What facts_script() printed, whatever the tool in between printed before and after it, with "\r\n" for "\n" too.
// Error: the script's last line is missing, so facts may be. Pure.
Result<SourceTexts> parse_facts_output(std::string_view text, std::string_view nonce);

// Runs a program that exists; the time limit and the cap are in `source`. See run_command.h.
using RunCommand = std::function<SourceText(const std::filesystem::path& program, const std::vector<std::string>& argv,
                                            const Source& source)>;

// The same from this machine, without a shell: files are read directly, commands run side by side (so `run_command`
// must be safe to call from several threads), and one whose program is not there costs nothing. With a `root` other
// than "/", files come from below it and nothing else is asked.
SourceTexts read_sources_locally(const std::vector<Source>& sources, const RunCommand& run_command,
                                 const std::filesystem::path& root = "/");

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_SOURCES_H_
