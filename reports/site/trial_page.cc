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
  coalesce(t.stderr_sha256, ''), s.name, t.status, t.reason, u.machine_id, coalesce(t.environment_id, '')
FROM trial AS t JOIN suite AS s ON s.id = t.suite_id JOIN run AS u ON u.id = t.run_id
WHERE t.id = ?
)sql";

constexpr std::string_view kResults =
    "SELECT test, build, n_prompt + n_gen, median_ts, samples_ns, gpu_info, cpu_info FROM result WHERE trial_id = ? "
    "ORDER BY ordinal";
constexpr std::string_view kStated =
    "SELECT test, build, mean_ts, stddev_ts, repetitions, gpu_info, cpu_info FROM stated_result WHERE trial_id = ? "
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

// The rows that a query of one trial gives, each made by `row`.
Result<std::vector<TableRow>> rows_of(schema::Database& database, std::string_view query, const std::string& id,
                                      TableRow (*row)(const schema::Statement& statement)) {
  auto statement = database.prepare(query);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(id));
  std::vector<TableRow> rows;
  for (;;) {
    const Result<bool> is_there = statement->step();
    if (!is_there) return is_there.error();
    if (!*is_there) return rows;
    rows.push_back(row(*statement));
  }
}

// The GPU's name, or the CPU's, in two columns.
std::string device_of(const schema::Statement& statement, int gpu) {
  return esc(statement.bytes(statement.bytes(gpu).empty() ? gpu + 1 : gpu));
}

TableRow stated_row(const schema::Statement& statement) {
  const auto or_dash = [&](int column, std::string text) {
    return statement.is_null(column) ? std::string("\xE2\x80\x93") : std::move(text);
  };
  return {{esc(statement.bytes(0))},
          {number(statement.real(2)), fmt::format("{}", statement.real(2)), "key"},
          {or_dash(3, number(statement.real(3)))},
          {or_dash(4, std::to_string(statement.integer(4)))},
          {device_of(statement, 5)},
          {esc(statement.bytes(1))}};
}

// Means, where the source gives no more.
Result<std::string> stated_section(schema::Database& database, const std::string& id) {
  Result<std::vector<TableRow>> rows = rows_of(database, kStated, id, stated_row);
  if (!rows) return std::move(rows).error();
  if (rows->empty()) return std::string("<p>It gave no result.</p>\n");
  return table("stated", "What its source states, tokens per second: without samples there is no median",
               {{"Test", "text", ""},
                {"Mean", "num", "as stated"},
                {"Deviation", "num", "as stated"},
                {"Repetitions", "num", "as stated"},
                {"Device", "wide", ""},
                {"Build", "text", ""}},
               *rows);
}

TableRow result_row(const schema::Statement& statement) {
  std::string samples;
  const auto list = nlohmann::json::parse(statement.bytes(4), nullptr, false);
  if (list.is_array()) {
    for (const auto& ns : list) {
      if (!ns.is_number_integer()) continue;
      samples += (samples.empty() ? "" : " \xC2\xB7 ") +
                 number(stats::tokens_per_second(statement.integer(2), ns.get<std::int64_t>()));
    }
  }
  return {{esc(statement.bytes(0))},
          {number(statement.real(3)), fmt::format("{}", statement.real(3)), "key"},
          {samples},
          {device_of(statement, 5)},
          {esc(statement.bytes(1))}};
}

Result<std::string> results_section(schema::Database& database, const std::string& id) {
  Result<std::vector<TableRow>> rows = rows_of(database, kResults, id, result_row);
  if (!rows) return std::move(rows).error();
  if (rows->empty()) return stated_section(database, id);
  return table("results", "What it measured, tokens per second",
               {{"Test", "text", ""},
                {"Median", "num", "of its samples"},
                {"Samples, in order", "wide", ""},
                {"Device", "wide", ""},
                {"Build", "text", ""}},
               *rows);
}

TableRow capability_row(const schema::Statement& statement) {
  const auto text = [&](int column) {
    return statement.bytes(column).empty() ? std::string("<span class=\"soft\">\xE2\x80\x93</span>")
                                           : esc(statement.bytes(column));
  };
  const bool asked = !statement.bytes(1).empty();
  return {{esc(statement.bytes(0))},
          {text(1)},
          {text(2)},
          {text(3)},
          {statement.integer(4) == 0 ? badge("differs", "bad")
           : asked                   ? badge("agrees", "good")
                                     : "<span class=\"soft\">not asked for</span>"}};
}

Result<std::string> capabilities_section(schema::Database& database, const std::string& id) {
  Result<std::vector<TableRow>> rows = rows_of(database, kCapabilities, id, capability_row);
  if (!rows) return std::move(rows).error();
  if (rows->empty()) return std::string();
  return "<section aria-labelledby=\"treatment\"><h2 id=\"treatment\">Treatment</h2>\n" +
         table("capabilities", "Capabilities as requested and as observed",
               {{"Capability", "text", ""},
                {"Requested", "text", ""},
                {"Observed", "text", ""},
                {"Seen in", "text", ""},
                {"As requested", "text", "whether what was seen is what was asked for"}},
               *rows) +
         "</section>\n";
}

// Where the trial stands in the history of each of its tests, and what differs from the point before.
std::string history_section(const Site& site, std::uint32_t number) {
  const Model& model = site.model;
  const reports::Measurements& m = model.m;
  const Launch& launch = m.launches[number];
  if (!launch.counts) return "";
  std::vector<std::string> items;
  std::optional<std::pair<std::string, std::string>> environments;
  std::vector<std::string> ran;
  for (const std::uint32_t place : m.of(number)) {
    const Series& series = model.series[model.series_of_key[m.all[place].key]];
    std::string item = series_link(site, series, "../", esc(model.key(series).test));
    const Point& point = site.points[site.point_of[place]];
    item += fmt::format(": point {} of {}", point.number + 1, point.of);
    if (point.settings > 1) item += " of its setting";
    if (point.number > 0) {
      const Point& before = site.points[site.point_of[place] - 1];
      const Measurement& first = m.all[before.first];
      item += fmt::format("; the one before is {} of build {}", trial_link(site, before.median, "../"),
                          esc(model.text(first.build)));
      environments = {model.text(m.launches[first.launch].environment), model.text(launch.environment)};
      ran = reports::differences(m.settings[m.launches[before.median].origin], m.settings[launch.origin], m.parts,
                                 m.texts);
    }
    items.push_back(std::move(item));
  }
  std::string html = "<section aria-labelledby=\"before\"><h2 id=\"before\">In its history</h2>\n" + list_of(items);
  if (!ran.empty()) {
    html += "<h3>What ran, against the one before</h3>\n";
    for (std::string& one : ran) one = esc(one);
    html += list_of(ran);
  }
  html += "<h3>Environment, against the one before</h3>\n";
  html += environments ? environment_difference(site, environments->first, environments->second)
                       : std::string("<p>There is none before it.</p>\n");
  return html + "</section>\n";
}

}  // namespace

Result<std::optional<std::string>> trial_page(const Site& site, Connections& connections, std::uint32_t number) {
  const Launch& launch = site.model.m.launches[number];
  const std::string id = reports::digest_hex(launch.id);
  Result<Connection*> connection = connections.at(launch.store);
  if (!connection) return std::move(connection).error();
  schema::Database& database = (*connection)->database;
  auto statement = database.prepare(kTrial);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(id));
  const Result<bool> found = statement->step();
  if (!found) return found.error();
  if (!*found) return std::optional<std::string>();
  const auto text = [&](int column) { return esc(statement->bytes(column)); };
  std::string body = "<dl class=\"details\">\n";
  const bool counts = launch.counts && statement->bytes(19) == "ok";
  if (!counts) {
    // It may have been excluded since the pages' model was read.
    const bool ok = statement->bytes(19) == "ok";
    body += detail(
        "Status", (ok ? why_not_counted(site.model, launch) : status_html(statement->bytes(19), statement->bytes(20))) +
                      " not counted");
  }
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
  body += history_section(site, number);
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
  if (const auto places = site.model.m.of(number); !places.empty()) {
    const Series& series = site.model.series[site.model.series_of_key[site.model.m.all[places.front()].key]];
    frame.parent = series_link(site, series, "../", "History of " + esc(series_text(site, series)));
  } else {
    frame.parent = "<a href=\"../not-counted.html\">Not counted</a>";
  }
  return std::optional<std::string>(page(frame, body));
}

}  // namespace capbench::site
