// The tables, figures and sentences of what was found.
#include <fmt/format.h>

#include <algorithm>

#include "reports/paper/compose.h"
#include "reports/paper/figures.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

constexpr const char* kDash = "\xE2\x80\x93";

std::string name_of(const Subject& row) {
  return one_line(row.model) + (row.model_kind == "twin" ? " (twin)" : "");
}

Line estimate_line(Composer& composer, const SpeedupRow& row, const std::optional<Estimate>& estimate,
                   const std::string& name, const std::string& member, const std::string& of_interval,
                   const std::set<std::string>& modes, const std::string& unit) {
  if (!estimate) return words(kDash);
  Words out;
  out.number(composer.of_row(row, name, format_number(estimate->value), estimate->value, member, modes)).say(unit);
  if (!estimate->ci95) return out.take();
  out.say(" [")
      .number(composer.of_row(row, name + "-low", format_number(estimate->ci95->low), estimate->ci95->low,
                              of_interval + ".ci95[0]", modes))
      .say(", ")
      .number(composer.of_row(row, name + "-high", format_number(estimate->ci95->high), estimate->ci95->high,
                              of_interval + ".ci95[1]", modes))
      .say("]");
  return out.take();
}

Line ratio_line(Composer& composer, const SpeedupRow& row) {
  return estimate_line(composer, row, row.speedup, "ratio", ".speedup.ratio", ".speedup", {kStock, kUnlocked}, "x");
}

Line percent_line(Composer& composer, const SpeedupRow& row) {
  return estimate_line(composer, row, row.percent_of_bare_metal, "percent", ".percent_of_bare_metal.value",
                       ".percent_of_bare_metal", {kBareMetal, kUnlocked}, "");
}

Line speed_line(Composer& composer, const SpeedupRow& row, const ModeSummary& mode) {
  if (!mode.stats) return words(mode.n_tried == 0 ? kDash : "no trial counts");
  const double median = mode.stats->median.value;
  return number_line(composer.of_row(row, mode.mode, format_number(median), median,
                                     fmt::format(".modes.\"{}\".median_ts", mode.mode), {mode.mode}));
}

// "On box, pp512 of tinyllama runs 11.08x [11.01, 11.17] as fast unlocked as stock ..."
Line sentence(Composer& composer, const SpeedupRow& row) {
  Words out;
  out.say(fmt::format("{} of {}: ", subject_test(row), name_of(row)));
  if (row.quality == "wrong") {
    return out.say("the output failed its quality check, so its speed is worth nothing.").take();
  }
  if (!row.speedup) return out.say("stock and unlocked cannot be compared.").take();
  Line ratio = ratio_line(composer, row);
  Line line = out.say("unlocked over stock is ").take();
  line.insert(line.end(), ratio.begin(), ratio.end());
  if (row.percent_of_bare_metal) {
    Line percent = percent_line(composer, row);
    line.push_back({false, ", and unlocked reaches "});
    line.insert(line.end(), percent.begin(), percent.end());
    line.push_back({false, " % of bare metal"});
  }
  line.push_back({false, fmt::format(" (treatment {}, output {}).", row.treatment, row.quality)});
  return line;
}

Block figure_block(std::string name, std::string caption, std::string specification) {
  Block block;
  block.kind = Block::Kind::kFigure;
  block.figure = {name, "fig:" + name, words(std::move(caption)), std::move(specification)};
  return block;
}

Line loss_line(Composer& composer, const AblationRow& row, std::size_t family_at, std::size_t factor_at) {
  const AblationFamily& family = row.families[family_at];
  const AblationFactor& factor = family.factors[factor_at];
  const stats::RatioInterval* ratio = stats::deciding(factor.removing);
  if (ratio == nullptr) return words(kDash);
  const stats::Loss loss = stats::loss_of(*ratio);
  std::set<std::string> arms;
  for (const std::size_t cell : {factor.removing->numerator, factor.removing->denominator}) {
    if (cell < family.levels.cells.size()) arms.insert(row.arms.at(family.levels.cells[cell].arm).name);
  }
  const std::string name = fmt::format("family-{}-factor-{}-cost", family_at + 1, factor_at + 1);
  const std::string member = fmt::format(".families[{}].factors[{}].removing_costs", family_at, factor_at);
  Words out;
  out.number(composer.of_row(row, name, fmt::format("{:.1f}", 100 * loss.value), 100 * loss.value,
                             "100*" + member + ".share", arms));
  if (!loss.lo || !loss.hi) return out.take();
  out.say(" [")
      .number(composer.of_row(row, name + "-low", fmt::format("{:.1f}", 100 * *loss.lo), 100 * *loss.lo,
                              "100*" + member + ".ci95[0]", arms))
      .say(", ")
      .number(composer.of_row(row, name + "-high", fmt::format("{:.1f}", 100 * *loss.hi), 100 * *loss.hi,
                              "100*" + member + ".ci95[1]", arms))
      .say("]");
  return out.take();
}

std::set<std::string> arms_of(const AblationRow& row, const AblationFamily& family) {
  std::set<std::string> arms;
  for (const FactorFamily::Cell& cell : family.levels.cells) arms.insert(row.arms.at(cell.arm).name);
  return arms;
}

std::set<std::string> all_arms(const AblationRow& row) {
  std::set<std::string> arms;
  for (const AblationArm& arm : row.arms) arms.insert(arm.name);
  return arms;
}

// What a row's factors come to, in the words of the analysis: checked as a whole, figures in it included.
std::vector<Line> findings(Composer& composer, const AblationRow& row) {
  std::vector<Line> out;
  for (std::size_t i = 0; i < row.families.size(); ++i) {
    const AblationFamily& family = row.families[i];
    if (!family.dependence) continue;
    const std::string key =
        composer.of_row(row, fmt::format("family-{}-finding", i + 1), one_line(family.dependence->sentence),
                        std::nullopt, fmt::format(".families[{}].sentence", i), arms_of(row, family));
    Words line;
    line.say(fmt::format("{}: ", name_of(row)));
    if (!family.levels.place.empty()) line.say(fmt::format("in {}: ", family.levels.place));
    out.push_back(line.number(key).say(".").take());
  }
  return out;
}

bool has_findings(const AblationRow& row) {
  return std::any_of(row.families.begin(), row.families.end(),
                     [](const AblationFamily& family) { return family.dependence.has_value(); });
}

}  // namespace

PaperSection results_section(Composer& composer) {
  PaperSection section = {"Results", false, {}};
  PaperTable speeds;
  speeds.label = "tab:speedup";
  speeds.caption = words(
      "Tokens per second of each mode, unlocked over stock, and unlocked in percent of bare metal; brackets hold the "
      "interval of the ratio.");
  speeds.headers = {"model", "test", "bare metal", "stock", "unlocked", "unlocked / stock", "% of bare metal"};
  speeds.right = {false, false, true, true, true, true, true};
  std::vector<Line> sentences;
  for (const SpeedupRow& row : composer.speedup().rows) {
    if (row.test.empty()) continue;
    speeds.rows.push_back({words(name_of(row)), words(subject_test(row)), speed_line(composer, row, row.modes[0]),
                           speed_line(composer, row, row.modes[1]), speed_line(composer, row, row.modes[2]),
                           ratio_line(composer, row), percent_line(composer, row)});
    sentences.push_back(sentence(composer, row));
  }
  if (speeds.rows.empty()) {
    section.blocks.push_back(paragraph(words("No trial got as far as a result.")));
    return section;
  }
  section.blocks.push_back(list(std::move(sentences)));
  section.blocks.push_back(table(std::move(speeds)));
  if (std::string figure = speedup_figure(composer.speedup()); !figure.empty()) {
    section.blocks.push_back(figure_block(
        "speedup", "Tokens per second by mode; lines are the intervals of the medians.", std::move(figure)));
  }
  return section;
}

PaperSection ablation_section(Composer& composer) {
  PaperSection section = {"Ablation", false, {}};
  std::vector<Line> sentences;
  std::vector<Line> margins;
  PaperTable factors;
  factors.label = "tab:ablation";
  factors.caption = words(
      "What leaving each factor out of everything unlocked costs, in percent of speed, with the interval that decides "
      "whether the speed depends on it, and what the application's source lets one expect.");
  factors.headers = {"model", "test", "factor", "removing costs, %", "depends on", "expected"};
  factors.right = {false, false, false, true, false, false};
  for (const AblationRow& row : composer.ablation().rows) {
    if (!has_findings(row)) continue;
    for (Line& line : findings(composer, row)) sentences.push_back(std::move(line));
    margins.push_back(Words()
                          .say(fmt::format("{} of {}: ", subject_test(row), name_of(row)))
                          .number(composer.of_row(row, "margin", fmt::format("{:.1f}", 100 * row.margin),
                                                  100 * row.margin, "100*.margin", all_arms(row)))
                          .say(" %")
                          .take());
    for (std::size_t i = 0; i < row.families.size(); ++i) {
      for (std::size_t k = 0; k < row.families[i].factors.size(); ++k) {
        const AblationFactor& factor = row.families[i].factors[k];
        const std::string depends =
            composer.of_row(row, fmt::format("family-{}-factor-{}-depends", i + 1, k + 1), factor.depends, std::nullopt,
                            fmt::format(".families[{}].factors[{}].depends_on", i, k), arms_of(row, row.families[i]));
        factors.rows.push_back({words(name_of(row)), words(subject_test(row)), words(factor.factor.label),
                                loss_line(composer, row, i, k), number_line(depends),
                                words(factor.expected.verdict.empty() ? kDash : factor.expected.verdict)});
      }
    }
  }
  if (sentences.empty()) {
    section.blocks.push_back(
        paragraph(words("No factor differs between arms that can be compared, so nothing is said about dependence.")));
    return section;
  }
  section.blocks.push_back(list(std::move(sentences)));
  section.blocks.push_back(paragraph(words("The margins were:")));
  section.blocks.push_back(list(std::move(margins)));
  section.blocks.push_back(table(std::move(factors)));
  if (std::string figure = ablation_figure(composer.ablation()); !figure.empty()) {
    section.blocks.push_back(figure_block(
        "ablation",
        "What removing each factor from everything unlocked costs, with the intervals that decide; the dashed line is "
        "the margin.",
        std::move(figure)));
  }
  return section;
}

}  // namespace capbench::reports::paper
