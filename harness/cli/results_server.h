// What the subcommands that speak to a results server share.
#ifndef CAPBENCH_HARNESS_CLI_RESULTS_SERVER_H_
#define CAPBENCH_HARNESS_CLI_RESULTS_SERVER_H_

#include <string>

#include "base/result.h"
#include "harness/submit/signature.h"
#include "harness/submit/upload.h"

namespace capbench::cli {

// The bearer token: the file's text without white space around it, else $CAPBENCH_TOKEN, else none. Never printed.
Result<std::string> bearer_token(const std::string& token_file);

// Pauses and progress go to stderr, the latter on a terminal only.
submit::UploadOptions upload_options(std::string token);

// Whether there is somebody to answer.
submit::Asking asking();
// The question and its answer, on the terminal. Anything but a yes is a no.
bool says_yes(const std::string& question);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_RESULTS_SERVER_H_
