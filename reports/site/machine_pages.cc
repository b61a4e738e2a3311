// The machines, with their environments.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

struct Sum {
  std::size_t results = 0;
  std::size_t runs = 0;
  std::string newest;
  std::vector<const Environment*> environments;
};

std::string fact(const nlohmann::json& facts, const char* name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return "";
  return found->is_string() ? found->get<std::string>()
                            : found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What tells environments apart, for people.
std::string environment_item(const Environment& environment, std::size_t results) {
  const auto facts = nlohmann::json::parse(environment.json, nullptr, false);
  std::string html = "<li><strong>" + esc(environment.system.empty() ? "system not known" : environment.system) +
                     "</strong>" + (environment.chip.empty() ? "" : ", " + esc(environment.chip));
  if (facts.is_object()) {
    for (const auto& [name, label] :
         {std::pair("os_release", ""), std::pair("hypervisor", "hypervisor "), std::pair("nvidia_driver", "driver "),
          std::pair("cpu_microcode", "microcode ")}) {
      const std::string value = fact(facts, name);
      if (!value.empty()) html += ", " + std::string(label) + esc(value);
    }
  }
  return html + fmt::format(" <span class=\"range\">{}, environment <code>{}</code></span></li>",
                            count_of(results, "result"), esc(environment.id.substr(0, 12)));
}

}  // namespace

std::string machines_page(const Site& site, std::size_t part) {
  const Model& model = site.model;
  std::map<std::string, Sum> sums;
  std::map<std::string, std::size_t> results_of_environment;
  for (const auto& [id, cells] : model.by_environment) {
    std::map<std::string_view, std::pair<std::size_t, Texts::Id>> of_machine;  // results, newest start
    for (const std::uint32_t place : cells) {
      const Cell& cell = model.cells[place];
      const auto [found, is_new] =
          of_machine.try_emplace(model.key(model.series[cell.series]).machine_id, 0U, cell.first_started);
      found->second.first += cell.n;
      if (model.text(found->second.second) < model.text(cell.first_started)) found->second.second = cell.first_started;
      results_of_environment[id] += cell.n;
    }
    for (const auto& [machine, sum] : of_machine) {
      Sum& place = sums[std::string(machine)];
      place.results += sum.first;
      place.newest = std::max(place.newest, model.text(sum.second));
    }
  }
  for (const Run& run : model.runs) ++sums[run.machine_id].runs;
  for (const auto& [id, environment] : model.environments)
    sums[environment.machine_id].environments.push_back(&environment);
  std::vector<TableRow> rows;
  std::size_t index = 0;
  for (const auto& [id, sum] : sums) {
    if (index / kMachineRows + 1 == part) {
      std::string environments = "<ul class=\"plain\">";
      for (const Environment* environment : sum.environments) {
        environments += environment_item(*environment, results_of_environment[environment->id]);
      }
      const bool is_virtual = !sum.environments.empty() && sum.environments.front()->is_virtual;
      rows.push_back({{esc(model.machine_label(id)) + (is_virtual ? " " + badge("itself virtual", "warn") : "") +
                           "<span class=\"range\"><code>" + esc(id.substr(0, 16)) + "</code></span>",
                       model.machine_label(id)},
                      {environments + "</ul>", std::to_string(sum.environments.size())},
                      {count(sum.runs), std::to_string(sum.runs)},
                      {count(sum.results), std::to_string(sum.results)},
                      {esc(day(sum.newest)), sum.newest}});
    }
    ++index;
  }
  std::string body = pager("machines", part, machine_parts(site));
  if (rows.empty()) {
    body += "<p>None yet.</p>\n";
  } else {
    body += table("machines", "A machine is a physical host: its guests count as environments of it",
                  {{"Machine", "wide", ""},
                   {"Environments", "wide", "a set of facts: system, drivers, guest, ..."},
                   {"Runs", "num", ""},
                   {"Results", "num", ""},
                   {"Newest", "text", ""}},
                  rows, true);
  }
  return page(frame_of(site, "Machines", "machines.html",
                       "What was measured on. Serial numbers, user and host names never get here."),
              body);
}

}  // namespace capbench::site
