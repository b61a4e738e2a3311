// One portable file of results (`.capbundle`): schema/bundle.md describes the format.
//
// A bundle is made from records and raw bytes, sealed into an archive, and opened again by anybody, who need not trust
// whoever made it. Everything here is pure, knows no store, and may be called from several threads.
#ifndef CAPBENCH_SCHEMA_BUNDLE_BUNDLE_H_
#define CAPBENCH_SCHEMA_BUNDLE_BUNDLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/records.h"

namespace capbench::bundle {

// What was taken out before the bundle was sealed.
struct Replaced {
  std::string member;       // "trials/ID.json", "raw/SHA256": one that the sealed bundle has
  std::string kind;         // "home folder", "host name", "serial number", ...
  std::uint64_t count = 0;  // replacements in that member
};

// In no particular order; seal() sorts. Every record is named by its content (schema/identity.h), and everything that a
// record refers to is in the bundle, except raw bytes: a digest that is not in `raw` is of bytes that are withheld.
struct Bundle {
  std::vector<schema::SuiteRecord> suites;
  std::vector<schema::EnvironmentRecord> environments;
  std::vector<schema::ClosureRecord> closures;
  std::vector<schema::RunRecord> runs;
  std::vector<schema::TrialRecord> trials;
  std::vector<schema::QualityRecord> quality;
  std::vector<schema::SourceRecord> sources;
  std::vector<schema::QuarantineRecord> quarantine;  // rows of `sources`; in order within one source
  std::map<std::string, std::string> raw;            // by SHA-256: stdout, stderr, probe output, bytes of a source
  std::string created_by;                            // "capbench 0.1.0"
  std::vector<Replaced> replaced;
};

// The names of a bundle's members.
std::string suite_member(const schema::SuiteRecord& suite);                    // suites/ID.json
std::string environment_member(const schema::EnvironmentRecord& environment);  // environments/ID.json
std::string closure_member(const schema::ClosureRecord& closure);              // closures/ID.json
std::string run_member(const schema::RunRecord& run);                          // runs/ID.json
std::string trial_member(const schema::TrialRecord& trial);                    // trials/ID.json
std::string quality_member(const schema::QualityRecord& check);                // quality/ID.json, see quality_id()
std::string source_member(const schema::SourceRecord& source);                 // sources/SHA256.json
std::string raw_member(std::string_view sha256);                               // raw/SHA256

// Names the place of a quality check, which has no id of its own: the SHA-256 of canonical {arm, attempt, kind, model,
// run}.
std::string quality_id(const schema::QualityRecord& check);

// The namespace of the OpenSSH signature over the manifest's bytes.
inline constexpr std::string_view kSignatureNamespace = "capbench-bundle";
inline constexpr std::string_view kFileExtension = ".capbundle";

struct Sealed {
  std::string id;         // SHA-256 of `manifest`
  std::string manifest;   // canonical JSON: what is signed
  std::string signature;  // empty: none
  std::string archive;    // the file's bytes
};

// The same records and raw bytes give the same manifest, whatever their order; with the same version of zstd also the
// same archive. `signature` is an OpenSSH signature over the manifest (armored text) or empty; it does not change the
// id. To sign: seal, sign Sealed::manifest, seal again with the signature.
// Errors: what open_bundle() would refuse whatever its limits (an id that is not that of the content, a reference that
// does not resolve, raw bytes that nothing refers to, text that is not UTF-8, no trial, ...); the member is named.
Result<Sealed> seal(const Bundle& bundle, std::string_view signature = {});

// The most that open_bundle() takes. Anything above is refused before memory is spent on it.
struct Limits {
  std::uint64_t archive_bytes = 64U << 20U;
  std::uint64_t unpacked_bytes = 256U << 20U;  // of all members and the archive's own headers
  std::uint64_t ratio = 500;                   // unpacked bytes to archive bytes, where more than 1 MiB is unpacked
  std::size_t members = 50'000;
  std::uint64_t json_bytes = 16U << 20U;  // of one member that is not raw
  std::uint64_t raw_bytes = 64U << 20U;   // of one raw member
  std::size_t json_depth = 32;            // of a JSON text within a record; records themselves have a fixed form
  std::size_t list_items = 100'000;       // of one list of a record: results, samples, arguments, ...
};

// Whether a file that begins with these bytes (four are enough) may be a bundle and is nothing else that capbench
// reads.
bool may_be_bundle(std::string_view beginning);

struct Opened {
  Bundle bundle;  // each list sorted by the names of its members
  std::string id;
  std::string manifest;
  std::string signature;  // as found, not looked at: empty if there is none
};

// Trusts nothing: the archive's form (one Zstandard frame that states its size; regular files only, under the names
// above, in order, each once), every limit, the manifest (lists each member with its size and digest, and no other),
// every record (its one canonical spelling, no unknown or repeated key, UTF-8, finite numbers, an id that is that of
// its content), every reference. The first thing wrong is the error: it names the member, what was found and the
// remedy. Whether the numbers follow from the raw output is not asked here; see harness/verify.
Result<Opened> open_bundle(std::string_view archive, const Limits& limits = {});

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_BUNDLE_H_
