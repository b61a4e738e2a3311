// Collects what one check finds and makes rows of it. Internal to this room.
#ifndef CAPBENCH_HARNESS_VERIFY_ROWS_H_
#define CAPBENCH_HARNESS_VERIFY_ROWS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/verify/verdict.h"

namespace capbench::verify {

// A check that looks at many things of one kind. Of what fails, is flagged or is skipped for the same reason again and
// again, the first are told and the rest counted.
class Rows {
 public:
  // `noun` for what is counted: "results".
  Rows(std::string_view name, std::string_view noun) : name_(name), noun_(noun) {}

  void passed(std::size_t count = 1) { passed_ += count; }
  void failed(std::string where, std::string detail) { add(Outcome::kFailed, std::move(where), std::move(detail)); }
  void flagged(std::string where, std::string detail) { add(Outcome::kFlagged, std::move(where), std::move(detail)); }
  // The same detail for many places becomes one row.
  void skipped(std::string where, std::string detail) { add(Outcome::kSkipped, std::move(where), std::move(detail)); }

  bool any(Outcome outcome) const;
  std::size_t count_passed() const { return passed_; }

  // What failed first, then what was flagged and skipped, then how many passed. Nothing at all is a skipped row.
  void append_to(std::vector<Check>& checks) const;

 private:
  struct Found {
    Outcome outcome;
    std::string where;
    std::string detail;
    std::size_t times = 1;
  };
  void add(Outcome outcome, std::string where, std::string detail);

  std::string name_;
  std::string noun_;
  std::size_t passed_ = 0;
  std::vector<Found> found_;
  std::size_t dropped_[4] = {0, 0, 0, 0};  // by Outcome
};

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_ROWS_H_
