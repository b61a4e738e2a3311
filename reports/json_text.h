// Pieces of JSON that every report writes the same way.
#ifndef CAPBENCH_REPORTS_JSON_TEXT_H_
#define CAPBENCH_REPORTS_JSON_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/stats/interval.h"
#include "reports/estimates.h"
#include "reports/subject.h"

namespace capbench::reports {

// Members in the order written.
using OrderedJson = nlohmann::ordered_json;

// Bytes that are not UTF-8 become U+FFFD in all of these.
OrderedJson text_or_null(const std::string& text);
OrderedJson texts(const std::vector<std::string>& list);
OrderedJson interval_json(const std::optional<Interval>& interval);
OrderedJson interval_json(const std::optional<double>& low, const std::optional<double>& high);

// {"ratio", "ci95", "interval", "estimator", "shift"}; null for none.
OrderedJson ratio_json(const std::optional<stats::RatioInterval>& ratio);

// When the first and the last trial started; null if unknown.
OrderedJson measured_json(const Subject& subject);

// Adds suite, suite_id, machine, machine_id, build, executable_sha256, workload, model, model_kind, test, guest,
// device, measured, capbench, suite_description.
void add_subject(const Subject& subject, OrderedJson& row);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_JSON_TEXT_H_
