// What the read API says, asked of the store and written as JSON. Each function is one consistent view.
#ifndef CAPBENCH_REPORTS_SERVER_QUERIES_H_
#define CAPBENCH_REPORTS_SERVER_QUERIES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "reports/server/readers.h"
#include "schema/inbox.h"
#include "schema/store.h"

namespace capbench::server {

// Where a bundle stands. Both may be there: it was taken in between the two looks.
struct Submission {
  std::optional<schema::InboxEntry> waiting;  // or refused, or withdrawn before it was looked at
  std::optional<schema::BundleRecord> taken;
};
// One that was acknowledged is found in one place at least, whoever takes it in meanwhile.
Result<Submission> find_submission(schema::Store& store, const std::string& id);

// A part of a list. `cursor` is what the part before gave as "next"; empty: from the beginning.
struct Page {
  std::size_t limit = 50;
  std::string cursor;
};

// Empty members do not restrict.
struct TrialQuery {
  std::string suite;  // id or name
  std::string run;
  std::string machine;
  std::string environment;
  std::string bundle;
  std::string mode;
  std::string model;
  std::string status;
};

struct BundleQuery {
  std::string signer;
  std::string tier;
  bool withdrawn = false;  // whether withdrawn ones are listed too
};

// A list is {"items":[...],"next":CURSOR or null}, newest first but for machines, which are by id. An error of kind
// kUsage whose `what` is "cursor" is a cursor that no page gave.
Result<std::string> suites_page(Reader& reader, const Page& page, const std::string& name);
Result<std::string> machines_page(Reader& reader, const Page& page);
// Trials of a rare mode, model or status may be few on a page, or none, with "next" all the same: no page looks at more
// than some thousand rows.
Result<std::string> trials_page(Reader& reader, const Page& page, const TrialQuery& query);
Result<std::string> bundles_page(Reader& reader, const Page& page, const BundleQuery& query);

// One thing; nothing if there is none of that id.
using Found = Result<std::optional<std::string>>;
Found suite_document(Reader& reader, const std::string& id);
Found environment_document(Reader& reader, const std::string& id);
// Raw output of a trial that was withdrawn is not named.
Found trial_document(Reader& reader, const std::string& id);
// One that was taken, or that is in the inbox. `public_url`: what stands in front of paths. `receipt_sha256`: of
// whoever asks whether it is theirs; empty: nobody does.
Found submission_document(Reader& reader, const std::string& id, const std::string& public_url,
                          std::string_view receipt_sha256);

// Whether raw bytes are known only from trials that were withdrawn.
Result<bool> is_withdrawn_raw(Reader& reader, const std::string& sha256);
// How many trials a report over the suite (empty: all) would read, counted to `most` and no further.
Result<std::int64_t> count_trials(Reader& reader, const std::string& suite, std::int64_t most);

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_QUERIES_H_
