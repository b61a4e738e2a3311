// Store::each_measurement: results by the million, without a record for each.
#include "schema/store_state.h"

namespace capbench::schema {

Status Store::each_measurement(const TrialFilter& filter, const std::function<Status(const MeasurementRow&)>& take) {
  return state_->connection.reading([&](Database& database) -> Status {
    std::string sql =
        "SELECT t.id, t.run_id, s.name, t.suite_id, coalesce(e.machine_id, u.machine_id), coalesce(e.machine_label, "
        "''), "
        "t.environment_id, t.closure_id, t.argv, t.environment_set, t.image, t.arm, t.mode, t.guest, t.workload, "
        "t.model, t.model_kind, t.started_at, r.test, r.build, r.backends, r.cpu_info, r.gpu_info, r.fields, "
        "r.samples_ns, "
        "r.n_prompt + r.n_gen, r.median_ts "
        // CROSS JOIN keeps the order of the loops: results are found by their trial.
        "FROM trial AS t CROSS JOIN result AS r ON r.trial_id = t.id JOIN suite AS s ON s.id = t.suite_id "
        "JOIN run AS u ON u.id = t.run_id LEFT JOIN environment AS e ON e.id = t.environment_id "
        "WHERE t.status = 'ok' AND t.treatment <> 'invalid' AND t.block >= 0 AND r.samples_ns <> '[]' "
        "AND r.median_ts > 0 AND NOT EXISTS (SELECT 1 FROM trial AS later WHERE later.run_id = t.run_id "
        "AND later.arm = t.arm AND later.workload = t.workload AND later.model = t.model AND later.block = t.block "
        "AND later.attempt > t.attempt)";
    if (!filter.suite.empty()) sql += " AND (s.id = ?1 OR s.name = ?1)";
    if (!filter.run_id.empty()) sql += filter.suite.empty() ? " AND t.run_id = ?1" : " AND t.run_id = ?2";
    Result<Statement> rows = database.prepare(sql);
    if (!rows) return rows.error();
    if (!filter.suite.empty()) rows->bind(filter.suite);
    if (!filter.run_id.empty()) rows->bind(filter.run_id);
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return {};
      MeasurementRow m;
      int c = 0;
      for (std::string_view* text :
           {&m.trial_id,       &m.run_id,     &m.suite,    &m.suite_id,        &m.machine_id, &m.machine_label,
            &m.environment_id, &m.closure_id, &m.argv,     &m.environment_set, &m.image,      &m.arm,
            &m.mode,           &m.guest,      &m.workload, &m.model,           &m.model_kind, &m.started_at,
            &m.test,           &m.build,      &m.backends, &m.cpu_info,        &m.gpu_info,   &m.fields,
            &m.samples_ns}) {
        *text = rows->bytes(c++);
      }
      m.tokens = rows->integer(c++);
      m.median_ts = rows->real(c++);
      if (Status status = take(m); !status) return status;
    }
  });
}

}  // namespace capbench::schema
