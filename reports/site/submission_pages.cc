// Bundles that others sent: tier, checks, trials.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/site/pages.h"

namespace capbench::site {
namespace {

constexpr std::size_t kMostTrials = 500;

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

Result<std::string> trials_section(const Site& site, Connections& connections, const Submission& submission) {
  Result<Connection*> connection = connections.at(submission.store);
  if (!connection) return std::move(connection).error();
  auto statement = (*connection)->database.prepare(kTrials);
  if (!statement) return std::move(statement).error();
  statement->bind(std::string_view(submission.id)).bind(static_cast<std::int64_t>(kMostTrials));
  std::vector<TableRow> rows;
  for (;;) {
    const Result<bool> row = statement->step();
    if (!row) return row.error();
    if (!*row) break;
    const std::string id = statement->text(0);
    const std::optional<reports::Digest> digest = reports::digest_bytes(id);
    const Launch* launch = digest ? site.model.m.find(*digest) : nullptr;
    rows.push_back({{launch == nullptr
                         ? "<code>" + esc(id.substr(0, 12)) + "</code>"
                         : trial_link(site, static_cast<std::uint32_t>(launch - site.model.m.launches.data()), "../")},
                    {mode_name(statement->bytes(2)) + "<span class=\"range\">" + esc(statement->bytes(1)) + "</span>"},
                    {esc(model_text(statement->text(3), statement->text(4)))},
                    {esc(statement->bytes(5))},
                    {status_html(statement->bytes(6), statement->bytes(7))},
                    {esc(minute(statement->bytes(8)))}});
  }
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
    rows.push_back(
        {{fmt::format("<a href=\"submission/{0}.html\"><code>{1}</code></a>", esc(one.id), esc(one.id.substr(0, 12)))},
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
