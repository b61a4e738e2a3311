// Bundles that others sent: tier, checks, trials.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

constexpr std::size_t kMostTrials = 500;

constexpr std::string_view kTrialIds = "SELECT trial_id FROM bundle_trial WHERE bundle_id = ?";

// Where the site does not know one of them.
constexpr std::string_view kTrials = R"sql(
SELECT t.id, t.arm, t.mode, t.model, t.model_kind, t.workload, t.status, t.reason, t.started_at
FROM bundle_trial AS b JOIN trial AS t ON t.id = b.trial_id
WHERE b.bundle_id = ? ORDER BY t.started_at, t.id LIMIT ?
)sql";

std::string tier_badge(const Submission& submission) {
  if (!submission.withdrawn.empty()) return badge("withdrawn", "bad");
  return badge(submission.tier, submission.tier == "self-reported" ? "warn" : "good");
}

std::string_view outcome_kind(const std::string& outcome) {
  return outcome == "passed" ? "good" : outcome == "failed" ? "bad" : outcome == "flagged" ? "warn" : "";
}

std::string checks_section(const Submission& submission) {
  const auto verdict = nlohmann::json::parse(submission.verdict, nullptr, false);
  std::string html = "<section aria-labelledby=\"h-checks\"><h2 id=\"h-checks\">Checks</h2>\n";
  std::vector<TableRow> rows;
  const auto text = [](const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (verdict.is_object() && verdict.contains("checks") && verdict["checks"].is_array()) {
    for (const auto& check : verdict["checks"]) {
      if (!check.is_object()) continue;
      const std::string outcome = text(check, "outcome");
      rows.push_back({{esc(text(check, "name"))},
                      {badge(outcome, outcome_kind(outcome)), outcome},
                      {esc(text(check, "detail"))},
                      {esc(text(check, "where"))}});
    }
  }
  if (rows.empty()) return html + "<p>Not known.</p></section>\n";
  html += table("checks", "Each number was derived again from the raw output",
                {{"Check", "text", ""}, {"Outcome", "text", ""}, {"What was found", "wide", ""}, {"Where", "wide", ""}},
                rows);
  if (verdict.contains("missing") && verdict["missing"].is_array() && !verdict["missing"].empty()) {
    html += "<p>What keeps it from <em>consistent</em>:</p><ul class=\"notes\">";
    for (const auto& missing : verdict["missing"]) {
      if (missing.is_string()) html += "<li>" + esc(missing.get<std::string>()) + "</li>";
    }
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

TableRow trial_row(const std::string& link, const std::array<std::string_view, 8>& texts) {
  const auto& [arm, mode, model, model_kind, workload, status, reason, started] = texts;
  return {{link},
          {mode_name(mode) + (arm == mode ? "" : "<span class=\"range\">" + esc(arm) + "</span>")},
          {esc(model_text(std::string(model), std::string(model_kind)))},
          {esc(workload)},
          {status_html(status, reason)},
          {esc(minute(started))}};
}

// Its launches in order of time; nothing if one of them is not known, or was read from another store.
Result<std::optional<std::vector<std::uint32_t>>> launches_of(const Site& site, schema::Database& database,
                                                              const Submission& submission) {
  const reports::Measurements& m = site.model.m;
  auto statement = database.prepare(kTrialIds);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(submission.id));
  std::vector<std::uint32_t> launches;
  for (;;) {
    const Result<bool> row = statement->step();
    if (!row) return row.error();
    if (!*row) break;
    const std::optional<reports::Digest> digest = reports::digest_bytes(statement->bytes(0));
    const Launch* launch = digest ? m.find(*digest) : nullptr;
    if (launch == nullptr || launch->store != submission.store) return std::optional<std::vector<std::uint32_t>>();
    launches.push_back(static_cast<std::uint32_t>(launch - m.launches.data()));
  }
  std::sort(launches.begin(), launches.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(m.text(m.launches[a].started), m.launches[a].id) <
           std::tie(m.text(m.launches[b].started), m.launches[b].id);
  });
  return std::optional(std::move(launches));
}

Result<std::vector<TableRow>> asked_rows(const Site& site, schema::Database& database, const Submission& submission) {
  auto statement = database.prepare(kTrials);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(submission.id)).bind(static_cast<std::int64_t>(kMostTrials));
  std::vector<TableRow> rows;
  for (;;) {
    const Result<bool> row = statement->step();
    if (!row) return row.error();
    if (!*row) return rows;
    const std::string id = statement->text(0);
    const std::optional<reports::Digest> digest = reports::digest_bytes(id);
    const Launch* launch = digest ? site.model.m.find(*digest) : nullptr;
    std::array<std::string_view, 8> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = statement->bytes(static_cast<int>(i) + 1);
    rows.push_back(trial_row(
        launch == nullptr ? "<code>" + esc(id.substr(0, 12)) + "</code>"
                          : trial_link(site, static_cast<std::uint32_t>(launch - site.model.m.launches.data()), "../"),
        texts));
  }
}

Result<std::vector<TableRow>> trial_rows(const Site& site, schema::Database& database, const Submission& submission) {
  auto launches = launches_of(site, database, submission);
  if (!launches) return std::move(launches).error();
  if (!*launches) return asked_rows(site, database, submission);
  if ((*launches)->size() > kMostTrials) (*launches)->resize(kMostTrials);
  const reports::Measurements& m = site.model.m;
  std::vector<TableRow> rows;
  for (const std::uint32_t number : **launches) {
    const Launch& launch = m.launches[number];
    rows.push_back(
        trial_row(trial_link(site, number, "../"),
                  {m.text(launch.arm), m.text(launch.mode), m.text(launch.model), m.text(launch.model_kind),
                   m.text(launch.workload), m.text(launch.status), m.text(launch.reason), m.text(launch.started)}));
  }
  return rows;
}

Result<std::string> trials_section(const Site& site, Connections& connections, const Submission& submission) {
  Result<Connection*> connection = connections.at(submission.store);
  if (!connection) return std::move(connection).error();
  Result<std::vector<TableRow>> read = trial_rows(site, (*connection)->database, submission);
  if (!read) return std::move(read).error();
  const std::vector<TableRow>& rows = *read;
  std::string caption = fmt::format("{}; each opens with its raw output", count_of(submission.trials, "trial"));
  if (rows.size() < submission.trials) caption += fmt::format("; the first {} are here", rows.size());
  return "<section aria-labelledby=\"h-trials\"><h2 id=\"h-trials\">Trials</h2>\n" +
         table("trials", caption,
               {{"Trial", "text", ""},
                {"Mode", "text", ""},
                {"Model", "wide", ""},
                {"Workload", "text", ""},
                {"Status", "text", ""},
                {"Started (UTC)", "text", ""}},
               rows) +
         "</section>\n";
}

}  // namespace

std::string submissions_page(const Site& site, std::size_t part) {
  const std::vector<Submission>& all = site.model.submissions;
  std::vector<TableRow> rows;
  const std::size_t first = (part - 1) * kSubmissionRows;
  for (std::size_t i = first; i < std::min(all.size(), first + kSubmissionRows); ++i) {
    const Submission& one = all[i];
    const std::string name = "<code>" + esc(one.id.substr(0, 12)) + "</code>";
    rows.push_back({{site.has_page(one) ? fmt::format("<a href=\"submission/{}.html\">{}</a>", esc(one.id), name)
                                        : fmt::format("<span title=\"not in this copy of the site\">{}</span>", name)},
                    {esc(minute(one.received)), one.received},
                    {tier_badge(one), one.tier},
                    {one.signer.empty() ? std::string("not signed") : "<code>" + esc(one.signer) + "</code>"},
                    {count(one.trials), std::to_string(one.trials)},
                    {count(one.bytes), std::to_string(one.bytes)}});
  }
  std::string body = pager("submissions", part, submission_parts(site));
  if (rows.empty()) {
    body +=
        "<p>None yet: what is shown here was measured or imported by who keeps this store.</p>\n"
        "<p><code>capbench submit --out mine.capbundle</code> packs results with the raw output they were derived "
        "from, "
        "personal details taken out; <code>capbench ingest</code> takes them in.</p>\n";
  } else {
    body += table("submissions", "Bundles, newest first",
                  {{"Bundle", "text", ""},
                   {"Received (UTC)", "text", ""},
                   {"Tier", "text", ""},
                   {"Signer", "wide", ""},
                   {"Trials", "num", ""},
                   {"Bytes", "num", ""}},
                  rows, true);
  }
  return page(frame_of(site, "Submissions", "submissions.html",
                       "Results that people measured and sent, each with the raw output it was derived from."),
              body);
}

Result<std::string> submission_page(const Site& site, Connections& connections, const Submission& submission) {
  std::string body = "<dl class=\"details\">\n";
  body += detail("Tier", tier_badge(submission));
  body += detail("Signer", submission.signer.empty() ? "not signed" : "<code>" + esc(submission.signer) + "</code>");
  body += detail("Received (UTC)", esc(minute(submission.received)));
  body += detail("Trials", count(submission.trials));
  body += detail("Size", count(submission.bytes) + " bytes");
  body += detail("Bundle", "<code class=\"digest\">" + esc(submission.id) + "</code>");
  const bool stands = submission.withdrawn.empty();
  if (!stands) body += detail("Withdrawn (UTC)", esc(minute(submission.withdrawn)) + ": " + esc(submission.why));
  if (stands && site.options.served) {
    body += detail("Raw",
                   "<a href=\"../api/v1/submissions/" + esc(submission.id) +
                       "/bundle\" download>the bundle itself</a>, which <code>capbench verify</code> checks offline");
  }
  body +=
      "</dl>\n<p class=\"small\"><em>consistent</em>: nothing in it contradicts itself, which is not that nobody lied; "
      "<em>self-reported</em>: something is missing to say so; <em>reproduced</em>: somebody else measured the "
      "same.</p>\n";
  body += checks_section(submission);
  if (stands) {
    Result<std::string> trials = trials_section(site, connections, submission);
    if (!trials) return trials;
    body += *trials;
  }
  Frame frame = frame_of(site, "Submission " + submission.id.substr(0, 12), "submissions.html",
                         "One bundle: its tier, what was checked, and its trials with their raw output.", "../");
  frame.parent = "<a href=\"../submissions.html\">All submissions</a>";
  return page(frame, body);
}

}  // namespace capbench::site
