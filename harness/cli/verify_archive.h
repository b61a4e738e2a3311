// A bundle's bytes to its verdict, as every subcommand that takes bundles of others does it.
#ifndef CAPBENCH_HARNESS_CLI_VERIFY_ARCHIVE_H_
#define CAPBENCH_HARNESS_CLI_VERIFY_ARCHIVE_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "harness/verify/verify.h"
#include "schema/bundle/bundle.h"

namespace capbench::cli {

struct VerifiedBundle {
  std::optional<bundle::Opened> opened;  // nothing: it was refused, the verdict says why
  verify::Verdict verdict;
};

// Looks at the signature with ssh-keygen, asks `allowed_signers` (ssh-keygen(1); empty: no list) whose key it is, and
// verifies it against this machine's clock and the table of devices. Safe to call from several threads.
// `catalog`: what was worked out for other bundles; null: nothing.
class CatalogReads;
verify::Verdict verify_opened(const bundle::Opened& opened, const std::filesystem::path& allowed_signers,
                              std::shared_ptr<CatalogReads> catalog = nullptr);

// The same of an archive, which is opened first.
VerifiedBundle verify_archive(std::string_view archive, const std::filesystem::path& allowed_signers);

// The same of a file. Errors: it cannot be read, or is something else altogether. One that is larger than any bundle
// may be is a verdict, no error.
Result<VerifiedBundle> verify_file(const std::filesystem::path& path, const std::filesystem::path& allowed_signers);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_VERIFY_ARCHIVE_H_
