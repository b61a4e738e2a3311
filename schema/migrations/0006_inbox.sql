-- Bundles that a server has acknowledged and has yet to look at, and those that it then did not take.

CREATE TABLE inbox (
  number INTEGER PRIMARY KEY,     -- in the order in which they came
  id TEXT NOT NULL UNIQUE,        -- of the bundle: SHA-256 of its manifest
  state TEXT NOT NULL CHECK (state IN ('pending', 'refused', 'withdrawn')),
  received_at TEXT NOT NULL,      -- UTC
  receipt_sha256 TEXT NOT NULL,   -- of the secret that may withdraw it; '' if none was given
  outcome TEXT NOT NULL CHECK (json_valid(outcome)),  -- of one that was not taken: why; '{}' while it is pending
  size INTEGER NOT NULL CHECK (size >= 0),  -- bytes of the file
  archive BLOB NOT NULL           -- the file while it is pending, then nothing
) STRICT;
CREATE INDEX inbox_by_state ON inbox (state, number, size);

-- Whose output bytes are, asked before they are given out.
CREATE INDEX trial_by_probe ON trial (probe_sha256) WHERE probe_sha256 IS NOT NULL;
CREATE INDEX quality_check_by_stdout ON quality_check (stdout_sha256) WHERE stdout_sha256 IS NOT NULL;
CREATE INDEX quality_check_by_stderr ON quality_check (stderr_sha256) WHERE stderr_sha256 IS NOT NULL;
