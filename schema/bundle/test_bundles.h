// Bundles for this room's tests, and archives as capbench would never write them.
#ifndef CAPBENCH_SCHEMA_BUNDLE_TEST_BUNDLES_H_
#define CAPBENCH_SCHEMA_BUNDLE_TEST_BUNDLES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schema/bundle/bundle.h"
#include "schema/test_records.h"

namespace capbench::bundle::testing {

// Every kind of record, every optional part there and absent: measured trials with a probe, an excluded one, one that
// never started, one imported from a source with stated results and a quarantined row, a quality check.
Bundle example();
// One trial and a few raw bytes.
Bundle small();

Sealed sealed(const Bundle& bundle);

// One entry of a tar archive.
struct Entry {
  std::string name;
  std::string bytes;
  char type = '0';
};

// The 512 bytes before an entry, with the right checksum. put_checksum() rights it after a change.
std::string header(const Entry& entry);
void put_checksum(std::string& header);
// Headers, bytes and padding; `end` adds the two blocks of zeros.
std::string tar(const std::vector<Entry>& entries, bool end = true);
std::string zstd(std::string_view bytes);
std::string unzstd(std::string_view archive);
std::string archive(const std::vector<Entry>& entries);

// What a bundle consists of, in order.
std::vector<Entry> entries(const Sealed& sealed);
Entry& find(std::vector<Entry>& entries, std::string_view begin);
// With a manifest that fits the other entries, which are sorted.
std::vector<Entry> with_manifest(std::vector<Entry> entries);
// The bundle with another content of the first member whose name begins so, and a manifest that fits.
std::string altered(const Bundle& bundle, std::string_view begin, std::string_view from, std::string_view to);

}  // namespace capbench::bundle::testing

#endif  // CAPBENCH_SCHEMA_BUNDLE_TEST_BUNDLES_H_
