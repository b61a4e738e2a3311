// Bundles out of a store and into one.
#ifndef CAPBENCH_SCHEMA_BUNDLE_EXCHANGE_H_
#define CAPBENCH_SCHEMA_BUNDLE_EXCHANGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/bundle/bundle.h"
#include "schema/import_writer.h"
#include "schema/store.h"

namespace capbench::bundle {

// Which trials of a store. Empty members do not restrict.
struct Selection {
  std::string suite;              // a suite's name or id
  std::vector<std::string> runs;  // ids
  bool received = false;          // also trials that came to this store in bundles, which are others' results
  bool raw = true;                // false: raw bytes are withheld, their digests stay
};

// The chosen trials of every status with all that they refer to, and the quality checks of their runs and arms. An
// error if there is no such trial.
Result<Bundle> bundle_from(schema::Store& store, const Selection& selection, std::string_view created_by);

// What the store keeps about where a bundle came from; the defaults are those of a bundle that nobody vouched for.
struct Provenance {
  std::string signer;                  // fingerprint of the key whose signature was checked; empty: none
  std::string tier = "self-reported";  // or "consistent", "reproduced"
  std::string verdict = "{}";          // JSON object: the checks that led to the tier
  std::string received_at;             // UTC; empty: now
  std::string receipt_sha256;          // of the secret receipt; empty: none was given
  // A bundle whose every trial was measured here adds nothing; false leaves it unrecorded too.
  bool record_own = false;
};

struct IngestOutcome {
  enum class Kind {
    kAdded,      // recorded; `added` trials are new
    kKnown,      // the store has this bundle already: nothing changed
    kOwn,        // every trial was measured here: nothing changed (see Provenance::record_own)
    kWithdrawn,  // the store has it, withdrawn: nothing changed
    kConflict,   // the store holds something else under an identity of the bundle: nothing changed
  };
  Kind kind = Kind::kAdded;
  std::int64_t added = 0;  // trials
  std::int64_t known = 0;  // trials that were there already
  Error conflict;          // of kConflict: names both sides
};

// The part of ingest() that needs no store: raw output compressed, the archive's digest. A server does it before it is
// its turn to write. Thread-safe.
struct Prepared {
  std::string archive_sha256;
  std::vector<schema::PackedRaw> raw;  // sorted by digest
};
Result<Prepared> prepare(const Opened& opened, std::string_view archive);

// Everything of the bundle and the bundle itself in one transaction, or nothing. `archive` are the bytes that `opened`
// is of; the store keeps them. Idempotent. A trial that is known is compared only in what is never redacted, and keeps
// what the store has of it. Known runs keep their state. When it returns, the transaction is on disk.
Result<IngestOutcome> ingest(schema::Store& store, const Opened& opened, std::string_view archive,
                             const Provenance& provenance);
// The same with what prepare() gave for both.
Result<IngestOutcome> ingest(schema::Store& store, const Opened& opened, std::string_view archive,
                             const Provenance& provenance, const Prepared& prepared);

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_EXCHANGE_H_
