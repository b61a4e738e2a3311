#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/results_server.h"
#include "harness/cli/verify_archive.h"
#include "harness/observe/environment.h"
#include "harness/runner/version.h"
#include "harness/submit/details.h"
#include "harness/submit/preview.h"
#include "harness/submit/receipts.h"
#include "harness/submit/redact_bundle.h"
#include "harness/submit/signature.h"
#include "harness/submit/upload.h"
#include "harness/verify/verdict.h"
#include "reports/server/tokens.h"
#include "schema/address.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/exchange.h"
#include "schema/store.h"
#include "schema/store_file.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;

struct Options {
  std::string db;
  std::string suite;
  std::vector<std::string> runs;
  std::string out;
  std::string to;
  std::string key;
  std::string token_file;
  std::string format = "text";
  std::vector<std::string> keep;
  bool no_raw = false;
  bool dry_run = false;
  bool yes = false;
  bool force = false;
  bool list = false;
  bool allow_failing = false;

  bool as_json() const { return format == "json"; }
};

// What is wrong with the command line itself, before anything is read.
Status check(const Options& options) {
  if (options.out.empty() && options.to.empty() && !options.dry_run) {
    return Error{ErrorKind::kUsage, "submit", "neither --out nor --to says where to",
                 "--dry-run for a look, --out FILE.capbundle, or --to https://..."};
  }
  if (!options.out.empty() && !options.to.empty()) {
    return Error{ErrorKind::kUsage, "submit", "--out and --to exclude each other", "one after the other"};
  }
  std::error_code error;
  if (!options.out.empty() && !options.force && !options.dry_run && fs::exists(options.out, error)) {
    return Error{ErrorKind::kUsage, options.out, "is there already", "another name, or --force to replace it"};
  }
  if (!options.dry_run && !options.yes && asking() == submit::Asking::kNever) {
    return Error{ErrorKind::kUsage, "submit", "there is no terminal to ask on whether this may leave",
                 "--dry-run for a look, then --yes"};
  }
  return {};
}

// --run takes as many first digits as no other run has.
Result<std::vector<std::string>> whole_ids(schema::Store& store, const std::vector<std::string>& given) {
  std::vector<std::string> ids;
  if (given.empty()) return ids;
  auto runs = store.runs("");
  if (!runs) return std::move(runs).error();
  for (const std::string& prefix : given) {
    std::vector<std::string> found;
    for (const schema::RunRecord& run : *runs) {
      if (!prefix.empty() && run.id.starts_with(prefix)) found.push_back(run.id);
    }
    if (found.size() != 1) {
      return Error{ErrorKind::kUsage, "--run " + prefix,
                   found.empty() ? "the store has no such run" : "several runs have ids that begin like this",
                   "`sqlite3 results.db 'SELECT id, started_at FROM run'` lists them"};
    }
    ids.push_back(found.front());
  }
  return ids;
}

Result<submit::RedactedBundle> make_bundle(const Options& options) {
  auto path = store_path(options.db, false);
  if (!path) return std::move(path).error();
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) return std::move(store).error();
  bundle::Selection selection;
  selection.suite = options.suite;
  selection.raw = !options.no_raw;
  auto runs = whole_ids(*store, options.runs);
  if (!runs) return std::move(runs).error();
  selection.runs = std::move(runs).value();
  auto made = bundle::bundle_from(*store, selection, "capbench " + std::string(runner::kVersion));
  if (!made) return std::move(made).error();
  return submit::redact_bundle(std::move(made).value(), {submit::details_of_this_machine(), options.keep});
}

// A new file, unless it may replace one. Readers see all of it or nothing.
Status write_bundle(const fs::path& path, std::string_view archive, bool force) {
  if (const Status status = schema::may_replace(path); !status) return status;
  if (force) return replace_file(path, archive);
  const Fd reserved(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!reserved.valid()) return file_error(path, errno);
  Status status = replace_file(path, archive);
  std::error_code ignored;
  if (!status) fs::remove(path, ignored);
  return status;
}

int keep_file(const Options& options, const bundle::Sealed& sealed) {
  if (Status status = write_bundle(options.out, sealed.archive, options.force); !status) return fail(status.error());
  if (options.as_json()) {
    const json whole = {{"bundle", sealed.id}, {"file", options.out}, {"bytes", sealed.archive.size()}};
    return print_data(whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  tell("for a pull request, or for `capbench ingest`; `capbench verify` shows what others will see\n");
  return print_data(fmt::format("{}  {}\n", sealed.id, options.out));
}

// The secret that withdraws the bundle, kept before anything is sent: an answer that is lost, or this program's end,
// takes nothing away.
struct Receipt {
  fs::path path;
  std::string secret;   // empty: it could not be kept, and the server makes one
  bool is_new = false;  // this call's
};

Receipt prepare_receipt(const submit::ServerAddress& server, const std::string& bundle_id) {
  Receipt receipt{submit::default_receipts_path(std::getenv("XDG_DATA_HOME"), std::getenv("HOME")), "", false};
  const auto kept = submit::find_receipt(receipt.path, server.text(), bundle_id);
  if (kept && kept->has_value()) {
    receipt.secret = (*kept)->receipt;
    return receipt;
  }
  std::string secret = server::random_secret();
  const Status status =
      kept ? submit::keep_receipt(receipt.path, {server.text(), bundle_id, secret, "", observe::utc_now()})
           : Status(kept.error());
  if (!status) {
    tell("capbench: " + to_string(status.error()) + "\n");
    return receipt;
  }
  receipt.secret = std::move(secret);
  receipt.is_new = true;
  return receipt;
}

// Where it is kept now that the server has answered; empty: nowhere.
std::string keep_receipt(const submit::ServerAddress& server, const submit::Submission& submission,
                         const Receipt& mine) {
  if (submission.receipt.empty()) {
    // Somebody else's, or a server of another version.
    if (mine.is_new) static_cast<void>(submit::forget_receipt(mine.path, server.text(), submission.id));
    return "";
  }
  const Status status = submit::keep_receipt(
      mine.path, {server.text(), submission.id, submission.receipt, submission.url, observe::utc_now()});
  if (status) return mine.path.string();
  tell("capbench: " + to_string(status.error()) + "\n");
  tell("keep this receipt, which withdraws the bundle: " + submission.receipt + "\n");
  return "";
}

int send(const Options& options, const submit::ServerAddress& server, const std::string& token,
         const bundle::Sealed& sealed) {
  const Receipt mine = prepare_receipt(server, sealed.id);
  submit::UploadOptions upload = upload_options(token);
  upload.receipt = mine.secret;
  auto submission = submit::upload(server, sealed.id, sealed.archive, upload);
  if (!submission) {
    // One that was refused is nothing to withdraw; what the network did not tell may be there.
    const bool is_refused = submission.error().kind == ErrorKind::kFinding;
    if (mine.is_new && is_refused) static_cast<void>(submit::forget_receipt(mine.path, server.text(), sealed.id));
    return fail(submission.error());
  }
  const std::string receipt = keep_receipt(server, *submission, mine);
  if (options.as_json()) {
    json checks = json::array();
    for (const submit::ServerCheck& check : submission->checks) {
      checks.push_back({{"name", check.name}, {"outcome", check.outcome}, {"detail", check.detail}});
    }
    const json whole = {{"bundle", sealed.id},        {"server", server.text()},
                        {"known", submission->known}, {"state", submission->pending ? "pending" : "taken"},
                        {"tier", submission->tier},   {"url", submission->url},
                        {"receipts", receipt},        {"checks", std::move(checks)}};
    return print_data(whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  for (const submit::ServerCheck& check : submission->checks) {
    if (check.outcome == "flagged" || check.outcome == "failed") {
      tell(fmt::format("{}: {}: {}\n", check.outcome, check.name, check.detail));
    }
  }
  if (submission->known) tell("the server had it already; nothing was sent\n");
  if (submission->pending) tell("the server has yet to look at it; the address says what came of it\n");
  if (!receipt.empty()) tell("the receipt, which withdraws it, is kept in " + receipt + "\n");
  return print_data(
      fmt::format("{}  {}  {}\n", sealed.id, submission->pending ? "pending" : submission->tier, submission->url));
}

// What cannot be sealed was read from the store a moment ago.
Error of_store(const Options& options, Error error) {
  const std::string store = options.db.empty() ? "the store" : schema::shown(options.db);
  error.what = store + (error.what.empty() ? "" : ", " + error.what);
  error.remedy =
      "it was changed by hand, or is damaged: restore it from a copy, or submit the other results (--run, --suite)";
  return error;
}

// What others will find, found before it leaves. Nothing: it is not fit to leave.
Result<verify::Verdict> look_at(const bundle::Sealed& sealed) {
  const auto opened = bundle::open_bundle(sealed.archive);
  if (!opened) return opened.error();
  return verify_opened(*opened, "");
}

Error unfit(const verify::Verdict& verdict) {
  std::string cause;
  std::size_t failed = 0;
  for (const verify::Check& check : verdict.checks) {
    if (check.outcome != verify::Outcome::kFailed) continue;
    if (++failed <= 3) cause += (cause.empty() ? "" : "; ") + check.name + ": " + check.detail;
  }
  if (failed > 3) cause += fmt::format("; and {} more", failed - 3);
  return {ErrorKind::kFinding, "the bundle", "does not prove itself, so that no server would take it: " + cause,
          "leave those results out (--run, --suite); --allow-failing writes or sends it all the same"};
}

int submit_results(const Options& options) {
  if (Status status = check(options); !status) return fail(status.error());
  std::optional<submit::ServerAddress> server;
  std::string token;
  if (!options.to.empty()) {
    auto parsed = submit::parse_server(options.to);
    if (!parsed) return fail(parsed.error());
    server = std::move(parsed).value();
    auto read = bearer_token(options.token_file);
    if (!read) return fail(read.error());
    token = std::move(read).value();
  }
  auto redacted = make_bundle(options);
  if (!redacted) return fail(redacted.error());
  auto sealed = bundle::seal(redacted->bundle);
  if (!sealed) return fail(of_store(options, std::move(sealed).error()));
  auto verdict = look_at(*sealed);
  if (!verdict) return fail(verdict.error());
  auto preview = submit::preview_of(redacted->bundle, *sealed);
  if (!preview) return fail(preview.error());
  preview->left = redacted->left;
  preview->is_signed = !options.key.empty();
  const std::string checks = verify::summary_text(*verdict);
  if (options.dry_run) {
    const std::string text = options.as_json() ? submit::preview_json(*preview)
                                               : submit::preview_text(*preview, options.list) + "\n" + checks;
    if (const int status = print_data(text); status != 0) return status;
    return verdict->failed() ? exit_status(ErrorKind::kFinding) : 0;
  }
  tell(submit::preview_text(*preview, options.list) + "\n" + checks + "\n");
  if (verdict->failed() && !options.allow_failing) return fail(unfit(*verdict));
  const std::string where = server ? "Send this to " + server->text() + "?" : "Write this to " + options.out + "?";
  if (!options.yes && !says_yes(where)) {
    return fail({ErrorKind::kInterrupted, "submit", "nothing has left this machine",
                 "--dry-run --list, which names every member and every replacement"});
  }
  if (!options.key.empty()) {
    auto made = submit::sign(sealed->manifest, options.key, asking());
    if (!made) return fail(made.error());
    sealed = bundle::seal(redacted->bundle, made->signature);
    if (!sealed) return fail(sealed.error());
    tell("signed with " + made->signer.fingerprint + "\n");
  }
  return server ? send(options, *server, token, *sealed) : keep_file(options, *sealed);
}

}  // namespace

void add_submit(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "submit", "Make a bundle of results without personal details, and send it or write it to a file");
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--suite", options->suite, "only this suite (name or id)");
  command->add_option("--run", options->runs, "only this run (its id, or the first digits); may be repeated");
  command->add_option("--out", options->out, "the file to write, NAME.capbundle");
  command->add_option("--to", options->to, "the results server to send it to, https://...");
  command->add_option("--sign", options->key, "an SSH key: a private key, or the public one of a key in an agent");
  command->add_option("--token-file", options->token_file, "a file with the server's token [$CAPBENCH_TOKEN]");
  command->add_option("--keep", options->keep, "a text that may leave although it looks personal; may be repeated");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_flag("--no-raw", options->no_raw, "withhold raw output; the results are then only your word");
  command->add_flag("--dry-run", options->dry_run, "show what would leave, and do nothing");
  command->add_flag("--list", options->list, "show each member and replacement by its name");
  command->add_flag("--allow-failing", options->allow_failing, "although it fails its own checks");
  command->add_flag("--yes", options->yes, "do not ask");
  command->add_flag("--force", options->force, "replace the file of --out");
  command->footer(
      "User and host names, home folders, serial numbers, UUIDs, and IP and MAC addresses are\n"
      "replaced in every member, raw output too; the list says how many where. Results in the\n"
      "store stay as they are. The bundle is verified before it leaves; one that fails is kept\n"
      "back. An upload that was cut goes on with the same command.\n"
      "Examples:\n"
      "  capbench submit --dry-run --db results.db\n"
      "  capbench submit --out mine.capbundle --sign ~/.ssh/id_ed25519\n"
      "  capbench submit --to https://results.example.org --yes");
  command->callback([&session, options] { session.action = [options] { return submit_results(*options); }; });
}

}  // namespace capbench::cli
