#include "reports/ablation_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/flags_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string bracket(const std::optional<double>& lo, const std::optional<double>& hi, double scale = 1) {
  if (!lo || !hi) return "";
  return fmt::format("[{}, {}]", format_number(*lo * scale), format_number(*hi * scale));
}

const stats::RatioInterval* ratio_of(const std::optional<stats::Compared>& compared) {
  return compared && compared->alone ? &*compared->alone : nullptr;
}

// What a number cannot be said for.
Cell nothing() {
  return soft("");
}

Cell median_cell(const AblationArm& arm) {
  if (!arm.numbers.median) {
    const bool as_it_is = arm.status == "not run" || arm.status == "excluded";
    return {as_it_is ? arm.status : "failed", "", "", arm.finding ? "bad" : "soft"};
  }
  const stats::MedianInterval& median = *arm.numbers.median;
  return {format_number(median.median), "", bracket(median.lo, median.hi), ""};
}

Cell ratio_cell(const AblationArm& arm) {
  if (arm.is_reference) return soft("stock");
  // The speed of a wrong answer is no speedup.
  if (arm.quality == "wrong") return {"wrong", "", "", "bad"};
  const stats::RatioInterval* ratio = ratio_of(arm.numbers.against_reference);
  if (ratio == nullptr) return nothing();
  return {format_number(ratio->ratio) + "x", bracket(ratio->lo, ratio->hi), "", ""};
}

Cell percent_cell(const AblationArm& arm) {
  if (arm.is_bare_metal) return soft("bare");
  if (arm.quality == "wrong") return nothing();
  const stats::RatioInterval* ratio = ratio_of(arm.numbers.against_bare_metal);
  if (ratio == nullptr) return nothing();
  return {fmt::format("{:.1f}", 100 * ratio->ratio), "", bracket(ratio->lo, ratio->hi, 100), ""};
}

Cell gap_cell(const AblationArm& arm) {
  // Where bare metal is not shown to differ from stock there is no gap.
  if (!arm.numbers.gap || !arm.numbers.gap->share || arm.numbers.gap->method == "none") return nothing();
  if (arm.quality == "wrong") return nothing();
  const stats::GapClosed& gap = *arm.numbers.gap;
  // No minus before a zero.
  return {fmt::format("{:.0f}", std::round(100 * *gap.share) + 0.0), "", bracket(gap.lo, gap.hi, 100), ""};
}

Cell roofline_cell(const AblationArm& arm) {
  if (!arm.roofline.percent) return nothing();
  const bool over = arm.roofline.over;
  return {fmt::format("{}{:.1f}{}{}", arm.roofline.approximate ? "~" : "", *arm.roofline.percent, over ? "!" : "",
                      arm.roofline.compared ? "" : "?"),
          "", "", over ? "bad" : ""};
}

std::string_view tone_of(const std::string& word) {
  if (word == "proven" || word == "passed" || word == "agrees" || word == "yes") return "good";
  if (word == "invalid" || word == "wrong" || word == "surprise") return "bad";
  return "soft";
}

Cell word_cell(const std::string& word) {
  return {word, "", "", std::string(tone_of(word))};
}

std::string trials_text(const AblationArm& arm) {
  const std::size_t counted = arm.numbers.summary ? arm.numbers.summary->n_trials : 0;
  return counted == 0 ? "0" : fmt::format("{}x{}", counted, arm.repetitions);
}

// "pp512, tokens/s" and so on.
std::string caption(const AblationRow& row, std::string_view what) {
  return fmt::format("{}: {}", subject_test(row), what);
}

Table arms_table(const AblationRow& row) {
  Table table;
  table.caption = caption(row, "arms");
  table.columns = {{"arm", false, false},    {"trials", true, true},     {"tokens/s", true, false},
                   {"x stock", true, false}, {"% bare", true, false},    {"gap %", true, false},
                   {"roof %", true, false},  {"treatment", false, true}, {"quality", false, true},
                   {"status", false, true}};
  for (const AblationArm& arm : row.arms) {
    table.rows.push_back({{arm.name, "", "", ""},
                          {trials_text(arm), "", "", ""},
                          median_cell(arm),
                          ratio_cell(arm),
                          percent_cell(arm),
                          gap_cell(arm),
                          roofline_cell(arm),
                          word_cell(arm.treatment),
                          arm.is_bare_metal ? soft("") : word_cell(arm.quality),
                          {arm.status, "", "", arm.finding ? "bad" : "soft"}});
  }
  return table;
}

Cell loss_cell(const std::optional<stats::Effect>& removing) {
  const stats::RatioInterval* ratio = stats::deciding(removing);
  if (ratio == nullptr) return nothing();
  const stats::Loss loss = stats::loss_of(*ratio);
  return {fmt::format("{:.1f} %", 100 * loss.value),
          loss.lo && loss.hi ? fmt::format("[{:.1f}, {:.1f}]", 100 * *loss.lo, 100 * *loss.hi) : "", "", ""};
}

Cell gain_cell(const std::optional<stats::Effect>& adding) {
  const stats::RatioInterval* ratio = stats::deciding(adding);
  if (ratio == nullptr) return nothing();
  return {format_number(ratio->ratio) + "x", bracket(ratio->lo, ratio->hi), "", ""};
}

Cell expected_cell(const AblationFactor& factor) {
  if (factor.expected.verdict.empty()) return nothing();
  return {factor.expected.verdict, "", fmt::format("{}", fmt::join(factor.expected.flags, ", ")), ""};
}

std::string levels_text(const VariedFactor& factor) {
  return fmt::format("{}", fmt::join(factor.levels, factor.levels.size() == 2 ? " to " : ", "));
}

Table factors_table(const AblationRow& row, const AblationFamily& family) {
  Table table;
  table.caption = caption(row, family.levels.place.empty() ? "factors" : "factors in " + family.levels.place);
  table.columns = {{"factor", false, false},      {"levels", false, true},      {"removing costs", true, false},
                   {"adding gives", true, false}, {"depends on", false, false}, {"expected", false, true},
                   {"seen", false, false}};
  for (const AblationFactor& factor : family.factors) {
    Cell depends = word_cell(factor.depends);
    if (factor.depends == "no" && !factor.condition.empty()) depends.text = "no (alone)";
    if (factor.depends == "yes" && !factor.stand_ins.empty()) depends.text = "yes (jointly)";
    depends.aside = factor.condition;
    table.rows.push_back({{factor.factor.label, "", "", ""},
                          {levels_text(factor.factor), "", "", ""},
                          loss_cell(factor.removing),
                          gain_cell(factor.adding),
                          std::move(depends),
                          expected_cell(factor),
                          word_cell(factor.agreement)});
  }
  return table;
}

// Those that are no factor's whole range from unlocked or stock, and are shown.
std::vector<std::string> conditional_effects(const AblationRow& row, const AblationFamily& family) {
  std::vector<std::string> out;
  for (const stats::Effect& effect : family.simple) {
    const auto& shown = effect.simultaneous;
    if (!effect.can_claim || !shown || !shown->lo || !shown->hi || effect.setting.empty()) continue;
    const double factor = 1 - row.margin;
    if (*shown->lo <= 1 / factor && *shown->hi >= factor) continue;
    const VariedFactor& varied = family.levels.factors.at(effect.factors.front());
    out.push_back(fmt::format("{}: {} {} to {} gives {}x {} with {}", subject_test(row), varied.label,
                              varied.levels.at(effect.from), varied.levels.at(effect.to),
                              format_number(effect.alone ? effect.alone->ratio : shown->ratio),
                              bracket(shown->lo, shown->hi), effect.setting));
  }
  return out;
}

std::string sets_text(const std::vector<stats::SetClaim>& sets) {
  std::vector<std::string> parts;
  for (const stats::SetClaim& set : sets) {
    parts.push_back(fmt::format("{{{}}}{}", set.text.empty() ? "nothing" : set.text,
                                set.minimal_shown ? "" : " (a smaller one may do)"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_family_notes(const AblationRow& row, const AblationFamily& family, std::vector<std::string>& notes) {
  const std::string test = subject_test(row);
  if (family.dependence) {
    const stats::Dependence& found = *family.dependence;
    const bool all = found.sufficient.size() == 1 && found.sufficient.front().factors.size() == family.factors.size();
    if (!found.sufficient.empty() && !all) {
      notes.push_back(
          fmt::format("{}: smallest sets that are shown to suffice: {}", test, sets_text(found.sufficient)));
    }
    if (!found.cuts.empty()) {
      notes.push_back(fmt::format("{}: smallest sets whose removal is shown to cost more than the margin: {}", test,
                                  sets_text(found.cuts)));
    }
  }
  for (const AblationFactor& factor : family.factors) {
    std::string line;
    if (!factor.why.empty())
      line = fmt::format("{}: {}: {}: {}", test, factor.factor.label, factor.depends, factor.why);
    if (!factor.condition.empty()) line += fmt::format("; matters {}", factor.condition);
    if (!line.empty()) notes.push_back(line);
    if (factor.agreement == "surprise") {
      notes.push_back(fmt::format("{}: {}: surprise: expected {} ({}), measured {}", test, factor.factor.label,
                                  factor.expected.verdict, factor.expected.source, factor.depends));
    }
  }
  for (std::string& effect : conditional_effects(row, family)) notes.push_back(std::move(effect));
}

// What the device reported and what ggml concluded, where arms differ in it or a factor is made of it.
Table reported_table(const AblationRow& row) {
  std::map<std::string, std::set<std::string>> values;
  std::set<std::string> factors;
  for (const AblationFamily& family : row.families) {
    for (const VariedFactor& factor : family.levels.factors) factors.insert(factor.name);
  }
  const auto each = [](const AblationArm& arm, auto visit) {
    for (const Observed& seen : arm.capabilities) visit(seen.name, seen.value);
    for (const Observed& seen : arm.derived) visit("ggml: " + seen.name, seen.value);
  };
  for (const AblationArm& arm : row.arms) {
    each(arm, [&](const std::string& name, const std::string& value) {
      if (!value.empty()) values[name].insert(value);
    });
  }
  Table table;
  table.caption = "what the device reported, and what ggml made of it";
  table.columns = {{"arm", false}};
  std::vector<std::string> names;
  for (const auto& [name, seen] : values) {
    if (seen.size() < 2 && !factors.contains(name)) continue;
    names.push_back(name);
    table.columns.push_back({name.starts_with("ggml: ") ? name : short_capability(name), false});
  }
  if (names.empty()) return {};
  for (const AblationArm& arm : row.arms) {
    std::map<std::string, std::string> seen;
    each(arm, [&](const std::string& name, const std::string& value) { seen[name] = value; });
    std::vector<Cell> cells = {{arm.name, "", "", ""}};
    for (const std::string& name : names) cells.push_back(soft(seen[name]));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Chart chart_of(const AblationRow& row) {
  Chart chart = {subject_test(row), {}};
  for (const AblationArm& arm : row.arms) {
    if (!arm.numbers.median) continue;
    std::optional<Interval> interval;
    if (arm.numbers.median->lo && arm.numbers.median->hi)
      interval = Interval{*arm.numbers.median->lo, *arm.numbers.median->hi};
    chart.bars.push_back({arm.name, bar_class(arm.mode), arm.numbers.median->median, interval});
  }
  return chart;
}

void add_once(std::string text, std::vector<std::string>& list) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

std::ptrdiff_t usable_cells(const AblationRow& row, const AblationFamily& family) {
  return std::count_if(family.levels.cells.begin(), family.levels.cells.end(), [&](const FactorFamily::Cell& cell) {
    const AblationArm& arm = row.arms.at(cell.arm);
    return arm.numbers.summary && arm.quality != "wrong";
  });
}

void add_findings(const AblationRow& row, std::vector<std::string>& findings) {
  for (const AblationFamily& family : row.families) {
    if (!family.dependence || usable_cells(row, family) < 2) continue;
    const stats::Dependence& found = *family.dependence;
    std::string sentence = found.sentence;
    if (!family.levels.place.empty()) sentence = fmt::format("in {}: {}", family.levels.place, sentence);
    add_once(std::move(sentence), findings);
  }
  if (row.families.empty()) {
    add_once(fmt::format("{}: no factor differs between arms that can be compared", subject_test(row)), findings);
  }
}

std::string margin_text(const AblationRow& row) {
  std::string text = fmt::format("{}: margin {:.1f} %", subject_test(row), 100 * row.margin);
  if (row.floor) return text + ", A/A floor: " + row.floor->label;
  return text + ", without an A/A floor: no arm has two trials";
}

Section section_of(const std::vector<const AblationRow*>& rows, const SubjectNames& names) {
  const AblationRow& first = *rows.front();
  Section section;
  section.title = subject_title(first);
  section.about = first.suite_description;
  section.details = subject_details(first, names);
  if (const std::string measured = measured_text({rows.begin(), rows.end()}); !measured.empty()) {
    section.details.emplace_back("measured", measured);
  }
  for (const AblationRow* row : rows) {
    add_findings(*row, section.findings);
    section.tables.push_back(arms_table(*row));
    for (const AblationFamily& family : row->families) section.tables.push_back(factors_table(*row, family));
    section.charts.push_back(chart_of(*row));
  }
  section.tables.push_back(reported_table(first));
  std::map<std::string, std::size_t> uses;
  for (const AblationRow* row : rows) {
    for (const std::string& note : row->notes) ++uses[note];
  }
  for (const AblationRow* row : rows) {
    section.notes.push_back(margin_text(*row));
    for (const AblationFamily& family : row->families) add_family_notes(*row, family, section.notes);
    for (const std::string& note : row->notes) {
      add_once(uses[note] == rows.size() ? note : fmt::format("{}: {}", subject_test(*row), note), section.notes);
    }
    if (!row->flags.empty()) {
      section.notes.push_back(fmt::format("{}: flags: {}", subject_test(*row), fmt::join(row->flags, ", ")));
    }
  }
  return section;
}

void add_labels(const AblationRow& row, std::vector<std::string>& medians, std::vector<std::string>& ratios,
                std::vector<std::string>& intervals) {
  for (const AblationArm& arm : row.arms) {
    if (arm.numbers.median) add_once(arm.numbers.median->estimator, medians);
    for (const auto* compared : {&arm.numbers.against_reference, &arm.numbers.against_bare_metal}) {
      const stats::RatioInterval* ratio = ratio_of(*compared);
      if (ratio == nullptr) continue;
      add_once(ratio->estimator, ratios);
      if (ratio->lo) add_once(ratio->label, intervals);
    }
  }
}

std::vector<std::string> explain(const AblationReport& report) {
  std::vector<std::string> medians;
  std::vector<std::string> ratios;
  std::vector<std::string> intervals;
  std::set<std::string> flags;
  bool roofline = false;
  bool approximate = false;
  std::set<std::string> not_compared;  // sources of figures
  bool unchecked = false;
  bool stand_in = false;
  bool blind = false;  // to redundancy
  bool gap = false;
  bool factors = false;
  bool expected = false;
  for (const AblationRow& row : report.rows) {
    add_labels(row, medians, ratios, intervals);
    flags.insert(row.flags.begin(), row.flags.end());
    stand_in = stand_in || row.guest == "stand-in";
    for (const AblationFamily& family : row.families) {
      factors = factors || !family.factors.empty();
      for (const AblationFactor& factor : family.factors) expected = expected || !factor.expected.verdict.empty();
      blind = blind || (family.dependence && !family.dependence->sees_redundancy && family.factors.size() > 1);
    }
    for (const AblationArm& arm : row.arms) {
      roofline = roofline || arm.roofline.percent;
      approximate = approximate || (arm.roofline.percent && arm.roofline.approximate);
      if (arm.roofline.percent && !arm.roofline.compared) not_compared.insert(arm.roofline.source);
      unchecked = unchecked || (arm.quality == "unchecked" && !arm.is_bare_metal);
      gap = gap || gap_cell(arm).text != nothing().text;
    }
  }
  std::vector<std::string> out;
  if (!medians.empty()) out.push_back(fmt::format("tokens/s: {}.", fmt::join(medians, ", or ")));
  if (!ratios.empty()) {
    out.push_back(fmt::format("x stock and % bare: {}. Brackets hold 95 % intervals of each ratio by itself: {}.",
                              fmt::join(ratios, ", or "), fmt::join(intervals, "; ")));
  }
  if (gap)
    out.emplace_back(
        "gap %: how much of the way from stock to bare metal, log(arm / stock) / log(bare metal / stock), of medians "
        "of "
        "trial "
        "medians.");
  if (factors) {
    out.emplace_back(
        "removing costs: the share of speed lost when the factor alone is taken from everything unlocked. adding "
        "gives: "
        "the "
        "speed of stock with the factor alone, over stock. Block-adjusted ratios; effects are not claimed to add up. "
        "Their brackets hold together with 95 % where arms have "
        "three trials or more.");
    out.emplace_back(
        "depends on: yes if taking it away is shown to cost more than the margin (jointly: if that takes its stand-ins "
        "away "
        "too); no if that is shown to cost less (alone: it matters where others are missing); else cannot tell. Shown "
        "means: "
        "the whole interval lies there, and the intervals of all claims of a section hold together with 95 %.");
    out.emplace_back(
        "The margin is the larger of 2 % and the A/A floor, which is how far arms come apart that were told the same, "
        "or "
        "random "
        "halves of one arm.");
  }
  if (expected)
    out.emplace_back(
        "expected: what the application's source, or its code executed against a made-up device, says of the factor's "
        "levels: "
        "yes (operators leave the GPU), may (it decides otherwise, as for another kernel), no. seen: whether the "
        "measurement "
        "agrees; surprise if not; allowed where it may matter and does not.");
  if (blind) {
    out.emplace_back(
        "Redundancy cannot be seen where not every combination of the factors was run: a capability that another one "
        "stands "
        "in for then looks as if nothing depended on it.");
  }
  if (roofline) {
    out.push_back(
        fmt::format("roof %: of the most that the device could do by its maker's figures: generation, bytes of weights "
                    "read per token "
                    "against memory bandwidth; prompts, two operations for each parameter against the float16 rate.{}",
                    approximate ? " ~: only the file's size is known, so all of it counts as read." : ""));
    if (!not_compared.empty()) {
      out.back() += fmt::format(" ?: the device's figure was not compared with a document of its maker: {}.",
                                fmt::join(not_compared, "; "));
    }
  }
  if (stand_in) {
    out.emplace_back(
        "Guest stand-in: no VM took part. A layer below the shim made this machine answer as a conservative guest "
        "would.");
  }
  if (unchecked) out.emplace_back("Quality unchecked: no check has compared the output with that of bare metal.");
  for (std::string& sentence : flag_explanations(flags)) out.push_back(std::move(sentence));
  return out;
}

}  // namespace

Document ablation_document(const AblationReport& report) {
  Document document;
  document.title = "Ablation";
  document.lead = "Which answers of a device each speed depends on, and what each of them is worth.";
  document.if_empty = "No trials to report.";
  SubjectNames names;
  for (const AblationRow& row : report.rows) names.add(row);
  for (std::size_t from = 0; from < report.rows.size();) {
    std::vector<const AblationRow*> rows = {&report.rows[from]};
    while (from + rows.size() < report.rows.size() && same_but_test(*rows.front(), report.rows[from + rows.size()])) {
      rows.push_back(&report.rows[from + rows.size()]);
    }
    document.sections.push_back(section_of(rows, names));
    from += rows.size();
  }
  if (!report.rows.empty()) document.explanations = explain(report);
  return document;
}

}  // namespace capbench::reports
