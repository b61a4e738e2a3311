// What was measured and how: facts of the store in running text.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/paper/compose.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

std::string in_english(const std::set<std::string>& names) {
  std::string out;
  std::size_t i = 0;
  for (const std::string& name : names) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += one_line(name);
    ++i;
  }
  return out;
}

std::string model_name(const Subject& row) {
  return one_line(row.model) + (row.model_kind == "twin" ? " (twin)" : "");
}

// One line of the table of setups: everything but the test.
struct Place {
  std::string machine;
  std::string device;
  std::string guest;
  std::set<std::string> builds;
  std::set<std::string> models;
  std::set<std::string> measured;
};

std::vector<Place> places_of(const SpeedupReport& report) {
  std::vector<Place> places;
  for (const SpeedupRow& row : report.rows) {
    const std::string machine = row.machine + (row.machine_is_virtual ? " (itself virtual)" : "");
    const std::string guest = row.guest.empty() ? "none" : row.guest == "vm" ? "VM" : row.guest;
    const std::string device = row.device.empty() ? "unknown" : row.device;
    auto found = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.machine == machine && place.device == device && place.guest == guest;
    });
    if (found == places.end()) found = places.insert(found, {machine, device, guest, {}, {}, {}});
    found->builds.insert(row.build.empty() ? "unknown" : row.build);
    found->models.insert(model_name(row));
    found->measured.insert(measured_text({&row}));
  }
  return places;
}

std::size_t most_repetitions(const SpeedupReport& report) {
  std::size_t most = 0;
  for (const SpeedupRow& row : report.rows) {
    for (const TrialPoint& point : row.trials) {
      if (point.counted) most = std::max(most, point.n_samples);
    }
  }
  return most;
}

std::size_t counted_trials(const SpeedupReport& report) {
  std::set<std::string> ids;
  for (const SpeedupRow& row : report.rows) {
    for (const TrialPoint& point : row.trials) {
      if (point.counted) ids.insert(point.id);
    }
  }
  return ids.size();
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

PaperSection setup_section(Composer& composer) {
  PaperSection section = {"Setup", false, {}};
  std::set<std::string> suites;
  std::set<std::string> about;
  bool stand_in = false;
  bool vm = false;
  bool imported = false;
  for (const SpeedupRow& row : composer.speedup().rows) {
    suites.insert(row.suite);
    if (!row.suite_description.empty()) about.insert(row.suite_description);
    stand_in = stand_in || row.guest == "stand-in";
    vm = vm || row.guest == "vm";
    imported = imported || row.imported;
  }
  section.blocks.push_back(paragraph(
      Words()
          .say(fmt::format("All results come from {} {}. A suite names models, workloads and arms; an arm is one "
                           "treatment: where a command runs, and which answers of the device it is given. In all ",
                           suites.size() == 1 ? "the suite" : "the suites", in_english(suites)))
          .number(composer.count("trials", composer.all_trials().size(), "count(*)"))
          .say(" trials were looked at, of which ")
          .number(composer.count("trials-counted", counted_trials(composer.speedup()), "count(DISTINCT t.id)",
                                 " JOIN result r ON r.trial_id = t.id",
                                 " AND t.status = 'ok' AND t.treatment <> 'invalid'"))
          .say(" count. A trial is one fresh process that measures each test of its workload up to ")
          .number(composer.count("samples", most_repetitions(composer.speedup()),
                                 "max(json_array_length(r.samples_ns))", " JOIN result r ON r.trial_id = t.id",
                                 " AND t.status = 'ok' AND t.treatment <> 'invalid'"))
          .say(" times.")
          .take()));
  for (const std::string& text : about) section.blocks.push_back(paragraph(words(text)));
  std::string modes = "Three modes are compared. Bare-metal is the host without a shim";
  if (vm) modes += "; stock is the guest as it is shipped; unlocked is the same guest with a capability shim";
  if (stand_in) {
    modes +=
        vm ? ". Where no VM took part, a stand-in guest below the shim made the machine answer as a conservative guest "
             "would"
           : "; stock is the same machine made to answer as a conservative guest would, by a stand-in guest below the "
             "shim, since no VM took part; unlocked is that with a capability shim";
  }
  modes += ". The program, its files and its arguments are the same in all";
  if (imported) modes += "; of imported results that is their source's word";
  section.blocks.push_back(paragraph(words(modes + ".")));
  PaperTable machines;
  machines.label = "tab:setup";
  machines.caption = words("Where the results were measured.");
  machines.headers = {"machine", "device", "build", "guest", "models", "measured"};
  machines.right.assign(machines.headers.size(), false);
  for (const Place& place : places_of(composer.speedup())) {
    machines.rows.push_back({words(place.machine), words(place.device), words(in_english(place.builds)),
                             words(place.guest), words(in_english(place.models)),
                             words(fmt::format("{}", fmt::join(place.measured, "; ")))});
  }
  section.blocks.push_back(table(std::move(machines)));
  return section;
}

PaperSection method_section(Composer& composer) {
  std::vector<std::string> medians;
  std::vector<std::string> ratios;
  std::vector<std::string> intervals;
  std::vector<std::string> floors;
  for (const SpeedupRow& row : composer.speedup().rows) {
    for (const ModeSummary& mode : row.modes) {
      if (mode.stats) add_once(medians, mode.stats->median.estimator);
    }
    for (const auto& estimate : {row.speedup, row.percent_of_bare_metal}) {
      if (!estimate) continue;
      add_once(ratios, estimate->estimator);
      if (estimate->ci95) add_once(intervals, estimate->interval);
    }
  }
  PaperSection section = {"Method", false, {}};
  const auto& rows = composer.speedup().rows;
  const auto is_imported = [](const SpeedupRow& row) { return row.imported; };
  const bool none_imported = std::none_of(rows.begin(), rows.end(), is_imported);
  if (!none_imported) {
    const bool all = std::all_of(rows.begin(), rows.end(), is_imported);
    section.blocks.push_back(paragraph(
        words(std::string(all ? "The results" : "Some of the results") +
              " were measured without capbench and imported: in which order their arms ran, what else the machine did "
              "and which files were loaded is known as far as their source says it. Speeds are tokens over the times, "
              "or the rates, that the source gives for each sample." +
              (all ? "" : " The others ran as follows."))));
  }
  const bool some_measured = !std::all_of(rows.begin(), rows.end(), is_imported);
  if (some_measured)
    section.blocks.push_back(paragraph(words(
        "Trials run in blocks: each block holds one trial of every arm, in random order from a recorded seed, strictly "
        "one "
        "at a time on each machine. The raw output of every trial is kept before it is read, with the digests of the "
        "program, every library it mapped, the model and the shim. Samples are the program's own nanoseconds; speeds "
        "are "
        "tokens over time.")));
  if (!medians.empty()) {
    section.blocks.push_back(paragraph(words(fmt::format(
        "The speed of an arm is the {}. A comparison of two arms is the {}. Intervals are at 95 % unless they are a "
        "min-max: {}.",
        fmt::join(medians, ", or the "),
        ratios.empty() ? "ratio of the two" : fmt::format("{}", fmt::join(ratios, ", or the ")),
        intervals.empty() ? "none could be given" : fmt::format("{}", fmt::join(intervals, "; "))))));
  }
  section.blocks.push_back(paragraph(words(
      "A treatment counts as proven if what the arm claims was observed: by the application's own log, or by a probe "
      "under the same injection. A shim's word alone leaves it unproven, and a trial in which something contradicts "
      "its "
      "arm is invalid and counts nowhere. Failed, timed-out and excluded trials are reported as such and never "
      "replaced.")));
  section.blocks.push_back(paragraph(words(
      "In an ablation a speed depends on a factor if leaving it out is shown to cost more than a margin, and does not "
      "depend on it if that is shown to cost less; shown means that the whole interval lies there, with the intervals "
      "of all claims about one setup holding together. Everything else is reported as cannot tell. The margin is the "
      "larger of 2 % and the A/A floor, the differences between arms that were told the same or between random halves "
      "of one arm. Effects are not claimed to add up.")));
  return section;
}

}  // namespace capbench::reports::paper
