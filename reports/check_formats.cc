// `capbench check` in every format.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "reports/csv_text.h"
#include "reports/json_text.h"
#include "reports/regressions.h"
#include "reports/subject.h"
#include "reports/text.h"

namespace capbench::reports {
namespace {

std::string percent(double ratio) {
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::string percent_range(const std::optional<Interval>& range) {
  return range ? fmt::format("[{:+.1f}, {:+.1f}]", 100 * (range->low - 1), 100 * (range->high - 1)) : "";
}

std::string series_name(const SeriesKey& key) {
  return fmt::format("{}{}, {}, {}{}", one_line(key.model), key.model_kind == "twin" ? " (twin)" : "",
                     one_line(key.test), one_line(key.arm), key.guest.empty() ? "" : " in " + one_line(key.guest));
}

std::string how_sure(const CheckedSeries& series) {
  std::string text = fmt::format("{} and {} trials", series.baseline_trials, series.newest_trials);
  if (series.method == "change point") text = "level of the series";
  if (series.p) text += fmt::format(", p = {:.3f}", *series.p);
  return text;
}

}  // namespace

Document check_document(const CheckReport& report) {
  Document document;
  std::size_t slower = 0;
  std::map<std::string, std::size_t> others;
  for (const CheckedSeries& series : report.series) {
    if (series.standing == Standing::kSlower) {
      ++slower;
    } else {
      ++others[std::string(standing_name(series.standing))];
    }
  }
  const std::string_view standing = report.finding         ? "Slower than at"
                                    : report.compared == 0 ? "Nothing could be compared with"
                                                           : "Nothing new is slower than at";
  document.title = fmt::format("{} {}", standing, one_line(report.baseline));
  std::string counts = fmt::format("{} of {} slower", slower, count_of(report.series.size(), "speed"));
  for (const auto& [name, count] : others) counts += fmt::format(", {} {}", count, name);
  document.lead = counts + ".";
  document.if_empty = "No trials to compare.";
  // One section for each machine and suite.
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const CheckedSeries*>> groups;
  Names machines;
  for (const CheckedSeries& series : report.series) {
    groups[{series.key.machine, series.key.machine_id, series.key.suite}].push_back(&series);
    machines.add(series.key.machine, series.key.machine_id);
  }
  for (const auto& [name, members] : groups) {
    Section section;
    section.title =
        fmt::format("{}, suite {}", machines.label(std::get<0>(name), std::get<1>(name)), one_line(std::get<2>(name)));
    Table table;
    table.caption = "What is slower";
    table.columns = {{"speed", false, false},   {"change", true, false}, {"now", true, false}, {"since", false, false},
                     {"how sure", false, true}, {"state", false, true},  {"id", false, false}};
    for (const CheckedSeries* series : members) {
      const std::string title = series_name(series->key);
      if (series->standing != Standing::kSlower) {
        if (series->standing == Standing::kCannotTell) {
          section.notes.push_back(
              fmt::format("cannot tell: {} ({}): {}", title, one_line(series->key.workload), series->why));
        } else if (series->standing == Standing::kFaster) {
          section.notes.push_back(fmt::format("faster: {} ({}): {} {}", title, one_line(series->key.workload),
                                              percent(*series->ratio), percent_range(series->ci95)));
        }
        continue;
      }
      table.rows.push_back({{title, "", "", "key"},
                            {percent(*series->ratio), percent_range(series->ci95), "", "bad"},
                            {format_number(series->newest_ts), "", "", ""},
                            {one_line(series->first_bad), "", "", ""},
                            {how_sure(*series), "", "", ""},
                            {series->state, "", "", series->counts ? "bad" : "soft"},
                            {short_id(series->id), "", "", ""}});
      std::string finding =
          fmt::format("{}: {} {}, {} tokens/s at {}, {} at {}; first seen at {}, last good {}", title,
                      percent(*series->ratio), percent_range(series->ci95), format_number(series->baseline_ts),
                      one_line(series->baseline), format_number(series->newest_ts), one_line(series->newest),
                      one_line(series->first_bad), one_line(series->last_good));
      if (series->state == "fixed") finding += "; it was called fixed, and is slower still or again";
      if (!series->state_why.empty()) finding += fmt::format(" ({}: {})", series->state, one_line(series->state_why));
      section.findings.push_back(std::move(finding));
    }
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
    document.sections.push_back(std::move(section));
  }
  if (!report.series.empty()) {
    document.explanations = {
        fmt::format("A speed is slower if the whole interval of new over baseline lies under 1 less the margin (the "
                    "larger of 2 % and the noise between like trials). The intervals of the {} with three trials or "
                    "more on both sides hold together with 95 %.",
                    count_of(report.asked, "comparison")),
        "Only points of one setting are compared: everything that ran and the machine are the same but the build.",
        "`capbench check --triage ID acknowledged --why TEXT` (or noise) keeps a known one from failing the check."};
  }
  return document;
}

std::string check_markdown(const CheckReport& report) {
  const Document document = check_document(report);
  return fmt::format("# {}\n\n{}\n\n{}", document.title, document.lead, document_markdown(document));
}

std::string check_csv(const CheckReport& report) {
  std::string out;
  write_csv_line({"suite",       "machine",      "machine_id",    "device",
                  "model",       "model_kind",   "workload",      "arm",
                  "mode",        "guest",        "test",          "setting",
                  "standing",    "why",          "baseline",      "baseline_trials",
                  "baseline_ts", "newest",       "newest_trials", "newest_ts",
                  "ratio",       "ratio_low",    "ratio_high",    "method",
                  "p",           "margin",       "regression",    "last_good",
                  "first_bad",   "first_bad_at", "state",         "state_why",
                  "counts"},
                 out);
  const auto number = [](const std::optional<double>& value) { return value ? format_exact(*value) : std::string(); };
  for (const CheckedSeries& series : report.series) {
    const SeriesKey& key = series.key;
    const bool slower = series.standing == Standing::kSlower;
    const auto speed = [](const std::string& label, double value) { return label.empty() ? "" : format_exact(value); };
    const auto trials = [](const std::string& label, std::size_t n) { return label.empty() ? "" : std::to_string(n); };
    write_csv_line({key.suite,
                    key.machine,
                    key.machine_id,
                    key.device,
                    key.model,
                    key.model_kind,
                    key.workload,
                    key.arm,
                    key.mode,
                    key.guest,
                    key.test,
                    series.setting,
                    std::string(standing_name(series.standing)),
                    series.why,
                    series.baseline,
                    trials(series.baseline, series.baseline_trials),
                    speed(series.baseline, series.baseline_ts),
                    series.newest,
                    trials(series.newest, series.newest_trials),
                    speed(series.newest, series.newest_ts),
                    number(series.ratio),
                    series.ci95 ? format_exact(series.ci95->low) : "",
                    series.ci95 ? format_exact(series.ci95->high) : "",
                    series.method,
                    number(series.p),
                    format_exact(series.margin),
                    slower ? series.id : "",
                    series.last_good,
                    series.first_bad,
                    series.first_bad_date,
                    series.state,
                    series.state_why,
                    slower ? (series.counts ? "true" : "false") : ""},
                   out);
  }
  return out;
}

std::string check_json(const CheckReport& report) {
  OrderedJson rows = OrderedJson::array();
  const auto number = [](const std::optional<double>& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
  };
  for (const CheckedSeries& series : report.series) {
    const SeriesKey& key = series.key;
    const auto point = [](const std::string& label, double speed, std::size_t trials) {
      return label.empty() ? OrderedJson(nullptr)
                           : OrderedJson{{"label", valid_utf8(label)}, {"median_ts", speed}, {"n_trials", trials}};
    };
    OrderedJson row = {{"suite", valid_utf8(key.suite)},
                       {"machine", valid_utf8(key.machine)},
                       {"machine_id", valid_utf8(key.machine_id)},
                       {"device", text_or_null(key.device)},
                       {"model", valid_utf8(key.model)},
                       {"model_kind", valid_utf8(key.model_kind)},
                       {"workload", valid_utf8(key.workload)},
                       {"arm", valid_utf8(key.arm)},
                       {"mode", valid_utf8(key.mode)},
                       {"guest", text_or_null(key.guest)},
                       {"test", valid_utf8(key.test)},
                       {"setting", series.setting},
                       {"standing", standing_name(series.standing)},
                       {"why", text_or_null(series.why)},
                       {"baseline", point(series.baseline, series.baseline_ts, series.baseline_trials)},
                       {"newest", point(series.newest, series.newest_ts, series.newest_trials)},
                       {"ratio", number(series.ratio)},
                       {"ci95", interval_json(series.ci95)},
                       {"method", text_or_null(series.method)},
                       {"p", number(series.p)},
                       {"margin", series.margin},
                       {"regression", nullptr}};
    if (series.standing == Standing::kSlower) {
      row["regression"] = {{"id", series.id},
                           {"last_good", valid_utf8(series.last_good)},
                           {"first_bad", valid_utf8(series.first_bad)},
                           {"first_bad_at", text_or_null(series.first_bad_date)},
                           {"state", series.state},
                           {"state_why", text_or_null(series.state_why)},
                           {"counts", series.counts}};
    }
    rows.push_back(std::move(row));
  }
  const OrderedJson document = {
      {"report", "check"},         {"axis", axis_name(report.axis)}, {"baseline", valid_utf8(report.baseline)},
      {"finding", report.finding}, {"comparisons", report.asked},    {"rows", std::move(rows)}};
  return document.dump(2) + "\n";
}

std::string check_text(const CheckReport& report, std::string_view format) {
  if (format == "json") return check_json(report);
  if (format == "csv") return check_csv(report);
  if (format == "html") return document_html(check_document(report));
  if (format == "latex") return document_latex(check_document(report));
  return check_markdown(report);
}

}  // namespace capbench::reports
