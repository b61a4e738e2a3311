// The checks, one function each. Internal to this room: verify.h runs them all. Pure.
#ifndef CAPBENCH_HARNESS_VERIFY_CHECKS_H_
#define CAPBENCH_HARNESS_VERIFY_CHECKS_H_

#include <functional>
#include <string>
#include <string_view>

#include "harness/verify/index.h"
#include "harness/verify/rows.h"
#include "harness/verify/verify.h"

namespace capbench::verify {

// check_suite.cc
void check_suites(const Index& index, Rows& rows);
void check_plan(const Index& index, Rows& rows);
void check_commands(const Index& index, Rows& rows);

// check_mode.cc
void check_modes(const Index& index, Rows& rows);

// check_results.cc
void check_samples(const Index& index, Rows& rows);
void check_medians(const Index& index, Rows& rows);
void check_rates(const Index& index, Rows& rows);

// check_treatment.cc: the three come out of one judgement.
void check_judgement(const Index& index, Rows& status, Rows& treatment, Rows& capabilities);

// check_quality.cc
void check_quality(const Index& index, Rows& rows);

// check_files.cc
void check_models(const Index& index, Rows& rows);
void check_programs(const Index& index, Rows& rows);

// check_times.cc. `now` as in Context.
void check_times(const Index& index, std::string_view now, Rows& rows);

// check_roofline.cc
void check_roofline(const Index& index, const std::function<SpeedShare(const SpeedQuestion&)>& speed_share, Rows& rows);

// check_sources.cc
void check_sources(const Index& index, Rows& rows);

inline constexpr std::string_view kWithheld = "raw output withheld";

// Why a trial's raw output cannot be looked at.
inline std::string why_no_raw(const TrialEntry& trial) {
  return std::string(trial.too_much ? "the bundle's raw output is more than is read again" : kWithheld);
}

// "trials/ID.json: results[3].samples_ns".
inline std::string place(const std::string& member, std::string_view field) {
  return member + ": " + std::string(field);
}

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_CHECKS_H_
