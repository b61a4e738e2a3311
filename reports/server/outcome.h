// What became of a submission, in words. For this room only.
#ifndef CAPBENCH_REPORTS_SERVER_OUTCOME_H_
#define CAPBENCH_REPORTS_SERVER_OUTCOME_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "reports/server/options.h"

namespace capbench::server {

struct Decision {
  int status = 0;       // as a reply to the submission: 201 taken, 200 known, 403, 409 or 422
  std::string outcome;  // the same as a word of the metrics: "added", "refused", ...
  std::string signer;
  std::string tier;
  std::string verdict;     // JSON object with "checks"
  std::int64_t added = 0;  // trials
  std::int64_t known = 0;
  Error error;  // why it was not taken
};

// The rows of a verdict; an empty list if there are none.
nlohmann::json checks_of(const std::string& verdict);
nlohmann::json error_json(const Error& error);
// {"status","error","checks"} of one that was not taken, as the inbox keeps it.
std::string outcome_json(const Decision& decision);

Error failed_checks(std::string_view id, const Judgement& judgement);
Error was_withdrawn(std::string_view id);

// Memory that opening a bundle takes: the text, the records made of it and what is between them.
std::uint64_t opening_cost(std::string_view archive, const bundle::Limits& limits);

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_OUTCOME_H_
