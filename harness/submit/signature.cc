#include "harness/submit/signature.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "harness/submit/run_program.h"
#include "harness/submit/temporary_folder.h"

namespace capbench::submit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "ssh-keygen";
constexpr const char* kNamespace = "capbench-bundle";

Error unsound(std::string cause, std::string remedy) {
  return {ErrorKind::kFinding, "signature", std::move(cause), std::move(remedy)};
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The last line that says something, without what a terminal would act on.
std::string last_words(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  const std::size_t line = text.find_last_of("\r\n");
  if (line != std::string_view::npos) text.remove_prefix(line + 1);
  constexpr std::size_t kLongest = 200;
  std::string words(text.substr(0, kLongest));
  std::replace_if(
      words.begin(), words.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, '?');
  return words;
}

Result<ProgramEnd> ssh_keygen(std::vector<std::string> arguments, const fs::path& stdin_file, Asking asking) {
  ProgramRun run;
  run.argv = std::move(arguments);
  run.argv.insert(run.argv.begin(), kProgram);
  run.stdin_file = stdin_file;
  run.terminal = asking == Asking::kOnTerminal;
  run.set_env = {"LC_ALL=C"};
  if (run.terminal) {
    run.time_limit = std::chrono::minutes(5);
  } else {
    run.set_env.emplace_back("SSH_ASKPASS_REQUIRE=never");
    run.drop_env = {"SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY"};
  }
  auto end = run_program(run);
  if (end) return end;
  Error error = std::move(end).error();
  error.remedy = has(error.cause, "in time") || has(error.cause, "within")
                     ? "the command by hand: `ssh-keygen -Y sign -n capbench-bundle -f KEY FILE`"
                     : "install OpenSSH's client (Debian: apt install openssh-client)";
  return error;
}

// What ssh-keygen could not sign with, and what to do about it.
Error no_signature(const fs::path& key, const ProgramEnd& end, Asking asking) {
  Error error{ErrorKind::kUsage, key.string(), last_words(end.err), "check it: `ssh-keygen -l -f KEY`"};
  if (has(end.err, "UNPROTECTED PRIVATE KEY FILE")) {
    error.cause = "other users may read this private key, so ssh-keygen leaves it alone";
    error.remedy = "`chmod 600` on it";
  } else if (has(end.err, "incorrect passphrase")) {
    error.cause = asking == Asking::kNever ? "it has a passphrase, and there is no terminal to ask for it on"
                                           : "that is not its passphrase";
    error.remedy = "`ssh-add` it, then --sign with the name of its public half (KEY.pub)";
  } else if (has(end.err, "No private key found for public key")) {
    error.cause = "no agent holds the private half of this public key";
    error.remedy = "`ssh-add` the private key first, or --sign with the private key's file";
  } else if (has(end.err, "Couldn't load public key") || has(end.err, "invalid format")) {
    error.cause = "not an SSH key";
    error.remedy = "name a key file, such as ~/.ssh/id_ed25519; `ssh-keygen -t ed25519` makes one";
  }
  return error;
}

struct Files {
  TemporaryFolder folder;
  fs::path message;
  fs::path signature;
};

Result<Files> laid_out(std::string_view message, std::string_view signature) {
  if (message.size() > kMostSignedBytes) {
    return unsound("made over more than " + std::to_string(kMostSignedBytes) + " bytes", "check the bundle");
  }
  auto folder = TemporaryFolder::make();
  if (!folder) return std::move(folder).error();
  Files files{std::move(folder).value(), {}, {}};
  files.message = files.folder / "message";
  files.signature = files.folder / "message.sig";
  if (Status status = replace_file(files.message, message); !status) return std::move(status).error();
  if (signature.empty()) return files;
  std::string text(signature);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  if (!text.ends_with('\n')) text += '\n';
  if (Status status = replace_file(files.signature, text); !status) return std::move(status).error();
  return files;
}

// `Good "capbench-bundle" signature with ED25519 key SHA256:...` or `... signature for NAME with ...`.
std::optional<Signer> signer_of(std::string_view said) {
  constexpr std::string_view kKey = " key SHA256:";
  constexpr std::size_t kDigits = 43;
  const std::size_t key = said.rfind(kKey);
  if (!said.starts_with("Good \"capbench-bundle\" signature") || key == std::string_view::npos) return std::nullopt;
  const std::string_view digits = said.substr(key + kKey.size(), kDigits);
  const std::string_view before = said.substr(0, key);
  const std::string_view type = before.substr(before.rfind(' ') + 1);
  const auto is_type = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; };
  const auto is_digit = [&](char c) { return is_type(c) ? c != '-' : (c >= 'a' && c <= 'z') || c == '+' || c == '/'; };
  if (digits.size() != kDigits || !std::all_of(digits.begin(), digits.end(), is_digit) || type.empty() ||
      !std::all_of(type.begin(), type.end(), is_type)) {
    return std::nullopt;
  }
  return Signer{"SHA256:" + std::string(digits), std::string(type)};
}

Result<Signer> signer_or_error(const ProgramEnd& end) {
  if (end.exit_status != 0) {
    return unsound("not over these bytes, or not by the key that it names (" + last_words(end.err) + ")",
                   "ask whoever signed it to sign this bundle again");
  }
  const auto signer = signer_of(end.out);
  if (signer) return *signer;
  return Error{ErrorKind::kMachine, kProgram, "accepts the signature, but does not say whose it is",
               "install OpenSSH 8.2 or later"};
}

}  // namespace

Result<Signed> sign(std::string_view message, const fs::path& key, Asking asking) {
  std::error_code error;
  if (!fs::exists(key, error)) return file_error(key, error ? error.value() : ENOENT);
  if (fs::is_directory(key, error)) return file_error(key, EISDIR);
  auto files = laid_out(message, {});
  if (!files) return std::move(files).error();
  auto end = ssh_keygen({"-Y", "sign", "-n", kNamespace, "-f", key.string(), files->message.string()}, {}, asking);
  if (!end) return std::move(end).error();
  if (end->exit_status != 0 || !fs::exists(files->signature, error)) return no_signature(key, *end, asking);
  auto text = read_file(files->signature, kMostSignatureBytes);
  if (!text) return std::move(text).error();
  auto signer = check_signature(message, *text);
  if (!signer) return std::move(signer).error();
  return Signed{std::move(text).value(), std::move(signer).value()};
}

Result<Signer> check_signature(std::string_view message, std::string_view signature) {
  if (Status status = check_signature_text(signature); !status) return std::move(status).error();
  auto files = laid_out(message, signature);
  if (!files) return std::move(files).error();
  auto end = ssh_keygen({"-Y", "check-novalidate", "-n", kNamespace, "-s", files->signature.string()}, files->message,
                        Asking::kNever);
  if (!end) return std::move(end).error();
  return signer_or_error(*end);
}

namespace {

// The names that the file has for the key, as find-principals lists them: one a line, or several with commas.
Result<std::vector<std::string>> identities(const Files& files, const fs::path& allowed_signers) {
  auto end = ssh_keygen(
      {"-Y", "find-principals", "-s", files.signature.string(), "-f", allowed_signers.string(), "-n", kNamespace}, {},
      Asking::kNever);
  if (!end) return std::move(end).error();
  std::vector<std::string> names;
  std::string name;
  for (const char c : end->out + "\n") {
    if (c != '\n' && c != ',') {
      name += c;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, {}));
    }
  }
  if (end->exit_status == 0 && !names.empty()) return names;
  return unsound("its key is not in " + allowed_signers.string(), "add the key there once you know whose it is");
}

}  // namespace

Result<KnownSigner> verify_signature(std::string_view message, std::string_view signature,
                                     const fs::path& allowed_signers, std::string_view identity) {
  std::error_code error;
  if (!fs::is_regular_file(allowed_signers, error)) return file_error(allowed_signers, error ? error.value() : ENOENT);
  auto signer = check_signature(message, signature);
  if (!signer) return std::move(signer).error();
  auto files = laid_out(message, signature);
  if (!files) return std::move(files).error();
  std::vector<std::string> names{std::string(identity)};
  if (identity.empty()) {
    auto found = identities(*files, allowed_signers);
    if (!found) return std::move(found).error();
    names = std::move(found).value();
  }
  std::string said;
  for (const std::string& name : names) {
    auto end = ssh_keygen(
        {"-Y", "verify", "-n", kNamespace, "-f", allowed_signers.string(), "-I", name, "-s", files->signature.string()},
        files->message, Asking::kNever);
    if (!end) return std::move(end).error();
    if (end->exit_status == 0) return KnownSigner{*signer, name};
    said = last_words(end->err.empty() ? end->out : end->err);
  }
  return unsound(allowed_signers.string() + " does not let this key sign bundles" +
                     (identity.empty() ? "" : " as " + names.front()) + " (" + said + ")",
                 "check its line there: the name, namespaces=\"capbench-bundle\", valid-before");
}

std::string withdrawal_text(std::string_view bundle_id) {
  return "withdraw " + std::string(bundle_id);
}

}  // namespace capbench::submit
