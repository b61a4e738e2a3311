-- What people decided about regressions that `capbench check` found.

-- Every decision stays; the latest one holds.
CREATE TABLE triage (
  regression_id TEXT NOT NULL,  -- SHA-256 of what it is about, see reports/regressions.h
  set_at TEXT NOT NULL,         -- UTC
  state TEXT NOT NULL CHECK (state IN ('open', 'acknowledged', 'fixed', 'noise')),
  why TEXT NOT NULL,
  subject TEXT NOT NULL CHECK (json_valid(subject)),  -- what went into the id
  PRIMARY KEY (regression_id, set_at, state)
) WITHOUT ROWID, STRICT;
