// Is anything slower than at a baseline? For `capbench check`.
//
// Each series (history.h) is asked by itself: the newest point against the baseline's. A series is slower if the whole
// interval of the ratio lies under 1 - margin, and not slower if the whole interval lies over it; anything else is
// `cannot tell`. The intervals of all series that can be asked hold together with 95 % (three trials or more on both
// sides). A series whose points have fewer trials can still be told by its changes of level since the baseline.
#ifndef CAPBENCH_REPORTS_REGRESSIONS_H_
#define CAPBENCH_REPORTS_REGRESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reports/document.h"
#include "reports/history.h"
#include "schema/store.h"

namespace capbench::reports {

enum class Standing { kSlower, kNotSlower, kFaster, kCannotTell };
std::string_view standing_name(Standing standing);  // "slower", "not slower", "faster", "cannot tell"

struct CheckedSeries {
  SeriesKey key;
  std::string setting;
  Standing standing = Standing::kCannotTell;
  std::string why;       // it cannot be told; else empty
  std::string baseline;  // labels; empty where there is no such point
  std::string newest;
  std::size_t baseline_trials = 0;
  std::size_t newest_trials = 0;
  double baseline_ts = 0;
  double newest_ts = 0;
  std::optional<double> ratio;  // newest over baseline
  std::optional<Interval> ci95;
  std::string method;       // "trials" or "change point"
  std::optional<double> p;  // of the change point that stands behind it
  double margin = 0.02;
  // Of a series that is slower: the last point that was as fast as the baseline, and the first that was not.
  std::string last_good;
  std::string first_bad;
  std::string first_bad_date;
  std::string id;       // 64 digits: what --triage takes
  std::string subject;  // whose digest it is
  std::string state;    // "open", "acknowledged", "fixed", "noise"
  std::string state_why;
  bool counts = false;  // slower, and nobody has acknowledged it or called it noise. "fixed" counts: it is not
};

struct CheckReport {
  Axis axis = Axis::kBuilds;
  std::string baseline;               // as asked for
  std::vector<CheckedSeries> series;  // slower ones first, the most first; then by key
  std::size_t asked = 0;              // series whose intervals hold together
  std::size_t compared = 0;           // series of which something could be said, those among them
  bool finding = false;               // some series counts
};

// `baseline`: a build number ("4321", "b4321"), the beginning of a commit (4 digits or more), a point's label, or
// "previous" for the point before each series' newest. One that no series has is an error that names some that there
// are (kUsage).
Result<CheckReport> check_history(const std::vector<Series>& history, Axis axis, const std::string& baseline);

Document check_document(const CheckReport& report);
// A comment for a pull request.
std::string check_markdown(const CheckReport& report);
std::string check_csv(const CheckReport& report);
// See json/check.schema.json.
std::string check_json(const CheckReport& report);
// "md", "csv", "json", "html" or "latex".
std::string check_text(const CheckReport& report, std::string_view format);

// The subject behind an id or the beginning of one: any change of level, and any pair of neighbouring points. An
// unknown or ambiguous one is an error.
Result<std::string> find_regression(schema::Store& store, const std::string& id_or_prefix);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_REGRESSIONS_H_
