// What the application's source leads one to expect of a factor, beside what was measured. Pure, thread-safe.
#ifndef CAPBENCH_REPORTS_EXPECTED_H_
#define CAPBENCH_REPORTS_EXPECTED_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/expectations/expectations.h"

namespace capbench::reports {

// What a release of llama.cpp's Metal backend was found to need, by running it (`capbench explain --map`).
struct ExecutedMap {
  // Any one of these groups suffices, each with at least these levels; one that is empty: always; none: never.
  using Needs = std::vector<std::map<std::string, std::int64_t>>;
  struct Outcome {
    std::string name;                     // "MUL_MAT", "has bfloat"
    bool is_operator = false;             // else a property
    bool some_types_only = false;         // an operator that needs less for other types
    std::vector<std::string> situations;  // "pp512", "tg", "pp512 fa", "tg fa"; of operators
    Needs needs;
  };
  std::string release;
  std::vector<std::string> factors;  // what was varied
  std::vector<Outcome> outcomes;
};

// Takes any bytes; an error names what is missing.
Result<ExecutedMap> parse_executed_map(std::string_view json);

// The newest release's map, as it was when the program was built.
Result<ExecutedMap> load_executed_map();

struct Sources {
  std::vector<shim::ExpectationMap> read;  // from sources
  std::vector<ExecutedMap> executed;
};

// Everything that is part of the program.
Result<Sources> load_sources();

// One factor going from one level to another, and where everything else stands meanwhile.
struct Change {
  std::string factor;
  std::string kind;  // as VariedFactor::kind
  std::string from;
  std::string to;
  std::map<std::string, std::string> others;  // levels of the other factors
  bool generation = false;                    // a test that generates; else one that reads a prompt
};

struct Expected {
  std::string verdict;             // "yes": operators leave the GPU; "may": the application decides otherwise; "no": it
                                   // does not; empty: the sources say nothing of this factor
  std::vector<std::string> flags;  // what changes: "coopmat2", "MUL_MAT"
  std::string source;              // "source of llama.cpp v0.5.0", "code of llama.cpp v0.4.0, executed"
};

// Answers that are not known count as given where a condition needs them beside the factor, and as not given where they
// would be another way to the same conclusion.
Expected expected_of(const Change& change, const Sources& sources);

// "agrees", "surprise", "allowed" (it may matter, and here it does not), or empty where one of the two is open.
// `measured`: "yes", "no", or anything else for neither.
std::string agreement(const std::string& expected, const std::string& measured);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_EXPECTED_H_
