#include "base/error.h"

#include <system_error>

namespace capbench {

std::string to_string(const Error& error) {
  std::string text = error.what;
  if (!error.cause.empty()) {
    if (!text.empty()) text += ": ";
    text += error.cause;
  }
  if (!error.remedy.empty()) text += "; try: " + error.remedy;
  // One error is one line, whatever a foreign message brought along.
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFinding:
      return 1;
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kMachine:
      return 3;
    case ErrorKind::kInterrupted:
      return 130;
  }
  return 2;
}

std::string errno_text(int errno_value) {
  return std::generic_category().message(errno_value);
}

}  // namespace capbench
