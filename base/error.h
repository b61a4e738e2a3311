// Expected errors are values: what went wrong, why, and what to do about it.
#ifndef CAPBENCH_BASE_ERROR_H_
#define CAPBENCH_BASE_ERROR_H_

#include <string>

namespace capbench {

// What an error means to whoever called the program. Each kind has one exit status.
enum class ErrorKind {
  kFinding,      // the program worked and found something wrong: exit 1
  kUsage,        // wrong command line or wrong input: exit 2
  kMachine,      // this machine cannot do it (missing tool, no device, no space): exit 3
  kInterrupted,  // the user stopped it: exit 130
};

struct Error {
  ErrorKind kind = ErrorKind::kUsage;
  std::string what;    // names the thing: "suite.json: $.models[0].file"
  std::string cause;   // one clause: "no such file"
  std::string remedy;  // an imperative: "run `capbench models synth ...`"; empty if there is none
};

// "WHAT: CAUSE; try: REMEDY", in one line.
std::string to_string(const Error& error);

// The documented exit status of the kind.
int exit_status(ErrorKind kind);

// The system's words for an errno value, thread-safe.
std::string errno_text(int errno_value);

}  // namespace capbench

#endif  // CAPBENCH_BASE_ERROR_H_
