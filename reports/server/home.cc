#include "reports/server/home.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "reports/html_text.h"

namespace capbench::server {
namespace {

constexpr std::size_t kNewest = 50;

constexpr std::string_view kStart = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>capbench: newest submissions</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>Newest submissions</h1>
<p>Results that people measured and sent, each with the raw output it was derived from.
<code>capbench submit --to</code> and this server's address add yours.</p>
)html";

constexpr std::string_view kEnd = R"html(<nav aria-label="More">
<h2>More</h2>
<ul>
<li><a href="/api/v1/bundles">Submissions</a>, <a href="/api/v1/trials">trials</a>,
<a href="/api/v1/suites">suites</a> and <a href="/api/v1/machines">machines</a> as JSON</li>
<li><a href="/api/v1/reports/speedup?format=csv">Speedups as CSV</a></li>
<li><a href="/api/v1/openapi.json">What else there is to ask for</a></li>
</ul>
</nav>
</main>
</body>
</html>
)html";

std::string row(const schema::BundleRecord& bundle) {
  const std::string id = reports::escape_html(bundle.id);
  const std::string signer = bundle.signer.empty() ? "not signed" : reports::escape_html(bundle.signer);
  return fmt::format(
      "<tr><td>{}</td><td><a href=\"/api/v1/submissions/{}\"><code>{}</code></a></td><td>{}</td><td>{}</td>"
      "<td class=\"num\">{}</td></tr>\n",
      reports::escape_html(bundle.received_at.substr(0, 16)), id, id.substr(0, 12), reports::escape_html(bundle.tier),
      signer, bundle.size);
}

}  // namespace

Result<std::string> home_page(Reader& reader) {
  schema::BundleFilter filter;
  filter.standing = true;
  filter.limit = kNewest;
  const Result<std::vector<schema::BundleRecord>> bundles = reader.store.bundles(filter);
  if (!bundles) return bundles.error();
  std::string page(kStart);
  if (bundles->empty()) {
    page += "<p>None yet.</p>\n";
  } else {
    page +=
        "<table>\n<thead><tr><th scope=\"col\">Received (UTC)</th><th scope=\"col\">Bundle</th>"
        "<th scope=\"col\">Tier</th><th scope=\"col\">Signer</th><th scope=\"col\" "
        "class=\"num\">Bytes</th></tr></thead>\n"
        "<tbody>\n";
    for (const schema::BundleRecord& bundle : *bundles) page += row(bundle);
    page += "</tbody>\n</table>\n";
  }
  page += kEnd;
  return page;
}

}  // namespace capbench::server
