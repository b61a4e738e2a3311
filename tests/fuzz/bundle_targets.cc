#include <zstd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/utf8.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/canonical_reader.h"
#include "schema/bundle/canonical_writer.h"
#include "schema/bundle/json_text.h"
#include "schema/canonical.h"
#include "tests/fuzz/targets.h"

namespace capbench::fuzz {
namespace {

constexpr std::string_view kFrame = "\x28\xB5\x2F\xFD";

// What is read is written as it was, and is what others call canonical JSON.
template <class Record>
void read_and_write(std::string_view text) {
  constexpr std::size_t kItems = 1000;
  const auto record = bundle::CanonicalReader("member", text, kItems).read<Record>();
  if (!record) {
    require(!record.error().cause.empty() && !record.error().remedy.empty(), "an error has a cause and a remedy");
    require(is_printable(record.error().cause), "an error can be shown");
    return;
  }
  const auto written = bundle::CanonicalWriter("member").write(*record);
  require(written.ok() && *written == text, "a record has one spelling");
  const auto value = nlohmann::json::parse(text, nullptr, false);
  const auto canonical = schema::try_canonical(value);
  require(canonical.ok() && *canonical == text, "it is the canonical one");
}

}  // namespace

// An archive, or the tar archive in it, since no mutation survives a checksum.
void fuzz_bundle(std::string_view bytes) {
  std::string packed;
  if (!bytes.starts_with(kFrame)) {
    packed.resize(ZSTD_compressBound(bytes.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1));
    bytes = packed;
  }
  bundle::Limits limits;
  limits.unpacked_bytes = 4U << 20U;
  const auto opened = bundle::open_bundle(bytes, limits);
  if (!opened) {
    require(!opened.error().cause.empty() && !opened.error().remedy.empty(), "an error has a cause and a remedy");
    require(is_printable(opened.error().what) && is_printable(opened.error().cause), "an error can be shown");
    return;
  }
  const auto sealed = bundle::seal(opened->bundle, opened->signature);
  require(sealed.ok() && sealed->manifest == opened->manifest, "an opened bundle is sealed as it was");
}

// The first byte says which record it is.
void fuzz_bundle_record(std::string_view bytes) {
  if (bytes.empty()) return;
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  switch (kind) {
    case 's':
      return read_and_write<schema::SuiteRecord>(bytes);
    case 'e':
      return read_and_write<schema::EnvironmentRecord>(bytes);
    case 'c':
      return read_and_write<schema::ClosureRecord>(bytes);
    case 'r':
      return read_and_write<schema::RunRecord>(bytes);
    case 'q':
      return read_and_write<schema::QualityRecord>(bytes);
    case 'o':
      return read_and_write<bundle::SourceMember>(bytes);
    case 'm':
      return read_and_write<bundle::Manifest>(bytes);
    default:
      return read_and_write<schema::TrialRecord>(bytes);
  }
}

void fuzz_bundle_json(std::string_view bytes) {
  constexpr std::size_t kDepth = 16;
  if (!is_utf8(bytes) || !bundle::why_no_object(bytes, kDepth).empty()) return;
  const auto value = nlohmann::json::parse(bytes, nullptr, false);
  require(value.is_object(), "what passes for an object is one");
  require(schema::try_canonical(value).ok(), "its numbers are finite");
}

}  // namespace capbench::fuzz
