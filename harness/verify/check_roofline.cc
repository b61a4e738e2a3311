// No faster than the device can be.
#include <fmt/format.h>

#include <algorithm>

#include "harness/stats/summary.h"
#include "harness/verify/checks.h"

namespace capbench::verify {

void check_roofline(const Index& index, const std::function<SpeedShare(const SpeedQuestion&)>& speed_share,
                    Rows& rows) {
  if (!speed_share) {
    rows.skipped("", "no table of devices was given");
    return;
  }
  for (const TrialEntry& trial : index.trials()) {
    if (!trial.counts()) continue;
    for (std::size_t i = 0; i < trial.record->results.size(); ++i) {
      const schema::ResultRecord& result = trial.record->results[i];
      if (result.samples_ns.empty()) continue;
      const std::int64_t fastest = *std::min_element(result.samples_ns.begin(), result.samples_ns.end());
      const double speed = stats::tokens_per_second(result.n_prompt + result.n_gen, fastest);
      if (!(speed > 0)) continue;
      const SpeedShare share =
          speed_share({*trial.record, result, speed, trial.model,
                       trial.environment == nullptr ? std::string_view() : trial.environment->json});
      const std::string where = place(trial.member, fmt::format("results[{}].samples_ns", i));
      if (!share.percent) {
        rows.skipped(where, share.why);
      } else if (*share.percent > 100) {
        rows.flagged(where, fmt::format("{}: {:.6g} tok/s takes {:.0f} % of {}{}", result.test, speed, *share.percent,
                                        share.of, share.approximate ? ", if all of the model is read" : ""));
      } else {
        rows.passed();
      }
    }
  }
}

}  // namespace capbench::verify
