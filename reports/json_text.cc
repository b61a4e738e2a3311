#include "reports/json_text.h"

#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace capbench::reports {

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(valid_utf8(text));
}

OrderedJson texts(const std::vector<std::string>& list) {
  OrderedJson out = OrderedJson::array();
  for (const std::string& text : list) out.push_back(valid_utf8(text));
  return out;
}

OrderedJson interval_json(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? OrderedJson::array({*low, *high}) : OrderedJson(nullptr);
}

OrderedJson interval_json(const std::optional<Interval>& interval) {
  return interval ? interval_json(interval->low, interval->high) : OrderedJson(nullptr);
}

OrderedJson ratio_json(const std::optional<stats::RatioInterval>& ratio) {
  if (!ratio) return nullptr;
  return {
      {"ratio", ratio->ratio},
      {"ci95", interval_json(ratio->lo, ratio->hi)},
      {"interval", ratio->label},
      {"estimator", ratio->estimator},
      {"shift", ratio->shift ? OrderedJson(*ratio->shift) : OrderedJson(nullptr)},
  };
}

OrderedJson measured_json(const Subject& subject) {
  if (subject.measured_first.empty()) return nullptr;
  return {{"first", valid_utf8(subject.measured_first)}, {"last", valid_utf8(subject.measured_last)}};
}

void add_subject(const Subject& subject, OrderedJson& row) {
  row["suite"] = valid_utf8(subject.suite);
  row["suite_id"] = valid_utf8(subject.suite_id);
  row["machine"] = valid_utf8(subject.machine);
  row["machine_id"] = valid_utf8(subject.machine_id);
  row["build"] = valid_utf8(subject.build);
  row["executable_sha256"] = text_or_null(subject.executable_sha256);
  row["workload"] = valid_utf8(subject.workload);
  row["model"] = valid_utf8(subject.model);
  row["model_kind"] = valid_utf8(subject.model_kind);
  row["test"] = text_or_null(subject.test);
  row["guest"] = text_or_null(subject.guest);
  row["device"] = text_or_null(subject.device);
  row["measured"] = measured_json(subject);
  row["capbench"] = texts(subject.capbench);
  row["suite_description"] = text_or_null(subject.suite_description);
}

}  // namespace capbench::reports
