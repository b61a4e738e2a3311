// The file around the members: a POSIX tar archive (ustar) in one Zstandard frame. For this room only.
//
// Both directions are ours, and small, because the form is much narrower than tar's: a member's header is determined
// by its name and size, so a reader compares it instead of interpreting it, and there is nothing that links, pax
// records, sparse files or other dialects could reach.
#ifndef CAPBENCH_SCHEMA_BUNDLE_ARCHIVE_H_
#define CAPBENCH_SCHEMA_BUNDLE_ARCHIVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/bundle/bundle.h"

namespace capbench::bundle {

struct Member {
  std::string_view name;
  std::string_view bytes;
};

// `members` are sorted by name, each once, and their names are members' names (names.h). The same members give the same
// bytes with the same version of zstd. Errors: no memory.
Result<std::string> pack(const std::vector<Member>& members);

struct Unpacked {
  std::string tar;              // what the members point into
  std::vector<Member> members;  // sorted by name
};

// Trusts nothing; see open_bundle().
Result<Unpacked> unpack(std::string_view archive, const Limits& limits);

// The size of the tar archive that pack() would compress.
std::uint64_t unpacked_size(const std::vector<Member>& members);

// Errors if one of the limits on sizes and counts is exceeded; `archive_bytes` is 0 while it is not known.
Status check_sizes(const std::vector<Member>& members, std::uint64_t archive_bytes, const Limits& limits);

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_ARCHIVE_H_
