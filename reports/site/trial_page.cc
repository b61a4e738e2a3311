// One trial: what ran, what it gave, its raw output, and what had changed since the one before.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/stats/summary.h"
#include "reports/site/pages.h"
#include "reports/text.h"

namespace capbench::site {
namespace {

constexpr std::string_view kTrial = R"sql(
SELECT t.arm, t.mode, t.target, t.guest, t.workload, t.model, t.model_kind, t.block, t.attempt, t.treatment, t.quality,
  t.started_at, t.wall_ns, t.max_rss_bytes, t.argv, t.environment_set, coalesce(t.stdout_sha256, ''),
  coalesce(t.stderr_sha256, ''), s.name, coalesce(t.environment_id, ''), t.run_id, u.machine_id
FROM trial AS t JOIN suite AS s ON s.id = t.suite_id JOIN run AS u ON u.id = t.run_id
WHERE t.id = ? AND t.status = 'ok'
)sql";

constexpr std::string_view kResults =
    "SELECT test, build, n_prompt + n_gen, median_ts, samples_ns, gpu_info, cpu_info FROM result WHERE trial_id = ? "
    "ORDER BY ordinal";
constexpr std::string_view kCapabilities =
    "SELECT name, requested, observed, source, agrees FROM capability WHERE trial_id = ? ORDER BY ordinal";

std::string redacted(const Site& site, std::string_view text) {
  return site.options.redact ? site.options.redact(text) : std::string(text);
}

// Several lines, as they are; what is no text becomes U+FFFD.
std::string raw_html(std::string_view bytes) {
  std::string html;
  std::size_t begin = 0;
  while (begin <= bytes.size()) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    html += esc(bytes.substr(begin, end - begin));
    if (end < bytes.size()) html += '\n';
    begin = end + 1;
  }
  return html;
}

Result<std::string> raw_section(const Site& site, Connection& connection, std::string_view name,
                                const std::string& digest) {
  std::string html = fmt::format("<h3>{}</h3>\n", name);
  if (digest.empty()) return html + "<p>Withheld: its source gave results without the output they came from.</p>\n";
  Result<std::string> bytes = connection.store.blob(digest);
  if (!bytes) return std::move(bytes).error();
  if (bytes->empty()) return html + "<p>Empty.</p>\n";
  const bool is_cut = bytes->size() > site.options.most_raw;
  const std::string text = redacted(site, std::string_view(*bytes).substr(0, site.options.most_raw));
  html += fmt::format("<p class=\"small\">{} bytes, SHA-256 <code class=\"digest\">{}</code>{}{}</p>\n",
                      count(bytes->size()), digest,
                      is_cut ? fmt::format("; the first {} are shown", count(site.options.most_raw)) : "",
                      site.options.redact ? "; personal details are replaced below" : "");
  return html + fmt::format("<pre class=\"raw\" tabindex=\"0\" aria-label=\"{}\">{}</pre>\n", name, raw_html(text));
}

std::string words(const Site& site, std::string_view json) {
  const auto list = nlohmann::json::parse(json, nullptr, false);
  std::string text;
  if (!list.is_array()) return text;
  for (const auto& word : list) {
    if (word.is_string()) text += (text.empty() ? "" : " ") + word.get<std::string>();
  }
  return redacted(site, text);
}

Result<std::string> results_section(schema::Database& database, const std::string& id) {
  auto statement = database.prepare(kResults);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(id));
  std::vector<TableRow> rows;
  for (;;) {
    const Result<bool> row = statement->step();
    if (!row) return row.error();
    if (!*row) break;
    std::string samples;
    const auto list = nlohmann::json::parse(statement->bytes(4), nullptr, false);
    if (list.is_array()) {
      for (const auto& ns : list) {
        if (!ns.is_number_integer()) continue;
        samples += (samples.empty() ? "" : " \xC2\xB7 ") +
                   number(stats::tokens_per_second(statement->integer(2), ns.get<std::int64_t>()));
      }
    }
    const std::string device(statement->bytes(5).empty() ? statement->bytes(6) : statement->bytes(5));
    rows.push_back({{esc(statement->bytes(0))},
                    {number(statement->real(3)), fmt::format("{}", statement->real(3)), "key"},
                    {samples},
                    {esc(device)},
                    {esc(statement->bytes(1))}});
  }
  return table("results", "What it measured, tokens per second",
               {{"Test", "text", ""},
                {"Median", "num", "of its samples"},
                {"Samples, in order", "wide", ""},
                {"Device", "wide", ""},
                {"Build", "text", ""}},
               rows);
}

Result<std::string> capabilities_section(schema::Database& database, const std::string& id) {
  auto statement = database.prepare(kCapabilities);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(id));
  std::vector<TableRow> rows;
  for (;;) {
    const Result<bool> row = statement->step();
    if (!row) return row.error();
    if (!*row) break;
    const auto text = [&](int column) {
      return statement->bytes(column).empty() ? std::string("<span class=\"soft\">\xE2\x80\x93</span>")
                                              : esc(statement->bytes(column));
    };
    rows.push_back({{esc(statement->bytes(0))},
                    {text(1)},
                    {text(2)},
                    {text(3)},
                    {statement->integer(4) != 0 ? badge("agrees", "good") : badge("differs", "bad")}});
  }
  if (rows.empty()) return std::string();
  return "<section aria-labelledby=\"treatment\"><h2 id=\"treatment\">Treatment</h2>\n" +
         table("capabilities", "Capabilities as requested and as observed",
               {{"Capability", "text", ""},
                {"Requested", "text", ""},
                {"Observed", "text", ""},
                {"Seen in", "text", ""},
                {"", "text", ""}},
               rows) +
         "</section>\n";
}

// Where the trial stands in the history of each of its tests, and what differs from the point before.
std::string history_section(const Site& site, const Trial& trial) {
  const Model& model = site.model;
  std::string html = "<section aria-labelledby=\"before\"><h2 id=\"before\">In its history</h2>\n<ul>\n";
  std::optional<std::pair<std::string, std::string>> environments;
  for (std::uint32_t i = trial.first_place; i < trial.first_place + trial.n_places; ++i) {
    const Cell& cell = model.cells[model.places[i]];
    const Series& series = model.series[cell.series];
    const auto at = std::find(series.cells.begin(), series.cells.end(), model.places[i]);
    const auto place = static_cast<std::size_t>(at - series.cells.begin());
    html += "<li>" + series_link(series, "../", esc(model.text(series.key.test))) +
            fmt::format(": point {} of {}", place + 1, series.cells.size());
    if (place > 0) {
      const Cell& before = model.cells[series.cells[place - 1]];
      html += fmt::format("; the one before is {} of build {}", trial_link(site, median_trial(before), "../"),
                          esc(model.text(before.build)));
      environments = {model.text(before.environment), model.text(cell.environment)};
    }
    html += "</li>\n";
  }
  html += "</ul>\n<h3>Environment, against the one before</h3>\n";
  html += environments ? environment_difference(site, environments->first, environments->second)
                       : std::string("<p>There is none before it.</p>\n");
  return html + "</section>\n";
}

std::string detail(std::string_view name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

}  // namespace

Result<std::optional<std::string>> trial_page(const Site& site, Connections& connections, std::uint32_t place) {
  const Trial& trial = site.model.trials[place];
  const std::string id = hex_of(trial.id);
  Result<Connection*> connection = connections.at(trial.store);
  if (!connection) return std::move(connection).error();
  schema::Database& database = (*connection)->database;
  auto statement = database.prepare(kTrial);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(id));
  const Result<bool> found = statement->step();
  if (!found) return found.error();
  // It was excluded, or withdrawn, since the site was read.
  if (!*found) return std::optional<std::string>();
  const auto text = [&](int column) { return esc(statement->bytes(column)); };
  std::string body = "<dl class=\"details\">\n";
  body += detail("Suite", text(18));
  body += detail("Arm", text(0) + ", mode " + mode_name(statement->bytes(1)));
  body += detail("Model", esc(model_text(statement->text(5), statement->text(6))));
  body += detail("Workload", text(4));
  body += detail("Guest", statement->bytes(3).empty() ? "none, the host itself" : text(3));
  body += detail("Machine", esc(site.model.machine_label(statement->text(21))));
  body += detail("Block, attempt", fmt::format("{}, {}", statement->integer(7), statement->integer(8)));
  body += detail("Started (UTC)", esc(minute(statement->bytes(11))));
  if (statement->integer(12) > 0) {
    body += detail("Took", fmt::format("{:.1f} s", static_cast<double>(statement->integer(12)) * 1e-9));
  }
  if (statement->integer(13) > 0) {
    body +=
        detail("Memory, most", fmt::format("{} MiB", count(static_cast<std::size_t>(statement->integer(13)) >> 20U)));
  }
  const std::string treatment = statement->text(9);
  body += detail("Treatment", treatment.empty() ? "" : badge(treatment, treatment == "proven" ? "good" : "warn"));
  const std::string quality = statement->text(10);
  body += detail("Output", quality.empty() ? "" : badge(quality, quality == "passed" ? "good" : ""));
  body += detail("Trial", fmt::format("<code class=\"digest\">{}</code>", id));
  body += "</dl>\n";
  Result<std::string> results = results_section(database, id);
  if (!results) return std::move(results).error();
  body += *results;
  body += history_section(site, trial);
  Result<std::string> capabilities = capabilities_section(database, id);
  if (!capabilities) return std::move(capabilities).error();
  body += *capabilities;
  body += "<section aria-labelledby=\"raw\"><h2 id=\"raw\">Raw output</h2>\n";
  const std::string variables = words(site, statement->bytes(15));
  const std::string command = words(site, statement->bytes(14));
  if (!command.empty()) {
    body += "<h3>Command</h3>\n<pre class=\"raw\" tabindex=\"0\" aria-label=\"Command\">" +
            raw_html(variables.empty() ? command : variables + " " + command) + "</pre>\n";
  }
  for (const auto& [name, column] : {std::pair("Standard output", 16), std::pair("Standard error", 17)}) {
    Result<std::string> raw = raw_section(site, **connection, name, statement->text(column));
    if (!raw) return std::move(raw).error();
    body += *raw;
  }
  body += "</section>\n";
  Frame frame = frame_of(site, "Trial " + id.substr(0, 12), "history.html", "One process, launched once.", "../");
  const Cell& cell = site.model.cells[site.model.places[trial.first_place]];
  const Series& series = site.model.series[cell.series];
  frame.parent = series_link(series, "../", "History of " + esc(series_text(site, series)));
  return std::optional<std::string>(page(frame, body));
}

}  // namespace capbench::site
