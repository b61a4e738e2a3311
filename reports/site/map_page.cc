// Who measured what: chip x system x workload, and what nobody has measured yet.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

constexpr std::size_t kMostWorkloads = 12;
constexpr std::size_t kMostRows = 300;

struct Square {
  std::set<std::string> modes;
  std::size_t results = 0;
};

struct Place {
  std::string chip;
  std::string system;
  bool guests_only = false;  // nothing can be measured on bare metal there
  bool operator<(const Place& other) const { return std::tie(chip, system) < std::tie(other.chip, other.system); }
};

// The chips on which a machine's bare metal was measured: a guest's virtual device is that machine all the same.
std::map<std::string_view, std::string> chips_of_machines(const Model& model) {
  std::map<std::string_view, std::string> chips;
  for (const auto& [id, cells] : model.by_environment) {
    const auto environment = model.environments.find(id);
    if (environment == model.environments.end() || environment->second.chip.empty()) continue;
    for (const std::uint32_t cell : cells) {
      const SeriesKey& key = model.key(model.series[model.cells[cell].series]);
      if (key.mode == reports::kBareMetal) chips.try_emplace(environment->second.machine_id, environment->second.chip);
    }
  }
  return chips;
}

std::string square_html(const Square* square, bool guests_only) {
  if (square == nullptr) return "<span class=\"missing\">missing</span>";
  std::string html = "<span class=\"marks\">";
  for (const auto& [mode, letter] :
       {std::pair(reports::kBareMetal, 'B'), std::pair(reports::kStock, 'S'), std::pair(reports::kUnlocked, 'U')}) {
    const bool there = square->modes.contains(mode);
    if (guests_only && mode == reports::kBareMetal) continue;
    html += fmt::format("<abbr class=\"mark {} {}\" title=\"{}{}\">{}</abbr>", mode_class(mode),
                        there ? "there" : "absent", mode, there ? "" : ": missing", letter);
  }
  const auto others = static_cast<std::size_t>(std::count_if(
      square->modes.begin(), square->modes.end(), [](const std::string& m) { return mode_class(m) == "other"; }));
  if (others > 0)
    html += fmt::format("<abbr class=\"mark other there\" title=\"{} of the suite's own\">+{}</abbr>",
                        count_of(others, "mode"), others);
  return html + fmt::format("</span> <span class=\"range\">{}</span>", count_of(square->results, "result"));
}

}  // namespace

std::string map_page(const Site& site) {
  const Model& model = site.model;
  // Counted by numbers first: there may be a million results and are few squares.
  const std::map<std::string_view, std::string> chips = chips_of_machines(model);
  std::map<std::string, std::size_t> results_of_workload;
  std::map<Place, std::map<std::string, Square>> squares;
  for (const auto& [id, cells] : model.by_environment) {
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;  // by workload and mode
    bool in_guests = true;                                                        // real ones: a stand-in is the host
    for (const std::uint32_t place_of_cell : cells) {
      const Cell& cell = model.cells[place_of_cell];
      const SeriesKey& key = model.key(model.series[cell.series]);
      counts[{key.workload, key.mode}] += cell.n;
      in_guests = in_guests && !key.guest.empty() && key.guest != "stand-in";
    }
    const auto environment = model.environments.find(id);
    Place place{"chip not known", "system not known"};
    if (environment != model.environments.end()) {
      const auto of_machine = chips.find(environment->second.machine_id);
      place.guests_only = in_guests && of_machine != chips.end();
      if (!environment->second.chip.empty()) place.chip = environment->second.chip;
      if (place.guests_only) place.chip = of_machine->second;
      if (!environment->second.system.empty()) place.system = environment->second.system;
      if (place.guests_only) place.system += ", in guests";
    }
    for (const auto& [names, results] : counts) {
      Square& square = squares[place][std::string(names.first)];
      square.modes.emplace(names.second);
      square.results += results;
      results_of_workload[std::string(names.first)] += results;
    }
  }
  std::vector<std::pair<std::size_t, std::string>> workloads;
  for (const auto& [name, results] : results_of_workload) workloads.emplace_back(results, name);
  std::sort(workloads.rbegin(), workloads.rend());
  const std::size_t all_workloads = workloads.size();
  if (workloads.size() > kMostWorkloads) workloads.resize(kMostWorkloads);
  std::vector<Column> columns{{"Chip", "wide", ""}, {"System", "text", ""}};
  for (const auto& [results, name] : workloads) columns.push_back({name.empty() ? "(no name)" : name, "text", ""});
  std::vector<TableRow> rows;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> measured;  // modes, by chip and workload
  std::vector<std::string> wanted;
  for (const auto& [place, row] : squares) {
    if (rows.size() < kMostRows) {
      TableRow cells{{esc(place.chip)}, {esc(place.system)}};
      for (const auto& [results, name] : workloads) {
        const auto found = row.find(name);
        cells.push_back({square_html(found == row.end() ? nullptr : &found->second, place.guests_only),
                         found == row.end() ? "0" : std::to_string(found->second.results)});
      }
      rows.push_back(std::move(cells));
    }
    for (const auto& [name, square] : row)
      measured[{place.chip, name}].insert(square.modes.begin(), square.modes.end());
  }
  // Over all systems: a host has no unlocked arm, nor a guest bare metal.
  for (const auto& [names, modes] : measured) {
    std::string missing;
    bool has_one = false;
    for (const char* mode : {reports::kBareMetal, reports::kStock, reports::kUnlocked}) {
      has_one = has_one || modes.contains(mode);
      if (!modes.contains(mode)) missing += (missing.empty() ? "" : " and ") + std::string(mode);
    }
    if (has_one && !missing.empty() && wanted.size() < 50) {
      wanted.push_back(fmt::format("{}: workload {} has no {}", names.first, names.second, missing));
    }
  }
  std::string body;
  if (rows.empty()) {
    body = "<p>Nothing has been measured yet.</p>\n";
  } else {
    body +=
        "<p class=\"legend\"><abbr class=\"mark bare there\" title=\"bare-metal\">B</abbr> bare-metal <abbr "
        "class=\"mark stock there\" title=\"stock\">S</abbr> stock <abbr class=\"mark unlocked there\" "
        "title=\"unlocked\">U</abbr> unlocked; dashed: missing.</p>\n";
    std::string caption = fmt::format("{} of {} workloads, the most measured first", workloads.size(), all_workloads);
    if (squares.size() > rows.size()) caption += fmt::format("; {} of {} rows", rows.size(), squares.size());
    body += table("map", caption, columns, rows, true);
  }
  if (!wanted.empty()) {
    body += "<section aria-labelledby=\"wanted\"><h2 id=\"wanted\">Where help is wanted</h2>\n<ul class=\"notes\">\n";
    for (const std::string& sentence : wanted) body += "<li>" + esc(sentence) + "</li>\n";
    body +=
        "</ul>\n<p>Run the suite on such a machine and send what it gives: <code>capbench run SUITE</code>, then "
        "<code>capbench submit</code>.</p></section>\n";
  }
  return page(frame_of(site, "Map", "map.html",
                       "Who measured what, chip by system and workload, and what nobody has measured yet."),
              body);
}

}  // namespace capbench::site
