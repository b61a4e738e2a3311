#include "harness/cli/verify_archive.h"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "harness/cli/speed_share.h"
#include "harness/observe/environment.h"
#include "harness/submit/signature.h"

namespace capbench::cli {
namespace {

verify::SignatureAnswer look_at(const bundle::Opened& opened) {
  using State = verify::SignatureAnswer::State;
  const auto signer = submit::check_signature(opened.manifest, opened.signature);
  if (signer) return {State::kGood, signer->fingerprint, ""};
  // A machine without ssh-keygen cannot tell; that is nothing against the bundle.
  const State state = signer.error().kind == ErrorKind::kFinding ? State::kBad : State::kNotChecked;
  return {state, "", signer.error().cause};
}

verify::SignerAnswer whose(const bundle::Opened& opened, const std::filesystem::path& allowed_signers) {
  const auto known = submit::verify_signature(opened.manifest, opened.signature, allowed_signers);
  if (known) return {true, known->identity, ""};
  return {false, "", known.error().cause};
}

}  // namespace

verify::Verdict verify_opened(const bundle::Opened& opened, const std::filesystem::path& allowed_signers,
                              std::shared_ptr<CatalogReads> catalog) {
  verify::Context context;
  context.now = observe::utc_now();
  context.speed_share = make_speed_share(catalog ? std::move(catalog) : make_catalog_reads());
  if (!opened.signature.empty()) context.signature = look_at(opened);
  if (!allowed_signers.empty()) {
    context.signer = opened.signature.empty() ? verify::SignerAnswer{} : whose(opened, allowed_signers);
  }
  return verify::verify(opened, context);
}

VerifiedBundle verify_archive(std::string_view archive, const std::filesystem::path& allowed_signers) {
  VerifiedBundle found;
  auto opened = bundle::open_bundle(archive);
  if (!opened) {
    found.verdict = verify::refused(opened.error());
    return found;
  }
  found.verdict = verify_opened(*opened, allowed_signers);
  found.opened = std::move(*opened);
  return found;
}

Result<VerifiedBundle> verify_file(const std::filesystem::path& path, const std::filesystem::path& allowed_signers) {
  const std::uint64_t most = bundle::Limits{}.archive_bytes;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > most) {
    VerifiedBundle found;
    found.verdict =
        verify::refused({ErrorKind::kFinding, "the bundle", fmt::format("{} bytes, at most {} are read", size, most),
                         "several smaller bundles"});
    return found;
  }
  auto bytes = read_file(path, most);
  if (!bytes) return std::move(bytes).error();
  if (!bundle::may_be_bundle(*bytes)) {
    return Error{ErrorKind::kUsage, path.string(),
                 bytes->empty() ? "empty" : "not a capbench bundle: it does not begin as a Zstandard file does",
                 "name a file that `capbench submit --out FILE` wrote"};
  }
  return verify_archive(*bytes, allowed_signers);
}

}  // namespace capbench::cli
