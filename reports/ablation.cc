#include "reports/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>

#include "harness/stats/factorial.h"
#include "reports/ablation_arms.h"
#include "reports/aliases.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

// A row on its way, with what the report itself does not keep.
struct Draft {
  AblationRow row;
  RowTrials trials;
  std::vector<RowArm> arms;
};

bool usable(const RowArm& arm) {
  return arm.arm.quality != "wrong" && !counted_trials(arm.trials).empty();
}

stats::Arm stats_arm(const RowArm& arm) {
  return {arm.arm.name, counted_trials(arm.trials), "status: " + arm.arm.status};
}

// Medians and ratios, of all tests together.
void compute_arms(std::span<Draft> drafts, const AblationBackground& background) {
  stats::TableQuestion question = {"", ""};
  std::vector<stats::Test> tests;
  for (const Draft& draft : drafts) {
    stats::Test test = {draft.row.test, {}};
    for (const RowArm& arm : draft.arms) {
      if (arm.arm.is_reference && question.reference.empty()) question.reference = arm.arm.name;
      if (arm.arm.is_bare_metal && question.bare_metal.empty()) question.bare_metal = arm.arm.name;
      test.arms.push_back(stats_arm(arm));
    }
    tests.push_back(std::move(test));
  }
  if (question.reference.empty()) question.reference = kStock;
  auto table = stats::make_table(tests, question);
  if (!table) {
    for (Draft& draft : drafts) draft.row.notes.push_back(to_string(table.error()));
    return;
  }
  std::size_t next = 0;
  for (Draft& draft : drafts) {
    draft.row.comparisons = table->comparisons;
    for (RowArm& arm : draft.arms) arm.arm.numbers = std::move(table->rows.at(next++));
    add_rooflines(draft.trials, background, draft.arms);
  }
}

// Arms that were told the same, each group once.
std::vector<std::vector<stats::Arm>> identical_arms(const Draft& draft) {
  std::set<std::vector<std::size_t>> groups;
  for (const AblationFamily& family : draft.row.families) {
    for (const FactorFamily::Cell& cell : family.levels.cells) {
      std::vector<std::size_t> group = {cell.arm};
      group.insert(group.end(), cell.twins.begin(), cell.twins.end());
      group.erase(std::remove_if(group.begin(), group.end(),
                                 [&](std::size_t arm) {
                                   return !usable(draft.arms[arm]) || counted_trials(draft.arms[arm].trials).size() < 2;
                                 }),
                  group.end());
      std::sort(group.begin(), group.end());
      if (group.size() > 1) groups.insert(std::move(group));
    }
  }
  std::vector<std::vector<stats::Arm>> out;
  for (const std::vector<std::size_t>& group : groups) {
    const auto within = [&](const std::vector<std::size_t>& other) {
      return other.size() > group.size() && std::includes(other.begin(), other.end(), group.begin(), group.end());
    };
    if (std::any_of(groups.begin(), groups.end(), within)) continue;
    out.emplace_back();
    for (const std::size_t arm : group) out.back().push_back(stats_arm(draft.arms[arm]));
  }
  return out;
}

void compute_floor(Draft& draft) {
  std::vector<stats::Arm> all;
  for (const RowArm& arm : draft.arms) {
    if (usable(arm)) all.push_back(stats_arm(arm));
  }
  const std::vector<std::vector<stats::Arm>> groups = identical_arms(draft);
  const auto take = [&](const Result<stats::NoiseFloor>& floor) {
    if (!floor.ok()) return;
    draft.row.floors.push_back(*floor);
    if (!draft.row.floor || floor->floor > draft.row.floor->floor) draft.row.floor = *floor;
  };
  if (!groups.empty()) take(stats::floor_of_identical_arms(groups));
  if (!all.empty()) take(stats::floor_of_random_splits(all));
  draft.row.margin = stats::margin_of(draft.row.floor);
  const auto noise = stats::pilot_noise(all);
  if (noise.ok()) draft.row.noise = *noise;
}

void find_families(Draft& draft, const AblationBackground& background) {
  std::vector<ArmFacts> facts;
  facts.reserve(draft.arms.size());
  for (const RowArm& arm : draft.arms) facts.push_back(facts_of(arm));
  const auto suite = background.suites.find(draft.row.suite_id);
  const std::optional<suite::Design> design = suite == background.suites.end() ? std::nullopt : suite->second.design;
  for (FactorFamily& levels : factor_families(facts, design)) {
    AblationFamily family;
    family.levels = std::move(levels);
    draft.row.families.push_back(std::move(family));
  }
}

stats::FactorialData data_of(const Draft& draft, const AblationFamily& family) {
  stats::FactorialData data;
  data.test = subject_test(draft.row);
  for (const VariedFactor& factor : family.levels.factors) data.factors.push_back({factor.label, factor.levels});
  for (const FactorFamily::Cell& cell : family.levels.cells) {
    const RowArm& arm = draft.arms[cell.arm];
    stats::Cell out = {arm.arm.name, cell.levels, {}, "status: " + arm.arm.status};
    if (usable(arm)) {
      out.trials = counted_trials(arm.trials);
    } else if (arm.arm.quality == "wrong") {
      out.why_empty = "its output is wrong";
    }
    data.cells.push_back(std::move(out));
  }
  data.aliases = aliases_of(data);
  return data;
}

// The effect of a factor over its whole range, or else the first there is.
std::optional<stats::Effect> effect_of(const std::vector<stats::Effect>& effects, std::size_t factor,
                                       std::size_t levels) {
  std::optional<stats::Effect> found;
  for (const stats::Effect& effect : effects) {
    if (effect.factors.size() != 1 || effect.factors.front() != factor) continue;
    const bool whole = effect.from == 0 && effect.to + 1 == levels;
    if (whole) return effect;
    if (!found) found = effect;
  }
  return found;
}

// Where everything else stands while a factor is taken from everything unlocked.
std::map<std::string, std::string> levels_beside(const Draft& draft, const AblationFamily& family, std::size_t factor) {
  std::map<std::string, std::string> out;
  for (const FactorFamily::Cell& cell : family.levels.cells) {
    bool is_unlocked = true;
    for (std::size_t i = 0; i < cell.levels.size(); ++i) {
      is_unlocked = is_unlocked && cell.levels[i] + 1 == family.levels.factors[i].levels.size();
    }
    if (!is_unlocked) continue;
    for (const Observed& seen : draft.arms[cell.arm].arm.capabilities) {
      if (!seen.value.empty() && seen.value != "varies") out[seen.name] = seen.value;
    }
  }
  for (std::size_t i = 0; i < family.levels.factors.size(); ++i) {
    if (i != factor) out[family.levels.factors[i].name] = family.levels.factors[i].levels.back();
  }
  out.erase(family.levels.factors[factor].name);
  return out;
}

void fill_factors(const Draft& draft, const stats::FactorialAnalysis* analysis, const Sources& sources,
                  AblationFamily& family) {
  for (std::size_t i = 0; i < family.levels.factors.size(); ++i) {
    AblationFactor entry;
    entry.factor = family.levels.factors[i];
    entry.depends = "cannot tell";
    if (family.dependence) {
      const stats::FactorVerdict& verdict = family.dependence->factors.at(i);
      entry.depends = stats::to_text(verdict.verdict);
      entry.why = verdict.why;
      entry.condition = verdict.condition;
      entry.removing = verdict.removing;
      for (const std::size_t other : verdict.stand_ins) {
        entry.stand_ins.push_back(family.levels.factors.at(other).label);
      }
    } else {
      entry.why = family.problem;
    }
    const std::size_t n_levels = entry.factor.levels.size();
    if (analysis != nullptr) {
      if (!entry.removing) entry.removing = effect_of(analysis->removing, i, n_levels);
      entry.adding = effect_of(analysis->adding, i, n_levels);
      entry.main = effect_of(analysis->main, i, n_levels);
    }
    Change change;
    change.factor = entry.factor.name;
    change.kind = entry.factor.kind;
    change.from = entry.factor.levels.at(entry.removing ? entry.removing->from : 0);
    change.to = entry.factor.levels.back();
    change.others = levels_beside(draft, family, i);
    change.generation = draft.row.n_gen > 0 && draft.row.n_prompt == 0;
    entry.expected = expected_of(change, sources);
    entry.agreement = agreement(entry.expected.verdict, entry.condition.empty() ? entry.depends : "yes");
    family.factors.push_back(std::move(entry));
  }
}

// What is to be analysed together: families, their data and their margins, in one order.
struct Questions {
  std::vector<AblationFamily*> families;
  std::vector<stats::FactorialData> data;
  std::vector<double> margins;
};

Questions questions_of(std::span<Draft> drafts) {
  Questions all;
  for (Draft& draft : drafts) {
    for (AblationFamily& family : draft.row.families) {
      all.families.push_back(&family);
      all.data.push_back(data_of(draft, family));
      all.margins.push_back(draft.row.margin);
    }
  }
  return all;
}

// Those that can be analysed at all; the others get the reason as their problem.
Questions answerable(const Questions& all) {
  Questions out;
  for (std::size_t i = 0; i < all.families.size(); ++i) {
    const auto alone = stats::find_dependence({&all.data[i], 1}, {&all.margins[i], 1});
    if (!alone) {
      all.families[i]->problem = to_string(alone.error());
      continue;
    }
    out.families.push_back(all.families[i]);
    out.data.push_back(all.data[i]);
    out.margins.push_back(all.margins[i]);
  }
  return out;
}

void compute_factors(std::span<Draft> drafts, const AblationBackground& background) {
  Questions questions = questions_of(drafts);
  std::map<const AblationFamily*, stats::FactorialAnalysis> analyses;
  if (!questions.families.empty()) {
    auto dependence = stats::find_dependence(questions.data, questions.margins);
    if (!dependence) {
      // One malformed design must not silence the others.
      questions = answerable(questions);
      dependence = stats::find_dependence(questions.data, questions.margins);
    }
    auto analysed = stats::analyse_factorial(questions.data);
    for (std::size_t i = 0; i < questions.families.size(); ++i) {
      AblationFamily& family = *questions.families[i];
      if (dependence) {
        family.dependence = std::move(dependence->at(i));
      } else {
        family.problem = to_string(dependence.error());
      }
      if (!analysed) continue;
      family.interactions = analysed->at(i).interactions;
      family.simple = analysed->at(i).simple;
      analyses[&family] = std::move(analysed->at(i));
    }
  }
  for (Draft& draft : drafts) {
    for (AblationFamily& family : draft.row.families) {
      const auto found = analyses.find(&family);
      fill_factors(draft, found == analyses.end() ? nullptr : &found->second, background.sources, family);
    }
  }
}

// Trials that lie far from their arm's others, each once.
void note_outliers(const Draft& draft, std::vector<std::string>& notes) {
  for (const RowArm& arm : draft.arms) {
    std::vector<const Point*> counted;
    for (const Point& point : arm.trials.points) {
      if (point.counted) counted.push_back(&point);
    }
    std::map<std::size_t, std::vector<std::string>> flags;
    for (const stats::Flag& flag : arm.arm.numbers.flags) {
      const bool far = flag.name == "outlying trial" || flag.name == "cold first process";
      if (far && flag.trial < counted.size()) flags[flag.trial].push_back(fmt::format("{}: {}", flag.name, flag.why));
    }
    for (const auto& [trial, texts] : flags) {
      notes.push_back(fmt::format("{}: trial {}: {}", arm.arm.name, short_id(counted[trial]->view->trial.id),
                                  fmt::join(texts, "; ")));
    }
  }
}

void note_single_processes(const Draft& draft, std::vector<std::string>& notes) {
  std::string first;
  std::string last;
  std::size_t n_arms = 0;
  for (const RowArm& arm : draft.arms) {
    const auto trials = counted_trials(arm.trials);
    if (trials.empty()) continue;
    if (trials.size() > 1) return;
    ++n_arms;
    for (const Point& point : arm.trials.points) {
      const std::string& start = point.view->trial.started_at;
      if (!point.counted || start.empty()) continue;
      if (first.empty() || start < first) first = start;
      last = std::max(last, start);
    }
  }
  if (n_arms < 2) return;
  std::string text =
      "one process an arm, so intervals are within one process and nothing is known of how processes differ";
  const auto minutes = minutes_between(first, last);
  if (minutes && *minutes >= 1) {
    text += fmt::format(
        "; the first and the last began {:.0f} minutes apart, and whatever else changed meanwhile is part of "
        "the difference",
        *minutes);
  }
  notes.push_back(std::move(text));
}

// Shown to be faster than bare metal by more than the margin, all arms of the table together.
bool over_bare_metal(const AblationArm& arm, double margin) {
  const auto& compared = arm.numbers.against_bare_metal;
  return arm.quality != "wrong" && compared && compared->can_claim && compared->simultaneous &&
         compared->simultaneous->lo && *compared->simultaneous->lo > 1 / (1 - margin);
}

void note_arms(const Draft& draft, std::vector<std::string>& notes) {
  std::size_t references = 0;
  std::string reference;
  for (const RowArm& arm : draft.arms) {
    if (arm.arm.mode == kStock) ++references;
    if (arm.arm.is_reference) reference = arm.arm.name;
    if (arm.arm.quality == "wrong") {
      notes.push_back(fmt::format(
          "{}: the output failed its quality check, so it takes part in no comparison of factors", arm.arm.name));
    }
    for (const NotOk& entry : arm.arm.not_ok) {
      if (arm.arm.expected_to_fail) continue;
      std::string status = entry.status;
      std::replace(status.begin(), status.end(), '_', ' ');
      std::vector<std::string> ids;
      for (const std::string& id : entry.trials) ids.push_back(short_id(id));
      notes.push_back(fmt::format("{}: {} {}{}{}: trial {}", arm.arm.name, count_of(entry.count, "trial"), status,
                                  entry.reason.empty() ? "" : ", ", entry.reason, fmt::join(ids, ", ")));
    }
    if (over_bare_metal(arm.arm, draft.row.margin)) {
      const stats::RatioInterval& ratio = *arm.arm.numbers.against_bare_metal->simultaneous;
      notes.push_back(fmt::format("{}: {} to {} % of bare metal, all of it more than the margin above", arm.arm.name,
                                  format_number(100 * *ratio.lo), format_number(100 * *ratio.hi)));
    }
    if (arm.arm.roofline.over) {
      notes.push_back(
          fmt::format("{}: {} % of what the device's {} allows, which cannot be: a figure of the device, the "
                      "model or the measurement is wrong{}",
                      arm.arm.name, format_number(*arm.arm.roofline.percent), arm.arm.roofline.bound,
                      arm.arm.roofline.bound == "arithmetic" ? ", or the kernels reckon in integers" : ""));
    }
  }
  if (references > 1) notes.push_back(fmt::format("several arms are stock; x stock is over {}", reference));
  if (reference.empty()) notes.emplace_back("no arm is stock, so there is nothing that x stock could be over");
}

// All that was seen of an arm: answers, and what the application made of them.
std::map<std::string, std::string> seen_of(const AblationArm& arm) {
  std::map<std::string, std::string> seen;
  for (const Observed& one : arm.capabilities) seen[one.name] = one.value;
  for (const Observed& one : arm.derived) seen["ggml: " + one.name] = one.value;
  return seen;
}

// Whether two arms that ran and differ in this factor alone were seen to differ in anything; nothing if there are none.
std::optional<bool> factor_shows(const Draft& draft, const FactorFamily& family, std::size_t factor) {
  std::optional<bool> shows;
  for (const FactorFamily::Cell& a : family.cells) {
    for (const FactorFamily::Cell& b : family.cells) {
      if (!usable(draft.arms[a.arm]) || !usable(draft.arms[b.arm]) || a.levels[factor] >= b.levels[factor]) continue;
      std::vector<std::size_t> moved = a.levels;
      moved[factor] = b.levels[factor];
      if (moved != b.levels) continue;
      shows = shows.value_or(false) || seen_of(draft.arms[a.arm].arm) != seen_of(draft.arms[b.arm].arm);
    }
  }
  return shows;
}

void note_unseen(const Draft& draft, const FactorFamily& family, std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < family.factors.size(); ++i) {
    const VariedFactor& factor = family.factors[i];
    if (factor.kind != "variable" || factor_shows(draft, family, i).value_or(true)) continue;
    notes.push_back(fmt::format(
        "{}: nothing that was observed differs between its levels, so whether anything read it is not known",
        factor.label));
  }
}

void note_families(const Draft& draft, std::vector<std::string>& notes) {
  for (const AblationFamily& family : draft.row.families) {
    if (!family.problem.empty()) notes.push_back("factors: " + family.problem);
    for (const std::string& note : family.levels.notes) notes.push_back(note);
    note_unseen(draft, family.levels, notes);
    if (family.dependence) {
      for (const std::string& note : family.dependence->notes) notes.push_back(note);
    }
    for (const VariedFactor& factor : family.levels.factors) {
      if (factor.requested) continue;
      notes.push_back(fmt::format("{} changed although no arm asked for it", factor.label));
    }
  }
}

void annotate(Draft& draft, const AblationBackground& background) {
  std::set<std::string> flags;
  std::vector<std::string>& notes = draft.row.notes;
  std::vector<std::pair<std::string, std::string>> devices;
  for (const RowArm& arm : draft.arms) {
    devices.emplace_back(arm.arm.device, arm.arm.name);
    for (const Point& point : arm.trials.points) {
      if (point.counted) flags.insert(point.view->trial.flags.begin(), point.view->trial.flags.end());
    }
    const auto found = arm_flags(counted_trials(arm.trials));
    flags.insert(found.begin(), found.end());
    if (!arm.arm.not_ok.empty() && !arm.arm.expected_to_fail) flags.insert("trials-not-ok");
    if (arm.arm.roofline.over) flags.insert("over-roofline");
    if (over_bare_metal(arm.arm, draft.row.margin)) flags.insert("over-bare-metal");
  }
  if (draft.row.machine_is_virtual) flags.insert("machine-is-virtual");
  if (draft.row.model_kind == "twin") flags.insert("twin");
  note_single_processes(draft, notes);
  note_outliers(draft, notes);
  note_arms(draft, notes);
  const std::vector<std::string> closures = closure_notes(draft.arms, background);
  if (!closures.empty()) flags.insert("closures-differ");
  notes.insert(notes.end(), closures.begin(), closures.end());
  note_families(draft, notes);
  draft.row.flags.assign(flags.begin(), flags.end());
}

std::vector<Draft> drafts_of(const std::vector<schema::TrialView>& trials, const AblationBackground& background) {
  const std::vector<RowTrials> rows = select_rows(trials);
  using Cell = std::tuple<std::string, std::string, std::string>;
  std::map<Cell, std::set<std::string>> seen;
  for (const RowTrials& row : rows) {
    for (const Point& point : row.points) {
      seen[{row.key.suite_id, row.key.workload, row.key.model}].insert(point.view->trial.arm);
    }
  }
  std::vector<Draft> drafts;
  for (const RowTrials& row : rows) {
    Draft draft;
    static_cast<Subject&>(draft.row) = subject_of(row, background.names);
    draft.trials = row;
    draft.arms = arms_of_row(row, background, seen[{row.key.suite_id, row.key.workload, row.key.model}]);
    std::vector<std::pair<std::string, std::string>> devices;
    for (const RowArm& arm : draft.arms) devices.emplace_back(arm.arm.device, arm.arm.name);
    draft.row.device = devices_text(devices);
    drafts.push_back(std::move(draft));
  }
  std::sort(drafts.begin(), drafts.end(), [](const Draft& a, const Draft& b) { return subject_before(a.row, b.row); });
  return drafts;
}

}  // namespace

AblationReport build_ablation(const std::vector<schema::TrialView>& trials, const AblationBackground& background) {
  std::vector<Draft> drafts = drafts_of(trials, background);
  for (std::size_t from = 0; from < drafts.size();) {
    std::size_t to = from + 1;
    while (to < drafts.size() && same_but_test(drafts[from].row, drafts[to].row)) ++to;
    const std::span<Draft> group(drafts.data() + from, to - from);
    compute_arms(group, background);
    for (Draft& draft : group) {
      find_families(draft, background);
      compute_floor(draft);
    }
    compute_factors(group, background);
    for (Draft& draft : group) annotate(draft, background);
    from = to;
  }
  AblationReport report;
  for (Draft& draft : drafts) {
    for (RowArm& arm : draft.arms) draft.row.arms.push_back(std::move(arm.arm));
    report.rows.push_back(std::move(draft.row));
  }
  return report;
}

}  // namespace capbench::reports
