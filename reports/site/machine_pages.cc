// The machines, with their environments.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

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
  std::vector<TableRow> rows;
  const std::size_t first = (part - 1) * kMachineRows;
  auto next = site.machines.begin();
  std::advance(next, std::min(first, site.machines.size()));
  for (; next != site.machines.end() && rows.size() < kMachineRows; ++next) {
    const auto& [id, sum] = *next;
    std::string environments = "<ul class=\"plain\">";
    bool is_virtual = false;
    for (const std::string& name : sum.environments) {
      const Environment& environment = model.environments.at(name);
      is_virtual = is_virtual || (name == sum.environments.front() && environment.is_virtual);
      const auto results = site.results_of_environment.find(name);
      environments += environment_item(environment, results == site.results_of_environment.end() ? 0 : results->second);
    }
    rows.push_back({{esc(model.machine_label(id)) + (is_virtual ? " " + badge("itself virtual", "warn") : "") +
                         "<span class=\"range\"><code>" + esc(id.substr(0, 16)) + "</code></span>",
                     model.machine_label(id)},
                    {environments + "</ul>", std::to_string(sum.environments.size())},
                    {count(sum.runs), std::to_string(sum.runs)},
                    {count(sum.results), std::to_string(sum.results)},
                    {esc(day(sum.newest)), sum.newest}});
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
