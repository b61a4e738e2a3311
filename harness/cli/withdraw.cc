#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/cli/command.h"
#include "harness/cli/results_server.h"
#include "harness/submit/receipts.h"
#include "harness/submit/signature.h"
#include "harness/submit/upload.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string bundle;
  std::string to;
  std::string receipt;
  std::string key;
  std::string why;
  std::string token_file;
};

// The receipt that `submit` kept; it also completes an id that is given by its first digits.
Status use_kept_receipt(const submit::ServerAddress& server, std::string& id, submit::WithdrawalProof& proof) {
  const auto path = submit::default_receipts_path(std::getenv("XDG_DATA_HOME"), std::getenv("HOME"));
  auto kept = submit::find_receipt(path, server.text(), id);
  if (!kept) return std::move(kept).error();
  if (!*kept) {
    return Error{ErrorKind::kUsage, id, "no receipt of " + server.text() + " for it in " + path.string(),
                 "--receipt with the receipt, or --sign with the key that signed the bundle"};
  }
  id = (*kept)->bundle_id;
  proof.receipt = (*kept)->receipt;
  return {};
}

int withdraw_bundle(const Options& options) {
  auto server = submit::parse_server(options.to);
  if (!server) return fail(server.error());
  auto token = bearer_token(options.token_file);
  if (!token) return fail(token.error());
  if (options.why.size() > submit::kMostWhyBytes) {
    return fail(
        {ErrorKind::kUsage, "--why", fmt::format("longer than {} bytes", submit::kMostWhyBytes), "fewer words"});
  }
  std::string id = options.bundle;
  submit::WithdrawalProof proof{options.receipt, "", options.why};
  if (!options.key.empty()) {
    auto made = submit::sign(submit::withdrawal_text(id), options.key, asking());
    if (!made) return fail(made.error());
    proof.signature = made->signature;
  } else if (proof.receipt.empty()) {
    if (Status status = use_kept_receipt(*server, id, proof); !status) return fail(status.error());
  }
  auto withdrawal = submit::withdraw(*server, id, proof, upload_options(std::move(token).value()));
  if (!withdrawal) return fail(withdrawal.error());
  if (withdrawal->already) {
    tell(fmt::format("it was withdrawn from {} before; nothing changed\n", server->text()));
    return 0;
  }
  tell(fmt::format("withdrawn from {}; trials that its reports leave out now: {}. Your own store is as it was\n",
                   server->text(), withdrawal->excluded));
  return 0;
}

}  // namespace

void add_withdraw(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("withdraw", "Take a bundle back from a results server");
  command
      ->add_option("ID", options->bundle, "the bundle's id; as many first digits as no other has, with a kept receipt")
      ->required();
  command->add_option("--to", options->to, "the results server, https://...")->required();
  CLI::Option* receipt =
      command->add_option("--receipt", options->receipt, "what the server gave for it [kept by `capbench submit`]");
  command->add_option("--sign", options->key, "the SSH key that signed the bundle, instead of a receipt")
      ->excludes(receipt);
  command->add_option("--why", options->why, "the reason, which the server keeps");
  command->add_option("--token-file", options->token_file, "a file with the server's token [$CAPBENCH_TOKEN]");
  command->footer(
      "Reports of the server leave its trials out from then on; there is no way back, and the\n"
      "same bundle is not taken again.\n"
      "Examples:\n"
      "  capbench withdraw 3fa81c --to https://results.example.org --why 'a backup ran meanwhile'\n"
      "  capbench withdraw $ID --to https://results.example.org --sign ~/.ssh/id_ed25519");
  command->callback([&session, options] { session.action = [options] { return withdraw_bundle(*options); }; });
}

}  // namespace capbench::cli
