#include "harness/cli/results_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "harness/cli/command.h"

namespace capbench::cli {

Result<std::string> bearer_token(const std::string& token_file) {
  std::string token;
  if (token_file.empty()) {
    const char* given = std::getenv("CAPBENCH_TOKEN");
    token = given == nullptr ? "" : given;
  } else {
    constexpr std::uint64_t kMostBytes = 4096;
    auto text = read_file(token_file, kMostBytes);
    if (!text) return text;
    token = std::move(text).value();
  }
  constexpr const char* kBlank = " \t\r\n";
  const std::size_t first = token.find_first_not_of(kBlank);
  if (first == std::string::npos) {
    if (token_file.empty()) return std::string();
    return Error{ErrorKind::kUsage, token_file, "no token in it", "the file that holds the server's token"};
  }
  return token.substr(first, token.find_last_not_of(kBlank) - first + 1);
}

submit::UploadOptions upload_options(std::string token) {
  const bool show = ::isatty(STDERR_FILENO) != 0;
  submit::UploadOptions options;
  options.token = std::move(token);
  options.note = [show](const std::string& what) { tell((show ? "\r\x1b[K" : "") + what + "\n"); };
  if (show) {
    options.progress = [](std::uint64_t done, std::uint64_t total) {
      if (total > 0) tell(fmt::format("\rsending: {} of {} KiB", done >> 10U, total >> 10U));
      if (total > 0 && done == total) tell("\r\x1b[K");
      return true;
    };
  }
  return options;
}

submit::Asking asking() {
  const bool terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  return terminal ? submit::Asking::kOnTerminal : submit::Asking::kNever;
}

bool says_yes(const std::string& question) {
  tell(question + " [y/N] ");
  std::string answer;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar()) answer += static_cast<char>(c);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace capbench::cli
