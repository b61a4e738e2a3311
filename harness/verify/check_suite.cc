// Suites, and whether each trial is one of theirs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "harness/runtime/runtime.h"
#include "harness/suite/suite.h"
#include "harness/verify/checks.h"
#include "harness/verify/same_text.h"

namespace capbench::verify {
namespace {

constexpr std::string_view kImportedSuite = "of imported results: it plans nothing";

// The most trials of plans that are laid out again, all runs together.
constexpr double kMostPlanned = 2e6;

std::int64_t most_blocks(const suite::Protocol& protocol) {
  return protocol.until ? std::max(protocol.trials, protocol.until->max_trials) : protocol.trials;
}

// Position of each trial in a run's plan, by arm, workload, model and block. Empty: the plan is too long to lay out.
using Cell = std::tuple<std::string, std::string, std::string, std::int64_t>;
using Positions = std::map<Cell, std::set<std::int64_t>>;

// `left`: of kMostPlanned.
Positions positions_of(const suite::Suite& suite, std::uint64_t seed, std::int64_t blocks, double& left) {
  Positions positions;
  const auto cells =
      static_cast<double>(suite.arms.size()) * static_cast<double>(suite.workloads.size() * suite.models.size());
  const double planned_trials = cells * static_cast<double>(blocks);
  if (planned_trials > left) return positions;
  left -= planned_trials;
  for (const suite::PlannedTrial& planned : suite::make_plan(suite, seed, blocks).trials) {
    positions[{suite.arms[planned.arm].name, suite.workloads[planned.workload].name, suite.models[planned.model].name,
               planned.block}]
        .insert(static_cast<std::int64_t>(planned.position));
  }
  return positions;
}

// The first thing of the trial that its suite does not have or contradicts, as field and detail.
struct Misfit {
  const char* field = nullptr;
  std::string detail;
};

Misfit misfit(const TrialEntry& trial) {
  const schema::TrialRecord& record = *trial.record;
  if (trial.run == nullptr) return {"run_id", "no such run in the bundle"};
  if (trial.run->suite_id != record.suite_id) return {"suite_id", "its run is of another suite"};
  if (trial.environment == nullptr) return {"environment_id", "no such environment in the bundle"};
  if (trial.arm == nullptr) return {"arm", fmt::format("the suite has no arm \"{:.60}\"", record.arm)};
  if (trial.workload == nullptr) {
    return {"workload", fmt::format("the suite has no workload \"{:.60}\"", record.workload)};
  }
  if (trial.model == nullptr) return {"model", fmt::format("the suite has no model \"{:.60}\"", record.model)};
  if (trial.imported) return {};
  if (trial.arm->target != record.target) {
    return {"target", fmt::format("the suite's arm runs on \"{:.60}\"", trial.arm->target)};
  }
  if (!trial.model->like.empty() && record.model_kind != "twin") {
    return {"model_kind", "the suite's model is a twin"};
  }
  if (!trial.model->catalog.empty() && record.model_kind == "twin") {
    return {"model_kind", "the suite's model is a published file, no twin"};
  }
  const suite::Protocol& protocol = trial.suite->suite->protocol;
  const bool is_verbose = protocol.verbose_trial && record.block == suite::verbose_block(protocol);
  if (!is_verbose && (record.block < -protocol.warmup_trials || record.block >= most_blocks(protocol))) {
    return {"block", fmt::format("{}: the suite has {} blocks and {} warm-up trials", record.block,
                                 most_blocks(protocol), protocol.warmup_trials)};
  }
  return {};
}

// The command line with marks where the record may have any path.
constexpr std::string_view kProgramMark = "\x01program";
constexpr std::string_view kModelMark = "\x01model";

std::string command_problem(const TrialEntry& trial) {
  const suite::Suite& suite = *trial.suite->suite;
  const std::vector<std::string> expected =
      runtime::make_argv(suite.runtime.kind, std::string(kProgramMark),
                         trial.model->kind == "none" ? "" : std::string(kModelMark), *trial.workload, *trial.arm);
  const std::vector<std::string>& argv = trial.record->argv;
  for (std::size_t i = 0; i < std::max(expected.size(), argv.size()); ++i) {
    if (i >= argv.size()) return fmt::format("argv ends before \"{:.60}\"", expected[i]);
    if (i >= expected.size()) return fmt::format("argv has \"{:.60}\" behind what the suite asks for", argv[i]);
    if (expected[i] == kProgramMark || expected[i] == kModelMark || same_text(expected[i], argv[i])) continue;
    return fmt::format("argv[{}] is \"{:.60}\", the suite asks for \"{:.60}\"", i, argv[i], expected[i]);
  }
  return "";
}

// What llama-bench printed of the arguments it ran with.
std::string printed_problem(const TrialEntry& trial) {
  const std::vector<std::string>& argv = trial.record->argv;
  const auto given = [&](const char* option) { return std::find(argv.begin(), argv.end(), option); };
  const auto value = [&](const char* option) {
    const auto at = given(option);
    return at == argv.end() || at + 1 == argv.end() ? std::string() : *(at + 1);
  };
  struct Option {
    const char* option;
    const char* field;
  };
  for (std::size_t i = 0; i < trial.record->results.size(); ++i) {
    const schema::ResultRecord& result = trial.record->results[i];
    const nlohmann::json& fields = (*trial.fields)[i];
    if (!fields.is_object()) continue;
    if (const auto name = fields.find("model_filename"); name != fields.end() && name->is_string()) {
      const std::string model = value("-m");
      if (!same_text(name->get_ref<const std::string&>(), model)) {
        return fmt::format("{}: printed model_filename \"{:.60}\", argv says \"{:.60}\"", result.test,
                           name->get_ref<const std::string&>(), model);
      }
    }
    for (const Option& option : {Option{"-t", "n_threads"}, Option{"-ngl", "n_gpu_layers"}}) {
      const auto printed = fields.find(option.field);
      const std::string asked = value(option.option);
      const bool is_one_number = !asked.empty() && asked.find_first_not_of("0123456789") == std::string::npos;
      if (printed == fields.end() || !printed->is_number_integer() || !is_one_number) continue;
      if (printed->dump() == asked) continue;
      return fmt::format("{}: printed {} {}, argv says {} {}", result.test, option.field, printed->dump(),
                         option.option, asked);
    }
  }
  return "";
}

}  // namespace

void check_suites(const Index& index, Rows& rows) {
  for (const auto& [id, entry] : index.suites()) {
    if (entry.imported) {
      rows.skipped(entry.member, std::string(kImportedSuite));
    } else if (!entry.suite) {
      rows.failed(entry.member, entry.problem);
    } else if (suite::canonical_json(*entry.suite) != entry.record->json) {
      // A newer program may write it otherwise; its name is that of the bytes in any case.
      rows.flagged(entry.member, "its text is not the canonical one of this version");
    } else if (entry.suite->name != entry.record->name) {
      rows.failed(entry.member,
                  fmt::format("is called \"{:.60}\", its text says \"{:.60}\"", entry.record->name, entry.suite->name));
    } else {
      rows.passed();
    }
  }
}

void check_plan(const Index& index, Rows& rows) {
  std::map<std::string, std::int64_t> blocks;  // by run, as far as its trials go
  for (const TrialEntry& trial : index.trials()) {
    auto& most = blocks[trial.record->run_id];
    most = std::max(most, trial.record->block + 1);
  }
  std::map<std::string, Positions> positions;  // by run
  double left = kMostPlanned;
  for (const TrialEntry& trial : index.trials()) {
    if (trial.suite != nullptr && trial.suite->imported) {
      rows.skipped(trial.member, std::string(kImportedSuite));
      continue;
    }
    if (trial.suite == nullptr || !trial.suite->suite) {
      rows.failed(trial.member, "its suite is not there or cannot be read");
      continue;
    }
    if (Misfit found = misfit(trial); found.field != nullptr) {
      rows.failed(place(trial.member, found.field), std::move(found.detail));
      continue;
    }
    if (trial.imported) {
      rows.passed();
      continue;
    }
    const schema::TrialRecord& record = *trial.record;
    if (trial.run->machine_id != trial.environment->machine_id &&
        suite::machine_of(*trial.suite->suite, *trial.arm) == "local") {
      rows.failed(place(trial.member, "environment_id"), "is of another machine than its run");
      continue;
    }
    const suite::Suite& suite = *trial.suite->suite;
    auto known = positions.find(record.run_id);
    if (known == positions.end()) {
      const std::int64_t count =
          std::min(std::max<std::int64_t>(blocks[record.run_id], 1), most_blocks(suite.protocol));
      known = positions.emplace(record.run_id, positions_of(suite, trial.run->seed, count, left)).first;
    }
    if (known->second.empty()) {
      rows.skipped(trial.member, "its run's plan is too long to be laid out again");
      continue;
    }
    const auto planned = known->second.find({record.arm, record.workload, record.model, record.block});
    if (planned == known->second.end()) {
      rows.failed(trial.member, "the plan has no such trial");
    } else if (!planned->second.contains(record.position)) {
      rows.failed(place(trial.member, "position"), fmt::format("{}: with the run's seed the plan has it at {}",
                                                               record.position, *planned->second.begin()));
    } else {
      rows.passed();
    }
  }
}

void check_commands(const Index& index, Rows& rows) {
  for (const TrialEntry& trial : index.trials()) {
    if (trial.imported) {
      rows.skipped(trial.member, "imported: its command is not known");
      continue;
    }
    const bool planned = trial.arm != nullptr && trial.workload != nullptr && trial.model != nullptr;
    if (!planned || trial.record->argv.empty()) {
      rows.skipped(trial.member, planned ? "no command is recorded" : "not of its suite's plan");
      continue;
    }
    std::string problem = command_problem(trial);
    if (problem.empty() && trial.suite->suite->runtime.kind == "llama-bench") problem = printed_problem(trial);
    if (problem.empty()) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, "argv"), std::move(problem));
    }
  }
}

}  // namespace capbench::verify
