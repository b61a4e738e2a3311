#include "reports/noise_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/csv_text.h"
#include "reports/flags_text.h"
#include "reports/json_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

constexpr double kEffect = 0.03;  // what recommended trials are to find
constexpr double kPower = 0.9;

// Arms that are compared with the reference.
std::size_t comparisons_of(const AblationRow& row) {
  const auto has_trials = [](const AblationArm& arm) { return arm.numbers.summary.has_value(); };
  const auto n = static_cast<std::size_t>(std::count_if(row.arms.begin(), row.arms.end(), has_trials));
  return std::max<std::size_t>(1, n - std::min<std::size_t>(1, n));
}

stats::PowerQuestion question_of(const AblationRow& row) {
  stats::PowerQuestion question;
  question.effect = kEffect;
  question.power = kPower;
  question.comparisons = comparisons_of(row);
  return question;
}

std::optional<std::size_t> recommended(const AblationRow& row) {
  if (!row.noise) return std::nullopt;
  const auto found = stats::recommended_trials(*row.noise, question_of(row));
  return found.ok() ? *found : std::nullopt;
}

// The fewest trials of any arm that has some.
std::size_t fewest_trials(const AblationRow& row) {
  std::size_t fewest = 0;
  for (const AblationArm& arm : row.arms) {
    if (!arm.numbers.summary) continue;
    fewest = fewest == 0 ? arm.numbers.summary->n_trials : std::min(fewest, arm.numbers.summary->n_trials);
  }
  return fewest;
}

std::optional<double> detectable(const AblationRow& row) {
  if (!row.noise) return std::nullopt;
  const auto found = stats::detectable_effect(*row.noise, fewest_trials(row), question_of(row));
  return found.ok() ? *found : std::nullopt;
}

Cell percent(const std::optional<double>& share) {
  return share ? Cell{fmt::format("{:.2f} %", 100 * *share), "", "", ""} : soft("");
}

Table table_of(const AblationRow& row) {
  Table table;
  table.caption = subject_test(row) + ": coefficient of variation";
  table.columns = {
      {"arm", false}, {"trials", true}, {"between trials", true}, {"within a trial", true}, {"flags", false}};
  for (const AblationArm& arm : row.arms) {
    if (!arm.numbers.summary) {
      table.rows.push_back(
          {{arm.name, "", "", ""}, {"0", "", "", ""}, soft(""), soft(""), {arm.status, "", "", "bad"}});
      continue;
    }
    std::vector<std::string> flags;
    for (const stats::Flag& flag : arm.numbers.flags) {
      if (std::find(flags.begin(), flags.end(), flag.name) == flags.end()) flags.push_back(flag.name);
    }
    table.rows.push_back({{arm.name, "", "", ""},
                          {fmt::format("{}x{}", arm.numbers.summary->n_trials, arm.repetitions), "", "", ""},
                          percent(arm.numbers.summary->cv_trials),
                          percent(arm.cv_within),
                          soft(fmt::format("{}", fmt::join(flags, ", ")))});
  }
  return table;
}

void add_findings(const AblationRow& row, std::vector<std::string>& findings) {
  const std::string test = subject_test(row);
  for (const stats::NoiseFloor& floor : row.floors)
    findings.push_back(fmt::format("{}: A/A floor: {}", test, floor.label));
  if (row.floors.empty()) findings.push_back(fmt::format("{}: no A/A floor: no arm has two trials", test));
  if (!row.noise) return;
  const auto trials = recommended(row);
  findings.push_back(
      fmt::format("{}: trials of one arm differ by {:.2f} % (standard deviation, pooled over arms); to find an effect "
                  "of {:.0f} % with "
                  "power {:.1f} in a table of {} comparisons: {}",
                  test, 100 * row.noise->deviation, 100 * kEffect, kPower, comparisons_of(row),
                  trials ? fmt::format("{} trials an arm", *trials)
                         : fmt::format("more than {} trials an arm", stats::kMostTrials)));
  if (const auto effect = detectable(row)) {
    findings.push_back(
        fmt::format("{}: with the {} an arm that there are, effects from {:.1f} % on are found with that power", test,
                    count_of(fewest_trials(row), "trial"), 100 * *effect));
  } else {
    findings.push_back(fmt::format("{}: the {} an arm that there are can show no effect", test,
                                   count_of(fewest_trials(row), "trial")));
  }
}

OrderedJson number_or_null(const std::optional<double>& number) {
  return number ? OrderedJson(*number) : OrderedJson(nullptr);
}

}  // namespace

Document noise_document(const AblationReport& report) {
  Document document;
  document.title = "Noise";
  document.lead = "How far apart the same arm comes, and how many trials an answer takes.";
  document.if_empty = "No trials to report.";
  SubjectNames names;
  std::set<std::string> flags;
  for (const AblationRow& row : report.rows) {
    names.add(row);
    flags.insert(row.flags.begin(), row.flags.end());
  }
  const AblationRow* previous = nullptr;
  for (const AblationRow& row : report.rows) {
    if (previous == nullptr || !same_but_test(*previous, row)) {
      Section section;
      section.title = subject_title(row);
      section.about = row.suite_description;
      section.details = subject_details(row, names);
      document.sections.push_back(std::move(section));
    }
    Section& section = document.sections.back();
    add_findings(row, section.findings);
    section.tables.push_back(table_of(row));
    if (!row.flags.empty()) {
      section.notes.push_back(fmt::format("{}: flags: {}", subject_test(row), fmt::join(row.flags, ", ")));
    }
    previous = &row;
  }
  if (!report.rows.empty()) {
    document.explanations = {
        "between trials: standard deviation over mean of the medians of an arm's trials, each a fresh process: what "
        "the next "
        "process will differ by. within a trial: of the samples inside one process, root mean square over trials.",
        "A/A floor: how far arms come apart that were told the same, or random halves of one arm, scaled to whole "
        "arms. "
        "Effects below it are noise.",
        "Recommended trials take the upper 80 % limit of the deviation, since a pilot of few trials may have been "
        "lucky."};
    for (std::string& sentence : flag_explanations(flags)) document.explanations.push_back(std::move(sentence));
  }
  return document;
}

std::string noise_json(const AblationReport& report) {
  OrderedJson rows = OrderedJson::array();
  for (const AblationRow& row : report.rows) {
    OrderedJson out = OrderedJson::object();
    add_subject(row, out);
    OrderedJson floors = OrderedJson::array();
    for (const stats::NoiseFloor& floor : row.floors) {
      floors.push_back({{"share", floor.floor},
                        {"quantile", floor.quantile},
                        {"pairs", floor.n_pairs},
                        {"source", floor.source},
                        {"label", floor.label}});
    }
    OrderedJson arms = OrderedJson::array();
    for (const AblationArm& arm : row.arms) {
      const auto& summary = arm.numbers.summary;
      arms.push_back({{"arm", valid_utf8(arm.name)},
                      {"status", valid_utf8(arm.status)},
                      {"n_trials", summary ? summary->n_trials : 0},
                      {"n_samples", summary ? summary->n_samples : 0},
                      {"cv_trials", number_or_null(summary ? summary->cv_trials : std::nullopt)},
                      {"cv_within", number_or_null(arm.cv_within)}});
    }
    const auto trials = recommended(row);
    out["floors"] = std::move(floors);
    out["margin"] = row.margin;
    out["deviation"] = row.noise ? OrderedJson(row.noise->deviation) : OrderedJson(nullptr);
    out["recommended"] = {{"effect", kEffect},
                          {"power", kPower},
                          {"comparisons", comparisons_of(row)},
                          {"trials", trials ? OrderedJson(*trials) : OrderedJson(nullptr)}};
    out["detectable_effect"] = number_or_null(detectable(row));
    out["arms"] = std::move(arms);
    rows.push_back(std::move(out));
  }
  const OrderedJson document = {{"report", "noise"}, {"rows", std::move(rows)}};
  return document.dump(2) + "\n";
}

std::string noise_csv(const AblationReport& report) {
  std::string out;
  write_csv_line({"suite",
                  "suite_id",
                  "machine",
                  "machine_id",
                  "build",
                  "workload",
                  "model",
                  "model_kind",
                  "test",
                  "guest",
                  "device",
                  "arm",
                  "status",
                  "n_trials",
                  "cv_trials",
                  "cv_within",
                  "floor",
                  "floor_label",
                  "margin",
                  "deviation",
                  "recommended_trials",
                  "detectable_effect"},
                 out);
  const auto text = [](const std::optional<double>& number) { return number ? format_exact(*number) : std::string(); };
  for (const AblationRow& row : report.rows) {
    const auto trials = recommended(row);
    for (const AblationArm& arm : row.arms) {
      const auto& summary = arm.numbers.summary;
      write_csv_line({row.suite,
                      row.suite_id,
                      row.machine,
                      row.machine_id,
                      row.build,
                      row.workload,
                      row.model,
                      row.model_kind,
                      row.test,
                      row.guest,
                      row.device,
                      arm.name,
                      arm.status,
                      fmt::format("{}", summary ? summary->n_trials : 0),
                      text(summary ? summary->cv_trials : std::nullopt),
                      text(arm.cv_within),
                      row.floor ? format_exact(row.floor->floor) : "",
                      row.floor ? row.floor->label : "",
                      format_exact(row.margin),
                      row.noise ? format_exact(row.noise->deviation) : "",
                      trials ? fmt::format("{}", *trials) : "",
                      text(detectable(row))},
                     out);
    }
  }
  return out;
}

}  // namespace capbench::reports
