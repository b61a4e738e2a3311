// What people decided about regressions.
#include <algorithm>
#include <array>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/insert.h"
#include "schema/store_state.h"

namespace capbench::schema {

Status insert_triage(Database& database, const TriageRecord& decision) {
  constexpr std::array<std::string_view, 4> kStates = {"open", "acknowledged", "fixed", "noise"};
  const std::string what = "regression " + decision.regression_id.substr(0, 12);
  if (std::find(kStates.begin(), kStates.end(), decision.state) == kStates.end()) {
    return Error{ErrorKind::kUsage, what, "\"" + decision.state + "\" is no state of a regression",
                 "open, acknowledged, fixed or noise"};
  }
  if (sha256(decision.subject) != decision.regression_id) {
    return Error{ErrorKind::kUsage, what, "its id is not the digest of what it is about",
                 "take the file from its source again"};
  }
  Result<Statement> insert = database.prepare(
      "INSERT INTO triage (regression_id, set_at, state, why, subject) "
      "VALUES (?, coalesce(?, " +
      std::string(database.now()) + "), ?, ?, ?) ON CONFLICT DO NOTHING");
  if (!insert) return insert.error();
  insert->bind(decision.regression_id).bind_or_null(decision.set_at).bind(decision.state);
  return insert->bind(free_text(database, to_utf8(decision.why))).bind(decision.subject).run();
}

Status Store::put_triage(const TriageRecord& decision) {
  Result<Transaction> transaction = state_->connection.begin_write();
  if (!transaction) return transaction.error();
  if (Status status = insert_triage(state_->connection.database(), decision); !status) return status;
  return transaction->commit();
}

Result<std::vector<TriageRecord>> Store::triage() {
  return state_->connection.reading([](Database& database) -> Result<std::vector<TriageRecord>> {
    // At one moment the more careful state holds.
    Result<Statement> rows = database.prepare(
        "SELECT regression_id, set_at, state, why, subject FROM triage ORDER BY regression_id, set_at DESC, "
        "CASE state WHEN 'open' THEN 0 WHEN 'acknowledged' THEN 1 WHEN 'fixed' THEN 2 ELSE 3 END");
    if (!rows) return rows.error();
    std::vector<TriageRecord> found;
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return found;
      found.push_back({rows->text(0), rows->text(1), rows->text(2), rows->text(3), rows->text(4)});
    }
  });
}

}  // namespace capbench::schema
