// What a row of any report is about: identity and names, everything but the numbers. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_SUBJECT_H_
#define CAPBENCH_REPORTS_SUBJECT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/select.h"

namespace capbench::reports {

inline constexpr const char* kBareMetal = "bare-metal";
inline constexpr const char* kStock = "stock";
inline constexpr const char* kUnlocked = "unlocked";

// One suite, machine, build, workload, model, test and guest.
struct Subject {
  std::string suite;
  std::string suite_id;
  std::string machine;
  std::string machine_id;
  bool machine_is_virtual = false;
  std::string build;              // as the application names it; empty if it never said
  std::string executable_sha256;  // empty if unknown
  std::string workload;
  std::string model;
  std::string model_kind;  // "real" or "twin"
  std::string test;        // empty: no trial got as far as a result
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::int64_t n_depth = 0;
  std::string guest;  // "vm", "stand-in"; empty: every arm ran on the host itself

  // What the arms ran on: "NVIDIA H200"; where arms differ, each with its modes, "Apple M1 Ultra (bare-metal); ...".
  // Empty if no result says.
  std::string device;
  std::string measured_first;         // when the first trial started, UTC; empty if unknown
  std::string measured_last;          // and the last
  std::vector<std::string> capbench;  // versions that ran the trials, sorted; empty if unknown
  bool imported = false;              // some of its trials were read from files that others wrote
  std::string suite_description;      // may be empty
};

// What trials do not say themselves, by id. What is not there is left out of the report.
struct Background {
  std::map<std::string, std::string> description_by_suite;
  std::map<std::string, std::string> capbench_by_run;
};

// Of a row's trials, at least one; without the device.
Subject subject_of(const RowTrials& trials, const Background& background);

// What each arm ran on, as one text: see Subject::device. Pairs of device and arm; those without a device do not count.
std::string devices_text(const std::vector<std::pair<std::string, std::string>>& device_and_arm);

// Finds names that stand for more than one identity.
class Names {
 public:
  void add(const std::string& name, const std::string& id) { ids_[name].insert(id); }

  // The name, with the start of the identity if another thing has the same name; enough of it to tell them apart.
  std::string label(const std::string& name, const std::string& id) const;

 private:
  std::map<std::string, std::set<std::string>> ids_;
};

// The names of a whole report.
struct SubjectNames {
  Names suites;
  Names machines;
  Names builds;

  void add(const Subject& subject);
};

// Whether two rows differ only by their test (and what it measures).
bool same_but_test(const Subject& a, const Subject& b);

// Before all numbers: by names, then by what the test measures. For sorting a report's rows.
bool subject_before(const Subject& a, const Subject& b);

// "tinyllama-1.1b (twin), workload chat". Not escaped, but valid UTF-8 on one line, here and below.
std::string subject_title(const Subject& subject);

// {"suite", ...}, {"machine", ...}, {"device", ...}, {"build", ...}, {"guest", ...}.
std::vector<std::pair<std::string, std::string>> subject_details(const Subject& subject, const SubjectNames& names);

// "2026-11-28 to 2026-11-30, with capbench 0.1.0" over rows that are tests of the same trials; empty if unknown.
std::string measured_text(const std::vector<const Subject*>& rows);

// The test, or "(no result)".
std::string subject_test(const Subject& subject);

// The digits of a trial's id (or of any digest) that reports print.
std::string short_id(const std::string& id);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_SUBJECT_H_
