#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#if defined(__linux__)
#include <sys/xattr.h>
#endif

#include "base/file.h"
#include "shim/inspect/inspect.h"
#include "shim/macho/signature.h"

namespace capbench::shim::inspect {
namespace {

// The largest GPU libraries are about 2 GB.
constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30U;

bool has_file_capabilities([[maybe_unused]] const std::filesystem::path& path) {
#if defined(__linux__)
  return ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
#else
  return false;
#endif
}

Result<FileStatus> file_status(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return file_error(path, errno);
  if (S_ISDIR(status.st_mode)) return file_error(path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::kUsage, path.string(), "is not a regular file", "name a program or a library"};
  }
  std::error_code failed;
  const std::filesystem::path resolved = std::filesystem::canonical(path, failed);
  FileStatus facts;
  facts.path = failed ? path.string() : resolved.string();
  facts.setuid = (status.st_mode & S_ISUID) != 0;
  // Without the group's execute bit it asks for mandatory locking.
  facts.setgid = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  facts.file_capabilities = has_file_capabilities(path);
  return facts;
}

Error of_file(const std::filesystem::path& path, Error error) {
  error.what = error.what == "file" ? path.string() : path.string() + ": " + error.what;
  return error;
}

}  // namespace

Result<Inspection> inspect_file(const std::filesystem::path& path, const ShimFacts& shim) {
  const Result<FileStatus> status = file_status(path);
  if (!status) return status.error();
  const Result<std::string> bytes = read_file(path, kMostBytes);
  if (!bytes) return bytes.error();
  Result<Inspection> inspection = inspect(macho::as_bytes(*bytes), *status, shim);
  if (!inspection) return of_file(path, std::move(inspection).error());
  inspection->file = path.string();
  return inspection;
}

Result<ShimFacts> read_shim(const std::filesystem::path& path) {
  const Result<Inspection> shim = inspect_file(path, {});
  if (!shim) return shim.error();
  ShimFacts facts;
  facts.given = true;
  facts.architectures.clear();
  for (const InspectedImage& image : shim->images) {
    if (image.facts.role != Role::kLibrary) {
      return Error{ErrorKind::kUsage, path.string(), "is not a library but: " + image.facts.kind,
                   "name the shim, as libcapshim_metal.dylib"};
    }
    facts.architectures.push_back(image.facts.architecture);
    if (image.facts.macho && image.facts.macho->signature) facts.team = image.facts.macho->signature->team;
  }
  return facts;
}

}  // namespace capbench::shim::inspect
