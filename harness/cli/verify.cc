#include "harness/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/counted.h"
#include "base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/verify_archive.h"

namespace capbench::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string signers;
  std::string format = "text";
};

std::string summary(const std::vector<verify::NamedVerdict>& verdicts) {
  const auto failed =
      std::count_if(verdicts.begin(), verdicts.end(), [](const auto& named) { return named.verdict.failed(); });
  return fmt::format("{}: {} failed\n", counted(verdicts.size(), "bundle"), failed);
}

int verify_files(const Options& options) {
  if (!options.signers.empty()) {
    if (auto readable = read_file(options.signers); !readable) return fail(readable.error());
  }
  int status = 0;
  std::vector<verify::NamedVerdict> verdicts;
  for (const std::string& file : options.files) {
    auto verified = verify_file(file, options.signers);
    if (!verified) {
      // The others are looked at all the same; what cannot be read is the graver answer.
      status = std::max(status, fail(verified.error()));
      continue;
    }
    if (verified->verdict.failed()) status = std::max(status, exit_status(ErrorKind::kFinding));
    verdicts.push_back({file, std::move(verified->verdict)});
  }
  std::string text;
  if (options.format == "json") {
    text = verify::verdicts_json(verdicts) + "\n";
  } else {
    for (const verify::NamedVerdict& named : verdicts) {
      text += (text.empty() ? "" : "\n") + verify::verdict_text(named.verdict, named.name);
    }
    if (verdicts.size() > 1) text += "\n" + summary(verdicts);
  }
  const int printed = print_data(text);
  return printed != 0 ? printed : status;
}

}  // namespace

void add_verify(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("verify", "Does every number in a bundle follow from the raw output in it? Offline");
  command->add_option("FILE", options->files, "bundles (.capbundle)")->required();
  command->add_option("--signers", options->signers,
                      "whose signatures are expected: a file of ALLOWED SIGNERS, see ssh-keygen(1)");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Every check is a row: passed; failed (something contradicts something); flagged (implausible or unknown, "
      "shown and never a reason to refuse); skipped (what it takes is not in the bundle).\n"
      "consistent: every number was derived again, every treatment is proven, every output passed its check. It "
      "shows that nothing contradicts itself, not that nobody lied.\n"
      "self-reported: some of that is missing; what, is listed.\n"
      "Exit status: 0 no check failed; 1 a check failed; 2 a file cannot be read.\n"
      "Examples:\n"
      "  capbench verify results.capbundle\n"
      "  capbench verify bundles/*.capbundle --format json");
  command->callback([&session, options] { session.action = [options] { return verify_files(*options); }; });
}

}  // namespace capbench::cli
