#include <nlohmann/json.hpp>

#include "reports/ablation_data.h"
#include "reports/json_text.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

using Json = OrderedJson;

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json compared_json(const std::optional<stats::Compared>& compared) {
  if (!compared) return nullptr;
  return {
      {"alone", ratio_json(compared->alone)},
      {"simultaneous", ratio_json(compared->simultaneous)},
      {"can_claim", compared->can_claim},
      {"problem", text_or_null(compared->problem)},
  };
}

Json median_json(const AblationArm& arm) {
  if (!arm.numbers.median || !arm.numbers.summary) return nullptr;
  const stats::MedianInterval& median = *arm.numbers.median;
  const stats::Summary& summary = *arm.numbers.summary;
  return {
      {"median_ts", median.median},
      {"ci95", interval_json(median.lo, median.hi)},
      {"interval", median.label},
      {"estimator", median.estimator},
      {"n_trials", summary.n_trials},
      {"n_samples", summary.n_samples},
      {"repetitions", arm.repetitions},
      {"min_ts", summary.min},
      {"max_ts", summary.max},
      {"cv_trials", number_or_null(summary.cv_trials)},
      {"cv_samples", number_or_null(summary.cv_samples)},
  };
}

Json gap_json(const std::optional<stats::GapClosed>& gap) {
  if (!gap) return nullptr;
  return {{"share", number_or_null(gap->share)}, {"ci95", interval_json(gap->lo, gap->hi)}, {"interval", gap->label}};
}

Json observed_json(const std::vector<Observed>& list) {
  Json out = Json::array();
  for (const Observed& seen : list) {
    out.push_back({{"name", valid_utf8(seen.name)},
                   {"requested", text_or_null(seen.requested)},
                   {"observed", text_or_null(seen.value)},
                   {"source", text_or_null(seen.source)}});
  }
  return out;
}

Json roofline_json(const RooflineShare& share) {
  return {{"percent", number_or_null(share.percent)},
          {"bound", text_or_null(share.bound)},
          {"why_not", text_or_null(share.why)},
          {"approximate", share.approximate},
          {"over", share.over},
          {"compared", share.compared},
          {"source", text_or_null(share.source)}};
}

Json arm_json(const AblationArm& arm) {
  Json flags = Json::array();
  for (const stats::Flag& flag : arm.numbers.flags) {
    flags.push_back({{"trial", flag.trial}, {"name", flag.name}, {"why", flag.why}});
  }
  Json not_ok = Json::array();
  for (const NotOk& entry : arm.not_ok) {
    not_ok.push_back({{"status", valid_utf8(entry.status)},
                      {"count", entry.count},
                      {"reason", valid_utf8(entry.reason)},
                      {"trials", texts(entry.trials)}});
  }
  return {
      {"arm", valid_utf8(arm.name)},
      {"mode", valid_utf8(arm.mode)},
      {"guest", text_or_null(arm.guest)},
      {"device", text_or_null(arm.device)},
      {"is_reference", arm.is_reference},
      {"is_bare_metal", arm.is_bare_metal},
      {"status", valid_utf8(arm.status)},
      {"trials_planned", arm.n_planned},
      {"trials_tried", arm.n_tried},
      {"speed", median_json(arm)},
      {"over_stock", compared_json(arm.numbers.against_reference)},
      {"over_bare_metal", compared_json(arm.numbers.against_bare_metal)},
      {"gap_closed", gap_json(arm.numbers.gap)},
      {"roofline", roofline_json(arm.roofline)},
      {"treatment", valid_utf8(arm.treatment)},
      {"quality", valid_utf8(arm.quality)},
      {"reported", observed_json(arm.capabilities)},
      {"derived", observed_json(arm.derived)},
      {"flags", std::move(flags)},
      {"not_ok", std::move(not_ok)},
      {"problem", text_or_null(arm.numbers.problem)},
  };
}

Json effect_json(const std::optional<stats::Effect>& effect) {
  if (!effect) return nullptr;
  return {
      {"name", valid_utf8(effect->name)},         {"setting", text_or_null(effect->setting)},
      {"alone", ratio_json(effect->alone)},       {"simultaneous", ratio_json(effect->simultaneous)},
      {"can_claim", effect->can_claim},           {"aliases", texts(effect->aliases)},
      {"problem", text_or_null(effect->problem)},
  };
}

Json loss_json(const std::optional<stats::Effect>& removing) {
  const stats::RatioInterval* ratio = stats::deciding(removing);
  if (ratio == nullptr) return nullptr;
  const stats::Loss loss = stats::loss_of(*ratio);
  return {{"share", loss.value}, {"ci95", interval_json(loss.lo, loss.hi)}};
}

Json factor_json(const AblationFactor& factor) {
  return {
      {"factor", valid_utf8(factor.factor.name)},
      {"label", valid_utf8(factor.factor.label)},
      {"kind", factor.factor.kind},
      {"levels", texts(factor.factor.levels)},
      {"requested", factor.factor.requested},
      {"depends_on", factor.depends},
      {"why", text_or_null(factor.why)},
      {"condition", text_or_null(factor.condition)},
      {"stand_ins", texts(factor.stand_ins)},
      {"removing_costs", loss_json(factor.removing)},
      {"removing", effect_json(factor.removing)},
      {"adding", effect_json(factor.adding)},
      {"main_effect", effect_json(factor.main)},
      {"expected",
       {{"verdict", text_or_null(factor.expected.verdict)},
        {"flags", texts(factor.expected.flags)},
        {"source", text_or_null(factor.expected.source)}}},
      {"agreement", text_or_null(factor.agreement)},
  };
}

Json sets_json(const std::vector<stats::SetClaim>& sets, const FactorFamily& levels) {
  Json out = Json::array();
  for (const stats::SetClaim& set : sets) {
    std::vector<std::string> names;
    for (const std::size_t factor : set.factors) names.push_back(levels.factors.at(factor).name);
    out.push_back({{"factors", texts(names)}, {"text", valid_utf8(set.text)}, {"minimal_shown", set.minimal_shown}});
  }
  return out;
}

Json effects_json(const std::vector<stats::Effect>& effects) {
  Json out = Json::array();
  for (const stats::Effect& effect : effects) out.push_back(effect_json(effect));
  return out;
}

Json family_json(const AblationRow& row, const AblationFamily& family) {
  Json factors = Json::array();
  for (const AblationFactor& factor : family.factors) factors.push_back(factor_json(factor));
  Json cells = Json::array();
  for (const FactorFamily::Cell& cell : family.levels.cells) {
    std::vector<std::string> levels;
    for (std::size_t i = 0; i < cell.levels.size(); ++i) {
      levels.push_back(family.levels.factors.at(i).levels.at(cell.levels[i]));
    }
    std::vector<std::string> twins;
    for (const std::size_t twin : cell.twins) twins.push_back(row.arms.at(twin).name);
    cells.push_back(
        {{"arm", valid_utf8(row.arms.at(cell.arm).name)}, {"levels", texts(levels)}, {"same", texts(twins)}});
  }
  const auto& found = family.dependence;
  return {
      {"place", text_or_null(family.levels.place)},
      {"design", found ? Json(stats::to_text(found->kind)) : Json(nullptr)},
      {"sees_redundancy", found && found->sees_redundancy},
      {"comparisons", found ? found->comparisons : 0},
      {"sentence", found ? text_or_null(found->sentence) : Json(nullptr)},
      {"factors", std::move(factors)},
      {"cells", std::move(cells)},
      {"sufficient_sets", found ? sets_json(found->sufficient, family.levels) : Json::array()},
      {"cuts", found ? sets_json(found->cuts, family.levels) : Json::array()},
      {"interactions", effects_json(family.interactions)},
      {"simple_effects", effects_json(family.simple)},
      {"nothing_over", found ? number_or_null(found->nothing_over) : Json(nullptr)},
      {"problem", text_or_null(family.problem)},
  };
}

Json floor_json(const std::optional<stats::NoiseFloor>& floor) {
  if (!floor) return nullptr;
  return {{"share", floor->floor},
          {"quantile", floor->quantile},
          {"pairs", floor->n_pairs},
          {"source", floor->source},
          {"label", floor->label}};
}

}  // namespace

std::string ablation_json(const AblationReport& report) {
  Json rows = Json::array();
  for (const AblationRow& row : report.rows) {
    Json out = Json::object();
    add_subject(row, out);
    out["margin"] = row.margin;
    out["floor"] = floor_json(row.floor);
    Json arms = Json::array();
    for (const AblationArm& arm : row.arms) arms.push_back(arm_json(arm));
    out["arms"] = std::move(arms);
    Json families = Json::array();
    for (const AblationFamily& family : row.families) families.push_back(family_json(row, family));
    out["families"] = std::move(families);
    out["flags"] = texts(row.flags);
    out["notes"] = texts(row.notes);
    rows.push_back(std::move(out));
  }
  const Json document = {{"report", "ablation"}, {"rows", std::move(rows)}};
  return document.dump(2) + "\n";
}

}  // namespace capbench::reports
