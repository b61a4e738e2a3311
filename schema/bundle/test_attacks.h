// Archives that mean harm, made systematically: every way to spoil a value at every place of every kind of record,
// every kind of entry under every member's name, frames that lie. For tests.
#ifndef CAPBENCH_SCHEMA_BUNDLE_TEST_ATTACKS_H_
#define CAPBENCH_SCHEMA_BUNDLE_TEST_ATTACKS_H_

#include <string>
#include <vector>

namespace capbench::bundle::testing {

struct Attack {
  std::string name;     // what was done where
  std::string archive;  // with digests that fit, where it has any
};

// Each is refused when it is opened; no two are the same bytes. Well over a thousand.
std::vector<Attack> attacks();

// Words of SQL, scripts, terminals and spreadsheets in every text of a bundle. Where names follow from content they are
// refused; free texts may hold anything, and do no harm.
std::vector<Attack> hostile_words();

}  // namespace capbench::bundle::testing

#endif  // CAPBENCH_SCHEMA_BUNDLE_TEST_ATTACKS_H_
