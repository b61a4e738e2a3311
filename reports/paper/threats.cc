// What the results do not show: each threat that the store itself tells of.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "reports/flags_text.h"
#include "reports/paper/compose.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

// "pp512 of tinyllama and tg128 of gemma", of at most a few rows; empty if no row is meant.
std::string rows_text(const SpeedupReport& report, const std::function<bool(const SpeedupRow&)>& meant) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  std::size_t results = 0;
  for (const SpeedupRow& row : report.rows) {
    if (row.test.empty()) continue;
    ++results;
    std::string name = fmt::format("{} of {}", subject_test(row), one_line(row.model));
    if (meant(row) && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  if (names.empty()) return "";
  if (names.size() > 1 &&
      static_cast<std::size_t>(std::count_if(report.rows.begin(), report.rows.end(), [&](const auto& row) {
        return !row.test.empty() && meant(row);
      })) == results) {
    return "every result";
  }
  const std::size_t shown = std::min(kMost, names.size());
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (names.size() > shown) text += fmt::format("; and {} more", names.size() - shown);
  return text;
}

std::function<bool(const SpeedupRow&)> flagged(const std::string& flag) {
  return
      [flag](const SpeedupRow& row) { return std::find(row.flags.begin(), row.flags.end(), flag) != row.flags.end(); };
}

// A sentence before the results that it holds for.
void add(const SpeedupReport& report, const std::string& what, const std::function<bool(const SpeedupRow&)>& meant,
         std::vector<Line>& out) {
  const std::string rows = rows_text(report, meant);
  if (!rows.empty()) out.push_back(words(fmt::format("{} This concerns {}.", what, rows)));
}

}  // namespace

PaperSection threats_section(Composer& composer) {
  const SpeedupReport& report = composer.speedup();
  PaperSection section = {"Threats to validity", false, {}};
  std::vector<Line> items;
  add(report, "Some arms ran as one process, so nothing is known of how processes differ.", flagged("single-process"),
      items);
  add(report, "Some arms have fewer than 7 trials, so intervals between trials are weak.", flagged("few-trials"),
      items);
  add(
      report,
      "The machine is itself virtual: bare-metal means without the guest under test, not without any virtualization.",
      [](const SpeedupRow& row) { return row.machine_is_virtual; }, items);
  add(
      report,
      "No VM took part: a layer below the shim made the machine answer as a conservative guest would, which says "
      "nothing about a VM's own overhead.",
      [](const SpeedupRow& row) { return row.guest == "stand-in"; }, items);
  add(
      report,
      "The model is a twin: the real one's shapes and quantisation with random weights. It stands for the real model's "
      "speed, not for its output.",
      [](const SpeedupRow& row) { return row.model_kind == "twin"; }, items);
  add(
      report, "No check has compared the output with that of bare metal; fast garbage would not have been noticed.",
      [](const SpeedupRow& row) { return row.quality == "unchecked"; }, items);
  add(
      report, "The output failed its check: these speeds are worth nothing.",
      [](const SpeedupRow& row) { return row.quality == "wrong"; }, items);
  add(
      report, "Nothing shows that every trial got the capabilities that its arm asked for.",
      [](const SpeedupRow& row) { return row.treatment == "unproven"; }, items);
  add(
      report, "A trial did not get the capabilities that its arm asked for.",
      [](const SpeedupRow& row) { return row.treatment == "invalid"; }, items);
  add(
      report,
      "The results were measured and published by others; they were imported, and what is not in their files "
      "is not known.",
      [](const SpeedupRow& row) { return row.imported; }, items);
  std::set<std::string> flags;
  for (const SpeedupRow& row : report.rows) flags.insert(row.flags.begin(), row.flags.end());
  for (const char* said : {"single-process", "few-trials"}) flags.erase(said);
  for (const std::string& flag : flags) {
    for (const std::string& meaning : flag_explanations({flag})) {
      const std::string::size_type colon = meaning.find(": ");
      std::string what = colon == std::string::npos ? meaning : meaning.substr(colon + 2);
      if (!what.empty() && what.front() >= 'a' && what.front() <= 'z') what.front() += 'A' - 'a';
      add(report, what, flagged(flag), items);
    }
  }
  const bool blind = std::any_of(composer.ablation().rows.begin(), composer.ablation().rows.end(), [](const auto& row) {
    return std::any_of(row.families.begin(), row.families.end(), [](const AblationFamily& family) {
      return family.dependence && !family.dependence->sees_redundancy && family.factors.size() > 1;
    });
  });
  if (blind) {
    items.push_back(
        words("Not every combination of factors was run. A capability that another one stands in for then looks as if "
              "nothing depended on it."));
  }
  items.push_back(
      words("The machines, models and builds are those that were measured; nothing is claimed of others. llama-bench "
            "measures "
            "prompts and generation apart, with random tokens, so its speeds are not those of a service under load."));
  section.blocks.push_back(list(std::move(items)));
  return section;
}

}  // namespace capbench::reports::paper
