// Every measurement of one or several stores, read once and kept without its raw output: what histories, checks and the
// site are made from. A million results with ten samples each take about 200 MB. Afterwards only read, so that any
// number of threads may share it.
#ifndef CAPBENCH_REPORTS_MEASUREMENTS_H_
#define CAPBENCH_REPORTS_MEASUREMENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "reports/setting.h"
#include "reports/texts.h"
#include "schema/store.h"

namespace capbench::reports {

// A SHA-256 as its 32 bytes.
using Digest = std::array<std::uint8_t, 32>;
std::optional<Digest> digest_bytes(std::string_view hex);
std::string digest_hex(const Digest& digest);

// What one speed is of. Results that agree in all of it are one series.
struct SeriesKey {
  std::string suite;  // its name: what ran is compared by content, so versions of a suite share a series
  std::string machine;
  std::string machine_id;
  std::string device;  // "NVIDIA H200"; empty if unknown
  std::string model;
  std::string model_kind;  // "real" or "twin"
  std::string workload;
  std::string arm;
  std::string mode;
  std::string guest;  // "vm", "stand-in", or empty
  std::string test;   // "pp512"; printed again by the same process: "pp512 #2"

  auto operator<=>(const SeriesKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

// One process launch of any status.
struct Launch {
  Digest id{};
  Texts::Id run = 0;
  Texts::Id suite = 0;  // name
  Texts::Id suite_id = 0;
  Texts::Id machine = 0;  // label
  Texts::Id machine_id = 0;
  Texts::Id environment = 0;  // id
  Texts::Id arm = 0;
  Texts::Id mode = 0;
  Texts::Id guest = 0;
  Texts::Id workload = 0;
  Texts::Id model = 0;
  Texts::Id model_kind = 0;
  Texts::Id status = 0;
  Texts::Id reason = 0;
  Texts::Id treatment = 0;
  Texts::Id quality = 0;
  Texts::Id started = 0;  // UTC
  std::int32_t block = 0;
  std::int32_t attempt = 0;
  std::uint32_t order = 0;   // of `started` among all launches, by text; equal times have equal ones
  std::uint32_t origin = 0;  // a place in Measurements::settings, if it counts
  std::uint16_t store = 0;   // which of the stores it was read from
  bool latest = false;       // no later attempt at its place in the plan
  bool counts = false;       // the latest, ok, its treatment not invalid, no warm-up, and it has samples
};

// One result of a launch that counts.
struct Measurement {
  std::uint32_t key = 0;
  std::uint32_t launch = 0;
  Texts::Id build = 0;  // as the application names itself
  std::uint32_t first_sample = 0;
  std::uint32_t n_samples = 0;
  bool has_samples = false;  // in Measurements::samples: kept only of what nothing else was measured beside
  double median_ts = 0;      // of its samples, tokens per second
};

struct Measurements {
  Texts texts;
  std::vector<Launch> launches;                // as read
  std::vector<std::uint32_t> launch_by_id;     // places in `launches`, sorted by id
  std::vector<SeriesKey> keys;                 // sorted
  std::vector<std::uint32_t> first_of_key;     // of each key its first place in `all`, and one more
  std::vector<Measurement> all;                // by key, then environment, build, start and id
  std::vector<std::uint32_t> first_of_launch;  // of each launch its first place in `of_launch`, and one more
  std::vector<std::uint32_t> of_launch;        // places in `all`, in order of printing
  std::vector<double> samples;                 // tokens per second
  PartsPool parts;
  std::vector<Setting> settings;             // by origin
  std::vector<Texts::Id> closures;           // by origin: the id of what was loaded; empty if unknown
  std::map<Texts::Id, std::string> systems;  // by environment: "Debian GNU/Linux 12 (6.1.0)"; empty if unknown
  std::unique_ptr<PartsDigests> digests = std::make_unique<PartsDigests>();  // never null

  const std::string& text(Texts::Id id) const { return texts[id]; }
  // What some parts are, in order, as 64 digits.
  const std::string& digest_of(const std::vector<std::uint32_t>& numbers) const {
    return digests->of(numbers, parts, texts);
  }
  std::span<const Measurement> of_key(std::size_t key) const {
    return std::span(all).subspan(first_of_key[key], first_of_key[key + 1] - first_of_key[key]);
  }
  // Places in `all`.
  std::span<const std::uint32_t> of(std::size_t launch) const {
    return std::span(of_launch).subspan(first_of_launch[launch], first_of_launch[launch + 1] - first_of_launch[launch]);
  }
  const Launch* find(const Digest& id) const;
};

// Empty members do not restrict.
struct MeasurementFilter {
  std::string suite;  // name or id
  std::string machine_id;
  std::string model;
  std::string test;
  std::string arm;
};

// What is in more than one of the stores counts once. Errors are the stores'.
Result<Measurements> read_measurements(std::span<schema::Store* const> stores, const MeasurementFilter& filter = {});

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_MEASUREMENTS_H_
