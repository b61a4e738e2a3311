// What the readers of a suite's parts share. Pure.
#ifndef CAPBENCH_HARNESS_SUITE_READERS_H_
#define CAPBENCH_HARNESS_SUITE_READERS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/check.h"
#include "harness/suite/members.h"
#include "harness/suite/structs.h"

namespace capbench::suite {

void complain(Problem& problem, const std::string& path, std::optional<Complaint> complaint);

// A name that must be there, or takes a default.
std::string read_name(const Members& members, std::string_view key, Problem& problem, std::string absent = "");

// Not empty if it is there.
std::string read_path(const Members& members, std::string_view key, Problem& problem);

// An object of texts, each pair checked by `check(name, value)`.
using PairCheck = std::optional<Complaint> (*)(std::string_view name, std::string_view value);
std::map<std::string, std::string> read_pairs(const Members& members, std::string_view key, Problem& problem,
                                              PairCheck check);
std::optional<Complaint> check_capability_level(std::string_view name, std::string_view level);
std::optional<Complaint> check_environment(std::string_view name, std::string_view value);

std::vector<std::string> read_arguments(const Members& members, std::string_view runtime, ArgumentsOf whose,
                                        Problem& problem);

// A member that only some runtimes have: a problem if it is there and `runtime` is not among them.
void only_with(const Members& members, std::string_view key, std::string_view runtime, std::string_view wanted,
               Problem& problem);

// An array of 1 to kItems elements, handed on with their paths. Reports what else it is.
void read_elements(const Members& members, std::string_view key, Problem& problem,
                   const std::function<void(const nlohmann::json& node, const std::string& path)>& read);

// Names within one list must differ; the first that does not is a problem.
template <class Item>
void check_names(const std::vector<Item>& items, const std::string& path, Problem& problem) {
  std::map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto [earlier, fresh] = first.emplace(items[i].name, i);
    if (fresh) continue;
    problem.report(
        path + "[" + std::to_string(i) + "].name",
        "\"" + items[i].name + "\" is also the name of " + path + "[" + std::to_string(earlier->second) + "]",
        "a name of its own");
    return;
  }
}

// Arms, as written by hand. `runtime` is the suite's runtime kind.
Arm read_arm(const nlohmann::json& node, const std::string& path, std::string_view runtime, Problem& problem);

// What a design says; the arms that it makes are design::expand's.
Design read_design(const nlohmann::json& node, const std::string& path, std::string_view runtime, Problem& problem);

// The targets by name, each with its shape checked and its machine found.
std::map<std::string, TargetSpec> read_targets(const nlohmann::json& node, const std::string& path, Problem& problem);

// A problem if that is no target.
void check_target(const std::string& target, const std::string& path, const std::map<std::string, TargetSpec>& targets,
                  Problem& problem);

}  // namespace capbench::suite

#endif  // CAPBENCH_HARNESS_SUITE_READERS_H_
